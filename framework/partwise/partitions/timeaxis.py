"""Axes of time: the windows of a calendar grain or a cron expression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any

from partwise.errors import PartitionError
from partwise.partitions.exclusions import Exclusions
from partwise.partitions.grids import Grid, canonical_cron, ceil, grid
from partwise.partitions.spans import Span, Spans, Window, intersect, subtract
from partwise.partitions.timetext import DAY_FORMAT, HOUR_FORMAT, Reading, Writer, read_time
from partwise.partitions.zones import DAY, to_datetime, to_instant, wall_of, year_start

Moment = str | date | datetime

_FIRST, _LAST = year_start(2), year_start(9999)  # a year off either end of what Python can show
_FORMAT_PROBES = 50  # windows whose keys are read back to test a format


@dataclass(frozen=True)
class TimeAxis:
    """Windows of a calendar grain or a cron expression, between `start` and `end`.

    `day` is 0 = Monday .. 6 = Sunday for weekly, the day of the month for monthly, quarterly and yearly. `begin` and
    `finish` are the bounds as ticks: windows start at or after the one and end at or before the other (None: no end).
    Two axes are equal when they hold the same windows, however `start` and `end` were written.
    """

    name: str
    kind: str
    start: Moment = field(compare=False)
    end: Moment | None = field(default=None, compare=False)
    timezone: str = "UTC"
    minute: int = 0
    hour: int = 0
    day: int = 0
    cron: str = ""
    end_offset: int = 0
    format: str = ""
    exclude: tuple[Moment, ...] = ()
    begin: int = field(init=False)
    finish: int | None = field(init=False)

    is_time = True

    def __post_init__(self) -> None:
        first = self._bound(self.start, "start")
        last = None if self.end is None else self._bound(self.end, "end")
        if last is not None and last < first:
            raise PartitionError(
                f"the {self.kind} partitions end before they start: `end` is `{self.end}`, `start` is `{self.start}`",
                hint="`end` is where the last window ends; leave it out for no end",
            )
        object.__setattr__(self, "begin", ceil(self.grid, first))
        object.__setattr__(self, "finish", None if last is None else self.grid.floor(last))
        if self.exclude:
            self.exclusions.kept_from(self.begin)  # refuses exclusions that leave no window
        if self.format:
            self._check_format()

    @cached_property
    def grid(self) -> Grid:
        """The tiling of time; shared by all axes with the same grain, zone and offsets."""
        return grid(self.kind, self.timezone, self.minute, self.hour, self.day, self.cron)

    @property
    def identity(self) -> tuple[Any, ...]:
        """What moves windows or keys; start, end, end_offset, exclude and format do not."""
        cron = canonical_cron(self.cron) if self.cron else ""
        return (self.kind, self.timezone, self.minute, self.hour, self.day, cron)

    @property
    def default_format(self) -> str:
        return HOUR_FORMAT if self.kind in ("hourly", "cron") else DAY_FORMAT

    def _bound(self, moment: Moment, what: str) -> int:
        """The instant of `start` or `end`: wall clock of the zone unless it carries an offset. `start` rounds up."""
        reading: Reading | None
        if isinstance(moment, datetime):
            up = moment + timedelta(microseconds=999_999 if what == "start" else 0)
            reading = Reading(wall_of(up)) if moment.tzinfo is None else Reading(to_instant(up), 0, 0)
        elif isinstance(moment, date):
            reading = Reading(wall_of(datetime(moment.year, moment.month, moment.day)))
        else:
            reading = read_time(moment, self.format) if isinstance(moment, str) else None
        if reading is None:
            shown = f"in the format `{self.format}`, or as `2024-01-15`" if self.format else "like `2024-01-15`"
            hint = f"write a date or time {shown}, `2024-01-15T05:00` or `2024-01-15T05:00Z`"
            raise PartitionError(f"`{what}` of the {self.kind} partitions is `{moment}`, not a time", hint=hint)
        if not _FIRST < reading.wall < _LAST:
            hint = "years go from 2 to 9998; leave `end` out for no end"
            raise PartitionError(f"`{what}` of the {self.kind} partitions is `{moment}`", hint=hint)
        return self._begins(reading)

    def _begins(self, reading: Reading) -> int:
        if reading.offset is not None:
            return reading.wall - reading.offset
        return self.grid.zone.resolve(reading.wall, first=self.grid.is_elapsed)

    # ------------------------------------------------------------ keys

    @cached_property
    def key(self) -> Writer:
        """`key(tick)`: the key of the window that starts at `tick`, in `format`."""
        return Writer(self.grid.zone, self.format or self.default_format, tell_apart=self.grid.is_elapsed)

    @cached_property
    def log_key(self) -> Writer:
        """`log_key(tick)`: the key under which facts are stored: `format` is for display, so it may change."""
        return Writer(self.grid.zone, self.default_format, tell_apart=self.grid.is_elapsed)

    def tick(self, text: str) -> int:
        """The tick that a key names, inside the definition or not.

        Takes the key as shown, the key as stored, `2024-01-15T05`, ISO instants, and a period in which just one window
        starts (`2024-01`, `2024-Q1`). Raises PartitionError naming the nearest keys when it is none.
        """
        reading = read_time(text, self.format)
        if reading is None:
            hint = f"write it like `{self.key(self.begin)}`"
            raise PartitionError(f"`{text}` is not a {self.kind} partition key", hint=hint)
        guess = self._begins(reading)
        low = self.grid.floor(guess)
        near = [low, self.grid.after(low)]
        if reading.offset is None:
            for tick in near:
                if text in (self.key(tick), self.log_key(tick)):
                    return tick
        if not reading.length:
            if low == guess and (reading.offset is not None or self.grid.zone.wall(low) == reading.wall):
                return low
        elif (found := self._only_tick_in(text, guess, reading)) is not None:
            return found
        if low == guess:  # the end of a gap that holds the wall time
            near = [self.grid.floor(low - 1), low]
        hint = f"the nearest keys are {', '.join(f'`{self.key(t)}`' for t in near)}"
        raise PartitionError(f"`{text}` is not a {self.kind} partition key", hint=hint)

    def _only_tick_in(self, text: str, lo: int, reading: Reading) -> int | None:
        """The one window that starts in a period (the first of two that a repeated hour gives)."""
        if reading.offset is not None:
            hi = lo + reading.length
        else:
            hi = self.grid.zone.resolve(reading.wall + reading.length, first=True)
        count = self.grid.count(lo, hi)
        if not count:
            return None
        first = ceil(self.grid, lo)
        last = self.grid.floor(hi - 1)
        if reading.length == 7 * DAY and self.grid.zone.wall(first) - reading.wall >= DAY:
            return None  # a week that starts on another day is not this one
        if count == 1 or (count == 2 and self.grid.zone.wall(first) == self.grid.zone.wall(last)):
            return first
        raise PartitionError(
            f"`{text}` is not a {self.kind} partition key: {count} partitions start in it",
            hint=f"for all of them write the range `{self.key(first)}..{self.key(last)}`",
        )

    def reads(self, text: str) -> bool:
        """Whether a text is written like a time, a key or not."""
        return read_time(text, self.format) is not None

    def _check_format(self) -> None:
        """Refuse a format that gives two windows one key, or keys that cannot be read back."""
        tick = self.begin
        for _ in range(_FORMAT_PROBES):
            if self.finish is not None and tick >= self.finish:
                return
            text = self.key(tick)
            try:
                back: int | None = self.tick(text)
            except PartitionError:
                back = None
            after = self.grid.after(tick)
            if back != tick:
                why = (
                    f"two windows have the key `{text}`" if self.key(after) == text else f"`{text}` cannot be read back"
                )
                raise PartitionError(
                    f"format `{self.format}` does not tell the {self.kind} partitions apart: {why}",
                    hint=f"use a finer format, such as `{self.default_format}`",
                )
            tick = after

    # ------------------------------------------------------------ which windows there are

    @cached_property
    def exclusions(self) -> Exclusions:
        """Which windows do not exist although they lie between the bounds."""
        return Exclusions(self.grid, [self._exclusion(item) for item in self.exclude])

    def _exclusion(self, item: Moment) -> str | Reading:
        if isinstance(item, str) and (len(item.split()) == 5 or item.startswith("@")):
            return item
        reading = read_time(item, self.format) if isinstance(item, str) else None
        if isinstance(item, datetime):
            reading = Reading(wall_of(item)) if item.tzinfo is None else Reading(to_instant(item), 0, 0)
        elif isinstance(item, date):
            reading = read_time(item.isoformat())
        if reading is None:
            hint = "write a cron expression or a date, such as `0 0 * * 6,0` or `2024-12-25`"
            raise PartitionError(f"`exclude` of the {self.kind} partitions holds `{item}`", hint=hint)
        return reading

    def excluded_in(self, lo: int, hi: int) -> Spans:
        """The excluded windows that start in `[lo, hi)`."""
        return self.exclusions.starting_in(lo, hi)

    def clip(self, spans: Spans) -> Spans:
        """The windows of the definition among those of a slice, whether they have ended or not."""
        high = spans[-1][1] if spans else self.begin
        bounds = ((self.begin, high if self.finish is None else min(high, self.finish)),)
        kept = intersect(spans, bounds) if bounds[0][0] < bounds[0][1] else ()
        if kept and self.exclude:
            kept = subtract(kept, self.excluded_in(kept[0][0], kept[-1][1]))
        return kept

    def existing(self, now: datetime | None) -> Spans:
        """The windows that have ended by `now`, shifted by `end_offset`. With an `end`, None means after it."""
        if now is None:
            if self.finish is None:
                raise PartitionError(
                    f"the {self.kind} partitions have no end, so a current time is needed",
                    hint="give `now`, or an `end`",
                )
            return self.clip(((self.begin, self.finish),)) if self.begin < self.finish else ()
        high = self.grid.floor(to_instant(now))
        if self.end_offset:
            last = self.exclusions.kept_until(high - 1) if self.exclude else self.grid.floor(high - 1)
            high = self.grid.after(self.shift(last, self.end_offset))
        return self.clip(((self.begin, high),)) if high > self.begin else ()

    def shift(self, tick: int, by: int) -> int:
        """The start of the window `by` windows later, counting only windows that are not excluded."""
        return self.exclusions.shift(tick, by) if self.exclude and by else self.grid.shift(tick, by)

    def cover(self, lo: int, hi: int) -> tuple[int, int]:
        """The span of whole windows that overlap `[lo, hi)`, in the definition or not."""
        return (self.grid.floor(lo), ceil(self.grid, hi)) if lo < hi else (lo, lo)

    def count(self, spans: Spans) -> int:
        return sum(self.grid.count(lo, hi) for lo, hi in spans)

    def take(self, spans: Spans, n: int) -> tuple[Spans, Spans]:
        """The first `n` windows and the rest; there must be more than `n`."""
        for i, (lo, hi) in enumerate(spans):
            at = self.grid.shift(lo, n)
            if at < hi:
                return ((*spans[:i], (lo, at)) if at > lo else spans[:i]), ((at, hi), *spans[i + 1 :])
            n -= self.grid.count(lo, hi)
        return spans, ()

    def windows(self, span: Span) -> Iterator[tuple[int, int]]:
        """The windows of a span, ascending."""
        lo = span.lo
        for tick in self.grid.ticks(span.lo, span.hi):
            if tick > lo:
                yield lo, tick
                lo = tick
        if lo < span.hi:
            yield lo, span.hi

    def window(self, tick: int) -> Window:
        return Window(to_datetime(tick), to_datetime(self.grid.after(tick)))

    def key_at(self, instant: datetime) -> str | None:
        """The key of the window that holds an instant, in the definition or not; None when that one is excluded."""
        tick = self.grid.floor(to_instant(instant))
        return None if self.exclude and self.exclusions.holds(tick) else self.key(tick)

    def range_of(self, first: str, last: str, now: datetime | None) -> Spans:
        """The windows from one key to another, both included; an empty text means the first or the last that exists."""
        lo = self._own(first) if first else self.begin
        if last:
            high = self.grid.after(self._own(last))
        else:
            spans = self.existing(now)
            high = spans[-1][1] if spans else lo
        if first and last and lo >= high:
            raise PartitionError(
                f"the range runs backwards: `{first}` comes after `{last}`", hint=f"did you mean `{last}:{first}`?"
            )
        return self.clip(((lo, high),)) if lo < high else ()

    def _own(self, text: str) -> int:
        """The tick of a key of this definition. Raises PartitionError when it is outside or excluded."""
        tick = self.tick(text)
        if tick < self.begin or (self.finish is not None and self.grid.after(tick) > self.finish):
            raise PartitionError(f"partition `{text}` is outside the definition", hint=self._extent())
        if self.exclude and self.exclusions.holds(tick):
            near = (self.exclusions.kept_until(tick), self.exclusions.kept_from(tick))
            raise PartitionError(
                f"partition `{text}` is excluded from the definition",
                hint=f"the nearest keys are {', '.join(f'`{self.key(t)}`' for t in near)}",
            )
        return tick

    def _extent(self) -> str:
        """Where the keys start and end, for a message."""
        if self.finish is None:
            return f"its keys start with `{self.key(self.begin)}`"
        if self.begin >= self.finish:
            return f"it has no keys: no whole window lies between `{self.start}` and `{self.end}`"
        return f"its keys go from `{self.key(self.begin)}` to `{self.key(self.grid.floor(self.finish - 1))}`"

    def one(self, text: str) -> Spans:
        tick = self._own(text)
        return ((tick, self.grid.after(tick)),)
