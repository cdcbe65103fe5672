"""Laws of mappings: one relation asked in two directions, on sets as on single partitions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from partwise import mapping
from partwise.partitions import Definition, PartitionSet, dynamic, multi, static
from partwise.partitions.axes import TimeAxis
from strategies import PLACES, TEXTS, key_definitions, sets_of, time_definitions

NOW = datetime(2100, 1, 1, tzinfo=UTC)
COMMON = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
Case = tuple[Definition, Definition, mapping.Mapping, datetime]

OFFSETS = st.integers(-3, 3)
SHIFTS = st.sampled_from([None, None, None, timedelta(hours=1), timedelta(minutes=-30), timedelta(days=2)])


@st.composite
def nows(draw: st.DrawFn, *near: Definition) -> datetime:
    """Long after, or somewhere among the windows."""
    starts = [d.window(key).start for d in near if d.time_axis is not None for key in d.all_()]
    return draw(st.sampled_from([NOW, *starts[:40:3]]))


@st.composite
def time_pairs(draw: st.DrawFn, at_most: int = 12) -> tuple[Definition, Definition]:
    """Two time definitions about the same days, maybe in two zones."""
    zone, near = draw(st.sampled_from(PLACES))
    other = draw(st.sampled_from([zone, zone, "UTC", "America/New_York", "Asia/Kathmandu"]))
    short, long = ["hourly", "daily", "cron"], ["weekly", "monthly", "daily", "cron"]
    kinds = draw(st.sampled_from([(short, short), (long, long), (["daily"], ["weekly"]), (["weekly"], ["daily"])]))
    return (
        draw(time_definitions(kinds[0], at_most=at_most, place=(zone, near))),
        draw(time_definitions(kinds[1], at_most=at_most, place=(other, near))),
    )


@st.composite
def windows(draw: st.DrawFn) -> mapping.Mapping:
    return mapping.window(draw(OFFSETS), draw(OFFSETS), draw(SHIFTS))


@st.composite
def time_cases(draw: st.DrawFn) -> Case:
    up, down = draw(time_pairs())
    return up, down, draw(windows()), draw(nows(up, down))


@st.composite
def key_cases(draw: st.DrawFn) -> Case:
    up = static(draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=6, unique=True)))
    down = draw(st.one_of(key_definitions(), st.just(dynamic("other", keys=["US", "a|b"]))))
    pairs = st.dictionaries(st.sampled_from(list(up.keys())), st.lists(st.sampled_from(list(down.keys())), max_size=3))
    m = draw(
        st.one_of(
            pairs.map(mapping.static_map),
            st.just(mapping.identity()),
            st.just(mapping.all()),
            st.just(mapping.last()),
            st.lists(st.sampled_from([*up.keys(), "gone"]), max_size=2).map(mapping.keys),
        )
    )
    return up, down, m, NOW


@st.composite
def multi_cases(draw: st.DrawFn) -> Case:
    """Two or three dimensions on each side, mapped one by one; a dimension may decide two, and two may decide one."""
    up_time, down_time = draw(time_pairs(at_most=5))
    up = multi(date=up_time, area=static(["US", "EU", "a|b"]), k=draw(key_definitions()))
    down = multi(day=down_time, region=static(["EU", "US"]), k=draw(key_definitions()))
    pick: dict[str, Any] = {}
    if draw(st.booleans()):
        pick["date"] = ("day", draw(st.one_of(windows(), st.sampled_from([None, mapping.last(), mapping.all()]))))
    if draw(st.booleans()):
        how = [mapping.identity(), mapping.last(), mapping.keys(["US"]), mapping.static_map({"US": ["US", "EU"]}), None]
        pick["area"] = ("region", draw(st.sampled_from(how)))
    if draw(st.booleans()):
        pick["k"] = (draw(st.sampled_from(["region", "k"])), mapping.identity())
    m = mapping.dims({name: how[0] if how[1] is None else how for name, how in pick.items()})
    return up, down, m, draw(nows(up, down))


CASES = st.one_of(time_cases(), key_cases(), multi_cases())


def needs(case: Case, wanted: PartitionSet) -> mapping.Needed:
    up, _, m, now = case
    return mapping.upstream(m, wanted, of=up, now=now)


@COMMON
@given(CASES, st.data())
def test_needs_of_a_union(case: Case, data: st.DataObject) -> None:
    _, down, _, _ = case
    a, b = data.draw(sets_of(down)), data.draw(sets_of(down))
    whole, first, second = needs(case, a | b), needs(case, a), needs(case, b)
    assert whole.existing == first.existing | second.existing
    assert whole.nonexistent == first.nonexistent | second.nonexistent
    assert not whole.existing & whole.nonexistent


@COMMON
@given(CASES, st.data())
def test_needs_of_single_partitions(case: Case, data: st.DataObject) -> None:
    up, down, _, now = case
    wanted = data.draw(sets_of(down))
    parts = [needs(case, down.parse_key(key)) for key in wanted]
    assert needs(case, wanted).existing == up.union_of(part.existing for part in parts)
    assert needs(case, wanted).nonexistent == up.union_of(part.nonexistent for part in parts)
    assert not needs(case, wanted).existing - up.existing(now)
    assert not needs(case, wanted).nonexistent & up.existing(now)


@COMMON
@given(CASES, st.data())
def test_changes_of_a_union(case: Case, data: st.DataObject) -> None:
    up, down, m, now = case
    a, b = data.draw(sets_of(up)), data.draw(sets_of(up))
    touched = mapping.downstream(m, a | b, of=down, now=now)
    assert touched == mapping.downstream(m, a, of=down, now=now) | mapping.downstream(m, b, of=down, now=now)
    assert not touched - down.existing(now)


@COMMON
@given(CASES, st.data())
def test_both_directions_agree(case: Case, data: st.DataObject) -> None:
    up, down, m, now = case
    ups, downs = list(up.existing(now).keys()), list(down.existing(now).keys())
    assume(ups and downs)
    some = data.draw(st.tuples(*(st.lists(st.sampled_from(keys), min_size=1, max_size=5) for keys in (ups, downs))))
    needed = {key: needs(case, down.parse_key(key)).existing for key in some[1]}
    for above in some[0]:
        touched = mapping.downstream(m, up.parse_key(above), of=down, now=now)
        for key, existing in needed.items():
            assert (above in existing) is (key in touched), (above, key)


@COMMON
@given(time_cases(), st.data())
def test_needs_overlap_the_moved_window(case: Case, data: st.DataObject) -> None:
    """The rule itself, for offsets without exclusions: the windows that overlap `[start + a, end + b)`."""
    up, down, m, now = case
    axis = down.time_axis
    assume(axis is not None and not axis.exclude)
    assert axis is not None and isinstance(m, mapping.TimeWindow)
    windows_up = {above: up.window(above) for above in up.existing(now)}
    for key in list(data.draw(sets_of(down)).keys())[:5]:
        lo = int(down.window(key).start.timestamp())
        start = axis.grid.shift(lo, m.start_offset) + int(m.shift.total_seconds())
        end = axis.grid.shift(lo, m.end_offset + 1) + int(m.shift.total_seconds())
        right = [k for k, w in windows_up.items() if w.start.timestamp() < end and w.end.timestamp() > start]
        assert list(needs(case, down.parse_key(key)).existing.keys()) == (right if start < end else [])


@COMMON
@given(time_pairs())
def test_inferred_overlap_is_symmetric(pair: tuple[Definition, Definition]) -> None:
    up, down = pair
    m = mapping.infer(up, down)
    for key in list(down.all_())[:4]:
        needed = mapping.upstream(m, down.parse_key(key), of=up, now=NOW).existing
        assert needed == mapping.downstream(mapping.infer(down, up), down.parse_key(key), of=up, now=NOW)


@COMMON
@given(CASES, st.data())
def test_needs_lie_on_windows(case: Case, data: st.DataObject) -> None:
    up, down, _, _ = case
    needed = needs(case, data.draw(sets_of(down)))
    for axis in up.axes:
        if isinstance(axis, TimeAxis):
            for lo, hi in (needed.existing | needed.nonexistent).spans(axis.name):
                assert axis.grid.floor(lo) == lo and axis.grid.floor(hi) == hi
