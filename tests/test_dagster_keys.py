"""Keys of static, dynamic and multi-dimensional partitions, against the facts of another tool."""

from __future__ import annotations

from typing import Any

import pytest

from dagster_cases import cases, listed, moment
from dagster_definitions import definition
from partwise.errors import PartitionError

# Refused there and accepted here: the keys we give instead.
IMPROVED: dict[str, tuple[str, list[str] | None]] = {
    "keys-multi-bar-in-static-key": ("`|` is escaped inside a part, so keys never collide", None),
    "keys-multi-comma-in-static-key": ("a comma separates nothing inside a key", None),
    "keys-multi-three-dims": ("any number of dimensions from two on", None),
}
WORDS = {"duplicate_keys": "`a`", "invalid_key_text": "`b...c`", "dimension_type": "dimension `b`"}


@pytest.mark.parametrize("case", cases("keys"))
def test_keys(case: dict[str, Any]) -> None:
    now = moment(case["current_time"])
    if case["id"] in IMPROVED:
        made = definition(case["definition"])
        assert made is not None
        keys = list(made.keys(now))
        assert len(keys) == len(set(keys)) == len(made.existing(now)) > 0
        assert all(list(made.parse_key(key).keys()) == [key] and made.has_key(key, now) for key in keys)
        return
    if "error" in case:
        with pytest.raises(PartitionError) as refused:
            definition(case["definition"])
        assert WORDS[case["error"]] in str(refused.value)
        return
    made = definition(case["definition"])
    assert made is not None
    assert listed(made.keys(now), case["keys"]) == case["keys"]
    assert len(made.existing(now)) == case["count"]
    for probe, told in case.get("has_key", {}).items():
        assert made.has_key(probe, now) is told, probe
    if "dimension_order" in case:
        assert list(made.dims) == case["dimension_order"]
    if "first_by_dimension" in case:
        assert dict(next(iter(made.existing(now).rows())).dims) == case["first_by_dimension"]


def test_three_dimensions_and_escapes() -> None:
    by_id = {param.values[0]["id"]: param.values[0] for param in cases("keys")}
    three = definition(by_id["keys-multi-three-dims"]["definition"])
    assert three is not None
    assert list(three.keys())[:3] == ["a|x|a", "a|x|b", "a|x|c"] and len(three.all_()) == 18
    bar = definition(by_id["keys-multi-bar-in-static-key"]["definition"])
    assert bar is not None
    assert list(bar.keys(moment("2024-01-02T00:00Z"))) == ["2024-01-01|a\\|b"]
