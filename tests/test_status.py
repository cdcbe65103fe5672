"""Facts: what is written to the log comes back as the same sets, and only the live table's facts count."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.adapters import duckdb
from partwise.errors import WarehouseError
from partwise.partitions import Definition, PartitionSet, daily, dynamic, hourly, monthly, multi, static
from partwise.warehouse import status
from partwise.warehouse.logrows import MOST_KEYS, Part, batches
from partwise.warehouse.status_sql import TABLES, ddl
from warehouse import NOW, Warehouse, keys, model, source

DAYS = daily(start="2024-01-01", end="2024-01-08")
LATER = datetime(2025, 1, 1, tzinfo=UTC)
RAW = source("raw", "events", expr="d")
DEFINITIONS: dict[str, Definition] = {
    "daily": DAYS,
    "working days": daily(start="2024-01-01", end="2024-01-20", exclude=["0 0 * * 0,6"]),
    "clock change": hourly(start="2024-11-03", end="2024-11-04", timezone="America/New_York"),
    "formatted": monthly(start="2024-01-01", end="2024-07-01", format="%b %Y"),
    "static": static(["us", "e|u", 'q"', "b\\r", "it's", "ünï"]),
    "dynamic": dynamic("files", keys=["a", "b", "c"]),
    "multi": multi(date=daily(start="2024-01-01", end="2024-01-05"), region=static(["us", "e|u", "b\\r"])),
    "three": multi(
        a=static(["x", "y"]), b=daily(start="2024-01-01", end="2024-01-04"), c=dynamic("files", keys=["1", "2"])
    ),
    "two times": multi(a=daily(start="2024-01-01", end="2024-01-04"), b=monthly(start="2024-01-01", end="2024-04-01")),
}


def table(w: Warehouse, incarnation: str, name: str = "t") -> None:
    w.adapter.execute(f"create or replace table {name} (x integer)")
    w.adapter.execute(f"comment on table {name} is '{status.marked('', incarnation)}'")


def entry(w: Warehouse, incarnation: str, state: str = "materialized", as_of: datetime = LATER) -> status.Entry:
    return status.Entry(w["t"].relation, incarnation, state, "run", as_of)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Definition, list[tuple[str, PartitionSet]]]:
    """A definition, and attempts on parts of it in the order in which they happened."""
    definition = DEFINITIONS[draw(st.sampled_from(sorted(DEFINITIONS)))]
    every = definition.existing(LATER).split(1)
    events = []
    for _ in range(draw(st.integers(0, 6))):
        state = draw(st.sampled_from(["materialized", "materialized", "failed", "cancelled", "removed"]))
        chosen = draw(st.lists(st.sampled_from(every), min_size=1, max_size=len(every)))
        events.append((state, definition.union_of(chosen)))
    return definition, events


@cache
def emptied() -> Warehouse:
    """A warehouse that all examples share: making the tables takes most of the time."""
    w = Warehouse()
    status.ensure(w.adapter)
    table(w, "aaa")
    return w


@settings(max_examples=50, deadline=None)
@given(histories())
def test_facts_are_what_was_recorded(history: tuple[Definition, list[tuple[str, PartitionSet]]]) -> None:
    definition, events = history
    w = emptied()
    w.define(model("t", "", definition, dict.fromkeys(definition.dims, "x")))
    w.adapter.execute("delete from partwise.partition_log")
    written: dict[str, int] = {}
    there: set[str] = set()
    failed: set[str] = set()
    for state, partitions in events:
        attempts = status.read_attempts(w.adapter, w["t"], "aaa")
        parts = attempts.parts(partitions)
        if state == "removed":  # what was never written cannot be removed
            parts = [part for part in parts if part.attempt > 1]
        touched = {key for part in parts for key in keys(part.partitions)}
        assert {key: part.attempt for part in parts for key in keys(part.partitions)} == {
            key: written.get(key, 0) + 1 for key in touched
        }
        status.record(w.adapter, entry(w, "aaa", state), parts)
        if state == "materialized":
            there |= touched
            failed -= touched
        elif state == "failed":
            failed |= touched
        elif state == "removed":
            there -= touched
            failed -= touched
        if state in ("materialized", "removed"):
            written.update({key: written.get(key, 0) + 1 for key in touched})
    facts = w.of("t")
    assert set(keys(facts.materialized)) == there
    assert set(keys(facts.failed)) == failed
    assert not facts.outside and not facts.open_built and not facts.incomplete
    shown = w.rows("select partition_key, materialized, failed from partwise.partition_status")
    assert len({k for k, m, _ in shown if m}) == len(there)
    assert len({k for k, _, f in shown if f}) == len(failed)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_log_rows_are_those_of_the_set(name: str) -> None:
    definition = DEFINITIONS[name]
    w = Warehouse(model("t", "", definition, dict.fromkeys(definition.dims, "x")))
    status.ensure(w.adapter)
    every = definition.existing(LATER)
    status.record(w.adapter, entry(w, "aaa"), [Part(every, 1)])
    rows = w.rows(
        "select partition_key, epoch(window_start)::bigint, epoch(window_end)::bigint from partwise.partition_log"
    )
    assert rows == sorted(((r.key, r.start, r.end) for r in every.rows()), key=repr)


def test_a_large_set_is_sent_in_batches_of_lists() -> None:
    days = daily(start="2000-01-01", end="2020-01-01")
    definition = multi(date=days, region=static([f"r{i}" for i in range(200)]))
    made = list(batches([Part(definition.existing(NOW), 1)]))
    assert len(made) == 1 and made[0].size < MOST_KEYS, "a list of days and a list of regions, not a row each"
    hours = hourly(start="2014-01-01", end="2024-01-01").existing(NOW)
    assert [batch.size <= MOST_KEYS for batch in batches([Part(hours, 1)])].count(True) >= len(hours) // MOST_KEYS


def test_no_database_objects_means_no_facts_and_none_are_made() -> None:
    w = Warehouse(model("t", "", DAYS, "d"))
    facts = w.of("t")
    assert not facts.exists and facts.materialized is not None and not facts.materialized
    assert w.rows("select * from duckdb_tables()") == []


def test_ensure_sends_no_ddl_when_all_is_there() -> None:
    w = Warehouse()
    status.ensure(w.adapter)
    sent: list[str] = []
    run = w.adapter._run  # type: ignore[attr-defined]
    w.adapter._run = lambda sql, parameters: (sent.append(sql), run(sql, parameters))  # type: ignore[attr-defined]
    status.ensure(w.adapter)
    assert all(sql.startswith("select") for sql in sent) and len(sent) == 2


def test_missing_objects_are_made_and_a_later_version_is_refused() -> None:
    w = Warehouse()
    status.ensure(w.adapter)
    w.adapter.execute("drop view partwise.partition_status")
    w.adapter.execute("drop table partwise.run_log")
    status.ensure(w.adapter)
    assert w.rows("select count(*) from partwise.run_log") == [(0,)]
    w.adapter.execute("update partwise.meta set value = '99' where name = 'schema_version'")
    with pytest.raises(WarehouseError, match="version 99"):
        status.ensure(w.adapter)
    assert w.facts() is not None  # an older client may still read


@pytest.mark.parametrize("dialect", ["duckdb", "snowflake"])
def test_ddl_creates_every_table_and_the_view(dialect: str) -> None:
    text = ";\n".join(ddl("ops", dialect)).lower()
    assert all(f"ops.{name}" in text for name in (*TABLES, "partition_status"))


def test_another_schema_can_be_configured() -> None:
    w = Warehouse(RAW, model("t", "select d from {{ source('raw', 'events') }}", DAYS, "d"))
    w.table("raw.events", {"d": "DATE"}, [("2024-01-01",)])
    w.run("t", schema="Ops")
    assert len(status.read_facts(w.adapter, w.nodes, schema="Ops").of("model.test.t").materialized or ()) == 7
    assert not w.of("t").materialized


# ---------------------------------------------------------------- incarnations


@pytest.fixture
def w() -> Warehouse:
    made = Warehouse(RAW, model("t", "select d, sum(v) as v from {{ source('raw', 'events') }} group by d", DAYS, "d"))
    made.table("raw.events", {"d": "DATE", "v": "INTEGER"}, [(f"2024-01-0{i}", i) for i in range(1, 8)])
    made.run("t")
    return made


def test_a_dropped_table_voids_its_facts_and_is_built_again(w: Warehouse) -> None:
    w.adapter.execute("drop table t")
    facts = w.of("t")
    assert not facts.exists and not facts.materialized
    assert facts.message == "the table `main.t` is gone; 7 recorded partitions no longer count"
    w.run(w.step("t", "2024-01-03"))
    facts = w.of("t")
    assert keys(facts.materialized) == ["2024-01-03"] and facts.message is None
    assert len(w.rows("t")) == 1
    w.adapter.execute("drop table t")
    assert w.of("t").message == "the table `main.t` is gone; 1 recorded partition no longer counts"


def test_a_dropped_table_without_partitions_is_noticed(w: Warehouse) -> None:
    w.define(model("total", "select count(*) as n from {{ ref('t') }}"))
    w.run("t", "total")
    w.run("t", "total")
    w.adapter.execute("drop table total")
    facts = w.of("total")
    assert not facts.built and facts.message == "the table `main.total` is gone"


@pytest.mark.parametrize("comment", ["", "my own words"])
def test_a_table_with_a_foreign_comment_is_taken_over(w: Warehouse, comment: str) -> None:
    w.adapter.execute(f"comment on table t is '{comment}'")
    facts = w.of("t")
    assert not facts.exists and not facts.materialized and "not made by partwise" in (facts.message or "")
    w.run(w.step("t", "2024-01-03"))
    assert keys(w.of("t").materialized) == ["2024-01-03"]
    assert len(w.rows("t")) == 7, "the partition was replaced, not added to; the other rows stay"
    relation = w.adapter.relation(w["t"].relation)
    assert relation is not None and relation.comment.startswith(comment)
    w.run(w.step("t", "2024-01-04"))
    assert len(w.rows("t")) == 7


def test_a_table_put_in_the_place_of_ours_has_none_of_its_facts(w: Warehouse) -> None:
    w.adapter.execute("alter table t rename to old")
    w.adapter.execute("create table t as from old")
    assert not w.of("t").exists
    w.run("t")
    assert len(w.rows("t")) == 7


def test_a_table_renamed_by_hand_is_not_appended_to(w: Warehouse) -> None:
    w.adapter.execute("alter table t rename to renamed")
    w.define(
        replace(
            w["t"],
            name="renamed",
            unique_id="model.test.renamed",
            relation=replace(w["t"].relation, identifier="renamed"),
        )
    )
    assert not w.of("renamed").materialized
    w.run("renamed")
    assert len(w.rows("renamed")) == 7


def test_a_failure_before_the_first_table_is_remembered() -> None:
    w = Warehouse(model("t", "select nope as d", DAYS, "d", full_scan=True), model("whole", "select nope as x"))
    w.run("t", "whole")
    assert len(w.of("t").failed or ()) == 7 and not w.of("t").exists
    assert w.of("whole").last_failed and not w.of("whole").built
    assert "nope" in (w.of("whole").last_error or "")
    assert w.rows("select relation, count(*) from partwise.partition_status where failed group by 1") == [
        ("main.t", 7),
        ("main.whole", 1),
    ]
    w.define(model("t", "select date '2024-01-03' as d", DAYS, "d", full_scan=True))
    w.run(w.step("t", "2024-01-03"))
    assert len(w.of("t").failed or ()) == 6 and keys(w.of("t").materialized) == ["2024-01-03"]
    shown = "select failed, count(*) from partwise.partition_status where relation = 'main.t' group by 1"
    assert w.rows(shown) == [(False, 1), (True, 6)]


# ---------------------------------------------------------------- definitions


def test_what_the_definition_no_longer_holds_is_outside(w: Warehouse) -> None:
    w.define(replace(w["t"], definition=daily(start="2024-01-03", end="2024-01-08")))
    facts = w.of("t")
    assert keys(facts.outside) == ["2024-01-01", "2024-01-02"] and len(facts.materialized or ()) == 5


def test_another_definition_id_is_told_apart_and_named(w: Warehouse) -> None:
    w.define(replace(w["t"], definition=daily(start="2024-01-01", end="2024-01-08", timezone="America/New_York")))
    facts = w.of("t")
    assert facts.exists and not facts.materialized
    assert list(facts.other_definitions.values()) == [7]
    assert facts.message == "it was daily in UTC, it is daily in America/New_York"


def test_partitions_that_exist_late_are_open_until_then() -> None:
    late = daily(start="2024-01-01", end="2024-02-01", end_offset=-2)  # a day exists two days after it has ended
    w = Warehouse(model("t", "", late, "d"))
    status.ensure(w.adapter)
    table(w, "aaa")
    built = late.subset("2024-01-01:2024-01-05", datetime(2024, 3, 1, tzinfo=UTC))
    status.record(w.adapter, entry(w, "aaa", as_of=datetime(2024, 1, 6, tzinfo=UTC)), [Part(built, 1)])
    assert keys(w.of("t").open_built) == ["2024-01-04", "2024-01-05"]


def test_a_run_that_never_ended_is_interrupted_until_the_next(w: Warehouse) -> None:
    from partwise.warehouse import history

    history.begin(w.adapter, history.Invocation("gone"), [(w["t"], DAYS.subset("2024-01-03"))])
    assert w.of("t").interrupted == ("gone",)
    assert status.read_facts(w.adapter, w.nodes, running=["gone"]).of("model.test.t").interrupted == ()
    w.run(w.step("t", "2024-01-04"))
    assert w.of("t").interrupted == ()


def test_definitions_are_noted_once_for_readers_of_sql(w: Warehouse) -> None:
    noted = "select definition_id, bounds from partwise.model_log where relation = 'main.t'"
    w.run("t")
    assert w.rows(noted) == [(DAYS.id, '[{"dimension": "day", "start": "2024-01-01", "end": "2024-01-08"}]')]
    w.define(replace(w["t"], definition=daily(start="2024-01-01", end="2024-01-09")))
    w.run("t")
    assert len(w.rows(noted)) == 2


def test_facts_are_read_without_a_row_per_partition() -> None:
    """Ten years of hours, all built: one range comes back."""
    hours = hourly(start="2014-01-01", end="2024-01-01")
    w = Warehouse(model("t", "", hours, "ts"))
    status.ensure(w.adapter)
    table(w, "aaa")
    status.record(w.adapter, entry(w, "aaa"), [Part(hours.existing(NOW), 1)])
    fetched: list[int] = []
    fetch = w.adapter.fetch

    def counting(sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        rows = fetch(sql, parameters)
        fetched.append(len(rows))
        return rows

    w.adapter.fetch = counting  # type: ignore[method-assign]
    assert len(w.of("t").materialized or ()) == 87648
    assert sum(fetched) < 50


def test_read_only_sees_the_same(tmp_path: Any) -> None:
    path = tmp_path / "w.db"
    w = Warehouse(RAW, model("t", "select d from {{ source('raw', 'events') }}", DAYS, "d"), path=path)
    w.table("raw.events", {"d": "DATE"}, [("2024-01-01",)])
    w.run("t")
    w.adapter.close()
    reader = duckdb.connect({"path": str(path)}, read_only=True)
    assert len(status.read_facts(reader, w.nodes).of("model.test.t").materialized or ()) == 7
    with pytest.raises(WarehouseError):
        reader.execute("create table x (a int)")
    reader.close()
