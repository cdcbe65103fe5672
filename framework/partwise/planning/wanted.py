"""Which partitions a request names: key texts read by the named models, and mapped to those reached from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from partwise.errors import PartitionError, PlanError, did_you_mean
from partwise.nodes import Node
from partwise.partitions import Definition, PartitionSet, SimpleDefinition
from partwise.partitions.axes import Axis, TimeAxis, merge
from partwise.planning.inputs import Input


@dataclass(frozen=True, slots=True)
class Named:
    """What key texts mean: sets of the models that read them, models built whole, and models left out with why."""

    partitions: Mapping[str, PartitionSet]
    whole: frozenset[str]
    left_out: tuple[tuple[str, str], ...]


def read_keys(texts: Sequence[str], named: Sequence[Node], now: datetime) -> Named:
    """Read `--partition` and `--partition-range` texts, each with or without `DIM=`, by every model that is named.

    Texts for one dimension (or without one) add up; texts for different dimensions narrow each other. Where several
    models of time are named, a text is read by the finest of them, and every other takes the windows that overlap it in
    its own zone. Raises PlanError for a text that no named model reads.
    """
    groups: dict[str, list[str]] = {}
    dims = {name for node in named if node.definition for name in node.definition.dims}
    for text in texts:
        dim, rest = _dimension_of(text, dims, named, now)
        groups.setdefault(dim, []).append(rest)
    partitioned = [node for node in named if node.is_partitioned and node.definition is not None]
    sets: dict[str, PartitionSet] = {}
    left: dict[str, str] = {}
    for dim, parts in groups.items():
        found: dict[str, PartitionSet] = {}
        for part in parts:
            for model, one in _read_text(dim, part, partitioned, now).items():
                found[model] = found[model] | one if model in found else one
        for node in partitioned:
            model = node.unique_id
            if model not in found:
                shown = f"{dim}=" if dim else ""
                left.setdefault(model, f"no dimension of it reads `{shown}{','.join(parts)}`")
            elif model not in left:
                sets[model] = sets[model] & found[model] if model in sets else found[model]
    kept = {model: one for model, one in sets.items() if model not in left}
    whole = frozenset(node.unique_id for node in named if not node.is_partitioned)
    return Named(kept, whole, tuple(left.items()))


def _dimension_of(text: str, dims: set[str], named: Sequence[Node], now: datetime) -> tuple[str, str]:
    """Split `DIM=TEXT`; a text whose part before `=` is no dimension is a key, unless nothing could read it."""
    name, sign, rest = text.partition("=")
    if not sign:
        return "", text
    if name in dims:
        return name, rest
    if name.isidentifier() and not any(_reads(node, text, now) for node in named):
        hint = did_you_mean(name, sorted(dims)) or f"the named models have {', '.join(f'`{d}`' for d in sorted(dims))}"
        raise PlanError(f"no named model has a dimension `{name}`", hint=hint)
    return "", text


def _reads(node: Node, text: str, now: datetime) -> bool:
    if node.definition is None:
        return False
    try:
        node.definition.subset(text, now)
    except PartitionError:
        return False
    return True


def _read_text(dim: str, text: str, nodes: Sequence[Node], now: datetime) -> dict[str, PartitionSet]:
    exact: dict[str, PartitionSet] = {}
    errors: list[PartitionError] = []
    for node in nodes:
        assert node.definition is not None
        try:
            exact[node.unique_id] = _read_by(node.definition, dim, text, now)
        except PartitionError as error:
            errors.append(error)
    if not exact:
        _refuse(dim, text, nodes, errors)
    timed = {node.unique_id: axis for node in nodes if (axis := _time_axis(node.definition, dim)) is not None}
    readers = [(m, timed[m]) for m in exact if m in timed and not _whole_in_time(exact[m], timed[m])]
    if len(timed) > 1 and readers:
        finest, axis = min(readers, key=lambda reader: _extent(exact[reader[0]], reader[1]))
        spans = exact[finest].spans(axis.name)
        for node in nodes:
            other = timed.get(node.unique_id)
            if other is None or node.unique_id == finest or node.definition is None:
                continue
            if other.identity == axis.identity and node.unique_id in exact:
                continue
            low_high = [_same_wall(lo, hi, axis, other) for lo, hi in spans]
            cut = other.clip(merge(other.cover(lo, hi) for lo, hi in low_high))
            rest = exact.get(node.unique_id)
            base = rest if rest is not None and len(node.definition.axes) > 1 else None
            exact[node.unique_id] = _with_time(node.definition, other, cut, base, now)
    return exact


def _read_by(definition: Definition, dim: str, text: str, now: datetime) -> PartitionSet:
    if dim:
        if dim not in definition.dims:
            raise PartitionError(f"it has no dimension `{dim}`")
        return definition.subset({dim: text}, now)
    if len(definition.axes) == 1:
        return definition.subset(text, now)
    try:
        return definition.subset(text, now)
    except PartitionError as error:
        found = []
        for axis in definition.axes:
            try:
                SimpleDefinition((axis,)).subset(text, now)
            except PartitionError:
                continue
            found.append(axis)
        if len(found) == 1:
            return definition.subset({found[0].name: text}, now)
        raise _nearest(definition, text, now) or error from None


def _nearest(definition: Definition, text: str, now: datetime) -> PartitionError | None:
    """What is wrong with a list of keys of which some are keys of one dimension."""
    for axis in definition.axes:
        alone = SimpleDefinition((axis,))
        errors = []
        pieces = [piece.strip() for piece in text.split(",")]
        for piece in pieces:
            try:
                alone.subset(piece, now)
            except PartitionError as error:
                errors.append(error)
        if errors and len(errors) < len(pieces):
            return errors[0]
    return None


def _time_axis(definition: Definition | None, dim: str) -> TimeAxis | None:
    if definition is None:
        return None
    axis: Axis | None = definition.dims.get(dim) if dim else definition.time_axis
    return axis if isinstance(axis, TimeAxis) else None


def _whole_in_time(one: PartitionSet, axis: TimeAxis) -> bool:
    """Whether a text said nothing about time: it named keys of another dimension."""
    return bool(one) and axis.finish is not None and one.spans(axis.name) == axis.existing(None)


def _extent(one: PartitionSet, axis: TimeAxis) -> tuple[int, int]:
    spans = one.spans(axis.name)
    if not spans:
        return (0, 0)
    return (spans[-1][1] - spans[0][0], spans[0][1] - spans[0][0])


def _same_wall(lo: int, hi: int, axis: TimeAxis, other: TimeAxis) -> tuple[int, int]:
    """The stretch that shows the same wall-clock times in another axis's zone."""
    if axis.timezone == other.timezone:
        return lo, hi
    here, there = axis.grid.zone, other.grid.zone
    return there.resolve(here.wall(lo), first=True), there.resolve(here.wall(hi), first=True)


def _with_time(
    definition: Definition, axis: TimeAxis, cut: tuple[tuple[int, int], ...], base: PartitionSet | None, now: datetime
) -> PartitionSet:
    if base is not None:
        return base.restrict(axis.name, cut)
    slices = {a.name: (cut if a.name == axis.name else a.existing(now)) for a in definition.axes}
    return definition.product(slices)


def _refuse(dim: str, text: str, nodes: Sequence[Node], errors: Sequence[PartitionError]) -> None:
    shown = f"{dim}={text}" if dim else text
    if not nodes:
        raise PlanError(f"no named model is partitioned, so none reads `{shown}`")
    error = next((e for e in errors if "backwards" in e.message), errors[0])
    names = ", ".join(f"`{node.name}`" for node in nodes[:3]) + (" ..." if len(nodes) > 3 else "")
    raise PlanError(f"{names}: {error.message}", hint=error.hint)


def spread(
    named: Mapping[str, PartitionSet | None],
    order: Sequence[str],
    inputs: Mapping[str, Sequence[Input]],
    nodes: Mapping[str, Node],
    reached: frozenset[str],
    now: datetime,
) -> dict[str, PartitionSet | None]:
    """The named sets and those of the models reached from them: first down the graph, then up.

    `order` is topological over the selection. A reached model without partitions is wanted (None) when it reads a model
    that is wanted. Models that nothing reaches are left out of the result.
    """
    wanted: dict[str, PartitionSet | None] = dict(named)
    for model in order:
        if model in reached:
            for read in inputs[model]:
                if read.upstream in wanted:
                    _add_down(model, read, wanted, nodes, now)
    touched = frozenset(wanted)  # these have just what maps to them, whatever else their readers read
    for model in reversed(order):
        if model not in wanted:
            continue
        for read in inputs[model]:
            if read.upstream in reached - touched:
                _add_up(model, read, wanted, nodes, now)
    return {model: wanted[model] for model in order if model in wanted}


def _add_down(
    model: str, read: Input, wanted: dict[str, PartitionSet | None], nodes: Mapping[str, Node], now: datetime
) -> None:
    definition = nodes[model].definition
    changed = wanted[read.upstream]
    if definition is None or not nodes[model].is_partitioned:
        if changed is None or changed:
            wanted[model] = None
        return
    hit = definition.existing(now) if changed is None else read.touched(changed, definition, now)
    if hit:
        before = wanted.get(model)
        wanted[model] = hit if before is None else before | hit


def _add_up(
    model: str, read: Input, wanted: dict[str, PartitionSet | None], nodes: Mapping[str, Node], now: datetime
) -> None:
    up = nodes[read.upstream]
    if up.resource_type != "model":
        return
    if not up.is_partitioned:
        wanted.setdefault(up.unique_id, None)
        return
    need = read.needed(wanted[model], now)
    if need is not None and need.existing:
        before = wanted.get(up.unique_id)
        wanted[up.unique_id] = need.existing if before is None else before | need.existing
