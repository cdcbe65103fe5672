"""Partition definitions and sets of partitions.

A `Definition` says which partitions there are; a `PartitionSet` is an immutable set of them, held as groups of ranges,
so a decade of hours costs a pair of integers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from partwise.errors import PartitionError, did_you_mean
from partwise.partitions import tree
from partwise.partitions.axes import Axis, DynamicAxis, TimeAxis
from partwise.partitions.keytext import join_key, key_slices, subset_slices
from partwise.partitions.settext import parse_set, write_set
from partwise.partitions.spans import Slice, Span, Spans, Window
from partwise.partitions.tree import Box, Node

T = TypeVar("T")


class Definition:
    """Which partitions there are: one axis per dimension, sorted by name."""

    axes: tuple[Axis, ...]

    @property
    def kind(self) -> str:
        return self.axes[0].kind

    @cached_property
    def dims(self) -> dict[str, Axis]:
        """The axes by name, in the order of key parts."""
        return {axis.name: axis for axis in self.axes}

    @cached_property
    def id(self) -> str:
        """Hash of what moves windows or keys, 16 hex digits. Facts in the warehouse belong to it."""
        shape: Any = [axis.identity for axis in self.axes]
        if len(self.axes) > 1:
            shape = [[axis.name, *axis.identity] for axis in self.axes]
        return hashlib.sha256(json.dumps(shape).encode()).hexdigest()[:16]

    @property
    def time_axis(self) -> TimeAxis | None:
        """The time dimension when there is exactly one."""
        found = [axis for axis in self.axes if isinstance(axis, TimeAxis)]
        return found[0] if len(found) == 1 else None

    @property
    def is_bounded(self) -> bool:
        """Whether every time dimension has an end."""
        return all(not isinstance(axis, TimeAxis) or axis.finish is not None for axis in self.axes)

    def empty(self) -> PartitionSet:
        return PartitionSet(self, ())

    def existing(self, now: datetime | None = None) -> PartitionSet:
        """The partitions whose windows have ended by `now`. Without `now` time dimensions need an end."""
        return self.product({axis.name: axis.existing(now) for axis in self.axes})

    def all_(self) -> PartitionSet:
        """Every partition, ended or not. Raises PartitionError when a time dimension has no end."""
        return self.existing(None)

    def clip(self, wanted: PartitionSet) -> PartitionSet:
        """The part of a set that the definition still holds (start, end, exclusions, key list)."""
        return PartitionSet(self, tree.clip(wanted.root, 0, self.axes))

    def product(self, slices: Mapping[str, Slice]) -> PartitionSet:
        """The rectangle of one slice per dimension."""
        node: Node = True
        for axis in reversed(self.axes):
            part = slices[axis.name]
            node = ((part, node),) if part and node else ()
        return PartitionSet(self, node)

    def box(self, **dims: Any) -> PartitionSet:
        """A rectangle: `box(day="2024-03-01/2024-03-05", region={"eu"})`, half-open in time; a left-out one is all."""
        slices: dict[str, Slice] = {}
        for name, value in dims.items():
            axis = self.dims.get(name)
            if axis is None:
                raise PartitionError(f"unknown dimension `{name}`", hint=did_you_mean(name, list(self.dims)))
            if isinstance(axis, TimeAxis):
                low, _, high = str(value).partition("/")
                slices[name] = axis.clip(((axis.tick(low), axis.tick(high)),)) if high else axis.one(low)
            else:
                slices[name] = frozenset().union(*map(axis.one, (value,) if isinstance(value, str) else value))
        return self._filled(slices, None)

    def _filled(self, slices: Mapping[str, Slice], now: datetime | None) -> PartitionSet:
        """The rectangle of some slices; a dimension without one is whole."""
        whole = {axis.name: axis.existing(now) for axis in self.axes if axis.name not in slices}
        return self.product({**slices, **whole})

    def union(self, boxes: Iterable[Mapping[str, Slice]]) -> PartitionSet:
        """The union of many rectangles, in any order, overlapping or not."""
        sets = [self.product(box).root for box in boxes]
        while len(sets) > 1:  # pairwise, so that the cost grows with n log n
            pairs = zip(sets[::2], sets[1::2], strict=False)
            joined = [tree.combine(a, b, 0, self.axes, tree.OR) for a, b in pairs]
            sets = joined + sets[len(joined) * 2 :]
        return PartitionSet(self, sets[0] if sets else ())

    # ------------------------------------------------------------ keys

    def keys(self, now: datetime | None = None) -> Iterator[str]:
        """The keys that exist at `now`, in definition order, one at a time."""
        return self.existing(now).keys()

    def has_key(self, text: str, now: datetime | None = None) -> bool:
        """Whether `text` is exactly the key of a partition that exists at `now`."""
        try:
            one = self.parse_key(text)
        except PartitionError:
            return False
        return next(one.keys()) == text and not one - self.existing(now)

    def parse_key(self, text: str) -> PartitionSet:
        """The set of the one partition that a key names, ended or not. Raises PartitionError when it is no key."""
        return self.product(key_slices(self.axes, text))

    def window(self, key: str) -> Window:
        """The time window of a partition. Raises PartitionError unless just one dimension is time."""
        axis = self.time_axis
        if axis is None:
            raise PartitionError(f"partition `{key}` has no single time window: the definition is {self.kind}")
        span = next(span for span, _ in self.parse_key(key).time_parts(axis.name))
        return axis.window(span.lo)

    def key_at(self, instant: datetime) -> str | None:
        """The key whose window holds an instant (None: excluded). Raises PartitionError unless it is all time."""
        if len(self.axes) != 1 or not isinstance(self.axes[0], TimeAxis):
            raise PartitionError(f"a {self.kind} definition has no key at an instant")
        return self.axes[0].key_at(instant)

    def subset(self, text: str | Mapping[str, str], now: datetime | None = None) -> PartitionSet:
        """The set that a text names: `KEY`, `A:B` (both included), `A..B`, `A:` , `:B`, or several with commas.

        With several dimensions the ends are full keys and the range is the product of the ranges per dimension; a
        mapping gives a text per dimension and leaves the others whole. An open end means the last partition that exists
        at `now`. Raises PartitionError for unknown keys and ranges that run backwards.
        """
        if not isinstance(text, str):
            return self._subset_by_dimension(text, now)
        return self.union(subset_slices(self.axes, text, now))

    def union_of(self, sets: Iterable[PartitionSet]) -> PartitionSet:
        """The union of sets of this definition."""
        result = self.empty()
        for one in sets:
            result = result | one
        return result

    def _subset_by_dimension(self, texts: Mapping[str, str], now: datetime | None) -> PartitionSet:
        slices: dict[str, Slice] = {}
        for name, text in texts.items():
            if name not in self.dims:
                hint = did_you_mean(name, list(self.dims)) or f"it has {', '.join(f'`{d}`' for d in self.dims)}"
                raise PartitionError(f"unknown dimension `{name}`", hint=hint)
            alone = SimpleDefinition((self.dims[name],))
            part = alone.subset(text, now).root
            slices[name] = part[0][0] if part else ()
        return self._filled(slices, now)

    def with_keys(self, keys: Mapping[str, Sequence[str]]) -> Definition:
        """The same definition with the keys of its dynamic dimensions, by the dynamic's own name."""
        raise NotImplementedError

    @property
    def dynamic_names(self) -> tuple[str, ...]:
        """The names of the dynamic key lists it uses."""
        return tuple(axis.source for axis in self.axes if isinstance(axis, DynamicAxis))

    def parse(self, text: str) -> PartitionSet:
        """The set that `str()` of a set wrote."""
        return self.union(parse_set(self.dims, text))


@dataclass(frozen=True)
class SimpleDefinition(Definition):
    """A definition of one dimension."""

    axes: tuple[Axis, ...]

    def with_keys(self, keys: Mapping[str, Sequence[str]]) -> Definition:
        return type(self)(tuple(_with_keys(axis, keys) for axis in self.axes))


class TimeDefinition(SimpleDefinition):
    """Windows of time."""


class StaticDefinition(SimpleDefinition):
    """A fixed list of keys."""


class DynamicDefinition(SimpleDefinition):
    """A list of keys kept in the warehouse, or carried along in Python."""


@dataclass(frozen=True)
class MultiDefinition(Definition):
    """Two dimensions or more; key parts in the order of their names."""

    axes: tuple[Axis, ...]

    @property
    def kind(self) -> str:
        return "multi"

    def with_keys(self, keys: Mapping[str, Sequence[str]]) -> Definition:
        return MultiDefinition(tuple(_with_keys(axis, keys) for axis in self.axes))


def _with_keys(axis: Axis, keys: Mapping[str, Sequence[str]]) -> Axis:
    if isinstance(axis, DynamicAxis) and axis.source in keys:
        return replace(axis, keys=tuple(keys[axis.source]))
    return axis


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """One partition as the log stores it; `start` and `end` are UTC seconds, None without a single time dimension."""

    key: str
    dims: Mapping[str, str]
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True, repr=False)
class PartitionSet:
    """An immutable set of partitions of one definition, in canonical form: equal sets compare equal."""

    definition: Definition
    root: Node

    def _other(self, other: PartitionSet) -> Node:
        if not isinstance(other, PartitionSet):
            raise TypeError(f"a set of partitions cannot be combined with {type(other).__name__}")
        if self.definition is not other.definition and self.definition.id != other.definition.id:
            raise PartitionError("sets of different partition definitions cannot be combined")
        return other.root

    def _combined(self, other: PartitionSet, op: tree.Op) -> PartitionSet:
        node = tree.combine(self.root, self._other(other), 0, self.definition.axes, op)
        return PartitionSet(self.definition, node)

    def __or__(self, other: PartitionSet) -> PartitionSet:
        return self._combined(other, tree.OR)

    def __and__(self, other: PartitionSet) -> PartitionSet:
        return self._combined(other, tree.AND)

    def __sub__(self, other: PartitionSet) -> PartitionSet:
        return self._combined(other, tree.SUB)

    def __bool__(self) -> bool:
        return bool(self.root)

    def __len__(self) -> int:
        return tree.size(self.root, 0, self.definition.axes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionSet):
            return NotImplemented
        same = self.definition is other.definition or self.definition.id == other.definition.id
        return same and bool(self.root == other.root)

    def __hash__(self) -> int:
        return hash((self.definition.id, self.root))

    def __contains__(self, key: str) -> bool:
        try:
            return bool(self & self.definition.parse_key(key))
        except PartitionError:
            return False

    def __iter__(self) -> Iterator[str]:
        return self.keys()

    def __le__(self, other: PartitionSet) -> bool:
        return not self - other

    def boxes(self) -> tuple[Box, ...]:
        """Disjoint rectangles whose union is the set."""
        return tuple(tree.boxes(self.root, 0, self.definition.axes))

    def keys(self) -> Iterator[str]:
        """The keys as shown to people, in definition order."""
        write = [_once(axis.key) if isinstance(axis, TimeAxis) else str for axis in self.definition.axes]
        for ticks in self._ticks():
            yield join_key([to_text(tick) for to_text, tick in zip(write, ticks, strict=True)])

    def rows(self) -> Iterator[PartitionRow]:
        """The partitions as the log stores them, in definition order."""
        axes, timed = self.definition.axes, self.definition.time_axis
        names = [axis.name for axis in axes]
        write = [_once(axis.log_key) if isinstance(axis, TimeAxis) else str for axis in axes]
        at = -1 if timed is None else axes.index(timed)
        after = None if timed is None else _once(timed.grid.after)
        for ticks in self._ticks():
            texts = [to_text(tick) for to_text, tick in zip(write, ticks, strict=True)]
            start = None if after is None else ticks[at]
            end = None if after is None else after(ticks[at])
            yield PartitionRow(join_key(texts), dict(zip(names, texts, strict=True)), start, end)

    def _ticks(self) -> Iterator[tuple[Any, ...]]:
        return tree.walk(self.root, 0, self.definition.axes)

    def time_parts(self, dim: str) -> Iterator[tuple[Span, PartitionSet]]:
        """Consecutive spans of one time dimension, each with the part of the set that lies in it."""
        for lo, hi in self.spans(dim):
            yield Span(lo, hi), self.restrict(dim, ((lo, hi),))

    def project(self, dim: str) -> Slice:
        """The slice of one dimension that the set touches."""
        return tree.project(self.root, 0, self.definition.axes, list(self.definition.dims).index(dim))

    def spans(self, dim: str) -> Spans:
        """The spans of one time dimension that the set touches."""
        found = self.project(dim)
        assert isinstance(found, tuple)
        return found

    def restrict(self, dim: str, part: Slice) -> PartitionSet:
        """The part of the set whose `dim` lies in a slice."""
        at = list(self.definition.dims).index(dim)
        return PartitionSet(self.definition, tree.restrict(self.root, 0, self.definition.axes, at, part))

    def split(self, at_most: int) -> list[PartitionSet]:
        """Consecutive sets of at most `at_most` partitions, earliest first.

        The pieces are disjoint and their union is the set. An empty set gives no pieces. Raises PartitionError when
        `at_most` is below 1.
        """
        return list(self.pieces(at_most))

    def pieces(self, at_most: int) -> Iterator[PartitionSet]:
        """The sets of `split`, made one at a time. Raises PartitionError when `at_most` is below 1."""
        if at_most < 1:
            raise PartitionError(f"a run needs at least one partition, not {at_most}")
        if self.root:
            for piece, _ in tree.pieces(self.root, 0, self.definition.axes, at_most, at_most):
                yield PartitionSet(self.definition, piece)

    def first_key(self) -> str:
        """The key of the earliest partition. Raises PartitionError when the set is empty."""
        for key in self.keys():
            return key
        raise PartitionError("the set is empty")

    def __repr__(self) -> str:
        return f"<{len(self)} partitions: {self}>"

    def __str__(self) -> str:
        return write_set(self.definition.dims, self.boxes())


def _once(function: Callable[[int], T]) -> Callable[[int], T]:
    """The function, asked once for equal arguments that follow each other."""
    last: tuple[int, T] | None = None

    def ask(value: int) -> T:
        nonlocal last
        if last is None or last[0] != value:
            last = (value, function(value))
        return last[1]

    return ask
