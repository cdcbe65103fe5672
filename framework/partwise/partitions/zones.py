"""Time zones as offsets over UTC seconds.

Instants are UTC epoch seconds (int). A *wall* value is what a clock on the wall shows, written as the epoch seconds it
would be if the zone were UTC. Python compares two aware datetimes of one zone by wall clock, so nothing here does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from partwise.errors import PartitionError, did_you_mean

DAY = 86_400
HOUR = 3_600
MIN_INSTANT = -62_135_596_800 + 2 * DAY  # 0001-01-03: room for any offset below
MAX_INSTANT = 253_402_300_800 - 2 * DAY  # 9999-12-30
BEYOND = "a date before year 1 or after year 9999 was asked for"
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch `[lo, hi)` of instants with one UTC offset in seconds; it may touch another of the same offset."""

    lo: int
    hi: int
    offset: int


def to_datetime(instant: int) -> datetime:
    """The aware UTC datetime of an instant."""
    return _EPOCH + timedelta(seconds=instant)


def to_instant(moment: datetime) -> int:
    """Epoch seconds of an aware datetime, rounded down. Raises PartitionError when it has no zone."""
    if moment.tzinfo is None:
        raise PartitionError(f"`{moment}` has no time zone", hint="give an aware datetime, e.g. with tzinfo=UTC")
    delta = moment.astimezone(UTC) - _EPOCH
    return delta.days * DAY + delta.seconds


def wall_of(moment: datetime) -> int:
    """The wall value of a naive datetime, rounded down to the second."""
    delta = moment.replace(tzinfo=None) - _NAIVE_EPOCH
    return delta.days * DAY + delta.seconds


def from_wall(wall: int) -> datetime:
    """The naive datetime of a wall value."""
    return _NAIVE_EPOCH + timedelta(seconds=wall)


def year_of(instant: int) -> int:
    """The UTC year an instant lies in."""
    return date.fromordinal(instant // DAY + _EPOCH_DAY).year


def year_start(year: int) -> int:
    """The instant at which a UTC year begins."""
    return (date(year, 1, 1).toordinal() - _EPOCH_DAY) * DAY


class Zone:
    """An IANA zone, with its offsets found year by year and kept."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._info = ZoneInfo(name)
        self._years: dict[int, list[Segment]] = {}
        self.is_utc = name in ("UTC", "Etc/UTC", "Etc/GMT", "GMT", "Zulu", "Etc/Zulu", "Etc/UCT", "UCT")

    def _offset(self, instant: int) -> int:
        offset = to_datetime(instant).astimezone(self._info).utcoffset()
        assert offset is not None
        return offset.days * DAY + offset.seconds

    def _year(self, year: int) -> list[Segment]:
        """The segments of one UTC year, in order. Changes are looked for day by day: none lie closer together."""
        found = self._years.get(year)
        if found is None:
            lo, hi = year_start(year), year_start(year + 1) if year < 9999 else MAX_INSTANT
            found, start, offset, before = [], lo, self._offset(lo), lo
            for probe in [*range(lo + DAY, hi, DAY), hi - 1]:
                now = self._offset(probe)
                if now != offset:
                    low, high = before, probe
                    while high - low > 1:
                        middle = (low + high) // 2
                        low, high = (middle, high) if self._offset(middle) == offset else (low, middle)
                    found.append(Segment(start, high, offset))
                    start, offset = high, now
                before = probe
            found.append(Segment(start, hi, offset))
            self._years[year] = found
        return found

    def segment(self, instant: int) -> Segment:
        """The segment that holds an instant. Raises PartitionError outside the years 1 to 9999."""
        if not MIN_INSTANT <= instant < MAX_INSTANT:
            raise PartitionError(BEYOND)
        if self.is_utc:
            return Segment(MIN_INSTANT, MAX_INSTANT, 0)
        year = self._year(year_of(instant))
        return year[bisect_right(year, instant, key=lambda s: s.lo) - 1]

    def segments(self, lo: int, hi: int) -> Iterator[Segment]:
        """The segments that overlap `[lo, hi)`, in order, not cut to it."""
        while lo < hi:
            found = self.segment(lo)
            yield found
            lo = found.hi

    def offset(self, instant: int) -> int:
        """Seconds to add to an instant to get its wall value."""
        return self.segment(instant).offset

    def wall(self, instant: int) -> int:
        """What the clock on the wall shows at an instant."""
        return instant + self.segment(instant).offset

    def resolve(self, wall: int, *, first: bool = False) -> int:
        """The instant of a wall value.

        One that occurs twice means its second occurrence (its first with `first=True`), one that does not occur the
        end of the gap: the same choice DuckDB makes, so bounds and casts agree.
        """
        if not MIN_INSTANT <= wall < MAX_INSTANT:
            raise PartitionError(BEYOND)
        if self.is_utc:
            return wall
        naive = from_wall(wall)
        early = self._wall_offset(naive.replace(fold=0))
        late = self._wall_offset(naive.replace(fold=1))
        if early < late:  # a gap: the offset before it is the smaller one
            inside = self.segment(wall - early)
            while inside.lo > MIN_INSTANT and self.segment(inside.lo - 1).offset == inside.offset:
                inside = self.segment(inside.lo - 1)
            return inside.lo
        return wall - (early if first else late)

    def _wall_offset(self, naive: datetime) -> int:
        offset = naive.replace(tzinfo=self._info).utcoffset()
        assert offset is not None
        return offset.days * DAY + offset.seconds

    def is_second(self, instant: int) -> bool:
        """Whether the wall clock shows at `instant` what it already showed before being put back."""
        return not self.is_utc and to_datetime(instant).astimezone(self._info).fold == 1

    def jumps(self, lo: int, hi: int, *, at_least: int) -> list[Segment]:
        """The segments in `[lo, hi)` that begin after the clock was put forward by so many seconds.

        A jump of a day (Apia, 30 December 2011) shows in the offsets at both ends of its year, so other years are not
        searched for one.
        """
        if self.is_utc or lo >= hi:
            return []
        found = []
        for year in range(year_of(lo), year_of(hi) + 1):
            end = year_start(year + 1) if year < 9999 else MAX_INSTANT
            if at_least >= DAY and self._offset(end) - self._offset(year_start(year)) < DAY - 6 * HOUR:
                continue
            parts = self._year(year)
            before = [self._offset(year_start(year) - 1), *(part.offset for part in parts)]
            found += [
                p for was, p in zip(before, parts, strict=False) if p.offset - was >= at_least and lo <= p.lo < hi
            ]
        return found


@lru_cache(maxsize=64)
def zone(name: str) -> Zone:
    """The zone of an IANA name. Raises PartitionError for a name that is not one."""
    try:
        if not isinstance(name, str) or not name:
            raise ValueError
        return Zone(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = did_you_mean(str(name), sorted(available_timezones()))
        hint = near or "use an IANA name such as `Europe/Berlin`"
        raise PartitionError(f"unknown time zone `{name}`", hint=hint) from None
