"""Selected partitions cut into runs, against the facts of another tool.

There a run is one contiguous range along one dimension, so each gap starts a new run. Here a run is any `n`
consecutive partitions of the set, gaps or not, because SQL takes a union of ranges: `OURS` holds those cases, with the
runs we give. Where the selection has no gap, both agree.
"""

from __future__ import annotations

from typing import Any

import pytest

from dagster_cases import cases, moment
from dagster_definitions import definition

Run = tuple[str, str, int]
OURS: dict[str, list[Run]] = {
    "chunk-single-one-gap": [("2024-01-01", "2024-01-06", 5)],
    "chunk-single-many-gaps": [("2024-01-01", "2024-01-09", 5)],
    "chunk-single-unsorted-selection": [("2024-01-01", "2024-01-06", 5)],
    "chunk-multi-4-gaps": [
        ("2024-01-01", "2024-01-04", 4),
        ("2024-01-05", "2024-01-09", 4),
        ("2024-01-12", "2024-01-15", 4),
        ("2024-01-16", "2024-01-16", 1),
    ],
    "chunk-single-hourly-fall-back-without-second": [("2024-11-03-00:00", "2024-11-03-02:00", 3)],
    "chunk-multi-5-hourly-two-days": [
        ("2024-01-05-20:00", "2024-01-07-20:00", 5),
        ("2024-01-07-21:00", "2024-01-07-23:00", 3),
    ],
    "chunk-single-weekly": [("2024-01-07", "2024-01-28", 3)],
    "chunk-single-working-days-gap": [("2024-01-04", "2024-01-09", 3)],
    "chunk-single-static": [("a", "d", 3)],
    "chunk-single-static-definition-order": [("z", "a", 2)],
    "chunk-multi-2-dynamic": [("v1", "v2", 2), ("v3", "v5", 2)],
    "chunk-single-multi-dim-rectangle": [("2024-01-01|a", "2024-01-03|b", 6)],
    "chunk-single-multi-dim-square": [("2024-01-01|a", "2024-01-03|c", 9)],
    "chunk-single-multi-dim-ragged": [("2024-01-01|a", "2024-01-04|b", 4)],
    "chunk-single-multi-static": [("a|x", "b|y", 4)],
}


@pytest.mark.parametrize("case", cases("chunks"))
def test_chunks(case: dict[str, Any]) -> None:
    made = definition(case["definition"])
    assert made is not None
    chosen, policy = case["selected"], case["policy"] or {"type": "multi_run"}
    if chosen == "all":
        wanted = made.existing(moment(case["current_time"]))
    else:
        wanted = made.union_of(made.parse_key(key) for key in chosen)
    most = policy.get("max_partitions_per_run") or (1 if policy["type"] == "multi_run" else len(wanted))
    keys = [list(piece.keys()) for piece in wanted.split(most)]
    theirs = [(run.get("start", run.get("key")), run.get("end", run.get("key")), run["count"]) for run in case["runs"]]
    assert [(run[0], run[-1], len(run)) for run in keys] == OURS.get(case["id"], theirs)
    assert [key for run in keys for key in run] == list(wanted.keys())
    assert chosen == "all" or sorted(wanted.keys()) == sorted(chosen)


def test_every_improved_case_is_ours() -> None:
    assert {param.values[0]["id"] for param in cases("chunks") if param.values[0].get("improve")} <= set(OURS)
