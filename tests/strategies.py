"""Generators shared by the law tests: definitions of every kind in odd zones, and sets of their partitions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from partwise import partitions as p
from partwise.partitions import Definition, PartitionSet
from partwise.partitions.axes import TimeAxis
from partwise.partitions.zones import to_datetime

# A zone, and a date near which its clock does something.
PLACES = [
    ("UTC", "2024-02-28"),
    ("America/New_York", "2024-03-10"),
    ("America/New_York", "2024-11-03"),
    ("Europe/Berlin", "2024-03-31"),
    ("Europe/London", "2024-10-27"),
    ("Europe/Dublin", "2024-03-31"),  # winter time is the "daylight" one
    ("Africa/Casablanca", "2024-03-10"),  # Ramadan
    ("Africa/Casablanca", "2024-04-14"),
    ("America/Havana", "2024-03-10"),  # changes at midnight
    ("America/Havana", "2024-11-03"),
    ("America/Sao_Paulo", "2018-11-04"),
    ("America/Sao_Paulo", "2018-02-18"),
    ("Australia/Lord_Howe", "2024-04-07"),  # half an hour
    ("Australia/Lord_Howe", "2024-10-06"),
    ("Antarctica/Troll", "2024-03-31"),  # two hours
    ("Antarctica/Troll", "2024-10-27"),
    ("Pacific/Apia", "2011-12-30"),  # a day lost
    ("Pacific/Kwajalein", "1993-08-21"),  # a day lost
    ("Asia/Kathmandu", "1986-01-01"),  # 5:30 to 5:45
    ("Asia/Kolkata", "2024-01-01"),
    ("America/Nuuk", "2024-03-30"),  # a change late in the evening
]
CRONS = ["0 0 * * 1-5", "*/30 * * * *", "15 */6 * * *", "0 7,9 * * *", "30 1,2,3 * * *", "0 0 */2 * *", "0 0 1,15 * *"]
TEXTS = ["US", "EU", "a|b", "c\\d", "x,y", "two words", "ünï", "007", "7", "a:b", '"q"', "{", "]", ";", "it's", ""]
KINDS = ["hourly", "daily", "weekly", "monthly", "quarterly", "yearly", "cron"]
_MEAN_DAYS = {"hourly": 1 / 24, "daily": 1, "weekly": 7, "monthly": 30, "quarterly": 91, "yearly": 365, "cron": 1}


@st.composite
def time_definitions(
    draw: st.DrawFn, kinds: list[str] | None = None, at_most: int = 40, place: tuple[str, str] | None = None
) -> p.TimeDefinition:
    """A bounded time definition of 1 to `at_most` windows (excluded ones counted) near a change of the clock."""
    kind = draw(st.sampled_from(kinds or KINDS))
    timezone, date = place or draw(st.sampled_from(PLACES))
    count = draw(st.integers(1, at_most))
    back = draw(st.integers(0, count)) * _MEAN_DAYS[kind]
    given: dict[str, Any] = {"timezone": timezone}
    if kind == "cron":
        given["cron"] = draw(st.sampled_from(CRONS))
    else:
        given["minute_offset"] = draw(st.sampled_from([0, 0, 15, 30, 45]))
        if kind != "hourly":
            given["hour_offset"] = draw(st.sampled_from([0, 0, 1, 2, 3, 5, 12, 23]))
    if kind == "weekly":
        given["day_offset"] = draw(st.integers(0, 6))
    if kind in ("monthly", "quarterly", "yearly"):
        given["day_offset"] = draw(st.sampled_from([1, 1, 12, 28, 29, 30, 31]))
    start = datetime.fromisoformat(date) - timedelta(days=int(back))
    if draw(st.booleans()):
        given["exclude"] = [_exclusion(draw, kind, given)]
    make = getattr(p, kind)
    open_ended: p.TimeDefinition = make(start=start, **given)
    axis = open_ended.axes[0]
    assert isinstance(axis, TimeAxis)
    made: p.TimeDefinition = make(start=start, end=to_datetime(axis.grid.shift(axis.begin, count)), **given)
    return made


def _exclusion(draw: st.DrawFn, kind: str, given: dict[str, Any]) -> str:
    """A cron expression that excludes some windows but not all."""
    minute, hour = given.get("minute_offset", 0), given.get("hour_offset", 0)
    if kind == "hourly":
        return draw(st.sampled_from([f"{minute} 0-5 * * *", f"{minute} 1,2 * * 0", f"{minute} * * * 6,0"]))
    if kind == "daily":
        return draw(st.sampled_from([f"{minute} {hour} * * 6,0", f"{minute} {hour} */3 * *"]))
    if kind == "cron":
        return draw(st.sampled_from(["0 0 * * 1", "0 7 * * *", "* 1 * * *", "0 0 1 * *"]))
    return f"{minute} {hour} * * 1,3" if kind == "yearly" else f"{minute} {hour} * 3,4,10 *"


@st.composite
def key_definitions(draw: st.DrawFn) -> Definition:
    keys = draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=6, unique=True))
    return p.static(keys) if draw(st.booleans()) else p.dynamic("releases", keys=keys)


@st.composite
def multi_definitions(draw: st.DrawFn) -> Definition:
    parts: dict[str, Definition] = {}
    for name in draw(st.lists(st.sampled_from(["date", "area", "k", "Zone"]), min_size=2, max_size=3, unique=True)):
        parts[name] = draw(st.one_of(time_definitions(at_most=5), key_definitions()))
    return p.multi(parts)


def definitions() -> st.SearchStrategy[Definition]:
    """Bounded definitions of every kind, with at most a few hundred partitions."""
    return st.one_of(time_definitions(), key_definitions(), multi_definitions())


@st.composite
def sets_of(draw: st.DrawFn, definition: Definition) -> PartitionSet:
    """A set of partitions of a definition: some ranges and single ones of its list."""
    keys = list(definition.all_().keys())
    if not keys:
        return definition.empty()
    chosen: set[int] = set()
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(keys) - 1))
        chosen.update(range(at, min(len(keys), at + draw(st.integers(1, max(1, len(keys) // 2))))))
    chosen.update(draw(st.lists(st.integers(0, len(keys) - 1), max_size=4)))
    return definition.union_of(definition.parse_key(keys[i]) for i in sorted(chosen))


@st.composite
def definition_and_sets(draw: st.DrawFn, count: int) -> tuple[Definition, list[PartitionSet]]:
    definition = draw(definitions())
    return definition, [draw(sets_of(definition)) for _ in range(count)]
