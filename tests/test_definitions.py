"""What people write for definitions and keys: what is taken, what is refused, and the words of the message."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from partwise import mapping
from partwise.errors import PartitionError
from partwise.partitions import (
    Definition,
    cron,
    daily,
    dynamic,
    hourly,
    monthly,
    multi,
    quarterly,
    static,
    weekly,
    yearly,
)

NY = "America/New_York"
NOW = datetime(2024, 12, 1, tzinfo=UTC)
HOURS = hourly("2024-01-01", timezone=NY)


def _ids(table: Sequence[tuple[Definition, str, Any]]) -> list[str]:
    return [f"{definition.kind}-{text}" for definition, text, _ in table]


ACCEPTED_KEYS: list[tuple[Definition, str, str]] = [
    (HOURS, "2024-01-15-05:00", "2024-01-15-05:00"),
    (HOURS, "2024-01-15T05", "2024-01-15-05:00"),
    (HOURS, "2024-01-15 05:00", "2024-01-15-05:00"),
    (HOURS, "2024-01-15T05:00:00", "2024-01-15-05:00"),
    (HOURS, "2024-01-15T10:00Z", "2024-01-15-05:00"),
    (HOURS, "2024-01-15T10:00:00.000Z", "2024-01-15-05:00"),
    (HOURS, "2024-01-15T11:00:00+01:00", "2024-01-15-05:00"),
    (HOURS, "2024-11-03-01:00", "2024-11-03-01:00"),
    (HOURS, "2024-11-03T01", "2024-11-03-01:00"),
    (HOURS, "2024-11-03-01:00-0400", "2024-11-03-01:00"),
    (HOURS, "2024-11-03-01:00-0500", "2024-11-03-01:00-0500"),
    (HOURS, "2024-11-03T06:00Z", "2024-11-03-01:00-0500"),
    (hourly("2024-01-01", minute_offset=30), "2024-01-15T05", "2024-01-15-05:30"),
    (daily("2024-01-01", hour_offset=5), "2024-01-15", "2024-01-15"),
    (daily("2024-01-01", hour_offset=5), "2024-01-15T05:00", "2024-01-15"),
    (daily("20240101", format="%Y%m%d"), "20240115", "20240115"),
    (daily("20240101", format="%Y%m%d"), "2024-01-15", "20240115"),
    (daily("2024-01-01", format="%d.%m.%Y"), "02.03.2024", "02.03.2024"),
    (weekly("2024-01-01"), "2024-01-15", "2024-01-15"),
    (weekly("2024-01-01"), "2024-W03", "2024-01-15"),
    (weekly("2024-01-01", format="%G-W%V"), "2024-W03", "2024-W03"),
    (monthly("2024-01-01"), "2024-03", "2024-03-01"),
    (monthly("2024-01-01", day_offset=12), "2024-03", "2024-03-12"),
    (monthly("2024-01", format="%Y-%m"), "2024-03", "2024-03"),
    (monthly("2024-01", format="%Y-%m"), "2024-03-01", "2024-03"),
    (quarterly("2024-01-01"), "2024-04-01", "2024-04-01"),
    (quarterly("2024-01-01"), "2024-Q2", "2024-04-01"),
    (quarterly("2024-01-01"), "2024q2", "2024-04-01"),
    (quarterly("2024-Q2"), "2024-04", "2024-04-01"),
    (yearly("2020-01-01"), "2024", "2024-01-01"),
    (cron("0 0 * * 1-5", start="2024-01-01"), "2024-01-15", "2024-01-15-00:00"),
    (cron("30 9-17 * * 1-5", start="2024-01-01"), "2024-01-15T10", "2024-01-15-10:30"),
]


@pytest.mark.parametrize(("definition", "text", "key"), ACCEPTED_KEYS, ids=_ids(ACCEPTED_KEYS))
def test_keys_taken(definition: Definition, text: str, key: str) -> None:
    assert list(definition.subset(text).keys()) == [key]
    assert list(definition.parse_key(text).keys()) == [key]
    assert definition.has_key(key, datetime(2026, 1, 1, tzinfo=UTC))
    assert definition.has_key(text, datetime(2026, 1, 1, tzinfo=UTC)) is (text == key)


REFUSED_KEYS: list[tuple[Definition, str, list[str]]] = [
    (HOURS, "2024-03-10-02:00", ["`2024-03-10-02:00`", "`2024-03-10-01:00`", "`2024-03-10-03:00`"]),
    (HOURS, "2024-01-15-05:30", ["`2024-01-15-05:30`", "`2024-01-15-05:00`", "`2024-01-15-06:00`"]),
    (HOURS, "2024-01-15", ["`2024-01-15`", "24 partitions", "2024-01-15-00:00..2024-01-15-23:00"]),
    (HOURS, "2024-11-03", ["25 partitions"]),
    (HOURS, "2023-12-31-23:00", ["`2023-12-31-23:00`", "outside", "`2024-01-01-00:00`"]),
    (HOURS, "2024-01-15T05:00:30", ["`2024-01-15T05:00:30`"]),
    (daily("2024-01-01"), "2024-1-5", ["`2024-1-5`", "`2024-01-01`"]),
    (daily("2024-01-01"), "2024-02-30", ["`2024-02-30`"]),
    (daily("2024-01-01"), "2024-01-15-05:00", ["`2024-01-15-05:00`", "`2024-01-15`", "`2024-01-16`"]),
    (daily("2024-01-01"), "yesterday", ["`yesterday`", "`2024-01-01`"]),
    (daily("2024-01-01", "2024-02-01"), "2024-02-01", ["outside", "`2024-01-01`", "`2024-01-31`"]),
    (daily("2024-01-01", exclude=["0 0 * * 6,0"]), "2024-01-06", ["excluded", "`2024-01-05`", "`2024-01-08`"]),
    (daily("2011-12-01", timezone="Pacific/Apia"), "2011-12-30", ["`2011-12-30`", "`2011-12-29`", "`2011-12-31`"]),
    (weekly("2024-01-01"), "2024-01-16", ["`2024-01-15`", "`2024-01-22`"]),
    (weekly("2024-01-01"), "2024-01", ["5 partitions"]),
    (weekly("2024-01-07", week_start="sunday"), "2024-W03", ["`2024-W03`"]),
    (daily("2024-01-01"), "2024-W03", ["7 partitions", "2024-01-15..2024-01-21"]),
    (quarterly("2024-01-01"), "2024", ["4 partitions", "2024-01-01..2024-10-01"]),
    (quarterly("2024-01-01"), "2024-02", ["`2024-02`", "`2024-01-01`", "`2024-04-01`"]),
    (static(["US", "EU"]), "UK", ["`UK`", "`US`"]),
    (static(["US", "EU"]), "us", ["`us`", "`US`"]),
    (dynamic("releases"), "v1", ["`v1`", "`releases`", "no keys yet"]),
    (multi(d=daily("2024-01-01"), r=static(["US"])), "2024-01-01", ["`2024-01-01`", "`d|r`"]),
    (multi(d=daily("2024-01-01"), r=static(["US"])), "2024-01-01|UK", ["`2024-01-01|UK`", "`r`", "`UK`", "`US`"]),
]


@pytest.mark.parametrize(("definition", "text", "words"), REFUSED_KEYS, ids=_ids(REFUSED_KEYS))
def test_keys_refused(definition: Definition, text: str, words: list[str]) -> None:
    for ask in (definition.subset, definition.parse_key):
        with pytest.raises(PartitionError) as refused:
            ask(text)
        assert all(word in str(refused.value) for word in words), refused.value
        assert refused.value.hint
    assert not definition.has_key(text, NOW)


RANGES: list[tuple[Definition, str, int]] = [
    (HOURS, "2024-11-03-00:00:2024-11-03-23:00", 25),
    (HOURS, "2024-11-03-01:00:2024-11-03-01:00-0500", 2),
    (HOURS, "2024-11-03-01:00-0500:2024-11-03-02:00", 2),
    (HOURS, "2024-01-15T05:2024-01-15T07", 3),
    (HOURS, "2024-01-15 05:00 .. 2024-01-15 07:00", 3),
    (HOURS, "2024-01-15-05:00...2024-01-15-07:00", 3),
    (HOURS, "2024-11-30-18:00:", 1),
    (daily("2024-01-01"), ":2024-01-03", 3),
    (daily("2024-01-01"), ":", 335),
    (daily("2024-01-01"), "2024-01-01:2024-01-03,2024-02-01", 4),
    (daily("2024-01-01", exclude=["0 0 * * 6,0"]), "2024-01-05:2024-01-08", 2),
    (monthly("2024-01-01"), "2024-02:2024-05", 4),
    (quarterly("2024-01-01"), "2024-Q1:2024-Q3", 3),
    (static(["a:b", "c", "d"]), "a:b:d", 3),
    (static(["a:b", "c", "d"]), "a:b..c", 2),
    (static(["a", "b", "c"]), "a,c", 2),
    (static(["a,c", "b"]), "a,c", 1),
    (multi(d=daily("2024-01-01"), r=static(["US", "EU"])), "2024-01-01|US:2024-01-03|EU", 6),
    (multi(d=daily("2024-01-01"), r=static(["US", "EU"])), "2024-01-01|EU:2024-01-03|EU", 3),
]


@pytest.mark.parametrize(("definition", "text", "count"), RANGES, ids=_ids(RANGES))
def test_ranges_taken(definition: Definition, text: str, count: int) -> None:
    assert len(definition.subset(text, NOW)) == count


REFUSED_RANGES: list[tuple[Definition, str, list[str]]] = [
    (daily("2024-01-01"), "2024-01-08:2024-01-05", ["`2024-01-08`", "`2024-01-05`", "2024-01-05:2024-01-08"]),
    (HOURS, "2024-01-15-05:00:2024-01-15-04:00", ["backwards", "`2024-01-15-05:00`", "`2024-01-15-04:00`"]),
    (HOURS, "2024-01-15-05:00:2024-01-15-06:30", ["`2024-01-15-06:30`", "`2024-01-15-06:00`"]),
    (HOURS, "2024-01-15:2024-01-16", ["`2024-01-15`", "24 partitions"]),
    (daily("2024-01-01"), "2024-01-05:soon", ["`soon`"]),
    (daily("2024-01-01"), "2023-01-05:2024-01-05", ["`2023-01-05`", "outside"]),
    (static(["a", "b", "a:b"]), "a:b", ["more than one way", "A..B"]),
    (static(["x,y", "z"]), "z:x,y", ["backwards", "`z`", "`x,y`"]),
    (static(["a", "b"]), "a:c", ["`c`", "`a`, `b`"]),
]


@pytest.mark.parametrize(("definition", "text", "words"), REFUSED_RANGES, ids=_ids(REFUSED_RANGES))
def test_ranges_refused(definition: Definition, text: str, words: list[str]) -> None:
    with pytest.raises(PartitionError) as refused:
        definition.subset(text, NOW)
    assert all(word in str(refused.value) for word in words), refused.value


REFUSED: list[tuple[str, Callable[[], Any], list[str]]] = [
    ("zone", lambda: daily("2024-01-01", timezone="Europe/Berlim"), ["`Europe/Berlim`", "mean `Europe/Berlin`?"]),
    ("no zone", lambda: daily("2024-01-01", timezone=""), ["unknown time zone", "Europe/Berlin"]),
    ("cron words", lambda: cron("every day", start="2024-01-01"), ["`every day`", "five fields"]),
    ("cron field", lambda: cron("0 25 * * *", start="2024-01-01"), ["`0 25 * * *`", "hint"]),
    ("cron seconds", lambda: cron("0 0 * * * 30", start="2024-01-01"), ["`0 0 * * * 30`", "6 fields"]),
    ("cron never", lambda: cron("0 0 30 2 *", start="2024-01-01"), ["`0 0 30 2 *`"]),
    ("no start", lambda: daily(None), ["daily", "no start", "daily(start='2024-01-01')"]),  # type: ignore[arg-type]
    ("start", lambda: daily("2024/01/01"), ["`start`", "`2024/01/01`", "`2024-01-15`"]),
    ("start number", lambda: daily(20240101), ["`start`", "`20240101`"]),  # type: ignore[arg-type]
    ("end", lambda: daily("2024-01-01", "tomorrow"), ["`end`", "`tomorrow`"]),
    ("end first", lambda: daily("2024-01-02", "2024-01-01"), ["`2024-01-01`", "`2024-01-02`", "before"]),
    ("end never", lambda: daily("2024-01-02", "9999-12-31"), ["`end`", "`9999-12-31`", "leave `end` out"]),
    ("week day", lambda: weekly("2024-01-01", week_start="someday"), ["`someday`", "`monday`"]),
    ("week day short", lambda: weekly("2024-01-01", week_start="s"), ["`s`", "`monday`"]),
    ("week days", lambda: weekly("2024-01-01", week_start="sunday", day_offset=1), ["`sunday`", "1"]),
    ("day offset", lambda: weekly("2024-01-01", day_offset=7), ["`day_offset`", "`7`", "0 to 6"]),
    ("month day", lambda: monthly("2024-01-01", day_offset=32), ["`day_offset`", "`32`"]),
    ("hour", lambda: daily("2024-01-01", hour_offset=24), ["`hour_offset`", "`24`", "0 to 23"]),
    ("minute", lambda: hourly("2024-01-01", minute_offset=1.5), ["`minute_offset`", "`1.5`"]),  # type: ignore[arg-type]
    ("argument", lambda: monthly("2024-01-01", timezon="UTC"), ["`timezon`", "`timezone`"]),
    ("format coarse", lambda: daily("2024-01-01", format="%Y-%m"), ["`%Y-%m`", "`2024-01`", "`%Y-%m-%d`"]),
    ("format no year", lambda: daily("2024-01-01", format="%m-%d"), ["`%m-%d`", "read back"]),
    ("exclude", lambda: daily("2024-01-01", exclude=["christmas"]), ["`exclude`", "`christmas`", "2024-12-25"]),
    ("exclude cron", lambda: daily("2024-01-01", exclude=["0 0 * * 8"]), ["`0 0 * * 8`"]),
    ("exclude all", lambda: daily("2024-01-01", exclude=["0 0 * * *"]), ["`exclude` leaves no window"]),
    ("static text", lambda: static("US"), ["list"]),
    ("static number", lambda: static([1, 2]), ["`1`", "quotes"]),  # type: ignore[list-item]
    ("static float", lambda: static([1.5]), ["`1.5`", "quotes"]),  # type: ignore[list-item]
    ("static bool", lambda: static([False]), ["`False`", "quotes"]),  # type: ignore[list-item]
    ("static twice", lambda: static(["a", "b", "a"]), ["`a`", "twice"]),
    ("static dots", lambda: static(["a...b"]), ["`a...b`"]),
    ("static tab", lambda: static(["a\tb"]), ["'a\\tb'", "control character"]),
    ("dynamic name", lambda: dynamic(""), ["name"]),
    ("multi one", lambda: multi(a=static(["x"])), ["two dimensions"]),
    ("multi nested", lambda: multi(a=static(["x"]), b=multi(c=static(["x"]), d=static(["y"]))), ["`b`"]),
    ("multi name", lambda: multi({"a b": static(["x"]), "c": static(["x"])}), ["`a b`"]),
    ("dimension", lambda: multi(a=static(["x"]), b=static(["x"])).subset({"c": "x"}), ["`c`", "`a`, `b`"]),
    ("no now", lambda: list(daily("2024-01-01").keys()), ["no end", "current time"]),
    ("no zone in now", lambda: list(daily("2024-01-01").keys(datetime(2024, 2, 1))), ["no time zone"]),
    ("window", lambda: static(["a"]).window("a"), ["`a`", "static"]),
    ("key at", lambda: static(["a"]).key_at(NOW), ["static"]),
    ("mapping window", lambda: mapping.window(1.5), ["`start_offset`", "`1.5`"]),  # type: ignore[arg-type]
    ("mapping dims", lambda: mapping.dims(a=3), ["dims(a=...)"]),
]


@pytest.mark.parametrize(("make", "words"), [pytest.param(m, w, id=i) for i, m, w in REFUSED])
def test_definitions_refused(make: Callable[[], Any], words: list[str]) -> None:
    with pytest.raises(PartitionError) as refused:
        made = make()
        raise AssertionError(made)
    assert all(word in str(refused.value) for word in words), refused.value


STARTS: list[tuple[Any, str]] = [
    ("2024-01-15", "2024-01-15 05:00"),
    (date(2024, 1, 15), "2024-01-15 05:00"),
    (datetime(2024, 1, 15), "2024-01-15 05:00"),
    (datetime(2024, 1, 15, 5, tzinfo=UTC), "2024-01-15 05:00"),
    (datetime(2024, 1, 15, 6, tzinfo=timezone(timedelta(hours=1))), "2024-01-15 05:00"),
    ("2024-01-15T05:00Z", "2024-01-15 05:00"),
    ("2024-01-15T06:00+01:00", "2024-01-15 05:00"),
    ("2024-01-15 00:00", "2024-01-15 05:00"),
    ("2024-01-14T12:00", "2024-01-15 05:00"),
    (datetime(2024, 1, 14, 0, 0, 0, 1), "2024-01-15 05:00"),
]


@pytest.mark.parametrize(("start", "first"), STARTS)
def test_starts(start: Any, first: str) -> None:
    made = daily(start, timezone=NY)
    assert next(made.keys(NOW)) == "2024-01-15"
    assert made.window("2024-01-15").start == datetime.fromisoformat(first).replace(tzinfo=UTC)
    assert made == daily("2024-01-15", timezone=NY) and hash(made) == hash(daily("2024-01-15", timezone=NY))


EXCLUSIONS: list[tuple[Definition, list[str]]] = [
    (daily("2024-01-01", "2024-01-04", exclude=["2024-01-02"]), ["2024-01-01", "2024-01-03"]),
    (daily("2024-01-01", "2024-01-04", exclude=[date(2024, 1, 2)]), ["2024-01-01", "2024-01-03"]),
    (daily("2024-01-01", "2024-01-04", exclude="2024-01-02"), ["2024-01-01", "2024-01-03"]),
    (daily("2024-01-01", "2024-01-03", exclude=["2024-01-02T12:00"]), ["2024-01-01", "2024-01-02"]),  # on no window
    (daily("2024-01-01", "2024-01-03T05:00", hour_offset=5, exclude=["2024-01-02"]), ["2024-01-01"]),
    (hourly("2024-01-01-23:00", "2024-01-03-01:00", exclude=["2024-01-02"]), ["2024-01-01-23:00", "2024-01-03-00:00"]),
    (
        hourly("2024-11-03-00:00", "2024-11-03-03:00", timezone=NY, exclude=["0 1 * * *"]),
        ["2024-11-03-00:00", "2024-11-03-02:00"],  # both hours that the clock calls one
    ),
    (
        hourly("2024-11-03-00:00", "2024-11-03-03:00", timezone=NY, exclude=["2024-11-03T01:00-0400"]),
        ["2024-11-03-00:00", "2024-11-03-01:00-0500", "2024-11-03-02:00"],
    ),
    (daily("2024-03-09", "2024-03-12", timezone=NY, hour_offset=2, exclude=["0 2 * * 0"]), ["2024-03-09"]),
]


@pytest.mark.parametrize(("definition", "keys"), EXCLUSIONS)
def test_exclusions(definition: Definition, keys: list[str]) -> None:
    assert list(definition.keys()) == keys


IDENTITY: list[tuple[bool, Definition, Definition]] = [
    (True, daily("2024-01-01"), daily("2020", "2024", end_offset=1, format="%Y%m%d", exclude=["0 0 * * 6"])),
    (True, static(["a"]), static(["b", "c"])),
    (True, multi(a=static(["x"]), b=daily("2024-01-01")), multi(b=daily("2020-01-01"), a=static(["y"]))),
    (True, cron("0 0 * * mon", start="2024-01-01"), cron("0  0 * * MON", start="2024-01-01")),
    (True, weekly("2024-01-01"), weekly("2024-01-01", week_start="Mon")),
    (True, dynamic("r", keys=["a"]), dynamic("r", shared=True)),
    (False, daily("2024-01-01"), daily("2024-01-01", timezone=NY)),
    (False, daily("2024-01-01"), daily("2024-01-01", hour_offset=1)),
    (False, daily("2024-01-01"), hourly("2024-01-01")),
    (False, weekly("2024-01-01"), weekly("2024-01-01", week_start="sunday")),
    (False, monthly("2024-01-01"), monthly("2024-01-01", day_offset=2)),
    (False, monthly("2024-01-01"), quarterly("2024-01-01")),
    (False, cron("0 0 * * 1", start="2024-01-01"), cron("0 0 * * 2", start="2024-01-01")),
    (False, dynamic("r"), dynamic("s")),
    (False, dynamic("r"), static(["a"])),
    (False, multi(a=static(["x"]), b=daily("2024-01-01")), multi(c=static(["x"]), b=daily("2024-01-01"))),
]


@pytest.mark.parametrize(("same", "one", "other"), IDENTITY)
def test_identity(same: bool, one: Definition, other: Definition) -> None:
    assert (one.id == other.id) is same
    assert len(one.id) == 16


def test_identity_never_changes_by_itself() -> None:
    """Facts in warehouses carry these: a change here would orphan them."""
    made = [daily("2024-01-01"), hourly("2024-01-01", timezone=NY), static(["a"]), dynamic("r")]
    made += [cron("0 9 * * 1-5", start="2024-01-01"), multi(d=daily("2024-01-01"), r=static(["a"]))]
    assert [d.id for d in made] == [
        "37b1c599a25c886b",
        "602232c12d43c65d",
        "9358a0742e282f09",
        "3a2f1f0ca2dfe4d5",
        "d4d41c413147bc48",
        "1848b6ab8b003715",
    ]


def test_end_after_start_but_before_the_first_window_is_empty() -> None:
    made = weekly("2024-01-02", "2024-01-04")
    assert list(made.keys()) == [] and not made.all_() and len(made.existing(NOW)) == 0
    assert daily("2024-01-01", "2024-01-01").all_() == daily("2024-01-01", "2024-01-01").empty()


def test_end_offset_counts_only_windows_there_are() -> None:
    saturday = datetime(2024, 1, 6, 12, tzinfo=UTC)
    keys = [list(daily("2024-01-01", end_offset=n, exclude=["0 0 * * 6,0"]).keys(saturday))[-1] for n in (-1, 0, 1, 2)]
    assert keys == ["2024-01-04", "2024-01-05", "2024-01-08", "2024-01-09"]


def test_dynamic_keys_are_carried() -> None:
    made = multi(d=daily("2024-01-01", "2024-01-03"), r=dynamic("releases"))
    assert made.dynamic_names == ("releases",) and list(made.keys()) == []
    carried = made.with_keys({"releases": ["v2", "v1"]})
    assert list(carried.keys())[:2] == ["2024-01-01|v2", "2024-01-01|v1"] and carried.id == made.id
    assert list(dynamic("r").dims) == ["r"]


def test_definitions_can_be_pickled() -> None:
    for made in (daily("2024-01-01", timezone=NY, exclude=["0 0 * * 6"]), multi(a=static(["x"]), b=HOURS)):
        _ = list(made.keys(NOW)), made.id
        assert pickle.loads(pickle.dumps(made)) == made
