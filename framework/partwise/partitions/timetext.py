"""Times as people write them, and keys as they are shown.

A text names a wall-clock time, or a whole period when it is coarser (`2024-01`, `2024-Q1`); it may carry a UTC offset.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime

from partwise.partitions.zones import DAY, HOUR, Zone, from_wall, wall_of

DAY_FORMAT = "%Y-%m-%d"
HOUR_FORMAT = "%Y-%m-%d-%H:%M"

_LONGEST_FOLD = 26 * HOUR  # a wall time may come again after so long at most (Kwajalein, 1969)
_OFFSET = re.compile(r"(.+?\d) ?(Z|[+-]\d\d:?\d\d)$")
_YEAR = re.compile(r"(\d{4})")
_QUARTER = re.compile(r"(\d{4})-?[Qq]([1-4])")
_MONTH = re.compile(r"(\d{4})-(\d\d)")
_WEEK = re.compile(r"(\d{4})-?W(\d\d)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_HOUR = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d)")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T -](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says: the wall value at which it begins, the seconds it spans (0: one moment), its UTC offset."""

    wall: int
    length: int = 0
    offset: int | None = None


def read_time(text: str, format: str = "") -> Reading | None:
    """The time that a text names, tried in `format` first; None when it names none.

    Digits have a fixed width, so `2024-1-5` is not a time, except in a `format` of which Python says otherwise.

    >>> read_time("2024-01-15T05")
    Reading(wall=1705294800, length=3600, offset=None)
    >>> read_time("2024-11-03-01:00-0500")
    Reading(wall=1730595600, length=0, offset=-18000)
    """
    text = text.strip()
    if format and (found := _in_format(text, format)) is not None:
        return found
    plain = _plain(text)
    if plain is not None:
        return plain
    if (match := _OFFSET.match(text)) is None:
        return None
    body, suffix = match.groups()
    inner = _in_format(body, format) if format else None
    inner = inner or _plain(body)
    if inner is None or inner.length > HOUR:  # a day has no offset of its own
        return None
    return Reading(inner.wall, inner.length, _seconds(suffix))


def _in_format(text: str, format: str) -> Reading | None:
    if not re.search(r"%[YyGcxDF]", format):
        return None  # without a year no text says which day it is, and Python warns of reading it
    form = format
    if re.search(r"%[UVW]", form) and not re.search(r"%[uwaA]", form):  # a week without a day means its first
        text, form = f"{text} 1", f"{form} %u" if "%V" in form else f"{form} %w"
    try:
        moment = datetime.strptime(text, form)
    except ValueError:
        return None
    gap = moment.utcoffset()
    return Reading(wall_of(moment), 0, None if gap is None else int(gap.total_seconds()))


def _plain(text: str) -> Reading | None:
    try:
        if match := _TIME.fullmatch(text):
            moment = datetime.fromisoformat(f"{match[1]}T{match[2]}")
            return None if moment.microsecond else Reading(wall_of(moment))
        if match := _HOUR.fullmatch(text):
            return Reading(wall_of(datetime.fromisoformat(f"{match[1]}T{match[2]}:00")), HOUR)
        if _DAY.fullmatch(text):
            return _days(date.fromisoformat(text), 1)
        if match := _WEEK.fullmatch(text):
            return _days(date.fromisocalendar(int(match[1]), int(match[2]), 1), 7)
        if match := _QUARTER.fullmatch(text):
            return _months(int(match[1]), int(match[2]) * 3 - 2, 3)
        if match := _MONTH.fullmatch(text):
            return _months(int(match[1]), int(match[2]), 1)
        if match := _YEAR.fullmatch(text):
            return _months(int(match[1]), 1, 12)
    except (ValueError, OverflowError):
        pass
    return None


def _days(first: date, count: int) -> Reading:
    return Reading(wall_of(datetime(first.year, first.month, first.day)), count * DAY)


def _months(year: int, month: int, count: int) -> Reading:
    first = date(year, month, 1)
    after = date(year + (month - 1 + count) // 12, (month - 1 + count) % 12 + 1, 1)
    return _days(first, (after - first).days)


def _seconds(offset: str) -> int:
    if offset == "Z":
        return 0
    digits = offset[1:].replace(":", "")
    size = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return size if offset[0] == "+" else -size


class Writer:
    """Writes what the wall clock of a zone shows at an instant, in a strftime format.

    With `tell_apart` the second of two equal wall times carries its UTC offset. Keys are mostly written one after the
    other, so the stretch of one offset and the last date are kept (in one assignment each: threads may share a writer).
    """

    def __init__(self, in_zone: Zone, form: str, *, tell_apart: bool) -> None:
        self._zone = in_zone
        self._form = form
        self._tell_apart = tell_apart and "%z" not in form and "%Z" not in form
        self._stretch = (0, 0, 0)  # from, to, offset; nothing in it is told apart
        self._date = (0, "1970-01-01")

    def __call__(self, instant: int) -> str:
        lo, hi, offset = self._stretch
        if not lo <= instant < hi:
            part = self._zone.segment(instant)
            offset = part.offset
            if self._tell_apart and instant < part.lo + _LONGEST_FOLD:
                text = self._write(instant + offset, offset)
                return text + _shown(offset) if self._zone.is_second(instant) else text
            self._stretch = (instant, part.hi, offset)
        return self._write(instant + offset, offset)

    def _write(self, wall: int, offset: int) -> str:
        if self._form not in (DAY_FORMAT, HOUR_FORMAT):
            moment, zone_text = from_wall(wall), _shown(offset)
            filled = self._form.replace("%z", zone_text).replace("%Z", zone_text).replace("%Y", f"{moment.year:04}")
            return moment.strftime(filled)
        day, second = divmod(wall, DAY)
        known, text = self._date
        if day != known:
            moment = from_wall(wall)
            text = f"{moment.year:04}-{moment.month:02}-{moment.day:02}"
            self._date = (day, text)
        if self._form == DAY_FORMAT:
            return text
        return f"{text}-{second // HOUR:02}:{second % HOUR // 60:02}"


def _shown(offset: int) -> str:
    sign, size = ("-", -offset) if offset < 0 else ("+", offset)
    return f"{sign}{size // 3600:02}{size % 3600 // 60:02}"
