"""Ranges of keys, both ends included, against the facts of another tool."""

from __future__ import annotations

from typing import Any

import pytest

from dagster_cases import cases, listed, moment
from dagster_definitions import definition
from partwise.errors import PartitionError

# There a reversed range is empty and a start that is no key means the next window; here both are errors.
IMPROVED = {
    "range-daily": "a reversed range is an error naming both ends; open and future keys named by hand stay allowed",
    "range-weekly": "a start that is no key is an error naming the nearest keys",
    "range-monthly": "a start that is no key is an error naming the nearest keys",
}
NO_KEY = {
    ("range-weekly", "2024-01-08"): ["2024-01-07", "2024-01-14"],
    ("range-monthly", "2024-02-15"): ["2024-02-01", "2024-03-01"],
}


@pytest.mark.parametrize("case", cases("ranges"))
@pytest.mark.parametrize("mark", [":", ".."])
def test_ranges(case: dict[str, Any], mark: str) -> None:
    made = definition(case["definition"])
    assert made is not None
    now = moment(case["current_time"])
    for ends in case["ranges"]:
        start, end, want = ends["start"], ends["end"], ends.get("keys")
        text = f"{start}{mark}{end}"
        if want and (case["id"], start) not in NO_KEY:
            assert listed(made.subset(text, now).keys(), want) == want, text
            continue
        with pytest.raises(PartitionError) as refused:
            made.subset(text, now)
        message = str(refused.value)
        if want == []:
            assert "backwards" in message and start in message and end in message
        elif want:
            assert f"`{start}`" in message and all(f"`{key}`" in message for key in NO_KEY[case["id"], start])
        else:
            assert start in message if ends["error"] == "before_start" else start in message or end in message


def test_every_improved_case_says_why() -> None:
    assert {param.values[0]["id"] for param in cases("ranges") if param.values[0].get("improve")} == set(IMPROVED)
