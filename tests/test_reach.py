"""A backfill through the graph reaches what maps to the partitions named, and no more."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from partwise.api import Project

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("select", "key", "expected"),
    [
        (
            # the view late_days and the look-back of delay_trend read more days than the one that changed
            "departures+",
            "2013-11-03-05:00",
            {
                "departures": "hour [2013-11-03-05:00, 2013-11-03-06:00)",
                "daily_delays": "day [2013-11-03, 2013-11-04)",
                "delay_trend": "day [2013-11-03, 2013-11-10)",
                "weekly_punctuality": "week [2013-10-28, 2013-11-04)",
                "carrier_year_to_date": "month [2013-11-01, 2013-12-01)",
                "late_days": "None",
            },
        ),
        (
            "+daily_delays",
            "2013-11-03",
            {"departures": "hour [2013-11-03-00:00, 2013-11-04-00:00)", "daily_delays": "day [2013-11-03, 2013-11-04)"},
        ),
        (
            # what is read besides, but not changed, is built as far as it is read
            "@weekly_punctuality",
            "2013-11-04",
            {
                "departures": "hour [2013-11-04-00:00, 2013-11-11-00:00)",
                "daily_delays": "day [2013-11-04, 2013-11-11)",
                "weekly_punctuality": "week [2013-11-04, 2013-11-11)",
            },
        ),
    ],
    ids=["down", "up", "around"],
)
def test_reach(select: str, key: str, expected: dict[str, str], tmp_path: Path):
    for folder in ("models", "seeds"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for file in ("profiles.yml", "pyproject.toml"):
        shutil.copy(ROOT / file, tmp_path / file)
    with Project.load(tmp_path) as project:
        project.seed()
        plan = project.plan(select, partition=key, allow_incomplete=True)
    reached = {step.model.rsplit(".", 1)[-1]: str(step.partitions) for step in plan.steps}
    assert {name: reached.get(name) for name in expected} == expected
