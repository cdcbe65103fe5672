"""The kinds of partition mappings, as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from partwise.partitions.sets import PartitionSet

WAYS = (
    "say which partitions it needs: mapping=all(), last(), keys([...]), identity(), "
    "window(start_offset=, end_offset=), static_map({...}) or dims(...)"
)


@dataclass(frozen=True, slots=True)
class Needed:
    """What a set of downstream partitions reads: what exists of it, and what does not."""

    existing: PartitionSet
    nonexistent: PartitionSet


@dataclass(frozen=True, slots=True)
class Identity:
    """The upstream partition with the same key."""


@dataclass(frozen=True, slots=True)
class All:
    """Every upstream partition that exists."""


@dataclass(frozen=True, slots=True)
class Last:
    """The last upstream partition that exists (of each combination of the other dimensions, in definition order)."""


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """The upstream windows that overlap the downstream window, moved by whole downstream windows and by `shift`.

    The need of the window `[s, e)` is `[s moved by start_offset, e moved by end_offset)`, both then moved by `shift`.
    """

    start_offset: int = 0
    end_offset: int = 0
    shift: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class StaticMap:
    """From upstream key to the downstream keys it feeds, both ways; keys left out feed nothing."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Keys:
    """Always these upstream partitions."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dims:
    """Upstream dimension -> the downstream dimension that decides it, and how. One left out takes all its keys.

    A downstream definition with one dimension is named by that dimension, or by ''.
    """

    by_upstream: tuple[tuple[str, str, Mapping | None], ...]


Mapping = Identity | All | Last | TimeWindow | StaticMap | Keys | Dims
