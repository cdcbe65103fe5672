"""Bounds and keys written for every type of column, and the ones that are refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from partwise.errors import RenderError
from partwise.partitions import cron, daily, hourly, monthly, multi, static, weekly, yearly
from partwise.rendering.predicates import Notes, PartitionExpr, set_filter
from partwise.rendering.sqltypes import SqlType

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DAYS = daily("2024-01-01")
NEW_YORK = daily("2024-01-01", timezone="America/New_York")
NEW_YORK_HOURS = hourly("2024-01-01", timezone="America/New_York")
KEYS = static(["a", "it's", "007", "7", "true", "2024-01-05", "1.50"])

# definition, set, type of the column, column_timezone, partition_format, condition on DuckDB, on Snowflake
BOUNDS = [
    (DAYS, "2024-01-05", "DATE", None, None,
     "c >= DATE '2024-01-05' and c < DATE '2024-01-06'", "c >= DATE '2024-01-05' and c < DATE '2024-01-06'"),
    (NEW_YORK, "2024-03-10", "DATE", None, None,
     "c >= DATE '2024-03-10' and c < DATE '2024-03-11'", "c >= DATE '2024-03-10' and c < DATE '2024-03-11'"),
    (DAYS, "2024-01-05, 2024-01-07:2024-01-08", "DATE", None, None,
     "c in (DATE '2024-01-05', DATE '2024-01-07', DATE '2024-01-08')",
     "c in (DATE '2024-01-05', DATE '2024-01-07', DATE '2024-01-08')"),
    (monthly("2023-01-01"), "2023-02-01", "DATE", None, None,
     "c >= DATE '2023-02-01' and c < DATE '2023-03-01'", "c >= DATE '2023-02-01' and c < DATE '2023-03-01'"),
    (DAYS, "2024-01-05", "TIMESTAMP", None, None,
     "c >= TIMESTAMP '2024-01-05 00:00:00' and c < TIMESTAMP '2024-01-06 00:00:00'",
     "c >= '2024-01-05 00:00:00'::TIMESTAMP_NTZ and c < '2024-01-06 00:00:00'::TIMESTAMP_NTZ"),
    (DAYS, "2024-01-05", "TIMESTAMP_NS", None, None,
     "c >= TIMESTAMP '2024-01-05 00:00:00' and c < TIMESTAMP '2024-01-06 00:00:00'", None),
    (NEW_YORK, "2024-03-10", "TIMESTAMP", "UTC", None,
     "c >= TIMESTAMP '2024-03-10 05:00:00' and c < TIMESTAMP '2024-03-11 04:00:00'", None),
    (NEW_YORK, "2024-03-10", "TIMESTAMP", "America/New_York", None,
     "c >= TIMESTAMP '2024-03-10 00:00:00' and c < TIMESTAMP '2024-03-11 00:00:00'", None),
    (NEW_YORK, "2024-03-10", "TIMESTAMP WITH TIME ZONE", None, None,
     "c >= TIMESTAMPTZ '2024-03-10 00:00:00-05:00' and c < TIMESTAMPTZ '2024-03-11 00:00:00-04:00'", None),
    (NEW_YORK, "2024-03-10", "TIMESTAMP_LTZ(9)", None, None, None,
     "c >= '2024-03-10 00:00:00-05:00'::TIMESTAMP_LTZ and c < '2024-03-11 00:00:00-04:00'::TIMESTAMP_LTZ"),
    (NEW_YORK, "2024-03-10", "TIMESTAMP_TZ(9)", None, None, None,
     "c >= '2024-03-10 00:00:00-05:00'::TIMESTAMP_TZ and c < '2024-03-11 00:00:00-04:00'::TIMESTAMP_TZ"),
    (NEW_YORK_HOURS, "2024-11-03-01:00", "TIMESTAMPTZ", None, None,
     "c >= TIMESTAMPTZ '2024-11-03 01:00:00-04:00' and c < TIMESTAMPTZ '2024-11-03 01:00:00-05:00'", None),
    (DAYS, "2024-01-31:2024-02-01", "VARCHAR", None, "%Y%m%d", "c >= '20240131' and c < '20240202'",
     "c >= '20240131' and c < '20240202'"),
    (DAYS, "2024-01-31", "VARCHAR", None, "%Y-%m-%d", "c >= '2024-01-31' and c < '2024-02-01'", None),
    (hourly("2024-01-01"), "2024-01-05-07:00", "VARCHAR", None, "%Y%m%d%H",
     "c >= '2024010507' and c < '2024010508'", None),
    (NEW_YORK, "2024-03-10", "VARCHAR", None, "%Y-%m-%d", "c >= '2024-03-10' and c < '2024-03-11'", None),
    (DAYS, "2024-01-31:2024-02-01", "VARCHAR", None, "%d.%m.%Y", "c in ('31.01.2024', '01.02.2024')", None),
    (monthly("2024-01-01"), "2024-02-01", "VARCHAR", None, "%b %Y", "c = 'Feb 2024'", None),
    (weekly("2024-01-01"), "2024-12-30", "VARCHAR", None, "%G-W%V", "c >= '2025-W01' and c < '2025-W02'", None),
    (DAYS, "2024-01-31:2024-02-01", "INTEGER", None, "%Y%m%d", "c >= 20240131 and c < 20240202",
     "c >= 20240131 and c < 20240202"),
    (DAYS, "2024-01-02", "NUMBER(38,0)", None, "epoch", None, "c >= 1704153600 and c < 1704240000"),
    (DAYS, "2024-01-02", "BIGINT", None, "epoch_ms", "c >= 1704153600000 and c < 1704240000000", None),
    (NEW_YORK, "2024-01-02", "DOUBLE", None, "epoch", "c >= 1704171600 and c < 1704258000", None),
    (yearly("2020-01-01"), "2022", "INTEGER", None, "%Y", "c >= 2022 and c < 2023", None),
    (KEYS, "a", "VARCHAR", None, None, "c = 'a'", "c = 'a'"),
    (KEYS, "007,7", "VARCHAR", None, None, "c in ('007', '7')", "c in ('007', '7')"),
    (KEYS, "it's", "ENUM('it''s')", None, None, "c = 'it''s'", None),
    (KEYS, "7", "INTEGER", None, None, "c = 7", "c = 7"),
    (KEYS, "1.50", "DECIMAL(9,2)", None, None, "c = 1.50", "c = 1.50"),
    (KEYS, "true", "BOOLEAN", None, None, "c = true", "c = true"),
    (KEYS, "2024-01-05", "DATE", None, None, "c = DATE '2024-01-05'", "c = DATE '2024-01-05'"),
    (static([r"C:\x"]), r"C:\x", "VARCHAR", None, None, r"c = 'C:\x'", r"c = 'C:\\x'"),
    # a type that is not known yet: what such a column most likely holds
    (DAYS, "2024-01-05", "", None, None,
     "c >= TIMESTAMP '2024-01-05 00:00:00' and c < TIMESTAMP '2024-01-06 00:00:00'", None),
    (KEYS, "7", "", None, None, "c = '7'", "c = '7'"),
]  # fmt: skip


@pytest.mark.parametrize(("definition", "text", "kind", "zone", "form", "duckdb", "snowflake"), BOUNDS)
def test_bounds(definition, text, kind, zone, form, duckdb, snowflake):
    partitions = definition.subset(text, NOW)
    of = SqlType.of(kind) if kind else SqlType("unknown")
    for dialect, right in (("duckdb", duckdb), ("snowflake", snowflake)):
        if right is not None:
            expr = PartitionExpr("c", of, zone, form)
            assert set_filter(partitions, {next(iter(definition.dims)): expr}, dialect) == right


#        definition, set, type, column_timezone, partition_format, words of the message
REFUSED = [
    (NEW_YORK, "2024-01-05", "TIMESTAMP", None, None, ["without a time zone", "America/New_York", "column_timezone"]),
    (hourly("2024-01-01"), "2024-01-05-07:00", "DATE", None, None, ["is a DATE", "hours"]),
    (daily("2024-01-01", hour_offset=5), "2024-01-05", "DATE", None, None, ["is a DATE", "midnight"]),
    (cron("0 6 * * *", start="2024-01-01"), "2024-01-05-06:00", "DATE", None, None, ["is a DATE", "06:00"]),
    (NEW_YORK, "2024-01-05", "DATE", "UTC", None, ["is a DATE", "05:00", "UTC"]),
    (DAYS, "2024-01-05", "VARCHAR", None, None, ["is text", "partition_format"]),
    (DAYS, "2024-01-05", "INTEGER", None, None, ["INTEGER", "partition_format", "epoch"]),
    (DAYS, "2024-01-05", "VARCHAR", None, "epoch", ["text", "sort"]),
    (DAYS, "2024-01-05", "INTEGER", None, "%Y-%m-%d", ["%Y-%m-%d", "number"]),
    (DAYS, "2024-01-05", "VARCHAR", None, "%Y-%m", ["too coarse", "%Y-%m"]),
    (hourly("2024-01-01"), "2024-01-05-07:00", "VARCHAR", None, "%Y-%m-%d", ["too coarse", "07:00"]),
    (DAYS, "2024-01-05", "VARCHAR", None, "%d.%m.", ["no year"]),
    (DAYS, "2024-01-05", "VARCHAR", None, "%Y-%d", ["leaves a part"]),
    (DAYS, "2024-01-05", "VARCHAR", None, "%A %Y", ["%A"]),
    (DAYS, "2024-01-05", "BOOLEAN", None, None, ["BOOLEAN", "cannot be compared"]),
    (DAYS, "2024-01-05", "STRUCT(a INTEGER)", None, None, ["STRUCT", "cannot be compared"]),
    (KEYS, "007", "INTEGER", None, None, ["`007`", "INTEGER"]),
    (KEYS, "a", "INTEGER", None, None, ["`a`", "INTEGER"]),
    (KEYS, "7", "BOOLEAN", None, None, ["`7`", "BOOLEAN"]),
    (KEYS, "7", "DATE", None, None, ["`7`", "DATE"]),
]


@pytest.mark.parametrize(("definition", "text", "kind", "zone", "form", "words"), REFUSED)
def test_refused(definition, text, kind, zone, form, words):
    expr = PartitionExpr("c", SqlType.of(kind), zone, form)
    with pytest.raises(RenderError) as caught:
        set_filter(definition.subset(text, NOW), {next(iter(definition.dims)): expr}, "duckdb")
    for word in words:
        assert word in str(caught.value)


def test_a_repeated_hour_belongs_to_its_second_partition():
    """Of a wall clock that repeats, half-hour windows included: the first pass is empty, the second holds both."""
    expr = PartitionExpr("c", SqlType("timestamp"), "America/New_York")
    halves = cron("0,30 * * * *", start="2024-11-03", timezone="America/New_York")
    conditions = {}
    for key in ("00:30", "01:00", "01:30", "01:00-0500", "01:30-0500", "02:00"):
        notes = Notes()
        part = halves.parse_key(f"2024-11-03-{key}")
        conditions[key] = (set_filter(part, {"window": expr}, "duckdb", notes), len(notes.warnings))
    day = "TIMESTAMP '2024-11-03"
    assert conditions == {
        "00:30": (f"c >= {day} 00:30:00' and c < {day} 01:00:00'", 0),
        "01:00": ("1 = 0", 1),
        "01:30": ("1 = 0", 1),
        "01:00-0500": (f"c >= {day} 01:00:00' and c < {day} 01:30:00'", 1),
        "01:30-0500": (f"c >= {day} 01:30:00' and c < {day} 02:00:00'", 0),
        "02:00": (f"c >= {day} 02:00:00' and c < {day} 02:30:00'", 0),
    }


def test_a_whole_day_around_the_repeated_hour_needs_no_warning():
    notes = Notes()
    expr = PartitionExpr("c", SqlType("timestamp"), "America/New_York")
    set_filter(NEW_YORK_HOURS.subset("2024-11-03-00:00..2024-11-03-23:00"), {"hour": expr}, "duckdb", notes)
    assert not notes.warnings


def test_several_dimensions_are_exact_boxes():
    both = multi(d=daily("2026-07-01"), k=static(["a", "b"]))
    exprs = {"d": PartitionExpr("d", SqlType("date")), "k": PartitionExpr("k", SqlType("text"))}
    pairs = both.parse_key("2026-07-01|a") | both.parse_key("2026-07-02|b")
    assert set_filter(pairs, exprs, "duckdb") == (
        "(d >= DATE '2026-07-01' and d < DATE '2026-07-02' and k = 'a')"
        " or (d >= DATE '2026-07-02' and d < DATE '2026-07-03' and k = 'b')"
    )
    assert set_filter(both.empty(), exprs, "duckdb") == "1 = 0"


def test_excluded_windows_are_never_filtered_in():
    workdays = daily("2024-01-01", exclude=["0 0 * * 6,0"])
    exprs = {"day": PartitionExpr("d", SqlType("date"))}
    condition = set_filter(workdays.subset("2024-01-04:2024-01-09"), exprs, "duckdb")
    assert condition == "d in (DATE '2024-01-04', DATE '2024-01-05', DATE '2024-01-08', DATE '2024-01-09')"


def test_a_long_key_list_is_cut_into_several():
    many = static([f"k{i}" for i in range(10_001)])
    condition = set_filter(many.all_(), {"key": PartitionExpr("k", SqlType("text"))}, "duckdb")
    assert condition.count(" in (") == 2 and condition.endswith(" or (k in ('k10000'))")
