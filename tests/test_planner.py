"""What is planned, in which runs, and what is blocked: values in, values out."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from partwise.errors import PlanError
from partwise.mapping import window
from partwise.nodes import BackfillPolicy, Edge, Node, RelationName
from partwise.partitions import Definition, PartitionSet, daily, hourly, monthly, multi, static, weekly
from partwise.planning.facts import Facts, ModelFacts
from partwise.planning.planner import Analysis, Request, plan

NOW = datetime(2024, 3, 1, tzinfo=UTC)
START = "2024-01-01"


def model(name: str, definition: Definition | None = None, *upstream: Edge | str, **more: object) -> Node:
    edges = tuple(up if isinstance(up, Edge) else Edge(up) for up in upstream)
    kind = more.pop("materialized", "partitioned" if definition else "table")
    return Node(
        unique_id=name,
        name=name,
        resource_type=more.pop("resource_type", "model"),  # type: ignore[arg-type]
        path=f"models/{name}.sql",
        relation=RelationName(None, "main", name),
        materialized=kind,  # type: ignore[arg-type]
        package="test",
        dialect="duckdb",
        definition=definition,
        edges=edges,
        **more,  # type: ignore[arg-type]
    )


def planned(models: list[Node], facts: dict[str, ModelFacts] | None = None, *, now: datetime = NOW, **request: object):
    nodes = {node.unique_id: node for node in models}
    selected = request.pop("selected", [m for m in nodes if nodes[m].resource_type == "model"])
    named = request.pop("named", selected)
    analysis = request.pop("analysis", None)
    keys = tuple(request.pop("keys", ()))
    asked = Request(frozenset(selected), frozenset(named), keys, **request)  # type: ignore[arg-type]
    return plan(nodes, list(nodes), asked, Facts(facts or {}), now, analysis)  # type: ignore[arg-type]


def built(partitions: PartitionSet | None, **more: object) -> ModelFacts:
    return ModelFacts(exists=True, materialized=partitions, built=partitions is None, **more)  # type: ignore[arg-type]


def shown(result, name: str) -> list[str]:
    return [str(run.partitions) for run in result.runs() if run.model == name]


DAYS = daily(START, "2024-03-01")
SOURCE = model("src", materialized="source", resource_type="source")


def test_missing_is_what_exists_and_was_never_written():
    done = DAYS.subset("2024-01-01:2024-02-27")
    result = planned([SOURCE, model("m", DAYS, "src")], {"m": built(done)}, missing=True)
    assert shown(result, "m") == ["day [2024-02-28, 2024-02-29)", "day [2024-02-29, 2024-03-01)"]
    assert [run.reason for run in result.runs()] == ["missing", "missing"]


def test_single_run_is_one_run_with_gaps():
    asked = planned(
        [SOURCE, model("m", DAYS, "src", policy=BackfillPolicy("single_run"))],
        keys=["2024-01-01:2024-01-03", "2024-01-05"],
    )
    assert shown(asked, "m") == ["day [2024-01-01, 2024-01-04) [2024-01-05, 2024-01-06)"]


def test_many_gaps_become_more_runs():
    odd = [f"2024-01-{day:02}" for day in range(1, 32, 2)] + [f"2024-02-{day:02}" for day in range(2, 29, 2)]
    wide = daily("2023-01-01", "2024-03-01")
    more = [f"2023-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 28, 2)]
    result = planned([SOURCE, model("m", wide, "src", policy=BackfillPolicy("single_run"))], keys=odd + more)
    runs = [run.partitions for run in result.runs()]
    assert len(runs) > 1
    assert all(part is not None and len(part.spans("day")) <= 36 for part in runs)
    assert sum(map(len, runs)) == len(odd + more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("at_most", "sizes"), [(7, [7, 7, 7, 7, 3]), (1, [1] * 31), (40, [31]), (31, [31]), (30, [30, 1])]
)
def test_chunks(at_most: int, sizes: list[int]):
    result = planned(
        [SOURCE, model("m", DAYS, "src")], keys=["2024-01-01:2024-01-31"], max_partitions_per_run=at_most
    )
    assert [run.size for run in result.runs()] == sizes


def test_own_past_runs_one_by_one_in_order():
    node = model("bal", DAYS, "src", reads_own_past=True, policy=BackfillPolicy("single_run", 3))
    result = planned([SOURCE, node], keys=["2024-02-01:2024-02-07"])
    assert [run.size for run in result.runs()] == [1] * 7
    assert result.steps[0].in_order


def test_rows_that_may_leak_are_not_run_together_unless_trusted():
    node = model("m", DAYS, "src", policy=BackfillPolicy("single_run"))
    leaky = Analysis(may_leak=frozenset({"m"}))
    result = planned([SOURCE, node], keys=["2024-02-01:2024-02-03"], analysis=leaky)
    assert result.run_count == 3 and "trust=true" in result.steps[0].why_mode
    trusted = model("m", DAYS, "src", policy=BackfillPolicy("single_run"), trust=True)
    assert planned([SOURCE, trusted], keys=["2024-02-01:2024-02-03"], analysis=leaky).run_count == 1


def test_a_day_without_all_its_hours_is_blocked_and_says_which():
    hours = hourly(START, "2024-03-01")
    done = hours.subset("2024-01-01-00:00:2024-01-03-05:00")
    nodes = [SOURCE, model("departures", hours, "src"), model("delays", DAYS, "departures")]
    result = planned(nodes, {"departures": built(done)}, selected=["delays"], keys=["2024-01-02:2024-01-03"])
    assert shown(result, "delays") == ["day [2024-01-02, 2024-01-03)"]
    assert [b.example for b in result.blocked] == [
        "delays 2024-01-03 waits for 18 of 24 hours of departures; add + or --allow-incomplete"
    ]
    assert result.blocked_by_name
    allowed = planned(
        nodes, {"departures": built(done)}, selected=["delays"], keys=["2024-01-03"], allow_incomplete=True
    )
    assert shown(allowed, "delays") == ["day [2024-01-03, 2024-01-04)"] and not allowed.blocked
    assert str(allowed.steps[0].incomplete) == "day [2024-01-03, 2024-01-04)"


def test_upstream_reached_by_plus_gets_the_mapped_set_and_unblocks():
    zone = "America/New_York"
    hours, days = hourly("2013-01-01", "2014-01-01", timezone=zone), daily("2013-01-01", "2014-01-01", timezone=zone)
    nodes = [SOURCE, model("departures", hours, "src"), model("delays", days, "departures")]
    result = planned(nodes, named=["delays"], keys=["2013-11-01:2013-11-05"], now=datetime(2020, 1, 1, tzinfo=UTC))
    assert [step.size for step in result.steps] == [24 + 24 + 25 + 24 + 24, 5]
    assert not result.blocked


def test_a_country_upstream_rebuilds_just_that_country_downstream():
    up = multi(day=DAYS, country=static(["DE", "FR", "US"]))
    regions = static(["DE", "FR", "US"])
    nodes = [SOURCE, model("sales", up, "src"), model("totals", regions, "sales"), model("days", DAYS, "sales")]
    facts = {"sales": built(up.all_()), "totals": built(regions.all_()), "days": built(DAYS.all_())}
    result = planned(nodes, facts, named=["sales"], keys=["country=FR"])
    assert shown(result, "totals") == ["key {FR}"]
    assert [step.size for step in result.steps] == [60, 1, 60]


def test_several_named_models_of_time_read_by_the_finest():
    nodes = [SOURCE, model("d", DAYS, "src"), model("w", weekly(START, "2024-03-04"), "src")]
    result = planned(nodes, keys=["2024-01-03:2024-01-09"])
    assert [step.size for step in result.steps] == [7, 2]
    assert shown(result, "w") == ["week [2024-01-01, 2024-01-08)", "week [2024-01-08, 2024-01-15)"]


def test_a_named_model_without_the_dimension_is_left_out_and_one_without_partitions_built_whole():
    nodes = [
        SOURCE,
        model("multi", multi(day=DAYS, region=static(["EU", "US"])), "src"),
        model("d", DAYS, "src"),
        model("t", None, "src"),
    ]
    result = planned(nodes, keys=["region=EU"])
    assert [step.model for step in result.steps] == ["multi", "t"]
    assert result.steps[0].size == 60
    assert [model for model, _ in result.left_out] == ["d"]
    narrowed = planned(nodes, keys=["region=EU", "day=2024-01-05:2024-01-06"])
    assert {step.model: step.size for step in narrowed.steps} == {"multi": 2, "t": 1}


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (["2024-01-05:2024-01-02"], ["2024-01-05", "2024-01-02", "backwards"]),
        (["banana"], ["banana"]),
        (["2023-12-31"], ["2023-12-31", "2024-01-01"]),
        (["regoin=EU"], ["regoin"]),
    ],
)
def test_keys_that_nobody_reads_are_refused(keys: list[str], words: list[str]):
    with pytest.raises(PlanError) as caught:
        planned([SOURCE, model("m", DAYS, "src")], keys=keys)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_key_for_models_without_partitions_is_refused():
    with pytest.raises(PlanError, match="no named model is partitioned"):
        planned([SOURCE, model("t", None, "src")], keys=["2024-01-05"])


def test_plain_run_follows_what_it_builds():
    a, b = model("a", DAYS, "src"), model("b", DAYS, Edge("a", mapping=window(start_offset=-1)))
    done = DAYS.all_()
    facts = {"a": built(done - DAYS.subset("2024-02-10")), "b": built(done)}
    result = planned([SOURCE, a, b], facts)
    assert shown(result, "b") == ["day [2024-02-10, 2024-02-11)", "day [2024-02-11, 2024-02-12)"]
    assert [run.reason for run in result.runs()] == ["missing", "upstream", "upstream"]


def test_nothing_to_do():
    result = planned([SOURCE, model("m", DAYS, "src")], {"m": built(DAYS.all_())})
    assert not result.steps and not result.blocked


def test_an_open_window_named_by_hand_is_built_and_counts_as_missing_once_closed():
    days = daily(START)
    noon = datetime(2024, 1, 5, 12, tzinfo=UTC)
    result = planned([SOURCE, model("m", days, "src")], keys=["2024-01-05"], now=noon)
    assert shown(result, "m") == ["day [2024-01-05, 2024-01-06)"] and "not ended" in result.notes[0]
    done = days.subset("2024-01-01:2024-01-05")
    facts = {"m": built(done, open_built=days.subset("2024-01-05"))}
    assert planned([SOURCE, model("m", days, "src")], facts, now=noon).steps == ()
    later = planned([SOURCE, model("m", days, "src")], facts, now=datetime(2024, 1, 6, tzinfo=UTC))
    assert shown(later, "m") == ["day [2024-01-05, 2024-01-06)"]


def test_failed_earlier_counts_as_there_for_what_reads_it_and_is_tried_again():
    nodes = [SOURCE, model("a", DAYS, "src"), model("b", DAYS, "a")]
    done = DAYS.all_()
    facts = {"a": built(done, failed=DAYS.subset("2024-01-09")), "b": built(done)}
    assert [run.reason for run in planned(nodes, facts, failed=True).runs()] == ["failed"]
    only_b = planned(nodes, facts, selected=["b"], keys=["2024-01-09"])
    assert not only_b.blocked and only_b.run_count == 1


def test_views_are_looked_through():
    view = model("v", DAYS, "a", materialized="view")
    nodes = [SOURCE, model("a", DAYS, "src"), view, model("m", monthly(START, "2024-03-01"), "v")]
    done = DAYS.all_() - DAYS.subset("2024-02-07")
    facts = {"a": built(done), "v": built(None)}
    result = planned(nodes, facts, selected=["m"], keys=["2024-01-01:2024-02-01"])
    assert shown(result, "m") == ["month [2024-01-01, 2024-02-01)"]
    assert "waits for 1 of 29 days of a" in result.blocked[0].example


def test_tables_and_views():
    nodes = [SOURCE, model("a", DAYS, "src"), model("t", None, "a"), model("v", None, "t", materialized="view")]
    everything = {"a": built(DAYS.all_()), "t": built(None), "v": built(None)}
    assert planned(nodes, everything).steps == ()
    fresh = planned(nodes)
    assert [step.model for step in fresh.steps] == ["a", "t", "v"]
    partly = planned(nodes, {**everything, "a": built(DAYS.all_() - DAYS.subset("2024-01-01"))})
    assert [(step.model, step.reasons[0][0]) for step in partly.steps] == [("a", "missing"), ("t", "upstream")]
    reads_source = [SOURCE, model("t", None, "src")]
    assert planned(reads_source, {"t": built(None)}).run_count == 1
    edited = planned(nodes, everything, analysis=Analysis(fingerprints={"v": "other"}))
    assert [step.model for step in edited.steps] == ["v"]


def test_full_refresh_takes_no_partitions():
    with pytest.raises(PlanError, match="--full-refresh"):
        planned([SOURCE, model("m", DAYS, "src")], keys=["2024-01-05"], full_refresh=True)
    result = planned([SOURCE, model("m", DAYS, "src")], {"m": built(DAYS.all_())}, full_refresh=True)
    assert result.partition_count == 60 and result.steps[0].full_refresh


def test_a_changed_definition_stops_and_names_the_two_ways_on():
    facts = {"m": ModelFacts(exists=True, materialized=DAYS.empty(), other_definitions={"abc": 365})}
    with pytest.raises(PlanError) as caught:
        planned([SOURCE, model("m", DAYS, "src")], facts)
    assert all(word in str(caught.value) for word in ("--full-refresh", "put the definition back", "365"))


def test_a_decade_of_hours_is_one_step():
    hours = hourly("2010-01-01", "2020-01-01", timezone="America/New_York")
    result = planned([SOURCE, model("m", hours, "src")], rebuild_all=True)
    assert len(result.steps) == 1 and result.run_count == 87_648
