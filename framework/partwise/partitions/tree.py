"""The recursion behind `PartitionSet`: trees of slices, one level per dimension.

Every operation is one function over the levels. `axes` is the dimensions in order and `depth` the level a node is at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from partwise.partitions.axes import Axis, TimeAxis
from partwise.partitions.spans import Slice, Span, intersect, merge, subtract

# A node groups the ticks of one dimension that share the same slice of the remaining ones: `((slice, child), ...)`.
# The child below the last dimension is True. The empty set is `()` at every depth, so `bool()` tells them apart.
Node = Any


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: per dimension a tuple of `Span` (time) or of key texts in definition order."""

    dims: Mapping[str, tuple[Span, ...] | tuple[str, ...]]


OR: Callable[[bool, bool], bool] = lambda a, b: a or b  # noqa: E731
AND: Callable[[bool, bool], bool] = lambda a, b: a and b  # noqa: E731
SUB: Callable[[bool, bool], bool] = lambda a, b: a and not b  # noqa: E731
Op = Callable[[bool, bool], bool]


def combine(a: Node, b: Node, depth: int, axes: tuple[Axis, ...], op: Op) -> Node:
    """The one recursion behind union, intersection and difference."""
    if depth == len(axes):
        return op(bool(a), bool(b))
    if not a:
        return b if op is OR else ()
    if not b:
        return a if op is not AND else ()
    if a == b:
        return a if op is not SUB else ()
    if isinstance(axes[depth], TimeAxis):
        return _combine_time(a, b, depth, axes, op)
    return _combine_keys(a, b, depth, axes, op)


def _combine_time(a: Node, b: Node, depth: int, axes: tuple[Axis, ...], op: Op) -> Node:
    if depth == len(axes) - 1:  # the common case, without the sweep
        left, right = a[0][0], b[0][0]
        if op is OR:
            spans = merge((*left, *right))
        else:
            spans = intersect(left, right) if op is AND else subtract(left, right)
        return ((spans, True),) if spans else ()
    pieces: list[tuple[int, int, Node]] = []
    for lo, hi, left, right in _sweep(_flat(a), _flat(b)):
        child = combine(left, right, depth + 1, axes, op)
        if child:
            pieces.append((lo, hi, child))
    return _group(pieces)


def _flat(node: Node) -> list[tuple[int, int, Node]]:
    return sorted(((lo, hi, child) for spans, child in node for lo, hi in spans), key=lambda piece: piece[0])


def _sweep(a: list[tuple[int, int, Node]], b: list[tuple[int, int, Node]]) -> Iterator[tuple[int, int, Node, Node]]:
    """Elementary stretches of time with the child that each side has there (`()` where it has none)."""
    bounds = sorted({x for piece in a for x in piece[:2]} | {x for piece in b for x in piece[:2]})
    i = j = 0
    for lo, hi in pairwise(bounds):
        while i < len(a) and a[i][1] <= lo:
            i += 1
        while j < len(b) and b[j][1] <= lo:
            j += 1
        left = a[i][2] if i < len(a) and a[i][0] <= lo else ()
        right = b[j][2] if j < len(b) and b[j][0] <= lo else ()
        if left or right:
            yield lo, hi, left, right


def _group(pieces: list[tuple[int, int, Node]]) -> Node:
    """Canonical node from ascending pieces: one group per child, in the order of first ticks."""
    groups: dict[Node, list[tuple[int, int]]] = {}
    for lo, hi, child in pieces:
        groups.setdefault(child, []).append((lo, hi))
    return tuple((merge(spans), child) for child, spans in groups.items())


def _combine_keys(a: Node, b: Node, depth: int, axes: tuple[Axis, ...], op: Op) -> Node:
    side = {key: i for i, (keys, _) in enumerate(b) for key in keys}
    pairs: dict[tuple[int, int], set[str]] = {}
    for i, (keys, _) in enumerate(a):
        for key in keys:
            pairs.setdefault((i, side.pop(key, -1)), set()).add(key)
    for key, j in side.items():
        pairs.setdefault((-1, j), set()).add(key)
    groups: dict[Node, set[str]] = {}
    for (i, j), keys in pairs.items():
        left = a[i][1] if i >= 0 else ()
        right = b[j][1] if j >= 0 else ()
        child = combine(left, right, depth + 1, axes, op)
        if child:
            groups.setdefault(child, set()).update(keys)
    return _sorted_groups(groups)


def _sorted_groups(groups: Mapping[Node, Iterable[str]]) -> Node:
    made = [(frozenset(keys), child) for child, keys in groups.items()]
    return tuple(sorted(made, key=lambda group: min(group[0])))


def clip(node: Node, depth: int, axes: tuple[Axis, ...]) -> Node:
    if depth == len(axes) or not node:
        return node
    return _regroup(axes[depth], ((axes[depth].clip(part), clip(child, depth + 1, axes)) for part, child in node))


def _regroup(axis: Axis, parts: Iterable[tuple[Any, Node]]) -> Node:
    """Canonical node from groups whose slices are disjoint but whose children may have become equal or empty."""
    if isinstance(axis, TimeAxis):
        flat = [(lo, hi, child) for spans, child in parts if child for lo, hi in spans]
        return _group(sorted(flat, key=lambda piece: piece[0]))
    groups: dict[Node, set[str]] = {}
    for keys, child in parts:
        if child and keys:
            groups.setdefault(child, set()).update(keys)
    return _sorted_groups(groups)


def restrict(node: Node, depth: int, axes: tuple[Axis, ...], at: int, part: Any) -> Node:
    if not node:
        return ()
    axis = axes[depth]
    if depth == at:
        cut = (lambda s: intersect(s, part)) if isinstance(axis, TimeAxis) else (lambda s: s & part)
        return _regroup(axis, ((cut(slice_), child) for slice_, child in node))
    return _regroup(axis, ((slice_, restrict(child, depth + 1, axes, at, part)) for slice_, child in node))


def project(node: Node, depth: int, axes: tuple[Axis, ...], at: int) -> Slice:
    parts: list[Any] = [part if depth == at else project(child, depth + 1, axes, at) for part, child in node]
    if isinstance(axes[at], TimeAxis):
        return merge(span for part in parts for span in part)
    return frozenset().union(*parts)


def size(node: Node, depth: int, axes: tuple[Axis, ...]) -> int:
    if depth == len(axes):
        return 1 if node else 0
    return sum(axes[depth].count(part) * size(child, depth + 1, axes) for part, child in node)


def boxes(node: Node, depth: int, axes: tuple[Axis, ...]) -> Iterator[Box]:
    if depth == len(axes):
        if node:
            yield Box({})
        return
    axis = axes[depth]
    for part, child in node:
        mine: tuple[Any, ...]
        mine = tuple(Span(lo, hi) for lo, hi in part) if isinstance(axis, TimeAxis) else tuple(axis.sorted(part))
        for rest in boxes(child, depth + 1, axes):
            yield Box({axis.name: mine, **rest.dims})


def _ordered(node: Node, axis: Axis) -> list[tuple[Any, Node]]:
    """Stretches of a node in definition order, each with its child."""
    if isinstance(axis, TimeAxis):
        return [(((lo, hi),), child) for lo, hi, child in _flat(node)]
    children = {key: child for keys, child in node for key in keys}
    return [(frozenset((key,)), children[key]) for key in axis.sorted(children)]


def walk(node: Node, depth: int, axes: tuple[Axis, ...]) -> Iterator[tuple[Any, ...]]:
    if depth == len(axes):
        yield ()
        return
    axis = axes[depth]
    for part, child in _ordered(node, axis):
        ticks = axis.grid.ticks(*part[0]) if isinstance(axis, TimeAxis) else iter(part)
        for tick in ticks:
            if depth == len(axes) - 1:
                yield (tick,)
            else:
                for rest in walk(child, depth + 1, axes):
                    yield (tick, *rest)


def pieces(node: Node, depth: int, axes: tuple[Axis, ...], at_most: int, room: int) -> Iterator[tuple[Node, int]]:
    """The set in consecutive pieces, each with its size: the first holds at most `room` partitions, others `at_most`.

    All but the last are full.
    """
    axis: Any = axes[depth]
    is_leaf = depth == len(axes) - 1
    held: list[tuple[Any, Node]] = []
    got = 0
    for stretch, child in _ordered(node, axis):
        each = 1 if is_leaf else size(child, depth + 1, axes)
        part, left = stretch, axis.count(stretch)
        while left:
            whole = min((room - got) // each, left)
            if whole:
                taken, part = (part, None) if whole == left else axis.take(part, whole)
                held.append((taken, child))
                left, got = left - whole, got + whole * each
            else:
                one, part = (part, None) if left == 1 else axis.take(part, 1)
                left -= 1
                for some, count in pieces(child, depth + 1, axes, at_most, room - got):
                    held.append((one, some))
                    got += count
                    if got == room:
                        yield _regroup(axis, held), got
                        held, got, room = [], 0, at_most
            if got == room:
                yield _regroup(axis, held), got
                held, got, room = [], 0, at_most
    if held:
        yield _regroup(axis, held), got
