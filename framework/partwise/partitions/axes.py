"""Axes: one dimension of a partition definition. Slices (see `spans`) are all that `PartitionSet` knows of an axis."""

from __future__ import annotations

from partwise.errors import PartitionError
from partwise.partitions.keyaxis import DynamicAxis, KeyAxis, check_key
from partwise.partitions.spans import Slice, Span, Spans, Window, intersect, merge, subtract
from partwise.partitions.timeaxis import Moment, TimeAxis

__all__ = [
    "DIMENSION_NAMES",
    "Axis",
    "DynamicAxis",
    "KeyAxis",
    "Moment",
    "Slice",
    "Span",
    "Spans",
    "TimeAxis",
    "Window",
    "check_key",
    "intersect",
    "merge",
    "subtract",
    "week_day",
]

Axis = TimeAxis | KeyAxis

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DIMENSION_NAMES = {
    "hourly": "hour",
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "quarterly": "quarter",
    "yearly": "year",
    "cron": "window",
    "static": "key",
}


def week_day(week_start: str) -> int:
    """0 = Monday .. 6 = Sunday. Raises PartitionError for anything else."""
    name = str(week_start).strip().lower()
    found = [i for i, day in enumerate(WEEKDAYS) if len(name) >= 2 and day.startswith(name)]
    if len(found) != 1:
        raise PartitionError(f"week_start is `{week_start}`", hint="write a day of the week, such as `monday`")
    return found[0]
