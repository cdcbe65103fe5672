"""Mappings in both directions, against the facts of another tool.

Where a case is marked `improve`, `IMPROVED` says what partwise answers and why; answers that the file gives as
`plain_rule_*` are taken from there.
"""

from __future__ import annotations

from typing import Any

import pytest

from dagster_cases import cases, listed, moment
from dagster_definitions import definition
from partwise import mapping
from partwise.errors import PartitionError

IMPROVED = {
    "weekly-from-working-days": "a window maps to what overlaps it, never to the excluded windows' neighbour",
    "working-days-from-weekly": "a window maps to what overlaps it, never to the excluded windows' neighbour",
    "working-days-from-hourly": "the hours of an excluded Saturday feed no day",
    "timezones-differ-hourly-to-daily": "windows overlap as instants, in each one's own zone",
    "timezones-differ-identity": "identity() asked for by name matches keys; what is inferred is the overlap",
    "identity-static-from-daily": "refused: nothing can be inferred",
    "multi-different-dims-same-order": "dimensions are paired by name, then the one pair of time dimensions left",
    "multi-from-other-static": "refused: nothing can be inferred",
    "multi-two-equal-dims": "refused: either dimension could be meant",
}
# Where partwise infers per dimension although the other tool compares the text of whole keys.
PER_DIMENSION = {"multi-different-dims-same-order"}
OURS = {"timezones-differ-hourly-to-daily": [f"2024-01-{h // 24 + 5:02}-{h % 24:02}:00" for h in range(5, 29)]}
REFUSED = {
    "other-day-from-daily-identity": "cron",
    "static-map-unknown-downstream": "`zz`",
    "identity-static-from-daily": "static `key`",
    "time-mapping-on-static": "static",
    "multi-from-other-static": "no dimension corresponds",
    "multi-two-equal-dims": "more than one dimension",
    "multi-map-unknown-dimension": "`nope`",
}
INFERRED = {
    "time_window": mapping.TimeWindow,
    "identity": mapping.Identity,
    "all": mapping.All,
    "multi_to_single": mapping.Dims,
}


def made(given: dict[str, Any], up: Any, down: Any) -> mapping.Mapping:
    match given["type"]:
        case "inferred":
            return mapping.infer(up, down)
        case "time_window":
            return mapping.window(given["start_offset"], given["end_offset"])
        case "static":
            return mapping.static_map(given["downstream_by_upstream"])
        case "specific":
            return mapping.keys(given["keys"])
        case "multi":
            pairs = given["by_upstream_dimension"].items()
            return mapping.dims({name: (how["dimension"], made(how["mapping"], up, down)) for name, how in pairs})
        case kind:
            return {"identity": mapping.identity, "all": mapping.all, "last": mapping.last}[kind]()


@pytest.mark.parametrize("case", cases("mapping"))
def test_mapping(case: dict[str, Any]) -> None:
    up, down = definition(case["upstream"]), definition(case["downstream"])
    now = moment(case["current_time"])
    if case["id"] in REFUSED:
        with pytest.raises(PartitionError) as refused:
            mapping.check(made(case["mapping"], up, down), up, down)
        assert REFUSED[case["id"]] in str(refused.value)
        return
    m = made(case["mapping"], up, down)
    if up is None or down is None:
        assert isinstance(m, mapping.All)
        return
    mapping.check(m, up, down)
    if "inferred_type" in case:
        assert isinstance(m, mapping.Dims if case["id"] in PER_DIMENSION else INFERRED[case["inferred_type"]])
    for ask in case.get("upstream_for", ()):
        wanted = down.union_of(down.parse_key(key) for key in ask["downstream_keys"])
        needed = mapping.upstream(m, wanted, of=up, now=now)
        want = OURS.get(case["id"]) or ask.get("plain_rule_upstream_keys", ask.get("upstream_keys"))
        assert listed(needed.existing.keys(), want) == want
        if not case["mapping"].get("allow_nonexistent_upstream_partitions"):
            assert list(needed.nonexistent.keys()) == ask.get("nonexistent", [])
    for ask in case.get("downstream_for", ()):
        changed = up.union_of(up.parse_key(key) for key in ask["upstream_keys"])
        want = ask.get("plain_rule_downstream_keys", ask.get("downstream_keys"))
        if case["id"] in OURS:
            want = ["2024-01-05"]
        assert listed(mapping.downstream(m, changed, of=down, now=now).keys(), want) == want


def test_every_improved_case_says_why() -> None:
    marked = {param.values[0]["id"] for param in cases("mapping") if param.values[0].get("improve")}
    refused = {param.values[0]["id"] for param in cases("mapping") if not param.values[0]["accepted_at_load"]}
    assert marked == set(IMPROVED)
    assert refused - set(OURS) == set(REFUSED)
