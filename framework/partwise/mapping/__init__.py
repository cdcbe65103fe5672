"""Partition mappings: which upstream partitions a downstream partition reads.

A mapping is a relation between two definitions, asked in two directions. `upstream()` says what a set needs,
`downstream()` what a change touches; `u` is needed by `d` exactly when `d` is touched by `u`. Both work on sets. A need
that the upstream does not hold is part of the answer, not an exception.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Mapping as MappingOf
from datetime import datetime, timedelta
from typing import Any

from partwise.errors import PartitionError
from partwise.mapping.infer import check, dimension, infer, infer_axis, spread
from partwise.mapping.kinds import (
    WAYS,
    All,
    Dims,
    Identity,
    Keys,
    Last,
    Mapping,
    Needed,
    StaticMap,
    TimeWindow,
)
from partwise.mapping.slices import both, down_slice, last_of, up_slice
from partwise.partitions.axes import Axis, TimeAxis
from partwise.partitions.sets import Definition, PartitionSet
from partwise.partitions.spans import Slice, Span

__all__ = [
    "WAYS",
    "All",
    "Dims",
    "Identity",
    "Keys",
    "Last",
    "Mapping",
    "Needed",
    "StaticMap",
    "TimeWindow",
    "all",
    "check",
    "dims",
    "downstream",
    "identity",
    "infer",
    "keys",
    "last",
    "static_map",
    "upstream",
    "window",
]


def identity() -> Identity:
    """The upstream partition with the same key."""
    return Identity()


def all() -> All:
    """Every upstream partition that exists."""
    return All()


def last() -> Last:
    """The last upstream partition that exists."""
    return Last()


def window(start_offset: int = 0, end_offset: int = 0, shift: timedelta | None = None) -> TimeWindow:
    """Overlapping windows, widened: `window(start_offset=-6)` also reads the six downstream windows before."""
    for name, value in (("start_offset", start_offset), ("end_offset", end_offset)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise PartitionError(f"`{name}` is `{value}`", hint="write a whole number of windows")
    return TimeWindow(start_offset, end_offset, shift or timedelta(0))


def static_map(pairs: MappingOf[str, str | Sequence[str]]) -> StaticMap:
    """Upstream key -> downstream key or keys: `static_map({'us-east': 'US', 'eu': ['DE', 'FR']})`."""
    flat = [(up, down) for up, downs in pairs.items() for down in ([downs] if isinstance(downs, str) else downs)]
    return StaticMap(tuple(sorted(set(flat))))


def keys(given: Sequence[str]) -> Keys:
    """Always these upstream keys."""
    return Keys((given,) if isinstance(given, str) else tuple(given))


def dims(by_upstream: MappingOf[str, Any] | None = None, /, **named: Any) -> Dims:
    """Per upstream dimension a downstream dimension, a mapping, or both: `dims(week='day', area=('region', all()))`."""
    made: list[tuple[str, str, Mapping | None]] = []
    for up, how in {**(by_upstream or {}), **named}.items():
        if isinstance(how, str):
            made.append((up, how, None))
        elif isinstance(how, tuple) and len(how) == 2 and isinstance(how[0], str):
            made.append((up, how[0], how[1]))
        elif isinstance(how, Mapping):
            made.append((up, up, how))
        else:
            raise PartitionError(
                f"dims({up}=...) takes a downstream dimension, a mapping, or both", hint=f"dims({up}=('day', window()))"
            )
    return Dims(tuple(sorted(made, key=lambda entry: entry[:2])))


def upstream(m: Mapping, wanted: PartitionSet, *, of: Definition, now: datetime) -> Needed:
    """The upstream partitions that `wanted` reads.

    `existing` holds those of the definition `of` that exist at `now`, `nonexistent` those that do not: before its
    start, after its end, not ended yet, or unknown keys. What lies before the downstream's own start is no need.
    """
    exists = of.existing(now)
    if not wanted:
        return Needed(of.empty(), of.empty())
    if isinstance(m, All):
        return Needed(exists, of.empty())
    if isinstance(m, Last):
        return Needed(last_partition(exists), of.empty())
    if isinstance(m, Keys):
        needed = of.union_of(_lenient_key(of, key) for key in m.keys)
    else:
        per_dimension = spread(m, of, wanted.definition)
        boxes = _rectangles(wanted, _deciding_twice(per_dimension, of, wanted.definition))
        ends = {axis.name: _end(axis, now) for axis in wanted.definition.axes}
        needed = of.union(_up_box(per_dimension, box, wanted.definition, of, exists, ends) for box in boxes)
    return Needed(needed & exists, needed - exists)


def downstream(m: Mapping, changed: PartitionSet, *, of: Definition, now: datetime) -> PartitionSet:
    """The partitions of the downstream definition `of`, existing at `now`, that read any of `changed`."""
    up = changed.definition
    exists = of.existing(now)
    if not changed:
        return of.empty()
    if isinstance(m, All):
        return exists
    if isinstance(m, Last):
        return exists if changed & last_partition(up.existing(now)) else of.empty()
    if isinstance(m, Keys):
        named = up.union_of(_lenient_key(up, key) for key in m.keys)
        return exists if changed & named else of.empty()
    per_dimension, upstream_now = spread(m, up, of), up.existing(now)
    boxes = (_down_box(per_dimension, box, up, of, exists, upstream_now) for box in _rectangles(changed))
    return of.union(boxes) & exists


def _rectangles(partitions: PartitionSet, one_by_one: Iterable[str] = ()) -> Iterator[dict[str, Slice]]:
    """The boxes of a set as slices; dimensions named in `one_by_one` have one window or key in each."""
    axes = partitions.definition.dims
    for box in partitions.boxes():
        made: list[dict[str, Slice]] = [{}]
        for name, slices in box.dims.items():
            axis = axes[name]
            choices: Iterable[Slice]
            if isinstance(axis, TimeAxis):
                spans = [s for s in slices if isinstance(s, Span)]
                choices = [tuple((s.lo, s.hi) for s in spans)]
                if name in one_by_one:
                    choices = [(window,) for span in spans for window in axis.windows(span)]
            else:
                keys_here = [key for key in slices if isinstance(key, str)]
                choices = [frozenset((key,)) for key in keys_here] if name in one_by_one else [frozenset(keys_here)]
            made = [{**rest, name: choice} for rest in made for choice in choices]
        yield from made


def _deciding_twice(per_dimension: Dims, up: Definition, down: Definition) -> list[str]:
    """Downstream dimensions that decide several upstream ones: their keys must be mapped one at a time."""
    deciding = [dimension(down, name, "downstream").name for _, name, _ in per_dimension.by_upstream]
    return [name for name in dict.fromkeys(deciding) if deciding.count(name) > 1]


def last_partition(existing: PartitionSet) -> PartitionSet:
    """The last partition along the time dimension (of each combination of the others), else of the first dimension."""
    axis = existing.definition.time_axis or existing.definition.axes[0]
    return existing.restrict(axis.name, last_of(axis, existing.project(axis.name)))


def _lenient_key(definition: Definition, key: str) -> PartitionSet:
    """The partition of a key, also of one that the definition does not hold (it is then a nonexistent need)."""
    try:
        return definition.parse_key(key)
    except PartitionError:
        axis = definition.axes[0]
        if len(definition.axes) > 1:
            raise
        if isinstance(axis, TimeAxis):
            tick = axis.tick(key)
            return definition.product({axis.name: ((tick, axis.grid.after(tick)),)})
        return definition.product({axis.name: frozenset((key,))})


def _end(axis: Axis, now: datetime) -> int:
    """Where the last existing window of an axis ends; 0 when there is none."""
    existing = axis.existing(now)
    return existing[-1][1] if isinstance(existing, tuple) and existing else 0


def _up_box(
    m: Dims, box: dict[str, Slice], down: Definition, up: Definition, exists: PartitionSet, ends: MappingOf[str, int]
) -> dict[str, Slice]:
    slices: dict[str, Slice] = {}
    for up_name, down_name, how in m.by_upstream:
        u, d = dimension(up, up_name, "upstream"), dimension(down, down_name, "downstream")
        need = up_slice(how or infer_axis(u, d), box[d.name], d, u, exists.project(u.name), ends[d.name])
        if u.name in slices:  # two downstream dimensions decide one upstream dimension: both must agree
            need = both(need, slices[u.name])
        slices[u.name] = need
    return {axis.name: slices.get(axis.name, exists.project(axis.name)) for axis in up.axes}


def _down_box(
    m: Dims, box: dict[str, Slice], up: Definition, down: Definition, exists: PartitionSet, upstream: PartitionSet
) -> dict[str, Slice]:
    slices: dict[str, Slice] = {}
    for up_name, down_name, how in m.by_upstream:
        u, d = dimension(up, up_name, "upstream"), dimension(down, down_name, "downstream")
        known, now = exists.project(d.name), upstream.project(u.name)
        touched = down_slice(how or infer_axis(u, d), box[u.name], u, d, known, now)
        if d.name in slices:
            touched = both(touched, slices[d.name])
        slices[d.name] = touched
    return {axis.name: slices.get(axis.name, exists.project(axis.name)) for axis in down.axes}
