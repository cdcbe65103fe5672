"""Windows that a time definition leaves out: business days, holidays, maintenance hours."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from partwise.errors import PartitionError
from partwise.grids import CronGrid, Grid, ceil, cron_grid
from partwise.spans import Spans, intersect, merge
from partwise.timetext import Reading
from partwise.zones import MAX_INSTANT, year_of, year_start

_LONGEST_RUN = 100_000  # excluded windows in a row: eleven years of hours. More is a mistake.


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
        return bool(self.starting_in(tick, tick + 1))

    def last_of_run(self, tick: int) -> int:
        """The last of the excluded windows that follow each other from `tick` on; `tick` when it is not excluded."""
        for _ in range(_LONGEST_RUN):
            after = self._grid.after(tick)
            if not (self.holds(tick) and self.holds(after)):
                return tick
            tick = after
        raise PartitionError("`exclude` leaves no window", hint="narrow the cron expression it holds")

    def first_of_run(self, tick: int) -> int:
        """The first of the excluded windows that lead up to `tick`; `tick` when it is not excluded."""
        for _ in range(_LONGEST_RUN):
            before = self._grid.floor(tick - 1)
            if not (self.holds(tick) and self.holds(before)):
                return tick
            tick = before
        raise PartitionError("`exclude` leaves no window", hint="narrow the cron expression it holds")
