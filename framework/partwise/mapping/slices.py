"""Mappings along one dimension: from slices of one axis to slices of another, in both directions.

`existing` is the slice of the axis mapped *to* that exists now.
"""

from __future__ import annotations

from partwise.errors import PartitionError
from partwise.mapping.kinds import All, Keys, Last, Mapping, StaticMap, TimeWindow
from partwise.partitions.axes import Axis, KeyAxis, TimeAxis
from partwise.partitions.spans import Slice, Spans, intersect, merge, subtract


def up_slice(m: Mapping, wanted: Slice, d: Axis, u: Axis, existing: Slice, life_end: int = 0) -> Slice:
    """The slice of the upstream axis `u` that a slice of the downstream axis `d` needs, existing or not.

    `life_end` is where the last existing window of `d` ends.
    """
    if isinstance(m, TimeWindow) and isinstance(u, TimeAxis) and isinstance(d, TimeAxis):
        assert isinstance(wanted, tuple) and isinstance(existing, tuple)
        if m.start_offset > m.end_offset:  # starts where it ends, or later
            return ()
        return _kept(u, _needs(m, wanted, d, u, existing, life_end))
    if isinstance(m, All):
        return existing
    if isinstance(m, Last):
        return last_of(u, existing)
    if isinstance(m, Keys):
        return _key_slice(m, u)
    if isinstance(m, StaticMap):
        assert isinstance(wanted, frozenset)
        return frozenset(up for up, down in m.pairs if down in wanted)
    same = _same(wanted, d, u)
    return _kept(u, same) if isinstance(u, TimeAxis) and isinstance(same, tuple) else same


def down_slice(m: Mapping, changed: Slice, u: Axis, d: Axis, existing: Slice, upstream: Slice) -> Slice:
    """The slice of the downstream axis `d` that reads a slice of the upstream axis `u`; more than exists, maybe.

    `upstream` is the slice of `u` that exists.
    """
    if isinstance(m, TimeWindow) and isinstance(u, TimeAxis) and isinstance(d, TimeAxis):
        assert isinstance(changed, tuple)
        return () if m.start_offset > m.end_offset else merge(_touched(m, d, lo, hi) for lo, hi in changed)
    if isinstance(m, All):
        return existing
    if isinstance(m, (Last, Keys)):
        named = _key_slice(m, u) if isinstance(m, Keys) else last_of(u, upstream)
        return existing if both(changed, named) else existing[:0] if isinstance(existing, tuple) else frozenset()
    if isinstance(m, StaticMap):
        assert isinstance(changed, frozenset)
        return frozenset(down for up, down in m.pairs if up in changed)
    return _same(changed, u, d)


def both(a: Slice, b: Slice) -> Slice:
    """What two slices of one axis share."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return intersect(a, b)
    assert isinstance(a, frozenset) and isinstance(b, frozenset)
    return a & b


def last_of(axis: Axis, part: Slice) -> Slice:
    """The last window or key of a slice, as a slice."""
    if isinstance(part, frozenset):
        assert isinstance(axis, KeyAxis)
        return frozenset(axis.sorted(part)[-1:])
    assert isinstance(axis, TimeAxis)
    return ((axis.grid.floor(part[-1][1] - 1), part[-1][1]),) if part else ()


def _key_slice(m: Keys, u: Axis) -> Slice:
    if isinstance(u, TimeAxis):
        ticks = [u.tick(key) for key in m.keys]
        return merge((t, u.grid.after(t)) for t in ticks)
    return frozenset(m.keys)


def _same(part: Slice, have: Axis, want: Axis) -> Slice:
    """The windows or keys of another axis that have the same keys."""
    if not (isinstance(have, TimeAxis) and isinstance(want, TimeAxis)):
        return part
    assert isinstance(part, tuple)
    if have.identity == want.identity:
        return part
    found = []
    for lo, hi in part:
        for tick in have.grid.ticks(lo, hi):
            try:
                other = want.tick(have.log_key(tick))
            except PartitionError:
                continue
            found.append((other, want.grid.after(other)))
    return merge(found)


def _moved(m: TimeWindow, d: TimeAxis, lo: int, hi: int) -> tuple[int, int]:
    """The time that the windows `[lo, hi)` need: from the start of a window to the end of one."""
    by = int(m.shift.total_seconds())
    last = d.grid.floor(hi - 1)
    return d.shift(lo, m.start_offset) + by, d.grid.after(d.shift(last, m.end_offset)) + by


def _touched(m: TimeWindow, d: TimeAxis, lo: int, hi: int) -> tuple[int, int]:
    """The downstream windows whose need overlaps `[lo, hi)`: the inverse of `_moved`.

    Shifts count only windows that are not excluded and are one to one among these, so the ends are moved to such
    windows first. The span is empty when only excluded windows overlap.
    """
    by = int(m.shift.total_seconds())
    first, last = d.grid.floor(lo - by), d.grid.floor(hi - by - 1)
    if d.exclude:
        first, last = d.exclusions.kept_from(first), d.exclusions.kept_until(last)
    return d.shift(first, -m.end_offset), d.grid.after(d.shift(last, -m.start_offset))


def _needs(m: TimeWindow, wanted: Spans, d: TimeAxis, u: TimeAxis, existing: Spans, life_end: int) -> Spans:
    """The windows that `wanted` needs, existing or not.

    At the ends of the upstream a widened window holds less: what is missing there is no need, as long as part of it
    exists. Where nothing of it exists, what lies outside the life of the downstream is no need: the first day has no
    yesterday, but a later day that asks for a day before the upstream's start is told so.
    """
    begin, end = (existing[0][0], existing[-1][1]) if existing else (u.begin, u.begin)
    found: list[tuple[int, int]] = []
    for lo, hi in wanted:
        first, last = lo, hi  # of the windows that need something between `begin` and `end`
        if m.start_offset < 0:
            first = min(hi, max(lo, _touched(m, d, begin, begin + 1)[0]))
        if m.end_offset > 0:
            last = max(first, min(hi, _touched(m, d, end - 1, end)[1]))
        if lo < first:
            found += intersect((u.cover(*_moved(m, d, lo, first)),), ((u.grid.floor(d.begin), begin),))
        if first < last:
            low, high = u.cover(*_moved(m, d, first, last))
            low = max(low, begin) if m.start_offset < 0 else low
            found.append((low, min(high, end) if m.end_offset > 0 else high))
        if last < hi:
            late = u.cover(*_moved(m, d, last, hi))
            found += intersect((late,), (u.cover(end, max(end, life_end)),))
            if m.start_offset <= 0 and not m.shift:  # an open window named by hand still needs its own time
                found += intersect((late,), (u.cover(last, hi),))
    return merge(found)


def _kept(u: TimeAxis, needs: Spans) -> Spans:
    """Drop excluded windows: they are no need; windows before the start or after the end stay, as nonexistent."""
    if not needs or not u.exclude:
        return needs
    return subtract(needs, u.excluded_in(needs[0][0], needs[-1][1]))
