"""Small projects on disk, written from dicts of file name -> text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

from partwise.errors import PartwiseError, ProjectErrors
from partwise.project import Project, load_project

PROFILES = """
shop:
  target: dev
  outputs:
    dev: {type: duckdb, path: shop.duckdb, schema: main}
    sf: {type: snowflake, account: a, database: DB, schema: MART, user: u, password: hunter2}
"""


def write_project(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write a project; `partwise.yml` and `profiles.yml` are added when not given."""
    given: dict[str, str | bytes] = {"profiles.yml": PROFILES, **files}
    if not {"partwise.yml", "pyproject.toml"} & given.keys():
        given["partwise.yml"] = "name: shop\n"
    for name, text in given.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(dedent(text), encoding="utf-8")
    return root


def load(root: Path, files: Mapping[str, str | bytes] | None = None, **given: Any) -> Project:
    """Write the files, then load the project with an empty environment unless one is given."""
    if files is not None:
        write_project(root, files)
    return load_project(root, **{"environ": {"HOME": str(root / "home")}, **given})


def problems(root: Path, files: Mapping[str, str | bytes], **given: Any) -> list[str]:
    """What is wrong with a project, each as `message --> file:line (hint)`."""
    try:
        load(root, files, **given)
    except ProjectErrors as error:
        return [_line(e) for e in error.errors]
    except PartwiseError as error:
        return [_line(error)]
    return []


def _line(error: PartwiseError) -> str:
    where = f" --> {error.where}" if error.where else ""
    return f"{error.message}{where}" + (f" ({error.hint})" if error.hint else "")
