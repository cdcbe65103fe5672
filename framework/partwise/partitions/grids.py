"""Grids: how time is tiled into windows, as arithmetic on UTC seconds.

A *tick* is the instant at which a window starts; the window ends at the next tick. Every grid answers the same five
questions, in closed form for calendar grains: the 87,600th hour costs what the first costs.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal, Protocol

from partwise.errors import PartitionError
from partwise.partitions.zones import (
    BEYOND,
    DAY,
    HOUR,
    MAX_INSTANT,
    Segment,
    Zone,
    from_wall,
    year_of,
    year_start,
    zone,
)

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_SEARCH_YEARS = 40  # a leap-day cron may pause for eight years; anything rarer is a mistake


class Grid(Protocol):
    """All instants are UTC epoch seconds; all intervals are half-open."""

    @property
    def zone(self) -> Zone: ...

    @property
    def is_elapsed(self) -> bool:
        """Whether ticks are real instants, so that a repeated wall-clock hour gives two of them."""
        ...

    def floor(self, instant: int) -> int:
        """The tick of the window that holds the instant."""
        ...

    def after(self, instant: int) -> int:
        """The first tick later than the instant."""
        ...

    def count(self, lo: int, hi: int) -> int:
        """How many ticks lie in `[lo, hi)`."""
        ...

    def shift(self, tick: int, by: int) -> int:
        """The tick `by` windows later (earlier when negative) than `tick`."""
        ...

    def ticks(self, lo: int, hi: int) -> Iterator[int]:
        """The ticks in `[lo, hi)`, ascending."""
        ...


def ceil(grid: Grid, instant: int) -> int:
    """The first tick at or after the instant."""
    tick = grid.floor(instant)
    return tick if tick == instant else grid.after(instant)


class HourGrid:
    """Every real instant whose wall clock shows minute `minute`."""

    is_elapsed = True

    def __init__(self, in_zone: Zone, minute: int) -> None:
        self.zone = in_zone
        self._phase = minute * 60

    def _first(self, part: Segment, instant: int) -> int:
        """The first tick at or after `instant`, as if the offset of `part` held for ever."""
        return instant + (self._phase - instant - part.offset) % HOUR

    def floor(self, instant: int) -> int:
        while True:
            part = self.zone.segment(instant)
            tick = self._first(part, instant - HOUR + 1)
            if tick >= part.lo:
                return tick
            instant = part.lo - 1

    def after(self, instant: int) -> int:
        instant += 1
        while True:
            part = self.zone.segment(instant)
            tick = self._first(part, instant)
            if tick < part.hi:
                return tick
            instant = part.hi

    def _count_in(self, part: Segment, lo: int, hi: int) -> int:
        first = self._first(part, max(lo, part.lo))
        end = min(hi, part.hi)
        return max(0, -((first - end) // HOUR))

    def count(self, lo: int, hi: int) -> int:
        return sum(self._count_in(part, lo, hi) for part in self.zone.segments(lo, hi))

    def shift(self, tick: int, by: int) -> int:
        while by > 0:
            part = self.zone.segment(tick)
            left = self._count_in(part, tick, part.hi)
            if by < left:
                return tick + by * HOUR
            by -= left
            tick = self.after(part.hi - 1)
        while by < 0:
            part = self.zone.segment(tick)
            left = self._count_in(part, part.lo, tick)
            if -by <= left:
                return tick + by * HOUR
            by += left + 1
            tick = self.floor(part.lo - 1)
        return tick

    def ticks(self, lo: int, hi: int) -> Iterator[int]:
        for part in self.zone.segments(lo, hi):
            yield from range(self._first(part, max(lo, part.lo)), min(hi, part.hi), HOUR)


class PeriodGrid:
    """Calendar periods: one tick per period, at a wall-clock time of its first day.

    `unit` is `day`, `week` or `month`; `step` months make a period (1, 3, 12). `anchor` is the day of the month, or for
    weeks 0 = Monday. A month without the anchor day has no tick, so the window before it is longer.
    """

    is_elapsed = False

    def __init__(self, in_zone: Zone, unit: Literal["day", "week", "month"], step: int, anchor: int, time: int) -> None:
        self.zone = in_zone
        self._unit = unit
        self._step = step
        self._anchor = anchor
        self._time = time  # seconds after midnight
        self._ticks: dict[int, int | None] = {}

    def _wall(self, period: int) -> int | None:
        if self._unit == "day":
            return period * DAY + self._time
        if self._unit == "week":  # 1970-01-01 was a Thursday, day 3
            return (period * 7 + self._anchor - 3) * DAY + self._time
        year, month = divmod(period * self._step, 12)
        if not 1 <= year <= 9999:
            raise PartitionError(BEYOND)
        if self._anchor > 28 and self._anchor > monthrange(year, month + 1)[1]:
            return None
        return (date(year, month + 1, self._anchor).toordinal() - _EPOCH_DAY) * DAY + self._time

    def _tick(self, period: int) -> int | None:
        if period not in self._ticks:
            self._ticks[period] = self._find_tick(period)
        return self._ticks[period]

    def _find_tick(self, period: int) -> int | None:
        wall = self._wall(period)
        if wall is None:
            return None
        tick = self.zone.resolve(wall)
        if self._unit == "day" and self.zone.wall(tick) // DAY != wall // DAY:
            return None  # a gap took the start and the rest of the day: Apia had no 30 December 2011
        return tick

    def _guess(self, instant: int) -> int:
        days = (self.zone.wall(instant) - self._time) // DAY
        if self._unit == "day":
            return days
        if self._unit == "week":
            return (days + 3 - self._anchor) // 7
        day = date.fromordinal(days + _EPOCH_DAY)
        return (day.year * 12 + day.month - 1) // self._step

    def _period(self, instant: int) -> int:
        """The last period whose tick is at or before the instant."""
        period = self._guess(instant) + 1
        while True:
            tick = self._tick(period)
            if tick is not None and tick <= instant:
                return period
            period -= 1

    def _next(self, period: int) -> tuple[int, int]:
        """The first period after `period` with a tick, and that tick."""
        while True:
            period += 1
            if (tick := self._tick(period)) is not None:
                return period, tick

    def floor(self, instant: int) -> int:
        tick = self._tick(self._period(instant))
        assert tick is not None
        return tick

    def after(self, instant: int) -> int:
        return self._next(self._period(instant))[1]

    def _missing(self, low: int, high: int) -> int:
        """How many periods in `(low, high]` have no tick."""
        if low >= high:
            return 0
        if self._unit == "month" and self._anchor > 28:
            return sum(self._wall(p) is None for p in range(low + 1, high + 1))
        if self._unit != "day":
            return 0
        lost = 0
        # only a jump over midnight takes a day's start to another day, and one shorter than a day only late starts
        least = DAY if self._time < 20 * HOUR else 1
        for part in self.zone.jumps((low - 2) * DAY, (high + 3) * DAY, at_least=least):
            first = self._guess(part.lo) - 3
            lost += sum(low < p <= high and self._tick(p) is None for p in range(first, first + 5))
        return lost

    def count(self, lo: int, hi: int) -> int:
        if lo >= hi:
            return 0
        low, high = self._period(lo - 1), self._period(hi - 1)
        return high - low - self._missing(low, high)

    def shift(self, tick: int, by: int) -> int:
        period = self._period(tick)
        target = period + by
        if by >= 0:
            while short := by - (target - period - self._missing(period, target)):
                target += short
        else:
            while short := -by - (period - target - self._missing(target - 1, period)):
                target -= short
        result = self._tick(target)
        assert result is not None
        return result

    def ticks(self, lo: int, hi: int) -> Iterator[int]:
        if lo >= hi:
            return
        tick = ceil(self, lo)
        period = self._period(tick)
        while tick < hi:
            yield tick
            period, tick = self._next(period)


class CronGrid:
    """The wall-clock times that match a five-field cron expression; windows tile time between them.

    When it names every hour (`*`), each real instant that matches is a tick, otherwise there is one tick per matching
    wall time; `elapsed` decides otherwise. Ticks are worked out a UTC year at a time and kept.
    """

    def __init__(self, in_zone: Zone, expression: str, elapsed: bool | None = None) -> None:
        self.zone = in_zone
        self._cron = parse_cron(expression)
        self.is_elapsed = len(self._cron.hours) == 24 if elapsed is None else elapsed
        self._years: dict[int, array[int]] = {}
        if not any(len(self._year(year)) for year in range(2000, 2009)):
            raise PartitionError(f"cron expression `{expression}` never matches", hint="is there such a date?")

    def _walls(self, lo: int, hi: int) -> Iterator[int]:
        """Wall values in `[lo, hi)` that match."""
        hours, minutes = sorted(self._cron.hours), sorted(self._cron.minutes)
        times = [hour * HOUR + minute * 60 for hour in hours for minute in minutes]
        day = date.fromordinal(lo // DAY + _EPOCH_DAY)
        start = lo // DAY * DAY
        while start < hi:
            if day.month in self._cron.months and self._cron.match_day(day):
                for time in times:
                    if lo <= start + time < hi:
                        yield start + time
            start += DAY
            if start < hi:
                day += timedelta(days=1)

    def _year(self, year: int) -> array[int]:
        found = self._years.get(year)
        if found is None:
            lo, hi = year_start(year), year_start(year + 1) if year < 9999 else MAX_INSTANT
            if self.is_elapsed:
                ticks = [
                    wall - part.offset
                    for part in self.zone.segments(lo, hi)
                    for wall in self._walls(max(part.lo, lo) + part.offset, min(part.hi, hi) + part.offset)
                ]
            else:
                resolved = {self.zone.resolve(wall) for wall in self._walls(lo - 2 * DAY, hi + 2 * DAY)}
                ticks = sorted(tick for tick in resolved if lo <= tick < hi)
            found = self._years[year] = array("q", ticks)
        return found

    def floor(self, instant: int) -> int:
        year = year_of(instant)
        for y in range(year, max(0, year - _SEARCH_YEARS), -1):
            ticks = self._year(y)
            at = bisect_right(ticks, instant)
            if at:
                return ticks[at - 1]
        raise PartitionError(f"no window of the cron definition holds {from_wall(instant)}")

    def after(self, instant: int) -> int:
        year = year_of(instant)
        for y in range(year, min(9999, year + _SEARCH_YEARS)):
            ticks = self._year(y)
            at = bisect_right(ticks, instant)
            if at < len(ticks):
                return ticks[at]
        raise PartitionError(f"the cron definition has no window after {from_wall(instant)}")

    def count(self, lo: int, hi: int) -> int:
        if lo >= hi:
            return 0
        first, last = year_of(lo), year_of(hi - 1)
        total = 0
        for y in range(first, last + 1):
            ticks = self._year(y)
            low = bisect_left(ticks, lo) if y == first else 0
            high = bisect_left(ticks, hi) if y == last else len(ticks)
            total += high - low
        return total

    def shift(self, tick: int, by: int) -> int:
        year = year_of(tick)
        at = bisect_left(self._year(year), tick) + by
        while at < 0:
            year -= 1
            at += len(self._year(year))
        while at >= len(self._year(year)):
            at -= len(self._year(year))
            year += 1
            if year > 9998:
                raise PartitionError(BEYOND)
        return self._year(year)[at]

    def ticks(self, lo: int, hi: int) -> Iterator[int]:
        if lo >= hi:
            return
        for y in range(year_of(lo), year_of(hi - 1) + 1):
            ticks = self._year(y)
            yield from ticks[bisect_left(ticks, lo) : bisect_left(ticks, hi)]


_ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


class _Cron(Protocol):
    """What is used of `cronsim.CronSim`: the parsed fields and the test for a day."""

    minutes: set[int]
    hours: set[int]
    months: set[int]

    def match_day(self, d: date) -> bool: ...


def _fields(expression: str) -> list[str]:
    return _ALIASES.get(expression.strip().lower(), expression).split()


def canonical_cron(expression: str) -> str:
    """One spelling of the ways to write the same fields: single spaces, capitals, no alias."""
    return " ".join(_fields(expression)).upper()


def parse_cron(expression: str) -> _Cron:
    """The fields of a cron expression. Raises PartitionError when it is not one of five fields or an alias."""
    from datetime import datetime

    from cronsim import CronSim, CronSimError

    fields = _fields(expression)
    if len(fields) != 5:
        raise PartitionError(
            f"invalid cron expression `{expression}`: {len(fields)} fields",
            hint="write five fields: minute, hour, day of month, month, day of week",
        )
    try:
        cron: _Cron = CronSim(" ".join(fields), datetime(2000, 1, 1))
    except CronSimError as error:
        raise PartitionError(
            f"invalid cron expression `{expression}`: {error}",
            hint="such as `30 9-17 * * 1-5`, or an alias like @daily",
        ) from None
    return cron


@lru_cache(maxsize=256)
def grid(kind: str, timezone: str, minute: int, hour: int, day: int, expression: str) -> Grid:
    """The grid of a time definition, made once per set of arguments."""
    in_zone = zone(timezone)
    time = hour * HOUR + minute * 60
    match kind:
        case "hourly":
            return HourGrid(in_zone, minute)
        case "daily":
            return PeriodGrid(in_zone, "day", 1, 0, time)
        case "weekly":
            return PeriodGrid(in_zone, "week", 1, day, time)
        case "monthly" | "quarterly" | "yearly":
            step = {"monthly": 1, "quarterly": 3, "yearly": 12}[kind]
            return PeriodGrid(in_zone, "month", step, day, time)
        case _:
            return cron_grid(timezone, expression, None)


@lru_cache(maxsize=256)
def cron_grid(timezone: str, expression: str, elapsed: bool | None) -> CronGrid:
    """The grid of a cron expression in a zone, made once per set of arguments."""
    return CronGrid(zone(timezone), expression, elapsed)
