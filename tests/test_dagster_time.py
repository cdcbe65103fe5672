"""Keys and windows of time partitions, against the facts of another tool (see `dagster_cases`).

Where a case is marked `improve`, `IMPROVED` says what partwise answers instead and why. A case whose file gives a
`plain_rule` answer is held to that one.
"""

from __future__ import annotations

from typing import Any

import pytest

from dagster_cases import cases, listed, moment
from dagster_definitions import definition
from partwise.errors import PartitionError

IMPROVED: dict[str, str] = {
    "daily-end-offset-2-before-start": "nothing exists before its start: end_offset moves the last ended window",
    "hourly-utc": "00:30 is not the start of an hour, so it is no key",
    "hourly-ny-spring-forward": "02:00 did not occur, so it is no key",
    "daily-dublin-0130-spring": "a wall time in a gap moves to the end of the gap, in every zone",
    "daily-havana-midnight-twice": "a wall time that occurs twice means the second, at every hour",
    "daily-casablanca-hour-2-ramadan-end": "a wall time in a gap moves to the end of the gap, in every zone",
    "daily-apia-skipped-day": "a day that did not exist has no key",
    "weekly-end-before-first-window": "no window lies between start and end, so there is none",
    "cron-leap-day": "the window of a leap day lasts until the next leap day",
    "hourly-format-not-granular": "a format that gives two windows one key is refused when it is defined",
}
REFUSED = {"hourly-format-not-granular": "2024-01-01"}  # and the key that the message names
KEY_AT = {("daily-weekends-excluded", "2024-01-06T12:00Z"): None}  # an excluded window holds no key, as its note says


@pytest.mark.parametrize("case", cases("time"))
def test_time(case: dict[str, Any]) -> None:
    given = case["definition"]
    if "error" in case or case["id"] in REFUSED:
        with pytest.raises(PartitionError) as refused:
            definition(given)
        words = {"invalid_cron": given.get("cron"), "key_format": given.get("start")}
        word = REFUSED.get(case["id"]) or words[case["error"]]
        assert word in str(refused.value)
        return
    made = definition(given)
    assert made is not None
    for at in case["at"]:
        now = moment(at["current_time"])
        want = at.get("plain_rule_keys", at["keys"])
        assert listed(made.keys(now), want) == want
        assert len(made.existing(now)) == (len(want) if isinstance(want, list) else want["count"])
        existing = set(made.keys(now))
        for probe, told in at.get("has_key", {}).items():
            # where Dagster contradicts its own list, the list is right
            right = told if probe not in at.get("has_key_disagrees_with_list", ()) else probe in existing
            assert made.has_key(probe, now) is (right if "plain_rule_keys" not in at else probe in existing), probe
    ours = {key for at in case["at"] for key in at.get("plain_rule_keys", ())}
    for window in case.get("windows", ()):
        if (ours and window["key"] not in ours) or case["id"] == "weekly-end-before-first-window":
            with pytest.raises(PartitionError, match=window["key"]):
                made.window(window["key"])
            continue
        right = {**window, **window.get("plain_rule", {})}
        found = made.window(window["key"])
        assert (found.start, found.end) == (moment(right["start_utc"]), moment(right["end_utc"])), window["key"]
    for instant, key in case.get("key_for_instant", {}).items():
        assert made.key_at(moment(instant)) == KEY_AT.get((case["id"], instant), key)


def test_every_improved_case_says_why() -> None:
    assert {param.values[0]["id"] for param in cases("time") if param.values[0].get("improve")} == set(IMPROVED)
