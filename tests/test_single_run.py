"""`single_run` is taken at its word only where no row can move to another partition of the same run unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from partwise.api import Project
from partwise.cli import call

CONFIG = "partitions=daily(start='2024-01-01', end='2024-01-08'), partition_expr='{expr}', policy=single_run()"


@pytest.mark.parametrize(
    ("expr", "columns", "extra", "mode", "rows"),
    [
        ("ordered_at", "ordered_at, amount", "", "single_run", 8),  # passes unchanged
        ("d", "cast(ordered_at as date) + 1 as d, amount", "", "multi_run", 0),  # every row moves by a day
        ("d", "cast(ordered_at as date) + 1 as d, amount", ", trust=true", "single_run", 7),  # the author's word
    ],
)
def test_rows_that_may_move_are_built_one_partition_at_a_time(
    expr: str, columns: str, extra: str, mode: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert call(["init", str(tmp_path / "shop")]) == 0
    monkeypatch.chdir(tmp_path / "shop")
    assert call(["seed", "-q"]) == 0
    model = f"{{{{ config({CONFIG.format(expr=expr)}{extra}) }}}}\nselect {columns} from {{{{ ref('orders') }}}}\n"
    Path("models/moved.sql").write_text(model)
    with Project.load(".") as project:
        (step,) = project.plan("moved").steps
        assert (step.mode, step.run_count) == (mode, 7 if mode == "multi_run" else 1)
        assert project.plan("moved", run_mode="single").steps[0].mode == "single_run"  # by hand, too
        results = project.run(project.plan("moved"))
    assert sum(result.rows or 0 for result in results.runs) == rows
