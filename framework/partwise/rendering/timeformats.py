"""Time written as text or as a number: the `partition_format` of a column that is neither DATE nor TIMESTAMP.

A format is strftime's, restricted to parts whose text is the same on every machine. Wall values are epoch seconds of
a wall clock (see `zones.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise

from partwise.errors import RenderError
from partwise.partitions.zones import DAY, HOUR, from_wall, wall_of

EPOCH_FORMATS = {"epoch": 1, "epoch_ms": 1_000, "epoch_us": 1_000_000, "epoch_ns": 1_000_000_000}
_PART = re.compile(r"%(-?.)", re.DOTALL)
_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
# From coarse to fine. A text sorts like the time it stands for when its parts come in this order, all of fixed width.
_RANK = {"Y": 0, "G": 0, "m": 1, "V": 1, "d": 2, "j": 2, "H": 3, "M": 4, "S": 5}
_UNSORTED = {"y": 0, "b": 1, "B": 1}
_STEPS = {2: DAY, 3: HOUR, 4: 60, 5: 1}


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """A parsed strftime format. `unit` is the rank of its finest part: 0 year, 1 month or week, 2 day, 3 hour ..."""

    text: str
    parts: tuple[str, ...]
    unit: int

    @property
    def sorts(self) -> bool:
        """Whether the order of texts is the order of times."""
        ranks = [_RANK.get(part, -1) for part in self.parts]
        fixed = all(rank >= 0 for rank in ranks)
        return fixed and bool(ranks) and ranks[0] == 0 and all(a < b for a, b in pairwise(ranks))

    @property
    def is_number(self) -> bool:
        """Whether it writes digits only, so that the number sorts like the time."""
        return self.sorts and not _PART.sub("", self.text)

    @property
    def is_week(self) -> bool:
        return "V" in self.parts

    def write(self, wall: int) -> str:
        moment = from_wall(wall)
        return _PART.sub(lambda match: _write(match[1], moment), self.text)

    def floor(self, wall: int) -> int:
        """The earliest wall value with the same text."""
        if self.unit >= 2:
            return wall - wall % _STEPS[self.unit]
        moment = from_wall(wall)
        if self.is_week:
            return wall_of(datetime.combine(moment.date() - timedelta(days=moment.weekday()), datetime.min.time()))
        return wall_of(datetime(moment.year, moment.month if self.unit else 1, 1))

    def texts(self, lo: int, hi: int) -> Iterator[str]:
        """The text of every unit that begins in the wall values `[lo, hi)`, ascending."""
        while lo < hi:
            yield self.write(lo)
            lo = self._next(lo)

    def _next(self, wall: int) -> int:
        if self.unit >= 2:
            return wall + _STEPS[self.unit]
        if self.is_week:
            return wall + 7 * DAY
        moment = from_wall(wall)
        if self.unit == 0:
            return wall_of(datetime(moment.year + 1, 1, 1))
        return wall_of(datetime(moment.year + moment.month // 12, moment.month % 12 + 1, 1))


def _write(part: str, moment: datetime) -> str:
    if part == "%":
        return "%"
    if part in ("b", "B"):
        name = _MONTHS[moment.month - 1]
        return name[:3] if part == "b" else name
    if part in ("G", "V"):
        year, week, _ = date(moment.year, moment.month, moment.day).isocalendar()
        return f"{year:04}" if part == "G" else f"{week:02}"
    if part == "j":
        return f"{moment.timetuple().tm_yday:03}"
    if part == "Y":
        return f"{moment.year:04}"
    number = {
        "y": moment.year % 100,
        "m": moment.month,
        "d": moment.day,
        "H": moment.hour,
        "M": moment.minute,
        "S": moment.second,
    }[part]
    return f"{number:02}"


@lru_cache(maxsize=256)
def time_format(text: str) -> TimeFormat:
    """The format that `text` writes. Raises RenderError for parts that vary with the machine, or that tell no time."""
    parts = tuple(part for part in _PART.findall(text) if part != "%")
    for part in parts:
        if part not in _RANK and part not in _UNSORTED:
            known = " ".join(f"%{p}" for p in (*_RANK, *_UNSORTED))
            raise RenderError(
                f"partition_format `{text}` uses `%{part}`", hint=f"use {known}, or epoch, epoch_ms, epoch_us, epoch_ns"
            )
    ranks = {_RANK.get(part, _UNSORTED.get(part, 0)) for part in parts}
    if 0 not in ranks:
        raise RenderError(f"partition_format `{text}` writes no year", hint="write it like `%Y-%m-%d`")
    unit = max(ranks)
    whole = {0} | ({1} if unit >= 1 and "j" not in parts else set()) | set(range(2, unit + 1))
    if not whole <= ranks or ("G" in parts) != ("V" in parts) or ("V" in parts and unit > 1):
        raise RenderError(
            f"partition_format `{text}` leaves a part of the time out", hint="write it like `%Y-%m-%d %H`"
        )
    return TimeFormat(text, parts, unit)
