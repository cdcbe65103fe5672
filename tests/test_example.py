"""The example project in `models/`, built for real: the numbers a person can check, and rows that must not move."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from partwise.api import Project
from partwise.cli import call

ROOT = Path(__file__).resolve().parents[1]
FLIGHTS = 336_776


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the example with the year built, the day-by-day models in one query each to save time."""
    root = tmp_path_factory.mktemp("example")
    for name in ("models", "seeds"):
        shutil.copytree(ROOT / name, root / name)
    for name in ("profiles.yml", "pyproject.toml"):
        shutil.copy(ROOT / name, root / name)
    before = Path.cwd()
    os.chdir(root)
    try:
        assert call(["seed", "-q"]) == 0
        assert call(["run", "-q", "-s", "departures"]) == 0
        assert call(["run", "-q", "-s", "daily_delays carrier_months", "--all", "--run-mode", "single"]) == 0
        assert call(["run", "-q", "-s", "carrier_year_to_date"]) == 0
        yield root
    finally:
        os.chdir(before)


def rows(root: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(root / "target/flights.duckdb"), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        return connection.execute(sql).fetchall()


def checksum(root: Path, table: str, where: str) -> object:
    return rows(root, f"select count(*), bit_xor(hash(t)) from {table} t where {where}")


def log_rows(root: Path) -> dict[str, int]:
    found = rows(root, "select relation, count(*) from partwise.partition_log where state = 'materialized' group by 1")
    return {str(relation).removeprefix("main."): int(str(n)) for relation, n in found}


def test_every_flight_is_counted_once(example: Path):
    assert rows(example, "select sum(flights) from daily_delays") == [(FLIGHTS,)]
    assert rows(example, "select sum(flights), count(*) from carrier_months") == [(FLIGHTS, 185)]


def test_the_year_to_date_of_december_is_the_year(example: Path):
    by_carrier = "select carrier, sum(flights) from carrier_months where carrier <> 'OO' group by 1 order by 1"
    december = "select carrier, flights_to_date from carrier_year_to_date where month = '2013-12-01' order by 1"
    whole = dict(rows(example, by_carrier))
    assert {carrier: whole[carrier] for carrier, _ in rows(example, december)} == dict(rows(example, december))


def test_the_third_of_november_has_25_hours(example: Path, capsys: pytest.CaptureFixture[str]):
    with Project.load(example) as project:
        plan = project.plan("+daily_delays", partition_range="2013-11-01:2013-11-05")
        sizes = {step.model.rsplit(".", 1)[-1]: step.size for step in plan.steps}
        assert sizes == {"departures": 24 + 24 + 25 + 24 + 24, "daily_delays": 5}
        hours = [
            sum(len(need.existing) for read in plan.steps[1].inputs if (need := read.needed(day, project_now(project))))
            for day in plan.steps[1].partitions.split(1)  # type: ignore[union-attr]
        ]
        assert hours == [24, 24, 25, 24, 24]
    before = log_rows(example)
    assert call(["run", "-q", "-s", "+daily_delays", "--partition-range", "2013-11-01:2013-11-05"]) == 0
    after = log_rows(example)
    assert after["departures"] - before["departures"] == 121
    assert after["daily_delays"] - before["daily_delays"] == 5
    assert rows(example, "select sum(flights) from daily_delays") == [(FLIGHTS,)]


def project_now(project: Project):  # type: ignore[no-untyped-def]
    return project._session.now


def test_rebuilding_one_carrier_month_touches_no_other_row(example: Path):
    mine = "carrier = 'UA' and month = date '2013-07-01'"
    others, own = checksum(example, "carrier_months", f"not ({mine})"), checksum(example, "carrier_months", mine)
    with duckdb.connect(str(example / "target/flights.duckdb")) as connection:
        connection.execute(f"update carrier_months set miles = -1 where {mine}")
    assert checksum(example, "carrier_months", mine) != own
    before = log_rows(example)
    assert call(["run", "-q", "-s", "carrier_months", "--partition", "UA|2013-07-01"]) == 0
    assert checksum(example, "carrier_months", f"not ({mine})") == others
    assert checksum(example, "carrier_months", mine) == own
    assert log_rows(example)["carrier_months"] - before["carrier_months"] == 1


def test_a_backfill_of_one_carrier_reaches_exactly_what_reads_it(example: Path):
    with Project.load(example) as project:
        asked = ["carrier=UA", "month=2013-07-01:2013-08-01"]
        plan = project.plan("carrier_months+", partition=asked[0], partition_range=asked[1])
    assert [(step.model.rsplit(".", 1)[-1], str(step.partitions)) for step in plan.steps] == [
        ("carrier_months", "carrier {UA} month [2013-07-01, 2013-09-01)"),
        ("carrier_year_to_date", "month [2013-07-01, 2013-09-01)"),
    ]


def test_a_day_whose_hours_are_not_all_there_is_blocked_and_says_which(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    shutil.copytree(example, tmp_path / "copy", ignore=shutil.ignore_patterns("*.duckdb*"))
    monkeypatch.chdir(tmp_path / "copy")
    assert call(["seed", "-q"]) == 0
    hours = "2013-11-02-00:00:2013-11-03-05:00"
    assert call(["run", "-q", "-s", "departures", "--partition-range", hours]) == 0
    capsys.readouterr()
    assert call(["run", "-s", "daily_delays", "--partition-range", "2013-11-02:2013-11-03"]) == 1
    assert "daily_delays 2013-11-03 waits for 18 of 25 hours of departures" in capsys.readouterr().err
    assert rows(tmp_path / "copy", "select distinct flight_date::varchar from daily_delays") == [("2013-11-02",)]
    assert call(["run", "-q", "-s", "daily_delays", "--missing"]) == 0
    assert call(["run", "-q", "-s", "daily_delays", "--partition", "2013-11-03", "--allow-incomplete"]) == 0


def test_status_of_the_example(example: Path, capsys: pytest.CaptureFixture[str]):
    assert call(["status", "-s", "departures daily_delays"]) == 0
    shown = capsys.readouterr().out
    assert "8,760 of 8,760 partitions" in shown and "365 of 365 partitions" in shown
    assert "#" * 48 in shown
