"""Reading the `dagster_*` case files (facts computed with Dagster 1.13.27; how to compare: see each test)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

_CASES = Path(__file__).parent / "cases"


def cases(name: str) -> list[Any]:
    """The cases of a file as parameters, each under its own id."""
    text = (_CASES / f"dagster_{name}.json").read_text(encoding="utf-8")
    return [pytest.param(case, id=case["id"]) for case in json.loads(text)["cases"]]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def listed(keys: Iterable[str], like: Any) -> Any:
    """A list of keys in the form that the files use: whole, or as count, ends and digest when it is long."""
    found = list(keys)
    if isinstance(like, list):
        return found
    digest = hashlib.sha256("\n".join(found).encode()).hexdigest()
    return {"count": len(found), "first": found[0], "last": found[-1], "sha256": digest}
