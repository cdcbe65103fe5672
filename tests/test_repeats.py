"""A repeated hour in a column that cannot tell its two passes apart: no row is lost, whichever way it is built."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from partwise.cli import call
from partwise.partitions import hourly, multi, static
from partwise.rendering.repeats import reading_set
from projects import write_project

HOURS = hourly("2024-11-01", "2024-11-10", timezone="America/New_York")
NEW_YORK = "America/New_York"


@pytest.mark.parametrize(
    ("wanted", "read"),
    [
        ("2024-11-03-00:00", ["2024-11-03-00:00"]),
        ("2024-11-03-01:00..2024-11-03-01:00", []),
        ("2024-11-03-01:00-0500", ["2024-11-03-01:00", "2024-11-03-01:00-0500"]),
        ("2024-11-03-00:00..2024-11-03-01:00", ["2024-11-03-00:00"]),
        ("2024-11-03-00:00..2024-11-03-02:00", [f"2024-11-03-0{h}" for h in ("0:00", "1:00", "1:00-0500", "2:00")]),
    ],
)
def test_the_second_pass_reads_what_the_first_does_not(wanted: str, read: list[str]):
    assert list(reading_set(HOURS.subset(wanted), "hour", NEW_YORK).keys()) == read


def test_other_zones_and_other_dimensions_are_left_alone():
    both = HOURS.subset("2024-11-03-01:00..2024-11-03-01:00")
    assert reading_set(both, "hour", "UTC") == both
    assert reading_set(both, "hour", "Europe/Berlin") == both
    wide = multi(hour=HOURS, region=static(["EU", "US"]))
    one = wide.parse_key("2024-11-03-01:00-0500|US")
    assert list(reading_set(one, "hour", NEW_YORK).keys()) == ["2024-11-03-01:00|US", "2024-11-03-01:00-0500|US"]


@pytest.mark.parametrize("run_mode", ["single", "multi"])
@pytest.mark.parametrize(
    ("column", "settings"),
    [
        (f"ts at time zone '{NEW_YORK}'", f"column_timezone='{NEW_YORK}'"),
        (f"strftime(ts at time zone '{NEW_YORK}', '%Y-%m-%d-%H')", "partition_format='%Y-%m-%d-%H'"),
    ],
    ids=["timestamp", "text"],
)
def test_every_row_of_the_day_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_mode: str, column: str, settings: str, capsys: pytest.CaptureFixture[str]
):
    write_project(
        tmp_path,
        {
            "models/sources.yml": "sources:\n  - {name: main, tables: [{name: ev, config: {partition_expr: ts}}]}\n",
            "models/m.sql": f"""
                {{{{ config(partitions=hourly(start='2024-11-01', end='2024-11-10', timezone='{NEW_YORK}'),
                            partition_expr='p', {settings}) }}}}
                select {column} as p, id from {{{{ source('main', 'ev') }}}}
                """,
        },
    )
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("set TimeZone = 'UTC'")
        connection.execute(
            "create table ev as select ts::timestamptz as ts, row_number() over () as id "
            "from range(timestamp '2024-11-03 04:00', timestamp '2024-11-04 05:00', interval 15 minute) r(ts)"
        )
    monkeypatch.chdir(tmp_path)
    asked = ["--run-mode", run_mode, "--partition-range", "2024-11-03-00:00..2024-11-03-23:00"]
    assert call(["run", *asked]) == 0
    assert call(["run", *asked]) == 0
    assert "were left out" not in capsys.readouterr().err
    with duckdb.connect(str(tmp_path / "shop.duckdb"), read_only=True) as connection:
        assert connection.execute("select count(*), count(distinct id) from m").fetchone() == (100, 100)
