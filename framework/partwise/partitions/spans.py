"""Slices of one dimension: spans of time and sets of keys, and their algebra.

A slice of a time axis is a tuple of `(lo, hi)` pairs of UTC seconds, ascending, half-open, not touching, on window
boundaries. A slice of a key axis is a frozenset of key texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

Spans = tuple[tuple[int, int], ...]
Slice = Spans | frozenset[str]


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open stretch of time `[lo, hi)` in UTC epoch seconds, on window boundaries of its axis."""

    lo: int
    hi: int


@dataclass(frozen=True, slots=True)
class Window:
    """A time window: aware UTC datetimes, start included, end excluded."""

    start: datetime
    end: datetime


def merge(spans: Iterable[tuple[int, int]]) -> Spans:
    """The union of spans in any order, in canonical form."""
    merged: list[tuple[int, int]] = []
    for lo, hi in sorted(spans):
        if lo >= hi:
            continue
        if merged and lo <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], hi))
        else:
            merged.append((lo, hi))
    return tuple(merged)


def intersect(a: Spans, b: Spans) -> Spans:
    """What two canonical slices share."""
    out, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        lo, hi = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if lo < hi:
            out.append((lo, hi))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(out)


def subtract(a: Spans, b: Spans) -> Spans:
    """What is in the first canonical slice and not in the second."""
    out, j = [], 0
    for lo, hi in a:
        while j < len(b) and b[j][1] <= lo:
            j += 1
        k = j
        while k < len(b) and b[k][0] < hi:
            if b[k][0] > lo:
                out.append((lo, b[k][0]))
            lo = max(lo, b[k][1])
            k += 1
        if lo < hi:
            out.append((lo, hi))
    return tuple(out)
