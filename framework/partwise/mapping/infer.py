"""What two definitions imply about their mapping, and whether a mapping fits them."""

from __future__ import annotations

from collections.abc import Sequence

from partwise.errors import PartitionError, did_you_mean
from partwise.mapping.kinds import WAYS, All, Dims, Identity, Keys, Last, Mapping, StaticMap, TimeWindow
from partwise.partitions.axes import Axis, KeyAxis, TimeAxis
from partwise.partitions.grids import canonical_cron
from partwise.partitions.sets import Definition


def infer(up: Definition | None, down: Definition | None) -> Mapping:
    """The mapping two definitions imply. Raises PartitionError, listing the ways to say it, when they imply none."""
    if up is None or down is None:
        return All()
    if len(up.axes) == len(down.axes) == 1:
        made = _infer_axis(up.axes[0], down.axes[0])
        if made is None:
            raise PartitionError(f"cannot map {shape(down)} to {shape(up)} partitions", hint=WAYS)
        return made
    return _infer_multi(up, down)


def shape(definition: Definition) -> str:
    return " x ".join(f"{axis.kind} `{axis.name}`" for axis in definition.axes)


def _infer_axis(up: Axis, down: Axis) -> Mapping | None:
    if isinstance(up, TimeAxis) and isinstance(down, TimeAxis):
        return TimeWindow()
    if isinstance(up, TimeAxis) or isinstance(down, TimeAxis):
        return None
    if up.kind == down.kind and (up.kind == "dynamic" or not up.keys or not down.keys or set(up.keys) & set(down.keys)):
        return Identity()
    return None


def _infer_multi(up: Definition, down: Definition) -> Mapping:
    """By shared names first, then by the one pairing of equal axes or of single time axes among the rest."""
    named: tuple[tuple[str, str, Mapping | None], ...] = ()
    if len(up.axes) > 1 and len(down.axes) > 1:
        named = tuple((u.name, u.name, infer_axis(u, down.dims[u.name])) for u in up.axes if u.name in down.dims)
    taken = {name for name, _, _ in named}
    pairs = _pairs([u for u in up.axes if u.name not in taken], [d for d in down.axes if d.name not in taken])
    once = len({u.name for u, _ in pairs}) == len({d.name for _, d in pairs}) == len(pairs)
    if not named and not (pairs and once):
        problem = "more than one dimension could be meant" if pairs else "no dimension corresponds"
        raise PartitionError(f"cannot map {shape(down)} to {shape(up)} partitions: {problem}", hint=WAYS)
    return Dims((*named, *((u.name, d.name, None) for u, d in pairs if once)))


def _pairs(ups: Sequence[Axis], downs: Sequence[Axis]) -> list[tuple[Axis, Axis]]:
    """Dimensions that could correspond: equal keys, the same windows, or the only time on each side."""
    pairs = [(u, d) for u in ups for d in downs if not u.is_time and u.identity == d.identity and _same_keys(u, d)]
    times_up = [axis for axis in ups if axis.is_time]
    times_down = [axis for axis in downs if axis.is_time]
    if len(times_up) == len(times_down) == 1:
        return [*pairs, (times_up[0], times_down[0])]
    return pairs + [(u, d) for u in times_up for d in times_down if u.identity == d.identity]


def _same_keys(u: Axis, d: Axis) -> bool:
    if not isinstance(u, KeyAxis) or not isinstance(d, KeyAxis):
        return False
    return u.kind == "dynamic" or set(u.keys) == set(d.keys)


def check(m: Mapping, up: Definition, down: Definition) -> None:
    """Raise PartitionError when a mapping does not fit two definitions: unknown keys, dimensions, or kinds."""
    if isinstance(m, (All, Last)):
        return
    if isinstance(m, Keys):
        for key in m.keys:
            if not up.dynamic_names:
                up.parse_key(key)
        return
    if isinstance(m, Dims):
        for up_name, down_name, how in m.by_upstream:
            u, d = dimension(up, up_name, "upstream"), dimension(down, down_name, "downstream")
            _check_axis(how or infer_axis(u, d), u, d)
        return
    if len(up.axes) != 1 or len(down.axes) != 1:
        if isinstance(m, Identity) and list(up.dims) == list(down.dims):
            for u in up.axes:
                _check_axis(m, u, down.dims[u.name])
            return
        if isinstance(m, TimeWindow):
            spread(m, up, down)
            return
        raise PartitionError(f"this mapping cannot map {shape(down)} to {shape(up)} partitions", hint=WAYS)
    _check_axis(m, up.axes[0], down.axes[0])


def _check_axis(m: Mapping, u: Axis, d: Axis) -> None:
    if isinstance(m, TimeWindow) and not (u.is_time and d.is_time):
        other = u if not u.is_time else d
        raise PartitionError(f"window() maps time to time, and `{other.name}` is {other.kind}", hint=WAYS)
    if isinstance(m, Identity) and (u.kind, _anchor(u)) != (d.kind, _anchor(d)):
        raise PartitionError(f"identity() cannot map {d.kind} to {u.kind} partitions: their keys differ", hint=WAYS)
    if isinstance(m, StaticMap):
        if u.is_time or d.is_time:
            raise PartitionError("static_map() maps keys to keys, and one side is time", hint=WAYS)
        assert isinstance(u, KeyAxis) and isinstance(d, KeyAxis)
        for side, axis, position in (("upstream", u, 0), ("downstream", d, 1)):
            for pair in m.pairs:
                if axis.kind == "static" and pair[position] not in axis.order:
                    hint = did_you_mean(pair[position], axis.keys)
                    raise PartitionError(
                        f"static_map() names the {side} key `{pair[position]}`, which is none", hint=hint
                    )
    if isinstance(m, Dims):
        raise PartitionError("dims() cannot stand inside dims()")


def _anchor(axis: Axis) -> tuple[int, str] | None:
    """What decides on which dates windows start; without it no two keys are the same."""
    return (axis.day, canonical_cron(axis.cron) if axis.cron else "") if isinstance(axis, TimeAxis) else None


def dimension(definition: Definition, name: str, side: str) -> Axis:
    if name in definition.dims:
        return definition.dims[name]
    if len(definition.axes) == 1 and name in ("", definition.kind):
        return definition.axes[0]
    hint = did_you_mean(name, list(definition.dims)) or f"it has {', '.join(f'`{d}`' for d in definition.dims)}"
    raise PartitionError(f"dims() names the {side} dimension `{name}`, which does not exist", hint=hint)


def infer_axis(u: Axis, d: Axis) -> Mapping:
    made = _infer_axis(u, d)
    if made is None:
        raise PartitionError(f"cannot map {d.kind} `{d.name}` to {u.kind} `{u.name}`", hint=WAYS)
    return made


def spread(m: Mapping, up: Definition, down: Definition) -> Dims:
    """A mapping of single dimensions applied to definitions of several."""
    if isinstance(m, Dims):
        return m
    if isinstance(m, TimeWindow):
        inferred = infer(up, down)
        if not isinstance(inferred, Dims):
            return Dims(((up.axes[0].name, down.axes[0].name, m),))
        timed = [(u, d) for u, d, _ in inferred.by_upstream if up.dims[u].is_time and down.dims[d].is_time]
        if len(timed) != 1:
            raise PartitionError("window() needs exactly one pair of time dimensions", hint=WAYS)
        return Dims(tuple((u, d, m if (u, d) == timed[0] else how) for u, d, how in inferred.by_upstream))
    if len(up.axes) == len(down.axes) == 1:
        return Dims(((up.axes[0].name, down.axes[0].name, m),))
    if isinstance(m, Identity) and list(up.dims) == list(down.dims):
        return Dims(tuple((axis.name, axis.name, m) for axis in up.axes))
    raise PartitionError(f"this mapping cannot map {shape(down)} to {shape(up)} partitions", hint=WAYS)
