"""For any set of partitions and every type of column: the rows that the condition selects are those of the set."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partwise.partitions import Definition, PartitionSet, cron, daily, hourly, monthly, multi, static, weekly
from partwise.partitions.zones import from_wall, to_datetime, zone
from partwise.rendering import literals
from partwise.rendering.predicates import PartitionExpr, set_filter
from partwise.rendering.sqltypes import SqlType
from partwise.rendering.timeformats import time_format

WHOLE_DAYS = [
    daily("2024-02-25", "2024-04-05", timezone="America/New_York"),
    daily("2024-10-25", "2024-11-10", timezone="America/New_York", exclude=["0 0 * * 6"]),
    daily("2018-10-25", "2018-11-12", timezone="America/Sao_Paulo"),
    daily("2024-03-30", "2024-04-12", timezone="Australia/Lord_Howe"),
    weekly("2024-01-01", "2024-07-01", timezone="Asia/Tokyo"),
    monthly("2023-11-01", "2025-02-01"),
    monthly("2023-11-12", "2025-02-12", day_offset=12, timezone="Europe/Berlin"),
]
PARTS_OF_DAYS = [
    hourly("2024-11-02-20:00", "2024-11-03-12:00", timezone="America/New_York"),
    hourly("2024-03-09-20:00", "2024-03-10-12:00", timezone="America/New_York", minute_offset=15),
    hourly("2024-04-06-10:00", "2024-04-07-12:00", timezone="Australia/Lord_Howe"),
    daily("2024-10-25", "2024-11-10", timezone="America/New_York", hour_offset=1),
    cron("*/30 * * * *", start="2024-11-02-22:00", end="2024-11-03-04:00", timezone="America/New_York"),
    cron("0 9-17 * * 1-5", start="2024-03-01", end="2024-03-12", timezone="America/New_York"),
]


@st.composite
def sets(draw: st.DrawFn, definitions: list[Definition]) -> PartitionSet:
    definition = draw(st.sampled_from(definitions))
    keys = list(definition.all_().keys())
    chosen = draw(st.lists(st.sampled_from(keys), min_size=0, max_size=12, unique=True))
    return definition.union_of([definition.parse_key(key) for key in chosen])


def moments(definition: Definition) -> list[int]:
    """Instants on, just before and just behind every window's start, and inside."""
    axis = definition.time_axis
    assert axis is not None and axis.finish is not None
    lo, hi = axis.begin - 90_000, axis.finish + 90_000
    found = {t + by for t in axis.grid.ticks(lo, hi) for by in (-1, 0, 1, 1_801)}
    return sorted(found)


def wall_owner(partitions: PartitionSet, wall: int) -> bool:
    """Whether a zoneless value lies in the set: of a repeated hour it means the second pass."""
    axis = partitions.definition.time_axis
    assert axis is not None
    return owner(partitions, zone(axis.timezone).resolve(wall))


def owner(partitions: PartitionSet, instant: int) -> bool:
    key = partitions.definition.key_at(to_datetime(instant))
    return key is not None and key in partitions


CONNECTION = duckdb.connect()
CONNECTION.execute("set TimeZone = 'Asia/Kolkata'")  # no session zone may matter


def selected(
    kind: str, values: list[str], form: str | None, column_timezone: str | None, partitions: PartitionSet
) -> set[int]:
    """The positions of the values, in a column of a type, that the set's condition holds for."""
    CONNECTION.execute(
        f"create or replace table t as select i, v::{kind} as c from (select unnest(range(len($1))) i, unnest($1) v)"
        f" union all select -1, null",
        [values],
    )
    expr = PartitionExpr("c", SqlType.of(kind), column_timezone, form)
    name = next(iter(partitions.definition.dims))
    condition = set_filter(partitions, {name: expr}, "duckdb")
    return {row[0] for row in CONNECTION.execute(f"select i from t where {condition}").fetchall()}


def check(partitions: PartitionSet, whole_days: bool) -> None:
    axis = partitions.definition.time_axis
    assert axis is not None
    instants = moments(partitions.definition)
    in_zone = zone(axis.timezone)
    walls = [in_zone.wall(t) for t in instants]
    by_instant = {i for i, t in enumerate(instants) if owner(partitions, t)}
    by_wall = {i for i, w in enumerate(walls) if wall_owner(partitions, w)}
    shown = [str(from_wall(w)) for w in walls]
    utc = [str(from_wall(t)) for t in instants]
    text = time_format("%Y-%m-%d %H:%M:%S")
    assert selected("TIMESTAMPTZ", [u + "+00:00" for u in utc], None, None, partitions) == by_instant
    assert selected("TIMESTAMP", utc, None, "UTC", partitions) == by_instant
    assert selected("TIMESTAMP_NS", [f"{u}.999999999" for u in utc], None, "UTC", partitions) == by_instant
    assert selected("BIGINT", [str(t) for t in instants], "epoch", None, partitions) == by_instant
    assert selected("HUGEINT", [str(t * 1000 + 999) for t in instants], "epoch_ms", None, partitions) == by_instant
    assert selected("TIMESTAMP", shown, None, axis.timezone, partitions) == by_wall
    assert selected("TIMESTAMP_S", shown, None, axis.timezone, partitions) == by_wall
    assert selected("VARCHAR", [text.write(w) for w in walls], text.text, None, partitions) == by_wall
    if whole_days:
        days = [from_wall(w) for w in walls]
        own = {i for i, w in enumerate(walls) if owner(partitions, in_zone.resolve(w - w % 86_400))}
        assert selected("DATE", [f"{d:%Y-%m-%d}" for d in days], None, None, partitions) == own
        assert selected("INTEGER", [f"{d:%Y%m%d}" for d in days], "%Y%m%d", None, partitions) == own
        assert selected("VARCHAR", [f"{d:%Y-%m-%d}" for d in days], "%Y-%m-%d", None, partitions) == own
        assert selected("VARCHAR", [f"{d:%d.%m.%Y}" for d in days], "%d.%m.%Y", None, partitions) == own


QUICK = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


@QUICK
@given(sets(WHOLE_DAYS))
def test_whole_days(partitions):
    check(partitions, whole_days=True)


@QUICK
@given(sets(PARTS_OF_DAYS))
def test_parts_of_days(partitions):
    check(partitions, whole_days=False)


@pytest.mark.parametrize("definition", [*WHOLE_DAYS, *PARTS_OF_DAYS], ids=lambda d: f"{d.kind} {d.axes[0].timezone}")
def test_every_value_is_in_exactly_one_partition(definition):
    """Windows tile: no zoneless value falls between two partitions or into two."""
    if definition.time_axis.exclude:
        return
    seen: list[int] = []
    in_zone = zone(definition.time_axis.timezone)
    inside = [t for t in moments(definition) if definition.time_axis.begin <= t < definition.time_axis.finish]
    walls = [str(from_wall(in_zone.wall(t))) for t in inside]
    for one in definition.all_().split(1):
        seen += selected("TIMESTAMP", walls, None, definition.time_axis.timezone, one)
    assert sorted(seen) == list(range(len(walls)))


TEXTS = ["a", "A", "it's", "", " a", "a ", "%", "C:\\x", "é", "e\u0301", "007", "7", "😀", "a|b", "--", "{{ x }}"]
KEYED = multi(day=daily("2024-01-01", "2024-01-06"), key=static(TEXTS))


@st.composite
def rectangles(draw: st.DrawFn) -> PartitionSet:
    keys = list(KEYED.all_().keys())
    chosen = draw(st.lists(st.sampled_from(keys), max_size=20, unique=True))
    return KEYED.union_of([KEYED.parse_key(key) for key in chosen])


@QUICK
@given(rectangles())
def test_two_dimensions(partitions):
    days = [f"2024-01-0{day}" for day in range(1, 7)]
    CONNECTION.execute(
        "create or replace table t2 as select d::date as d, k from (select unnest($1) d), (select unnest($2) k)",
        [days, TEXTS],
    )
    exprs = {"day": PartitionExpr("d", SqlType("date")), "key": PartitionExpr("k", SqlType("text"))}
    condition = set_filter(partitions, exprs, "duckdb")
    found = {(str(d), k) for d, k in CONNECTION.execute(f"select d, k from t2 where {condition}").fetchall()}
    right = {(row.dims["day"], row.dims["key"]) for row in partitions.rows()}
    assert found == right


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])))
def test_any_text_is_one_constant(value):
    written = literals.text(value, "duckdb")
    assert CONNECTION.execute(f"select {written}, {written} = ?", [value]).fetchall() == [(value, True)]
    assert "\n" not in written


@settings(max_examples=150, deadline=None)
@given(st.text("ab'\\\"\n\t% -;/*é😀"))
def test_any_text_is_one_constant_for_snowflake(value):
    written = literals.text(value, "snowflake")
    tokens = sqlglot.tokenize(f"select {written} from t", read="snowflake")
    assert [token.text for token in tokens] == ["select", value, "from", "t"]
