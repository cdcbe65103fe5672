"""`cases/dagster_rewrite.json`: a table while its partitions are rewritten.

Where a case is marked `improve` ours is the better answer: a failed write leaves the old rows (`column-type-change`),
rows of excluded days are neither written nor deleted (`working-days-range`). An empty first write makes a table here.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dagster_cases import cases
from dagster_definitions import definition
from partwise.partitions import Definition, PartitionSet
from warehouse import Warehouse, model

NOW = datetime(2025, 1, 1, tzinfo=UTC)
BETTER: dict[tuple[str, int], Any] = {
    ("rewrite-column-type-change", 1): [["2024-01-05 10:00:00", "1"]],
    ("rewrite-working-days-range", 0): [],
    ("rewrite-working-days-range", 1): [["2024-01-08 10:00:00", "8"]],
    ("rewrite-daily-first-write-empty", 0): [],
}


def wanted(of: Definition, selection: dict[str, str]) -> PartitionSet:
    if "key" in selection:
        return of.parse_key(selection["key"])
    return of.subset(f"{selection['start']}..{selection['end']}", NOW)


def literal(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


@pytest.mark.parametrize("case", cases("rewrite"), ids=lambda case: case["id"])
def test_rewrite(case: dict[str, Any]) -> None:
    of = definition(case["definition"])
    assert of is not None
    columns, exprs = case["columns"], case["partition_expr"]
    exprs = exprs if isinstance(exprs, dict) else {next(iter(of.dims)): exprs}
    w = Warehouse()
    for number, write in enumerate(case["writes"]):
        rows = write["rows_written"]
        kinds = {"ts": "timestamp", "v": "varchar" if rows and isinstance(rows[0][-1], str) else "integer"}
        listed = ", ".join(f"cast({c} as {kinds.get(c, 'varchar')}) as {c}" for c in columns)
        values = ", ".join("(" + ", ".join(map(literal, row)) + ")" for row in rows) or f"({', '.join('null' for _ in columns)})"
        where = "" if rows else " where false"
        code = f"select {listed} from (values {values}) as t ({', '.join(columns)}){where}"
        if write.get("model_raises"):
            code = code.replace("cast(v as integer)", "cast(error('raised') as integer)")
        w.define(model("t", code, of, exprs, full_scan=True))
        [result] = w.run(w.step("t", wanted(of, write["selection"]), mode="single_run"), now=NOW).runs
        assert (result.status == "success") == write["succeeded"], result.error
        held = [[str(v) for v in row] for row in w.rows(f"select {', '.join(columns)} from t")]
        right = BETTER.get((case["id"], number), write["table_after"])
        assert sorted(held) == sorted(right)
