"""Cases of `cases/bug_cases.yml` on writing, replacing and status, carried out on a real DuckDB.

A case gives its tables, models and the rows that must be there at the end; the steps are told in words there and in
code here.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

import bug_cases
from bug_cases import bug_case
from partwise.errors import PartwiseError
from partwise.partitions import daily, dynamic
from partwise.warehouse.results import RunResults
from warehouse import Warehouse, keys, model

SRC = model("src", resource_type="seed", materialized="seed", unique_id="model.test.src")
NOW = dt.datetime(2027, 1, 1, tzinfo=dt.UTC)
Step = str


def warehouse(case: Mapping[str, Any], **more: Any) -> Warehouse:
    """The models of a case over its tables; a table that models read under `src` is loaded as the steps say."""
    tables = case["given"]["tables"]
    nodes = [SRC]
    for given in case["models"]:
        of = bug_cases.definition(given["partitions"]) if "partitions" in given else None
        nodes.append(model(given["name"], given["sql"], of, given.get("partition_expr"), **more))
    made = Warehouse(*nodes)
    for name, table in tables.items():
        made.table(name, table["columns"], table["rows"])
    return made


def carry_out(w: Warehouse, case: Mapping[str, Any], steps: list[Step]) -> list[RunResults]:
    """`load T` puts table T under the name src, `second` takes the second version, all else is a set to build."""
    results = []
    given = case["models"][0]
    tables = case["given"]["tables"]
    for step in steps:
        if step.startswith("load "):
            table = tables[step.removeprefix("load ")]
            w.table("src", table["columns"], table["rows"])
        elif step == "second":
            w.define(replace(w[given["name"]], raw_code=given["sql_second_version"]))
        else:
            wanted = w[given["name"]].definition.subset(step, NOW)  # type: ignore[union-attr]
            results.append(w.run(w.step(given["name"], wanted), now=NOW))
    return results


def held(w: Warehouse, case: Mapping[str, Any]) -> list[list[Any]]:
    columns = ", ".join(case["right"]["columns"])
    return [[plain(v) for v in row] for row in w.rows(f"select {columns} from {case['right']['table']}")]


def plain(value: Any) -> Any:
    return str(value) if isinstance(value, (dt.date, dt.datetime)) else value


def expected(case: Mapping[str, Any]) -> list[list[Any]]:
    return sorted(case["right"]["rows"], key=repr)


STEPS: dict[str, list[Step]] = {
    "c-empty-result-clears": ["load src_first", "2025-10-01:2025-10-02", "load src", "2025-10-01"],
    "c-partial-overwrite": ["load src_noon", "2024-05-01", "load src", "2024-05-01"],
    "c-column-order-changes": ["2026-09-01:2026-09-02", "second", "2026-09-02"],
    "c-row-changes-partition": ["load first", "2026-01", "load src", "2026-06", "2026-01"],
    "c-late-data": ["load src_first", "2024-01-13:2024-01-15", "load src", "2024-01-13"],
    "c-other-partitions-survive": ["2022-01-01", "2022-01-02"],
    "c-rows-outside-window": ["2021-01-01", "2021-01-03", "2021-01-02"],
    "c-null-partition-value": ["2023-05-11:2023-05-12", "2023-05-11:2023-05-12"],
}


@pytest.mark.parametrize("name", STEPS)
def test_rows(name: str) -> None:
    case = bug_case(name)
    w = warehouse(case)
    for results in carry_out(w, case, STEPS[name]):
        assert {r.status for r in results.runs} == {"success"}
    assert sorted(held(w, case), key=repr) == expected(case)
    built = w.of(case["models"][0]["name"])
    assert not built.failed
    if "status" in case["right"]:
        assert set(case["right"]["status"]) <= set(keys(built.materialized))


def test_late_data_runs_one_day_only() -> None:
    case = bug_case("c-late-data")
    results = carry_out(warehouse(case), case, STEPS["c-late-data"])
    assert [k for r in results[-1].runs for k in keys(r.written)] == case["right"]["runs"]["partitions_run"]


def test_rows_outside_are_the_same_in_one_run_told_and_counted() -> None:
    case = bug_case("c-rows-outside-window")
    w = warehouse(case)
    results = w.run(w.step("fc", "2021-01-01:2021-01-03"), now=NOW)
    assert sorted(held(w, case), key=repr) == expected(case)
    assert [r.leaks for r in results.runs] == [1, 1, 1] and results.warnings


def test_the_null_row_of_a_model_is_counted() -> None:
    case = bug_case("c-null-partition-value")
    results = carry_out(warehouse(case), case, ["2023-05-11"])
    assert results[0].runs[0].leaks == 1


@pytest.mark.parametrize("name", ["c-column-added-or-dropped", "c-select-star"])
@pytest.mark.parametrize("policy", ["fail", "append_new_columns", "sync_all_columns"])
def test_new_columns(name: str, policy: str) -> None:
    case = bug_case(name)
    added = "region" if name == "c-column-added-or-dropped" else "extra"
    steps = {
        "c-column-added-or-dropped": ["2024-01-23:2024-01-24", "second", "2024-01-24"],
        "c-select-star": ["load day1", "2026-08-08", "load src", "2026-08-09"],
    }[name]
    w = warehouse(case, on_schema_change=policy)
    results = carry_out(w, case, steps)
    if policy == "fail":
        error = results[-1].runs[0].error
        assert error is not None and f"`{added}`" in error.message
        assert not any(column.name == added for column in w.adapter.relation(w["t"].relation).columns)  # type: ignore[union-attr]
    else:
        assert results[-1].runs[0].status == "success"
        assert sorted(held(w, case), key=repr) == expected(case)


@pytest.mark.parametrize("policy", ["fail", "append_new_columns", "sync_all_columns"])
def test_dropped_columns(policy: str) -> None:
    case = bug_case("c-column-added-or-dropped")
    w = warehouse(case, on_schema_change=policy)
    w.define(replace(w["t"], raw_code=case["models"][0]["sql_second_version"]))
    w.run(w.step("t", "2024-01-23:2024-01-24"), now=NOW)
    w.define(replace(w["t"], raw_code=case["models"][0]["sql"]))
    ended = w.run(w.step("t", "2024-01-24"), now=NOW).runs[0]
    if policy == "fail":
        assert ended.error is not None and "`region`" in ended.error.message
        return
    assert ended.status == "success"
    columns = [c.name for c in w.adapter.relation(w["t"].relation).columns]  # type: ignore[union-attr]
    assert ("region" in columns) == (policy == "append_new_columns")
    if "region" in columns:
        assert w.rows("select id, region from t") == [(1, "us"), (2, None)]


@pytest.mark.parametrize("policy", ["fail", "append_new_columns", "sync_all_columns"])
def test_type_drift(policy: str) -> None:
    case = bug_case("c-type-drift")
    w = warehouse(case, on_schema_change=policy)
    first, second = carry_out(w, case, ["load day1", "2026-09-04", "load src", "2026-09-05"])
    assert first.runs[0].status == "success"
    ended = second.runs[0]
    if policy == "sync_all_columns":  # text holds every number, so the column becomes text
        assert w.rows("select id, odds from t") == [(1, "1.5"), (2, "n/a")]
        return
    assert ended.status == "error" and ended.error is not None
    for word in ("odds", "DOUBLE", "VARCHAR"):
        assert word in ended.error.message
    assert held(w, case) == expected(case)
    assert keys(w.of("t").failed) == ["2026-09-05"]


def test_replacing_is_atomic() -> None:
    case = bug_case("c-replace-is-atomic")
    w = warehouse(case)
    good = {"id": "INTEGER", "d": "DATE", "v": "VARCHAR"}
    w.table("src", good, [(1, "2026-01-04", "5")])
    w.run(w.step("t", "2026-01-04"), now=NOW)
    [results] = carry_out(w, case, ["load src", "2026-01-04"])
    assert results.failed and results.runs[0].status == "error"
    assert held(w, case) == expected(case)
    facts = w.of("t")
    assert keys(facts.materialized) == keys(facts.failed) == ["2026-01-04"]


def test_a_start_that_moves_leaves_old_rows_outside_and_a_refresh_drops_them() -> None:
    case = bug_case("c-definition-start-moves")
    w = warehouse(case)
    given = case["models"][0]
    longer = bug_cases.definition({**given["partitions"], "start": "2020-01-01"})
    w.define(replace(w["t"], definition=longer))
    w.run(w.step("t", longer.existing(dt.datetime(2024, 4, 1, tzinfo=dt.UTC))), now=NOW)
    assert len(w.rows("t")) == 3
    w.define(replace(w["t"], definition=bug_cases.definition(given["partitions"])))
    assert len(w.of("t").outside or ()) == 48 and len(w.of("t").materialized or ()) == 3
    w.run(w.step("t", "2024-01:2024-03", full_refresh=True), now=NOW)
    assert held(w, case) == expected(case)
    assert not w.of("t").outside


def test_overlapping_runs_never_double_the_rows() -> None:
    case = bug_case("c-overlapping-runs")
    for _ in range(5):
        w = warehouse(case)
        outcomes: list[Any] = []

        def build() -> None:
            one = Warehouse(*w.nodes.values(), adapter=w.adapter.session())  # noqa: B023
            try:
                outcomes.append(one.run(one.step("t", "2025-02-01"), now=NOW).runs[0].status)  # noqa: B023
            except PartwiseError as error:
                outcomes.append(str(error))  # noqa: B023

        threads = [threading.Thread(target=build) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert "success" in outcomes
        assert all(o == "success" or "is being written by another run (invocation" in o for o in outcomes), outcomes
        assert held(w, case) == expected(case)


def test_a_cancelled_attempt_leaves_a_filled_partition_filled() -> None:
    case = bug_case("c-replace-is-atomic")
    w = warehouse(case)
    w.table("src", {"id": "INTEGER", "d": "DATE", "v": "VARCHAR"}, [(1, "2026-01-04", "5")])
    w.run(w.step("t", "2026-01-04"), now=NOW)

    def stop(event: Any) -> None:
        if event.kind == "start":
            raise KeyboardInterrupt

    results = w.run(w.step("t", "2026-01-04"), now=NOW, on_event=stop)
    assert results.interrupted
    facts = w.of("t")
    assert keys(facts.materialized) == ["2026-01-04"] and not facts.failed


def test_each_retry_runs_exactly_what_failed() -> None:
    days = daily(start="2024-06-01", end="2024-09-09")
    bad = "select d, case when d = date '2024-07-10' then error('bad')::int else 1 end as v from {{ ref('src') }} where {{ partition_filter('d') }}"
    w = Warehouse(SRC,
                  model("t", bad, days, "d"))  # fmt: skip
    w.table("src", {"d": "DATE"}, [(k,) for k in days.keys(NOW)])
    assert w.run(w.step("t", days.existing(NOW)), now=NOW).count("error") == 1
    assert keys(w.of("t").failed) == ["2024-07-10"]
    assert len(w.run(w.step("t", w.of("t").failed), now=NOW).runs) == 1
    w.define(model("t", "select d, 1 as v from {{ ref('src') }}", days, "d", full_scan=True))
    assert w.run(w.step("t", w.of("t").failed), now=NOW).count("success") == 1
    tries = "select tries, count(*) from (select partition_key, count(*) as tries from partwise.partition_log group by 1) group by 1"
    assert w.rows(tries) == [(1, 99), (3, 1)]


def test_a_failing_single_run_fails_all_and_says_how_to_split_it() -> None:
    days = daily(start="2023-11-01", end="2023-11-11")
    bad = "select d, case when d = date '2023-11-07' then error('bad')::int else 1 end as v from {{ ref('src') }} where {{ partition_filter('d') }}"
    w = Warehouse(SRC, model("t", bad, days, "d"))
    w.table("src", {"d": "DATE"}, [(k,) for k in days.keys(NOW)])
    ended = w.run(w.step("t", days.existing(NOW), mode="single_run"), now=NOW).runs[0]
    assert len(w.of("t").failed or ()) == 10
    assert ended.error is not None and "--run-mode multi" in (ended.error.hint or "")
    results = w.run(w.step("t", days.existing(NOW)), now=NOW)
    assert (results.count("success"), results.count("error")) == (9, 1)
    assert len(w.of("t").failed or ()) == 1


def test_a_removed_dynamic_key_is_outside() -> None:
    case = bug_case("c-dynamic-keys")
    files = dynamic("files", keys=["k1", "k2", "k3"])
    a = model("a", "select k from {{ ref('src') }}", files, "k", full_scan=True)
    b = model("b", "select k from {{ ref('a') }}", files, "k")
    w = Warehouse(SRC, a, b)
    w.table("src", {"k": "VARCHAR"}, [("k1",), ("k2",), ("k3",)])
    assert {r.status for r in w.run(w.step("a", files.existing()), w.step("b", files.existing()), now=NOW).runs} == {"success"}
    fewer = dynamic("files", keys=["k1", "k3"])
    w.define(replace(a, definition=fewer), replace(b, definition=fewer))
    for name in ("a", "b"):
        assert [[k] for k in keys(w.of(name).materialized)] == case["right"]["rows"]
        assert keys(w.of(name).outside) == ["k2"]


def test_what_reads_a_failure_is_skipped_and_built_later() -> None:
    case = bug_case("c-downstream-of-failure")
    days = daily(start="2024-09-01", end="2024-09-04")
    bad = "select d, case when d = date '2024-09-02' then error('bad')::int else 1 end as v from {{ ref('src') }} where {{ partition_filter('d') }}"
    w = Warehouse(
        SRC,
        model("a", bad, days, "d"),
        model("b", "select * from {{ ref('a') }}", days, "d"),
    )
    w.table("src", {"d": "DATE"}, [(k,) for k in days.keys(NOW)])
    results = w.run(w.step("a", days.existing(NOW)), w.step("b", days.existing(NOW)), now=NOW)
    status = [[int(keys(r.run.partitions)[0][-2:]), r.status] for r in results.runs if r.model.endswith("b")]
    assert sorted(status) == case["right"]["rows"]
    assert all("a 2024-09-02 failed" in r.because for r in results.runs if r.status == "skipped")
    assert keys(w.of("b").materialized) == ["2024-09-01", "2024-09-03"] and not w.of("b").failed
