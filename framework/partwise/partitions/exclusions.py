"""Windows that a time definition leaves out: business days, holidays, maintenance hours."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import chain

from partwise.errors import PartitionError
from partwise.partitions.grids import CronGrid, Grid, ceil, cron_grid
from partwise.partitions.spans import Spans, intersect, merge, subtract
from partwise.partitions.timetext import Reading
from partwise.partitions.zones import BEYOND, MAX_INSTANT, year_of, year_start

_LONGEST_RUN = 10  # years without a window that is not excluded; more is a mistake


class Exclusions:
    """The windows whose start matches a cron expression or a wall-clock time, found a year at a time and kept.

    A wall-clock time that is no start of a window excludes nothing. One coarser than the windows, such as a date beside
    hours, excludes all that start in it.
    """

    def __init__(self, of: Grid, items: Iterable[str | Reading]) -> None:
        self._grid = of
        self._crons: list[CronGrid] = []
        self._periods: list[tuple[int, int]] = []
        self._years: dict[int, Spans] = {}
        self._keeps: dict[int, array[int]] = {}
        for item in items:
            if isinstance(item, str):
                self._crons.append(cron_grid(of.zone.name, item, of.is_elapsed))
            else:
                self._periods.append(self._period(item))

    def _period(self, item: Reading) -> tuple[int, int]:
        in_zone, size = self._grid.zone, max(item.length, 1)
        if item.offset is not None:
            lo = item.wall - item.offset
            return lo, lo + size
        # both of two equal wall times
        lo, hi = in_zone.resolve(item.wall, first=True), in_zone.resolve(item.wall + size - 1)
        return lo, hi + 1

    def _year(self, year: int) -> Spans:
        """The excluded windows that start in a UTC year."""
        found = self._years.get(year)
        if found is None:
            lo, hi = year_start(year), year_start(year + 1) if year < 9999 else MAX_INSTANT
            ticks: set[int] = set()
            for cron in self._crons:
                ticks.update(t for t in cron.ticks(lo, hi) if self._grid.floor(t) == t)
            for low, high in self._periods:
                if max(lo, low) < min(hi, high):
                    ticks.update(self._grid.ticks(max(lo, low), min(hi, high)))
            found = self._years[year] = merge((t, self._grid.after(t)) for t in ticks)
        return found

    def starting_in(self, lo: int, hi: int) -> Spans:
        """The excluded windows that start in `[lo, hi)`."""
        if lo >= hi or not (self._crons or self._periods):
            return ()
        years = [self._year(year) for year in range(year_of(lo), year_of(hi - 1) + 1)]
        found = years[0] if len(years) == 1 else merge(chain.from_iterable(years))
        low, high = ceil(self._grid, lo), ceil(self._grid, hi)
        return intersect(found, ((low, high),)) if low < high else ()

    def holds(self, tick: int) -> bool:
        """Whether the window that starts at `tick` is excluded."""
        kept = self._kept(year_of(tick))
        at = bisect_left(kept, tick)
        return at == len(kept) or kept[at] != tick

    def _kept(self, year: int) -> array[int]:
        """The windows that start in a UTC year and are not excluded."""
        if year not in self._keeps:
            lo, hi = year_start(year), year_start(year + 1) if year < 9999 else MAX_INSTANT
            spans = subtract(((lo, hi),), self._year(year))
            ticks = (tick for low, high in spans for tick in self._grid.ticks(low, high))
            self._keeps[year] = array("q", ticks)
        return self._keeps[year]

    def kept_from(self, instant: int) -> int:
        """The first window that starts at or after an instant and is not excluded."""
        first = year_of(instant)
        for year in range(first, min(9999, first + _LONGEST_RUN) + 1):
            kept = self._kept(year)
            at = bisect_left(kept, instant)
            if at < len(kept):
                return kept[at]
        raise PartitionError("`exclude` leaves no window", hint="narrow the cron expression in it")

    def kept_until(self, instant: int) -> int:
        """The last window that starts at or before an instant and is not excluded."""
        last = year_of(instant)
        for year in range(last, max(1, last - _LONGEST_RUN) - 1, -1):
            kept = self._kept(year)
            at = bisect_right(kept, instant)
            if at:
                return kept[at - 1]
        raise PartitionError("`exclude` leaves no window", hint="narrow the cron expression in it")

    def shift(self, tick: int, by: int) -> int:
        """The window `by` windows later than one that is not excluded, counting only such windows."""
        year = year_of(tick)
        at = bisect_left(self._kept(year), tick) + by
        while at < 0 or at >= len(self._kept(year)):
            if at < 0:
                year -= 1
                at += len(self._kept(year))
            else:
                at -= len(self._kept(year))
                year += 1
            if not 1 < year < 9998:
                raise PartitionError(BEYOND)
        return self._kept(year)[at]
