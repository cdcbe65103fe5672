"""Partition definitions as people write them: `daily(start='2024-01-01', timezone='Europe/Berlin')`.

The values they make, `Definition` and `PartitionSet`, live in `sets.py` and are exported here as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from partwise.errors import PartitionError, did_you_mean
from partwise.partitions.axes import DIMENSION_NAMES, Axis, DynamicAxis, KeyAxis, Moment, TimeAxis, check_key, week_day
from partwise.partitions.keytext import join_key, split_key
from partwise.partitions.sets import (
    Definition,
    DynamicDefinition,
    MultiDefinition,
    PartitionRow,
    PartitionSet,
    SimpleDefinition,
    StaticDefinition,
    TimeDefinition,
)
from partwise.partitions.spans import Span, Window
from partwise.partitions.tree import Box

__all__ = [
    "Box",
    "Definition",
    "DynamicAxis",
    "DynamicDefinition",
    "MultiDefinition",
    "PartitionRow",
    "PartitionSet",
    "SimpleDefinition",
    "Span",
    "StaticDefinition",
    "TimeDefinition",
    "Window",
    "cron",
    "daily",
    "dynamic",
    "hourly",
    "join_key",
    "monthly",
    "multi",
    "quarterly",
    "split_key",
    "static",
    "weekly",
    "yearly",
]


def _time(kind: str, day: int, **given: Any) -> TimeDefinition:
    start = given.pop("start", None)
    if start is None:
        raise PartitionError(f"the {kind} partitions have no start", hint=f"write {kind}(start='2024-01-01')")
    exclude = given.pop("exclude", None) or ()
    exclude = (exclude,) if isinstance(exclude, (str, datetime)) else tuple(exclude)
    minute, hour = _whole("minute_offset", given.pop("minute_offset", 0), 0, 59), given.pop("hour_offset", 0)
    axis = TimeAxis(
        name=DIMENSION_NAMES[kind],
        kind=kind,
        start=start,
        end=given.pop("end", None),
        timezone=given.pop("timezone", "UTC"),
        minute=minute,
        hour=_whole("hour_offset", hour, 0, 23),
        day=day,
        cron=given.pop("cron", ""),
        end_offset=_whole("end_offset", given.pop("end_offset", 0), -1_000_000, 1_000_000),
        format=given.pop("format", None) or "",
        exclude=exclude,
    )
    return TimeDefinition((axis,))


def _whole(name: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise PartitionError(f"`{name}` is `{value}`", hint=f"write a whole number from {low} to {high}")
    return value


def hourly(
    start: Moment,
    end: Moment | None = None,
    *,
    timezone: str = "UTC",
    minute_offset: int = 0,
    end_offset: int = 0,
    format: str | None = None,
    exclude: Sequence[str | datetime] = (),
) -> TimeDefinition:
    """One partition per hour that really passes: 23, 24 or 25 a day where the clock is changed."""
    return _time(
        "hourly", 0, start=start, end=end, timezone=timezone, minute_offset=minute_offset, end_offset=end_offset,
        format=format, exclude=exclude,
    )  # fmt: skip


def daily(
    start: Moment,
    end: Moment | None = None,
    *,
    timezone: str = "UTC",
    minute_offset: int = 0,
    hour_offset: int = 0,
    end_offset: int = 0,
    format: str | None = None,
    exclude: Sequence[str | datetime] = (),
) -> TimeDefinition:
    """One partition per calendar day of the zone."""
    return _time(
        "daily", 0, start=start, end=end, timezone=timezone, minute_offset=minute_offset, hour_offset=hour_offset,
        end_offset=end_offset, format=format, exclude=exclude,
    )  # fmt: skip


def weekly(
    start: Moment,
    end: Moment | None = None,
    *,
    timezone: str = "UTC",
    week_start: str | None = None,
    day_offset: int | None = None,
    minute_offset: int = 0,
    hour_offset: int = 0,
    end_offset: int = 0,
    format: str | None = None,
    exclude: Sequence[str | datetime] = (),
) -> TimeDefinition:
    """One partition per week. It starts on `week_start`, or `day_offset` 0 = Monday (default) .. 6 = Sunday."""
    day = 0 if day_offset is None else _whole("day_offset", day_offset, 0, 6)
    if week_start is not None:
        named = week_day(week_start)
        if day_offset is not None and named != day:
            raise PartitionError(
                f"week_start is `{week_start}` and day_offset is {day_offset}", hint="give one of them"
            )
        day = named
    return _time(
        "weekly", day, start=start, end=end, timezone=timezone, minute_offset=minute_offset, hour_offset=hour_offset,
        end_offset=end_offset, format=format, exclude=exclude,
    )  # fmt: skip


def _months(kind: str, start: Moment, end: Moment | None, day_offset: int, given: dict[str, Any]) -> TimeDefinition:
    day = _whole("day_offset", day_offset, 0, 31) or 1  # like the other offsets, 0 is where the period starts
    return _time(kind, day, start=start, end=end, **given)


def monthly(start: Moment, end: Moment | None = None, *, day_offset: int = 1, **given: Any) -> TimeDefinition:
    """One partition per month, from day `day_offset`; months without that day belong to the window before."""
    _known("monthly", given)
    return _months("monthly", start, end, day_offset, given)


def quarterly(start: Moment, end: Moment | None = None, *, day_offset: int = 1, **given: Any) -> TimeDefinition:
    """One partition per quarter of the calendar year, from day `day_offset` of its first month."""
    _known("quarterly", given)
    return _months("quarterly", start, end, day_offset, given)


def yearly(start: Moment, end: Moment | None = None, *, day_offset: int = 1, **given: Any) -> TimeDefinition:
    """One partition per calendar year, from day `day_offset` of January."""
    _known("yearly", given)
    return _months("yearly", start, end, day_offset, given)


_COMMON = ("timezone", "minute_offset", "hour_offset", "end_offset", "format", "exclude")


def _known(kind: str, given: Mapping[str, Any]) -> None:
    for name in given:
        if name not in _COMMON:
            hint = did_you_mean(name, ("start", "end", "day_offset", *_COMMON))
            raise PartitionError(f"{kind}() has no argument `{name}`", hint=hint)


def cron(
    cron: str,
    start: Moment,
    end: Moment | None = None,
    *,
    timezone: str = "UTC",
    end_offset: int = 0,
    format: str | None = None,
    exclude: Sequence[str | datetime] = (),
) -> TimeDefinition:
    """One partition per tick of a five-field cron expression; each window ends where the next begins."""
    return _time(
        "cron", 0, cron=cron, start=start, end=end, timezone=timezone, end_offset=end_offset, format=format,
        exclude=exclude,
    )  # fmt: skip


def static(keys: Sequence[str]) -> StaticDefinition:
    """The given keys, in that order."""
    if isinstance(keys, str) or not isinstance(keys, Sequence):
        raise PartitionError("static() takes a list of keys", hint="write static(['US', 'EU'])")
    return StaticDefinition((KeyAxis("key", "static", tuple(keys)),))


def dynamic(
    name: str, *, keys: Sequence[str] = (), shared: bool = False, discover: str | None = None
) -> DynamicDefinition:
    """Keys kept in the warehouse under `name`; in Python `keys` carries them."""
    if not isinstance(name, str) or not name:
        raise PartitionError("dynamic() needs a name", hint="write dynamic('releases')")
    check_key(name)
    axis = DynamicAxis(name, "dynamic", tuple(keys), source=name, shared=bool(shared), discover=discover)
    return DynamicDefinition((axis,))


def multi(dims: Mapping[str, Definition] | None = None, /, **named: Definition) -> MultiDefinition:
    """Several dimensions: `multi(date=daily(...), region=static([...]))`."""
    given: dict[str, Definition] = {**(dims or {}), **named}
    if len(given) < 2:
        raise PartitionError("multi() needs two dimensions or more", hint="use the one definition itself")
    axes: list[Axis] = []
    for name in sorted(given):
        part = given[name]
        if not isinstance(part, SimpleDefinition):
            raise PartitionError(f"dimension `{name}` is not a definition of one dimension")
        if not re.fullmatch(r"\w+", name):
            raise PartitionError(f"dimension name `{name}` is not a word")
        axes.append(replace(part.axes[0], name=name))
    return MultiDefinition(tuple(axes))
