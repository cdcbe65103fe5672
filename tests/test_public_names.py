"""`from partwise import ...`: the names that the design promises, and what importing costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import partwise
from partwise.errors import PartitionError
from partwise.policy import BackfillPolicy

DEFINITIONS = ["hourly", "daily", "weekly", "monthly", "quarterly", "yearly", "cron", "static", "dynamic", "multi"]
POLICIES = ["single_run", "multi_run"]
MAPPINGS = ["mapping", "upstream", "downstream", "Needed"]
VALUES = ["Definition", "PartitionSet", "Window"]
ERRORS = ["PartwiseError", "ProjectError", "PartitionError", "PlanError", "RenderError", "WarehouseError"]


@pytest.mark.parametrize("name", DEFINITIONS + POLICIES + MAPPINGS + VALUES + ERRORS)
def test_names(name: str) -> None:
    assert getattr(partwise, name) is not None
    assert name in partwise.__all__ and name in dir(partwise)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no name `dayly`"):
        partwise.dayly  # noqa: B018


def test_policies() -> None:
    assert partwise.single_run() == BackfillPolicy("single_run", None)
    assert partwise.single_run(30) == BackfillPolicy("single_run", 30)
    assert partwise.multi_run() == BackfillPolicy("multi_run", 1)
    for wrong in (0, -1, 1.5, True, "7"):
        with pytest.raises(PartitionError, match=f"`max_partitions_per_run` is `{wrong}`"):
            partwise.multi_run(wrong)  # type: ignore[arg-type]


def test_import_is_light() -> None:
    code = (
        "import sys; before = set(sys.modules); import partwise; partwise.__version__; "
        "print(*sorted(m for m in set(sys.modules) - before if not m.startswith('_')))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"cronsim", "zoneinfo", "duckdb", "sqlglot", "jinja2", "click", "yaml", "dataclasses", "partwise.partitions.sets"}
    assert "partwise" in loaded and not heavy & set(loaded)
