"""Cases from public bug reports on windows, clock changes, keys, ranges and mappings: what definitions and sets answer.

Those parts of the cases that need SQL or a warehouse are tested with the renderer and the runner.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bug_cases import bug_case, definitions, instant, shown
from partwise import mapping
from partwise.errors import PartitionError
from partwise.partitions import Definition, PartitionSet, multi, static

LATE = datetime(2030, 1, 1, tzinfo=UTC)


def windows(partitions: PartitionSet) -> list[tuple[datetime, datetime]]:
    found = [partitions.definition.window(key) for key in partitions]
    return [(window.start, window.end) for window in found]


def owners(case_id: str, definition: Definition, known: PartitionSet) -> list[list[Any]]:
    """The rows of the case's table that lie in a set, as `[first column, key]`, in the order of the table."""
    table = next(iter(bug_case(case_id)["given"]["tables"].values()))
    at = list(table["columns"]).index("ts")
    pairs = [(row[0], definition.key_at(instant(row[at]))) for row in table["rows"]]
    return [[value, key] for value, key in pairs if key is not None and key in known]


def needs(up: Definition, down: Definition, m: mapping.Mapping, key: str) -> mapping.Needed:
    return mapping.upstream(m, down.parse_key(key), of=up, now=LATE)


def rows(case_id: str) -> list[list[Any]]:
    found: list[list[Any]] = bug_case(case_id)["right"]["rows"]
    return found


def firsts(partitions: PartitionSet) -> list[str]:
    return [shown(start) for start, _ in windows(partitions)]


# ---------------------------------------------------------------- windows and clock changes


def test_dst_fall_hourly() -> None:
    (hours,) = definitions("c-dst-fall-hourly")
    day = hours.subset("2023-11-05-00:00:2023-11-05-23:00")
    assert len(day) == len(set(day.keys())) == 25
    table = bug_case("c-dst-fall-hourly")["given"]["tables"]["raw_events"]
    keys = [hours.key_at(instant(row[1])) for row in table["rows"]]
    assert len(set(keys)) == 4
    assert [[shown(hours.window(str(key)).start), 1] for key in keys] == rows("c-dst-fall-hourly")
    assert keys[1:3] == ["2023-11-05-01:00", "2023-11-05-01:00-0800"]


def test_dst_spring_hourly() -> None:
    (hours,) = definitions("c-dst-spring-hourly")
    day = hours.subset("2024-03-10-00:00:2024-03-10-23:00")
    assert len(day) == 23
    owned = owners_by_window("c-dst-spring-hourly", hours)
    assert owned == rows("c-dst-spring-hourly")
    assert shown(hours.window("2024-03-10-01:00").end) == shown(hours.window("2024-03-10-03:00").start)
    with pytest.raises(PartitionError, match="`2024-03-10 02:00` is not a") as refused:
        hours.parse_key("2024-03-10 02:00")
    assert "`2024-03-10-01:00`" in str(refused.value) or "`2024-03-10-03:00`" in str(refused.value)


def owners_by_window(case_id: str, definition: Definition) -> list[list[Any]]:
    table = bug_case(case_id)["given"]["tables"]["raw_events"]
    moments = {row[0]: instant(row[1]) for row in table["rows"]}
    return [[shown(definition.window(str(definition.key_at(m))).start), i] for i, m in moments.items()]


@pytest.mark.parametrize(
    ("case_id", "keys", "unit"),
    [
        ("c-dst-daily-length", ["2024-03-10", "2024-11-03"], 3600),
        ("c-dst-midnight", ["2018-11-04"], 3600),
        ("c-odd-offset-zone", ["2024-04-07"], 60),
    ],
)
def test_lengths_of_days(case_id: str, keys: list[str], unit: int) -> None:
    (days,) = definitions(case_id)
    found = [days.window(key) for key in keys]
    assert [[shown(w.start), shown(w.end), (w.end - w.start).total_seconds() / unit] for w in found] == rows(case_id)


def test_dst_cron() -> None:
    (ticks,) = definitions("c-dst-cron")
    wanted = ticks.subset("2020-03-07-07:00..2020-03-08-09:00")
    assert [[start] for start in firsts(wanted)] == rows("c-dst-cron")


@pytest.mark.parametrize(
    ("case_id", "now"),
    [("c-week-start", "2026-01-01 00:00"), ("c-month-anchor", "2022-07-01 00:00"), ("c-cron-gaps", "2023-11-01 00:00")],
)
def test_rows_belong_to_one_window(case_id: str, now: str) -> None:
    (definition,) = definitions(case_id)
    found = owners(case_id, definition, definition.existing(instant(now)))
    assert [[value, str(key)[:10]] for value, key in found] == rows(case_id)


def test_month_anchor_starts_at_the_first_anchor() -> None:
    (months,) = definitions("c-month-anchor")
    assert next(months.keys(LATE)) == "2022-04-12"


def test_cron_gaps_friday_is_open_on_saturday() -> None:
    (days,) = definitions("c-cron-gaps")
    now = instant(bug_case("c-cron-gaps")["given"]["now"])
    assert list(days.keys(now))[-1] == "2023-10-26-00:00"
    friday = days.parse_key("2023-10-27")
    assert shown(windows(friday)[0][1]) == "2023-10-30 00:00:00Z"
    assert not friday & days.existing(now)


def test_last_complete() -> None:
    (days,) = definitions("c-last-complete")
    keys = list(days.keys(instant(bug_case("c-last-complete")["given"]["now"])))
    assert [[len(keys), keys[-1]]] == rows("c-last-complete")


def test_lossy_key() -> None:
    (days,) = definitions("c-lossy-key")
    wanted = days.subset("2024-04-30:2024-05-01")
    assert owners("c-lossy-key", days, wanted) == rows("c-lossy-key")


# ---------------------------------------------------------------- keys


def test_key_join_collision() -> None:
    (lines,) = definitions("c-key-join-collision")
    one, other = lines.parse_key("doc-7|12"), lines.parse_key("doc-71|2")
    assert not one & other and len(one | other) == 2
    glued = multi(a=static(["x|y", "x"]), b=static(["z", "y|z"]))
    assert len(set(glued.keys())) == 4
    assert all(list(glued.parse_key(key).keys()) == [key] for key in list(glued.keys()))


def test_key_with_separator() -> None:
    one, two = definitions("c-key-with-separator")
    assert list(one.keys()) == ["my|key"] and list(one.subset("my|key").keys()) == ["my|key"]
    assert list(two.keys()) == ["my|key"] and one.id != two.id
    assert one.parse_key("my|key") != two.parse_key("my|key")


def test_key_invisible_characters() -> None:
    with pytest.raises(PartitionError, match=r"'a\\n' holds a control character"):
        definitions("c-key-invisible-characters")


@pytest.mark.parametrize("case_id", ["c-key-with-quote", "c-key-with-dot-or-slash", "c-key-looks-like-other-type"])
def test_keys_stay_as_they_are(case_id: str) -> None:
    (definition,) = definitions(case_id)
    given = bug_case(case_id)["models"][0]["partitions"]["keys"]
    assert list(definition.keys()) == given == [next(definition.subset(key).keys()) for key in given]
    assert definition.parse(str(definition.all_())) == definition.all_()
    for wrong in ("1000", "07", "0.94", "Val d"):
        with pytest.raises(PartitionError, match=f"`{wrong}` is not a partition key"):
            definition.subset(wrong)


# ---------------------------------------------------------------- ranges


def test_range_both_ends() -> None:
    (days,) = definitions("c-range-both-ends")
    assert [[key] for key in days.subset("2024-05-10:2024-05-13")] == rows("c-range-both-ends")


@pytest.mark.parametrize(
    "text",
    [
        "2026-06-18-08:00:2026-06-18-09:00",
        "2026-06-18-08:00..2026-06-18-09:00",
        "2026-06-18T08:2026-06-18T09",
        "2026-06-18T08:00:2026-06-18T09:00",
        "2026-06-18T08:00:00Z:2026-06-18T09:00:00Z",
        "2026-06-18 08:00 : 2026-06-18 09:00",
    ],
)
def test_range_within_a_day(text: str) -> None:
    (hours,) = definitions("c-range-within-a-day")
    assert [[start] for start in firsts(hours.subset(text))] == rows("c-range-within-a-day")


def test_range_odd_arguments() -> None:
    (days,) = definitions("c-range-odd-arguments")
    now = instant(bug_case("c-range-odd-arguments")["given"]["now"])
    start_only, end_only = days.subset("2024-10-13:", now), days.subset(":2024-10-03", now)
    assert [[len(start_only), len(end_only)]] == rows("c-range-odd-arguments")
    assert list(start_only.keys())[-1] == "2024-10-16" and next(end_only.keys()) == "2024-10-01"


def test_range_into_future() -> None:
    (days,) = definitions("c-range-into-future")
    keys = list(days.keys(instant(bug_case("c-range-into-future")["given"]["now"])))
    assert [[keys[-1]]] == rows("c-range-into-future")


def test_plan_chunks() -> None:
    (days,) = definitions("c-plan-chunks")
    wanted = days.subset("2023-07-01:2023-07-31")
    pieces = wanted.split(7)
    assert [[i, len(piece)] for i, piece in enumerate(pieces)] == rows("c-plan-chunks")
    assert days.union_of(pieces) == wanted and sum(map(len, pieces)) == 31


# ---------------------------------------------------------------- mappings


def test_map_hours_to_day() -> None:
    hours, days = definitions("c-map-hours-to-day")
    m = mapping.window(shift=timedelta(hours=1))
    found = firsts(needs(hours, days, m, "2024-05-01").existing)
    assert [[len(found), found[0], found[-1]]] == rows("c-map-hours-to-day")
    changed = hours.parse_key("2024-05-02-00:00")
    assert list(mapping.downstream(m, changed, of=days, now=LATE).keys()) == ["2024-05-01"]


def test_map_open_period() -> None:
    hours, days = definitions("c-map-open-period")
    now = instant(bug_case("c-map-open-period")["given"]["now"])
    changed = hours.subset("2023-04-12-00:00:2023-04-13-16:00") & hours.existing(now)
    below = mapping.downstream(mapping.infer(hours, days), changed, of=days, now=now)
    assert [[firsts(changed)[-1], list(below.keys())[-1]]] == rows("c-map-open-period")


@pytest.mark.parametrize(
    ("case_id", "m", "keys"),
    [
        ("c-map-weeks-and-months", None, ["2024-01-29", "2024-03-11"]),
        ("c-map-over-clock-change", mapping.window(-1, -1), ["2023-03-13", "2023-11-05", "2023-11-06"]),
        ("c-map-static-keys", "given", ["eu", "na"]),
    ],
)
def test_map_pairs(case_id: str, m: Any, keys: list[str]) -> None:
    up, down = definitions(case_id)
    if m == "given":
        m = mapping.static_map(bug_case(case_id)["models"][1]["mapping"]["a"]["keys"])
    m = m or mapping.infer(up, down)
    found = [[key, above] for key in keys for above in needs(up, down, m, key).existing]
    assert sorted(found) == sorted(rows(case_id))
    for key, above in found:
        assert key in mapping.downstream(m, up.parse_key(above), of=down, now=LATE)


def test_map_different_starts() -> None:
    up, down = definitions("c-map-different-starts")
    m = mapping.window(-1, -1)
    found: list[list[Any]] = []
    for key in ("2022-12-10", "2022-12-11"):
        needed = needs(up, down, m, key)
        found += [[key, above, True] for above in needed.existing]
        found += [[key, above, False] for above in needed.nonexistent]
    assert found == rows("c-map-different-starts")
    # the day before the downstream's own first day is no need
    assert not needs(up, down, m, "2022-12-01").nonexistent


def test_map_dimensions() -> None:
    up, down = definitions("c-map-dimensions")
    to_number = mapping.static_map(bug_case("c-map-dimensions")["models"][1]["mapping"]["a"]["abc"]["keys"])
    m = mapping.dims(abc=("num", to_number), week=("day", mapping.window()))
    mapping.check(m, up, down)
    below = mapping.downstream(m, up.parse_key("a|2023-01-01"), of=down, now=LATE)
    days = [dict(row.dims) for row in below.rows()]
    assert {day["num"] for day in days} == {"1"}
    assert [[len(days), days[0]["day"], days[-1]["day"]]] == rows("c-map-dimensions")


def test_map_unpartitioned() -> None:
    (part,) = definitions("c-map-unpartitioned")
    assert mapping.infer(None, part) == mapping.all() == mapping.infer(part, None)


