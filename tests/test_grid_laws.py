"""Grids against a naive oracle: every quarter of an hour of a stretch, its wall clock read from `zoneinfo`."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.partitions.grids import Grid, grid
from strategies import PLACES

STEP = 900  # seconds; every offset and change in these places is a multiple of it
EPOCH = datetime(1970, 1, 1)
Spec = tuple[str, int, int, int, str]  # kind, minute, hour, day, cron


@lru_cache(maxsize=64)
def clock(timezone: str, near: str, days: int) -> tuple[list[int], list[int]]:
    """Instants around a date, and the wall values shown at them."""
    middle = datetime.fromisoformat(near).replace(tzinfo=UTC)
    first = int((middle - timedelta(days=days)).timestamp())
    instants = list(range(first, first + 2 * days * 86_400, STEP))
    info = ZoneInfo(timezone)
    moments = (datetime.fromtimestamp(i, UTC).astimezone(info).replace(tzinfo=None) for i in instants)
    return instants, [int((m - EPOCH).total_seconds()) for m in moments]


def matches(spec: Spec, wall: int) -> bool:
    """Whether a window of a definition starts at a wall-clock time."""
    kind, minute, hour, day, cron = spec
    shown = EPOCH + timedelta(seconds=wall)
    if kind == "cron":
        return CRONS[cron](shown)
    if shown.minute != minute:
        return False
    if kind == "hourly":
        return True
    if shown.hour != hour:
        return False
    months = {"monthly": range(1, 13), "quarterly": (1, 4, 7, 10), "yearly": (1,)}.get(kind)
    return (kind == "daily" or (shown.weekday() == day if months is None else shown.day == day)) and (
        months is None or shown.month in months
    )


CRONS = {
    "0 0 * * 1-5": lambda t: (t.hour, t.minute) == (0, 0) and t.weekday() < 5,
    "*/30 * * * *": lambda t: t.minute % 30 == 0,
    "15 */6 * * *": lambda t: t.minute == 15 and t.hour % 6 == 0,
    "30 1,2,3 * * *": lambda t: t.minute == 30 and t.hour in (1, 2, 3),
    "0,45 * * * 0,3": lambda t: t.minute in (0, 45) and t.weekday() in (6, 2),
    "0 0 29 2 *": lambda t: (t.month, t.day, t.hour, t.minute) == (2, 29, 0, 0),
    "0 12 */2 * *": lambda t: (t.hour, t.minute) == (12, 0) and t.day % 2 == 1,
}


@lru_cache(maxsize=256)
def oracle(spec: Spec, timezone: str, near: str, days: int) -> list[int]:
    """The ticks of a stretch: real instants for hours, else the last instant of each matching wall-clock time."""
    instants, walls = clock(timezone, near, days)
    if spec[0] == "hourly" or (spec[0] == "cron" and spec[4].split()[1] == "*"):
        return [i for i, wall in zip(instants, walls, strict=True) if matches(spec, wall)]
    last = dict(zip(walls, instants, strict=True))
    found = set()
    for wall in range(min(walls), max(walls) + 1, STEP):
        if not matches(spec, wall):
            continue
        moved = wall if wall in last else next(shown for shown in walls if shown > wall)  # the end of the gap
        if not (spec[0] == "daily" and day_of(moved) != day_of(wall)):
            found.add(last[moved])
    return sorted(found)


def day_of(wall: int) -> date:
    return (EPOCH + timedelta(seconds=wall)).date()


@st.composite
def cases(draw: st.DrawFn) -> tuple[Grid, list[int], int, int]:
    """A grid, its ticks by the oracle, and a stretch in which the oracle is complete."""
    timezone, near = draw(st.sampled_from(PLACES))
    kind = draw(st.sampled_from(["hourly", "daily", "weekly", "monthly", "quarterly", "yearly", "cron"]))
    coarse = kind in ("weekly", "monthly", "quarterly", "yearly")
    days = 400 if coarse and draw(st.integers(0, 15)) == 0 else 40 if coarse else 6
    minute, hour = draw(st.sampled_from([0, 15, 30, 45])), draw(st.sampled_from([0, 1, 2, 3, 12, 22, 23]))
    day = draw(st.integers(0, 6)) if kind == "weekly" else draw(st.sampled_from([1, 10, 15, 29, 30, 31]))
    cron = draw(st.sampled_from(sorted(CRONS))) if kind == "cron" else ""
    spec = (kind, minute, hour, day, cron)
    instants, _ = clock(timezone, near, days)
    ticks = oracle(spec, timezone, near, days)
    edge = 2 * 86_400 // STEP
    lo, hi = instants[edge], instants[-edge]
    return grid(kind, timezone, minute, hour, day, cron), [t for t in ticks if lo <= t < hi], lo, hi


@settings(max_examples=150, deadline=None)
@given(cases(), st.data())
def test_grid_agrees_with_the_clock(case: tuple[Grid, list[int], int, int], data: st.DataObject) -> None:
    made, ticks, lo, hi = case
    assert list(made.ticks(lo, hi)) == ticks
    assert made.count(lo, hi) == len(ticks)
    a, b = sorted(data.draw(st.tuples(st.integers(lo, hi), st.integers(lo, hi))))
    inside = [t for t in ticks if a <= t < b]
    assert list(made.ticks(a, b)) == inside
    assert made.count(a, b) == len(inside)
    before = [t for t in ticks if t <= a]
    if before:
        assert made.floor(a) == before[-1]
    after = [t for t in ticks if t > a]
    if after:
        assert made.after(a) == after[0]
    if ticks:
        i, j = data.draw(st.tuples(st.integers(0, len(ticks) - 1), st.integers(0, len(ticks) - 1)))
        assert made.shift(ticks[i], j - i) == ticks[j]


@settings(max_examples=100, deadline=None)
@given(cases(), st.integers(-400, 400))
def test_shift_count_and_floor_agree(case: tuple[Grid, list[int], int, int], by: int) -> None:
    made, ticks, lo, _ = case
    by = by if len(ticks) > 3 else by // 20
    tick = made.after(lo)
    moved = made.shift(tick, by)
    assert made.shift(moved, -by) == tick
    assert made.count(min(tick, moved), max(tick, moved)) == abs(by)
    assert made.floor(moved) == moved and made.after(moved - 1) == moved
    assert made.floor(made.after(moved) - 1) == moved


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        (("daily", 0, 0, 0, ""), 44),  # 30 December 2011 did not exist
        (("daily", 0, 5, 0, ""), 44),
        (("hourly", 0, 0, 0, ""), 24 * 45 - 24),
        (("weekly", 0, 0, 4, ""), 7),  # that Friday's week starts on the Saturday
    ],
)
def test_a_lost_day(spec: Spec, count: int) -> None:
    made = grid(spec[0], "Pacific/Apia", *spec[1:])
    lo, hi = made.zone.resolve(1_322_697_600), made.zone.resolve(1_322_697_600 + 45 * 86_400)  # from 1 December
    assert made.count(lo, hi) == len(list(made.ticks(lo, hi))) == count
