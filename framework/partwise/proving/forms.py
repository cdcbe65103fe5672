"""How a partition column places its row, and what a filtered input holds of it: the first step of a proof.

A *form* says how a value names a window: `wall` (DATE or TIMESTAMP on the clock of a zone), `instant` (TIMESTAMPTZ),
text and numbers in a format, or a key. Two values of one form that are equal lie in one partition.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from partwise.mapping.infer import dimension, infer_axis, spread
from partwise.mapping.kinds import All, Dims, Identity, Keys, Last, Mapping, TimeWindow
from partwise.partitions import Definition
from partwise.partitions.axes import Axis, TimeAxis
from partwise.partitions.zones import DAY, HOUR, year_start, zone
from partwise.planning.inputs import Hop
from partwise.rendering.composed import Condition, Slot
from partwise.rendering.sqltypes import UNKNOWN, SqlType

_GRAINS = {"hourly": 0, "daily": 1, "weekly": 2, "monthly": 3, "quarterly": 4, "yearly": 5}
# The units whose grid holds all boundaries of a grain, where these begin at midnight (on the hour for hourly).
_CLOCK = ("microsecond", "millisecond", "second", "minute", "hour")
_UNITS = {
    "hourly": _CLOCK,
    "daily": (*_CLOCK, "day"),
    "weekly": (*_CLOCK, "day", "week"),
    "monthly": (*_CLOCK, "day", "month"),
    "quarterly": (*_CLOCK, "day", "month", "quarter"),
    "yearly": (*_CLOCK, "day", "month", "quarter", "year"),
}


@dataclass(frozen=True, slots=True)
class Form:
    """How a value places its row. `zone` is the clock of a `wall` form; `name` the type as the warehouse calls it."""

    kind: str  # wall | instant | text | number | key | unknown | via
    zone: str = ""
    format: str = ""
    name: str = ""

    def same(self, other: Form) -> bool:
        """Whether equal values lie in one partition. Types that are not known are the same only as themselves."""
        if self.kind != other.kind or self.format != other.format:
            return False
        if self.kind in ("unknown", "via", "key"):
            return self.name == other.name and self.zone == other.zone
        return self.zone == other.zone


@dataclass(frozen=True, slots=True)
class Region:
    """What is read along one dimension of the reader: `exact`ly its partitions, or at least them.

    `back`: reads at least so many windows before each of them as well.
    """

    dim: str
    form: Form
    exact: bool = True
    back: int = 0


class Unfollowed(Exception):
    """A way of reading an input that is not followed; the text says which."""


def form_of(slot: Slot, axis: Axis, types: MappingOf[str, SqlType]) -> Form:
    """The form of the values that are compared with the windows of an axis."""
    found = types.get(slot.probe) or slot.declared or UNKNOWN
    if not isinstance(axis, TimeAxis):
        return Form("key", name=found.kind if found.kind != "unknown" else f"? {slot.probe}")
    clock = slot.timezone or axis.timezone
    if found.kind in ("date", "timestamp"):
        return Form("wall", clock, name=found.name.lower())
    if found.kind == "timestamptz":
        return Form("instant", name=found.name.lower())
    if found.kind == "text":
        return Form("text", clock, slot.format or "")
    if found.kind == "unknown":
        return Form("unknown", clock, slot.format or "", slot.probe)
    return Form("number", clock, slot.format or "")


def regions(
    condition: Condition, reader: Definition, types: MappingOf[str, SqlType]
) -> tuple[tuple[Slot, Region], ...]:
    """What a hole filters on, by expression. A dimension that is read whole is left out. Raises Unfollowed."""
    found: list[tuple[Slot, Region]] = []
    for dim, slot in condition.reader_slots.items():
        found.append((slot, Region(dim, form_of(slot, reader.dims[dim], types))))
    if condition.kind == "own":
        for dim, slot in condition.slots.items():
            back, ahead = condition.offsets if reader.dims[dim].is_time else (0, 0)
            if ahead or back > 0:
                raise Unfollowed("it reads windows after its own, or only earlier ones")
            found.append((slot, Region(dim, form_of(slot, reader.dims[dim], types), back == 0, -back)))
    elif condition.kind == "read":
        upstream = condition.hops[-1].definition
        ways = _ways(reader, condition.hops)
        for dim, slot in condition.slots.items():
            way = ways.get(dim)
            if way is not None:
                form = form_of(slot, upstream.dims[dim], types)
                found.append((slot, Region(way.dim, form, way.exact, way.back)))
    else:
        raise Unfollowed("a condition that depends on the partitions in a way of its own")
    dims = [region.dim for _, region in found]
    if len(set(dims)) != len(dims):
        raise Unfollowed("two columns are filtered by one dimension")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Way:
    dim: str  # of the reader
    exact: bool
    back: int


def _ways(reader: Definition, hops: Iterable[Hop]) -> dict[str, _Way]:
    ways = {dim: _Way(dim, True, 0) for dim in reader.dims}
    down = reader
    for hop in hops:
        made: dict[str, _Way] = {}
        for up_dim, down_dim, how in _pairs(hop.mapping, hop.definition, down):
            way = ways.get(down_dim)
            if way is not None and how is not None:
                step = _step(how, hop.definition.dims[up_dim], down.dims[down_dim], reader.dims[way.dim])
                if step is not None:
                    exact, back = step
                    # windows of another grain on the way: how far back is not followed
                    kept = back + way.back if way.exact else 0
                    made[up_dim] = _Way(way.dim, exact and way.exact, kept)
        ways, down = made, hop.definition
    return ways


def _pairs(m: Mapping, up: Definition, down: Definition) -> list[tuple[str, str, Mapping | None]]:
    if isinstance(m, (All, Keys)):
        return []
    if isinstance(m, Last):
        return []
    if len(up.axes) == len(down.axes) == 1 and not isinstance(m, Dims):
        return [(up.axes[0].name, down.axes[0].name, m)]
    pairs: list[tuple[str, str, Mapping | None]] = []
    for up_name, down_name, how in spread(m, up, down).by_upstream:
        u, d = dimension(up, up_name, "upstream"), dimension(down, down_name, "downstream")
        pairs.append((u.name, d.name, how or infer_axis(u, d)))
    return pairs


def _step(m: Mapping, u: Axis, d: Axis, reader: Axis) -> tuple[bool, int] | None:
    """Whether exactly the windows of `d` are read of `u`, and how many windows back; None: the same for all."""
    if isinstance(m, (All, Last, Keys)):
        return None
    if isinstance(m, Identity):
        if isinstance(u, TimeAxis) and isinstance(d, TimeAxis) and u.identity != d.identity:
            raise Unfollowed("identity() between windows of different zones")
        return True, 0
    if isinstance(m, TimeWindow) and isinstance(u, TimeAxis) and isinstance(d, TimeAxis):
        if m.shift or m.end_offset or m.start_offset > 0:
            raise Unfollowed("it reads windows after its own, or only earlier ones")
        back = -m.start_offset if d == reader or getattr(reader, "identity", None) == d.identity else 0
        return nests(u, d) and m.start_offset == 0, back
    raise Unfollowed("static_map() reads by other keys than the model's")


def nests(fine: TimeAxis, coarse: TimeAxis) -> bool:
    """Whether every window of one axis lies within one window of the other. Says no where that is not plain."""
    if fine.identity == coarse.identity:
        return True
    if "cron" in (fine.kind, coarse.kind) or fine.minute or coarse.minute or _GRAINS[fine.kind] > _GRAINS[coarse.kind]:
        return False
    if fine.kind == "hourly":
        return _whole_hours(fine.timezone) and _whole_hours(coarse.timezone)
    if fine.timezone != coarse.timezone or fine.hour != coarse.hour or fine.kind == coarse.kind:
        return False
    if fine.kind == "daily":
        return True
    return fine.kind in ("monthly", "quarterly") and fine.day == coarse.day == 1


@lru_cache(maxsize=64)
def _whole_hours(name: str) -> bool:
    lo, hi = year_start(1900), year_start(2100)
    of = zone(name)
    return of.is_utc or all(segment.offset % HOUR == 0 for segment in of.segments(lo, hi))


def is_plain(axis: TimeAxis) -> bool:
    """Whether all windows begin at midnight, on the first of their unit (hourly: on the hour)."""
    if axis.kind == "cron" or axis.minute or (axis.hour and axis.kind != "hourly"):
        return False
    return axis.day == (1 if axis.kind in ("monthly", "quarterly", "yearly") else 0)


def keeps_window(axis: TimeAxis, form: Form, unit: str) -> bool:
    """Whether cutting a wall-clock value down to `unit` leaves it in its window of the axis."""
    if form.kind != "wall" or unit not in _UNITS.get(axis.kind, ()) or axis.minute:
        return False
    if form.zone != axis.timezone or (axis.hour and axis.kind != "hourly"):
        hours = unit in _CLOCK and _whole_hours(form.zone) and _whole_hours(axis.timezone)
        return hours and _is_calm(axis) and (not axis.hour or zone(axis.timezone).is_utc)
    if not is_plain(axis) and unit not in (*_CLOCK, "day"):
        return False
    return _is_calm(axis)


def _is_calm(axis: TimeAxis) -> bool:
    """Whether no window begins within an hour that the clocks of its zone skip or repeat."""
    if axis.kind == "hourly":
        return _whole_hours(axis.timezone)
    return zone(axis.timezone).is_utc or _calm_midnights(axis.timezone, min(axis.begin, year_start(1970)))


@lru_cache(maxsize=64)
def _calm_midnights(name: str, since: int) -> bool:
    segments = list(zone(name).segments(since, year_start(2100)))
    for before, after in pairwise(segments):
        first, last = sorted((after.lo + before.offset, after.lo + after.offset))
        if first == last:
            continue
        # a midnight at the very end is where the clocks would have shown it anyway
        if first // DAY != (last - 1) // DAY or (after.offset > before.offset and first % DAY == 0):
            return False
    return True


def converts(axis: TimeAxis, clock: str) -> bool:
    """Whether instants shown on the clock of a zone stay in their window of the axis."""
    if clock != axis.timezone:
        return zone(clock).is_utc
    return zone(clock).is_utc or (axis.kind != "hourly" and is_plain(axis) and _is_calm(axis))

