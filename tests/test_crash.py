"""`kill -9` at any statement leaves data and status in agreement, and the next run completes.

Every few statements in the ordinary suite; PARTWISE_EXHAUSTIVE=1 kills before every single one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import partwise

HERE = Path(__file__).parent
EVERY = 1 if os.environ.get("PARTWISE_EXHAUSTIVE") else 11


def drive(folder: Path, *arguments: str) -> list[dict[str, object]]:
    paths = [str(Path(partwise.__file__).parent.parent), str(HERE)]
    ended = subprocess.run(
        [sys.executable, str(HERE / "crash_driver.py"), str(folder), *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.mark.parametrize(
    ("scenario", "every"), [("fresh", EVERY), ("rebuild", EVERY), ("single", min(EVERY, 5)), ("refresh", EVERY)]
)
def test_killed_at_a_statement(tmp_path: Path, scenario: str, every: int) -> None:
    cases = drive(tmp_path, scenario, "--every", str(every))
    assert [c for c in cases if c["problems"]] == []
    assert sum(bool(c["killed"]) for c in cases) >= 40 // every
    assert not cases[-1]["killed"]  # the last one got through, so every statement was reached


def test_killed_at_a_random_moment(tmp_path: Path) -> None:
    cases = drive(tmp_path, "rebuild", "--random", "4")
    assert [c for c in cases if c["problems"]] == []
    assert any(c["killed"] for c in cases)
