"""Reading `cases/bug_cases.yml`: cases restated from public bug reports (the file's head says how to read one)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from partwise import partitions
from partwise.partitions import Definition

_FILE = Path(__file__).parent / "cases" / "bug_cases.yml"


@cache
def _all() -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return {case["id"]: case for case in yaml.load(_FILE.read_text(encoding="utf-8"), loader)["cases"]}


def bug_case(case_id: str) -> dict[str, Any]:
    return _all()[case_id]  # type: ignore[no-any-return]


def definition(given: Mapping[str, Any]) -> Definition:
    """The definition of a model of a case."""
    kind = given["type"]
    if kind == "static":
        return partitions.static(given["keys"])
    if kind == "multi":
        return partitions.multi({name: definition(dim) for name, dim in given["dimensions"].items()})
    options = {key: value for key, value in given.items() if key != "type"}
    if "day_of_month" in options:
        options["day_offset"] = options.pop("day_of_month")
    made: Definition = getattr(partitions, kind)(**options)
    return made


def definitions(case_id: str) -> list[Definition]:
    """The definitions of the models of a case that have one."""
    return [definition(model["partitions"]) for model in bug_case(case_id)["models"] if "partitions" in model]


def instant(text: str) -> datetime:
    """`2024-11-03 05:00:00Z`; without the Z a wall clock of UTC."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def shown(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
