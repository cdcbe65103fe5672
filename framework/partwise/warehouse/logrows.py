"""Sets of partitions as rows of the log, without a Python value per row.

Going out, each dimension of a rectangle is one list and the warehouse multiplies them: ten years of days in 200
countries are a list of 3,650 windows and one of 200 keys. Coming back, rows are ranges `(dims, lo, hi)`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from partwise.partitions import Box, Definition, PartitionSet
from partwise.partitions.axes import Axis, TimeAxis
from partwise.partitions.spans import merge

MOST_KEYS = 10_000  # per statement: longer lists cost more to bind than a second statement


@dataclass(frozen=True, slots=True)
class Part:
    """A set whose log rows share all their constants."""

    partitions: PartitionSet
    attempt: int
    upstream_versions: str | None = None


@dataclass(slots=True)
class AxisLists:
    """One dimension of a batch: for each slice of each rectangle its parts of the key, of dims and of the window."""

    box: list[int] = field(default_factory=list)
    key: list[str] = field(default_factory=list)
    dims: list[str] = field(default_factory=list)
    lo: list[int] = field(default_factory=list)
    hi: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Batch:
    """What one INSERT sends: lists per dimension, and per rectangle the attempt and the upstream versions."""

    axes: list[AxisLists]
    box: list[int] = field(default_factory=list)
    attempt: list[int] = field(default_factory=list)
    versions: list[str | None] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(len(lists.key) for lists in self.axes)


def batches(parts: Iterable[Part]) -> Iterator[Batch]:
    """The rows of some sets of one definition, in batches of at most about MOST_KEYS list entries."""
    batch: Batch | None = None
    for part in parts:
        axes = part.partitions.definition.axes
        for box in part.partitions.boxes():
            for slices in _cut(box, axes):
                if batch is not None and batch.size + sum(len(s.key) for s in slices) > MOST_KEYS:
                    yield batch
                    batch = None
                if batch is None:
                    batch = Batch([AxisLists() for _ in axes])
                number = len(batch.box)
                batch.box.append(number)
                batch.attempt.append(part.attempt)
                batch.versions.append(part.upstream_versions)
                for into, piece in zip(batch.axes, slices, strict=True):
                    into.box += [number] * len(piece.key)
                    into.key += piece.key
                    into.dims += piece.dims
                    into.lo += piece.lo
                    into.hi += piece.hi
    if batch is not None:
        yield batch


def _cut(box: Box, axes: Sequence[Axis]) -> Iterator[list[AxisLists]]:
    """A rectangle as rectangles whose lists are short enough to be sent."""
    most = MOST_KEYS // (len(axes) + 1)
    pieces: list[list[AxisLists]] = [[]]
    for axis in axes:
        chunks = list(_chunks(axis, box.dims[axis.name], most, len(axes) > 1))
        pieces = [[*before, chunk] for before in pieces for chunk in chunks]
    yield from pieces


def _chunks(axis: Axis, slices: Sequence[Any], most: int, escape: bool) -> Iterator[AxisLists]:
    lists = AxisLists()
    for key, lo, hi in _entries(axis, slices):
        lists.dims.append(f"{json.dumps(axis.name)}: {json.dumps(key, ensure_ascii=False)}")
        lists.key.append(key.replace("\\", "\\\\").replace("|", "\\|") if escape else key)
        lists.lo.append(lo)
        lists.hi.append(hi)
        if len(lists.key) == most:
            yield lists
            lists = AxisLists()
    if lists.key:
        yield lists


def _entries(axis: Axis, slices: Sequence[Any]) -> Iterator[tuple[str, int, int]]:
    if not isinstance(axis, TimeAxis):
        for key in slices:
            yield str(key), 0, 0
        return
    for span in slices:
        for lo, hi in axis.windows(span):
            yield axis.log_key(lo), lo, hi


def timed_at(definition: Definition) -> int | None:
    """Which dimension's windows are the rows' windows; None when there is no single one."""
    axis = definition.time_axis
    return None if axis is None else definition.axes.index(axis)


# ---------------------------------------------------------------- coming back


def gather(definition: Definition, rows: Iterable[tuple[str | None, int | None, int | None]]) -> PartitionSet:
    """The set of some ranges `(dims, lo, hi)`, inside the definition's bounds or not."""
    timed = definition.time_axis
    spans: dict[str | None, list[tuple[int, int]]] = {}
    for dims, lo, hi in rows:
        found = spans.setdefault(dims, [])
        if lo is not None and hi is not None:
            found.append((lo, hi))
    keyed = [axis for axis in definition.axes if axis is not timed]
    if timed is not None and not keyed:
        return _union(definition, [{timed.name: tuple(sorted(spans.get(None, [])))}])
    return _union(definition, _boxes(keyed, timed, spans))


def _boxes(
    keyed: Sequence[Axis], timed: TimeAxis | None, spans: dict[str | None, list[tuple[int, int]]]
) -> Iterator[dict[str, Any]]:
    """Rectangles: keys of the last keyed dimension that share everything else are put together."""
    groups: dict[tuple[Any, ...], set[str]] = {}
    for dims, windows in spans.items():
        values = json.loads(dims) if dims else {}
        texts = [values.get(axis.name) for axis in keyed]
        if any(text is None for text in texts):
            continue  # rows of a definition with other dimensions: another id
        groups.setdefault((tuple(sorted(windows)), *texts[:-1]), set()).add(str(texts[-1]))
    for (windows, *others), last in groups.items():
        slices: dict[str, Any] = {axis.name: _one(axis, text) for axis, text in zip(keyed, others, strict=False)}
        final = keyed[-1]
        if timed is not None:
            slices[timed.name] = windows
        if isinstance(final, TimeAxis):  # two dimensions of time: windows are worked out from the keys
            for text in last:
                yield {**slices, final.name: _one(final, text)}
        else:
            yield {**slices, final.name: frozenset(last)}


def _one(axis: Axis, text: str) -> Any:
    if not isinstance(axis, TimeAxis):
        return frozenset((text,))
    tick = axis.tick(text)
    return ((tick, axis.grid.after(tick)),)


def _union(definition: Definition, boxes: Iterable[dict[str, Any]]) -> PartitionSet:
    times = [axis.name for axis in definition.axes if isinstance(axis, TimeAxis)]
    return definition.union([{**box, **{name: merge(box[name]) for name in times}} for box in boxes])
