"""Laws of definitions and sets of partitions, with plain sets of keys as the oracle."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partwise.errors import PartitionError
from partwise.partitions import Definition, PartitionSet, daily, static
from partwise.partitions.axes import Span, TimeAxis
from partwise.partitions.zones import to_datetime
from strategies import definition_and_sets, definitions, time_definitions

COMMON = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
Drawn = tuple[Definition, list[PartitionSet]]


@COMMON
@given(definitions())
def test_keys_are_unique_and_read_back(definition: Definition) -> None:
    keys = list(definition.all_().keys())
    assert len(keys) == len(set(keys)) == len(definition.all_())
    for key in keys:
        assert list(definition.parse_key(key).keys()) == [key]
        assert definition.has_key(key)
    rows = list(definition.all_().rows())
    assert len({row.key for row in rows}) == len(rows) == len(keys)
    assert all(next(definition.parse_key(row.key).rows()) == row for row in rows)


@COMMON
@given(time_definitions())
def test_windows_tile_time(definition: Definition) -> None:
    axis = definition.axes[0]
    assert isinstance(axis, TimeAxis) and axis.finish is not None
    windows = list(axis.windows(Span(axis.begin, axis.finish)))
    assert windows == [] or (windows[0][0], windows[-1][1]) == (axis.begin, axis.finish)
    assert all(end == start for (_, end), (start, _) in pairwise(windows))
    keys = set(definition.all_().keys())
    for lo, hi in windows:
        key = definition.key_at(to_datetime(lo))
        assert key == definition.key_at(to_datetime((lo + hi) // 2)) == definition.key_at(to_datetime(hi - 1))
        assert (key in keys) is (key is not None)
        if key is not None:
            found = definition.window(key)
            assert (found.start, found.end) == (to_datetime(lo), to_datetime(hi))
    assert len(keys) == sum(definition.key_at(to_datetime(lo)) is not None for lo, _ in windows)


@COMMON
@given(time_definitions(), st.integers(-2, 45), st.integers(-3, 3))
def test_what_exists_has_ended(definition: Definition, count: int, offset: int) -> None:
    axis = definition.axes[0]
    assert isinstance(axis, TimeAxis)
    now = axis.grid.shift(axis.begin, count) if count >= 0 else axis.begin + count * 86_400
    keys = list(definition.keys(to_datetime(now)))
    ended = [key for key in definition.all_() if definition.window(key).end <= to_datetime(now)]
    assert keys == ended == list(definition.keys(to_datetime(now + 1)))[: len(ended)]


@COMMON
@given(definition_and_sets(2))
def test_membership(drawn: Drawn) -> None:
    definition, (a, b) = drawn
    keys_a, keys_b = set(a.keys()), set(b.keys())
    assert set((a | b).keys()) == keys_a | keys_b
    assert set((a & b).keys()) == keys_a & keys_b
    assert set((a - b).keys()) == keys_a - keys_b
    for key in definition.all_():
        assert (key in a) is (key in keys_a)
    assert len(a) == len(keys_a) and bool(a) is bool(keys_a)
    assert (a == b) is (keys_a == keys_b)
    assert a != b or hash(a) == hash(b)
    assert (a <= b) is (keys_a <= keys_b)


@COMMON
@given(definition_and_sets(3))
def test_algebra(drawn: Drawn) -> None:
    definition, (a, b, c) = drawn
    assert a | b == b | a and a & b == b & a
    assert (a | b) | c == a | (b | c) and (a & b) & c == a & (b & c)
    assert a & (b | c) == (a & b) | (a & c)
    assert a - (b | c) == (a - b) - c and (a - b) | (a & b) == a
    assert a | a == a == a & a == a | definition.empty() == a - definition.empty()
    assert not a - a and a - b | b == a | b
    assert str(a | b) == str(b | a) and hash(a | b) == hash(b | a)


@COMMON
@given(definition_and_sets(1))
def test_boxes_are_disjoint_and_rebuild_the_set(drawn: Drawn) -> None:
    definition, (a,) = drawn
    boxes = [dict(box.dims) for box in a.boxes()]
    parts = [definition.parse("; ".join(str(one) for one in [_of_box(definition, box)])) for box in boxes]
    assert sum(len(part) for part in parts) == len(a)
    assert definition.union_of(parts) == a
    for box in boxes:
        assert list(box) == list(definition.dims)
        for name, slices in box.items():
            axis = definition.dims[name]
            if isinstance(axis, TimeAxis):
                spans = [s for s in slices if isinstance(s, Span)]
                assert all(s.lo < s.hi and axis.grid.floor(s.lo) == s.lo for s in spans)
                assert all(s.hi < t.lo for s, t in pairwise(spans))
                assert not any(axis.excluded_in(s.lo, s.hi) for s in spans)
            else:
                assert list(slices) == axis.sorted(str(s) for s in slices)


def _of_box(definition: Definition, box: dict[str, tuple[Span, ...] | tuple[str, ...]]) -> PartitionSet:
    slices = {}
    for name, part in box.items():
        spans = tuple((s.lo, s.hi) for s in part if isinstance(s, Span))
        slices[name] = spans if definition.dims[name].is_time else frozenset(str(s) for s in part)
    return definition.product(slices)


@COMMON
@given(definition_and_sets(1))
def test_text_reads_back(drawn: Drawn) -> None:
    definition, (a,) = drawn
    assert definition.parse(str(a)) == a


@COMMON
@given(definition_and_sets(1), st.integers(1, 20))
def test_pieces(drawn: Drawn, at_most: int) -> None:
    definition, (a,) = drawn
    pieces = a.split(at_most)
    assert [key for piece in pieces for key in piece] == list(a.keys())
    assert all(len(piece) == at_most for piece in pieces[:-1]) and all(0 < len(piece) <= at_most for piece in pieces)
    assert definition.union_of(pieces) == a
    assert pieces == list(a.pieces(at_most))


@COMMON
@given(definition_and_sets(1), st.data())
def test_restrict_and_project(drawn: Drawn, data: st.DataObject) -> None:
    definition, (a,) = drawn
    name = data.draw(st.sampled_from(list(definition.dims)))
    part = a.project(name)
    assert a.restrict(name, part) == a
    assert len({row.dims[name] for row in a.rows()}) == definition.dims[name].count(part)  # type: ignore[arg-type]
    assert definition.clip(a) == a


@COMMON
@given(definitions(), st.data())
def test_ranges(definition: Definition, data: st.DataObject) -> None:
    keys = list(definition.all_().keys())
    if not keys:
        return
    i, j = sorted(data.draw(st.tuples(st.integers(0, len(keys) - 1), st.integers(0, len(keys) - 1))))
    if len(definition.axes) == 1:
        assert list(definition.subset(f"{keys[i]}..{keys[j]}").keys()) == keys[i : j + 1]
        if i < j:
            with pytest.raises(PartitionError, match="backwards"):
                definition.subset(f"{keys[j]}..{keys[i]}")
    assert list(definition.subset(f"{keys[i]}..{keys[i]}").keys()) == [keys[i]]


def test_sets_of_different_definitions_do_not_combine() -> None:
    days, keys = daily("2024-01-01", "2024-02-01"), static(["a"])
    others = [keys.all_(), daily("2024-01-01", "2024-02-01", timezone="Asia/Tokyo").all_()]
    for other in others:
        for combine in (PartitionSet.__or__, PartitionSet.__and__, PartitionSet.__sub__, PartitionSet.__le__):
            with pytest.raises(PartitionError, match="different partition definitions"):
                combine(days.all_(), other)
        assert days.all_() != other
    # start, end, exclusions and format do not make another definition
    shorter = daily("2024-01-10", "2024-01-20", format="%Y%m%d", exclude=["0 0 * * 6"])
    assert shorter.id == days.id and len(days.all_() - shorter.all_()) == 31 - 9
    with pytest.raises(TypeError):
        days.all_() | {"2024-01-01"}  # type: ignore[operator]


@pytest.mark.parametrize("at_most", [0, -1])
def test_pieces_hold_at_least_one(at_most: int) -> None:
    with pytest.raises(PartitionError, match="at least one partition"):
        static(["a"]).all_().split(at_most)
