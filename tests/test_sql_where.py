"""The conditions another tool writes for the same partitions (`cases/dagster_where.json`), and where ours are better.

Theirs compare with bare text; ours are typed: `'2024-01-05 00:00:00'` becomes `TIMESTAMP '2024-01-05 00:00:00'`
(on Snowflake `'...'::TIMESTAMP_NTZ`), a single key `=` instead of `in`. Apart from that they are the same, but for the
cases in BETTER and SAID_WITH_A_WARNING.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dagster_definitions import definition
from partwise import mapping as maps
from partwise.partitions import PartitionSet
from partwise.rendering.predicates import Notes, PartitionExpr, set_filter
from partwise.rendering.sqltypes import SqlType

CASES = json.loads((Path(__file__).parent / "cases" / "dagster_where.json").read_text())["cases"]
NOW = datetime(2025, 1, 1, tzinfo=UTC)
# id -> our condition on DuckDB
BETTER = {
    # midnight did not occur: the day begins with the first wall time that did
    "where-daily-sao-paulo-gap": "ts >= TIMESTAMP '2018-11-04 01:00:00' and ts < TIMESTAMP '2018-11-05 00:00:00'",
    # they refuse a set that is no single range
    "where-multi-range": "event_date >= TIMESTAMP '2024-01-05 00:00:00'"
    " and event_date < TIMESTAMP '2024-01-08 00:00:00' and region in ('a', 'b')",
    "where-multi-static": "cx in ('a', 'b') and cy in ('x', 'y')",
    "where-reader-specific-gap": "(event_date >= TIMESTAMP '2024-01-05 00:00:00'"
    " and event_date < TIMESTAMP '2024-01-06 00:00:00')"
    " or (event_date >= TIMESTAMP '2024-01-09 00:00:00' and event_date < TIMESTAMP '2024-01-10 00:00:00')",
    # their text is not valid SQL
    "where-reader-nothing-upstream": "1 = 0",
}
# The text is the same, but here it is the whole truth: the repeated hour belongs to exactly one partition.
SAID_WITH_A_WARNING = {"where-daily-ny-hour-1-fall", "where-hourly-ny-fall-second"}


def selected(of: Any, selection: dict[str, str]) -> PartitionSet:
    if "key" in selection:
        return of.parse_key(selection["key"])
    return of.subset(f"{selection['start']}..{selection['end']}", NOW)


def wanted(case: dict[str, Any]) -> PartitionSet:
    mine = definition(case["definition"])
    reader = case.get("reader")
    if reader is None:
        return selected(mine, case["selection"])
    down = definition(reader["definition"])
    if down is None:
        return mine.all_()
    how = {
        "inferred": lambda m: maps.infer(mine, down),
        "time_window": lambda m: maps.window(m["start_offset"], m["end_offset"]),
        "static": lambda m: maps.static_map(m["downstream_by_upstream"]),
        "specific": lambda m: maps.keys(m["keys"]),
    }[reader["mapping"]["type"]](reader["mapping"])
    return maps.upstream(how, selected(down, reader["selection"]), of=mine, now=NOW).existing


def typed(text: str, dialect: str) -> str:
    """Their condition in our words."""
    text = re.sub(r" in \(('(?:[^']|'')*')\)", r" = \1", text.replace(" AND ", " and "))
    moment = r"'(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)'"
    return re.sub(moment, r"TIMESTAMP '\1'" if dialect == "duckdb" else r"'\1'::TIMESTAMP_NTZ", text)


def to_snowflake(text: str) -> str:
    return re.sub(r"TIMESTAMP ('[^']*')", r"\1::TIMESTAMP_NTZ", text)


@pytest.mark.parametrize("case", [c for c in CASES if c["partition_expr"]], ids=lambda c: c["id"])
def test_condition(case):
    partitions = wanted(case)
    expr = case["partition_expr"]
    exprs = expr if isinstance(expr, dict) else {next(iter(partitions.definition.dims)): expr}
    for dialect in ("duckdb", "snowflake"):
        columns = {
            dim: PartitionExpr(
                text,
                SqlType("timestamp" if partitions.definition.dims[dim].is_time else "text"),
                timezone=partitions.definition.dims[dim].timezone,
            )
            for dim, text in exprs.items()
        }
        if case["id"] in BETTER:
            right = BETTER[case["id"]] if dialect == "duckdb" else to_snowflake(BETTER[case["id"]])
        else:
            right = typed(case[f"{dialect}_where"], dialect)
        notes = Notes()
        assert set_filter(partitions, columns, dialect, notes) == right
        assert bool(notes.warnings) == (case["id"] in SAID_WITH_A_WARNING)


def test_all_cases_are_covered():
    assert len(CASES) == 32
    assert {c["id"] for c in CASES if c.get("improve")} == set(BETTER) | SAID_WITH_A_WARNING
    assert [c["error"] for c in CASES if not c["partition_expr"]] == ["missing_partition_expr"]  # test_render_errors.py
