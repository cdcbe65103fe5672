"""Which partitions a run must read when its own table holds wall-clock time.

Of an hour that the clock repeats, a zoneless column cannot tell the two passes apart: by rule the first partition stays
empty and the second holds both. Its inputs may hold instants, so the second must read what the first would have read.
"""

from __future__ import annotations

from itertools import pairwise

from partwise.partitions import Box, PartitionSet
from partwise.partitions.axes import Slice, TimeAxis
from partwise.partitions.spans import Span, merge
from partwise.partitions.zones import DAY, Zone, zone


def reading_set(partitions: PartitionSet, dim: str, timezone: str) -> PartitionSet:
    """The set to read for a set to write, along a dimension whose column holds the wall clock of a zone.

    The first pass of a repeated hour is left out, and read along with the second. Equal to `partitions` where no clock
    is put back.
    """
    axis = partitions.definition.dims[dim]
    assert isinstance(axis, TimeAxis)
    clock = zone(timezone)
    if not axis.grid.is_elapsed or clock.is_utc or not partitions:
        return partitions
    result = partitions
    for changed, fold in _repeats(clock, partitions.spans(dim)):
        first, second = _whole(axis, changed - fold, changed), _whole(axis, changed, changed + fold)
        wanted = result.restrict(dim, (second,))
        result = result - result.restrict(dim, (first,))
        if wanted:
            result = result | partitions.definition.union(_moved(axis, box, fold) for box in wanted.boxes())
    return result


def _repeats(clock: Zone, spans: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """When the clock is put back in or around some spans, and by how many seconds."""
    found: dict[int, int] = {}
    for lo, hi in spans:
        parts = list(clock.segments(lo - DAY, hi + DAY))
        for before, after in pairwise(parts):
            if before.offset > after.offset:
                found[after.lo] = before.offset - after.offset
    return sorted(found.items())


def _whole(axis: TimeAxis, lo: int, hi: int) -> tuple[int, int]:
    """The windows that start in `[lo, hi)`."""
    first = axis.grid.floor(lo)
    first = first if first == lo else axis.grid.after(lo)
    last = axis.grid.floor(hi)
    return first, last if last == hi else axis.grid.after(hi)


def _moved(axis: TimeAxis, box: Box, fold: int) -> dict[str, Slice]:
    """A rectangle with its windows replaced by those that show the same wall-clock times one pass earlier."""
    moved: dict[str, Slice] = {}
    for name, parts in box.dims.items():
        spans = [part for part in parts if isinstance(part, Span)]
        if name == axis.name:
            moved[name] = merge(axis.cover(span.lo - fold, span.hi - fold) for span in spans)
        else:
            moved[name] = tuple((s.lo, s.hi) for s in spans) if spans else frozenset(str(part) for part in parts)
    return moved
