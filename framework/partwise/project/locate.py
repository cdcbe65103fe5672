"""Where a project is, and how it was asked for. Kept free of slow imports: every command begins here."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from partwise.errors import ProjectError

NAMES = ("partwise.yml", "partwise.yaml", "pyproject.toml")


class Opening:
    """How a project was opened: its folder and project file, and what was given on top of them."""

    def __init__(
        self,
        root: str,
        file: str,
        *,
        profiles_dir: str | None = None,
        profile: str | None = None,
        target: str | None = None,
        vars: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.root = root
        self.file = file
        self.profiles_dir = profiles_dir
        self.profile = profile
        self.target = target
        self.vars: Mapping[str, Any] = vars or {}
        self.environ: Mapping[str, str] = environ or {}


def find_project(start: str) -> tuple[str, str]:
    """The project folder (`start` or its nearest parent) and the name of the project file in it.

    Raises ProjectError that lists the folders looked in.
    """
    start = os.path.abspath(start)
    if not os.path.isdir(start):
        raise ProjectError(f"there is no folder `{start}`", hint="name the folder that holds the project file")
    looked: list[str] = []
    folder = start
    while not looked or looked[-1] != folder:
        looked.append(folder)
        for name in NAMES:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and (name != "pyproject.toml" or _mentions_partwise(path)):
                return folder, name
        folder = os.path.dirname(folder)
    places = "\n".join(f"    {folder}" for folder in looked)
    raise ProjectError(
        f"no partwise project here: no partwise.yml and no pyproject.toml with [tool.partwise]; looked in\n{places}",
        hint="`partwise init` writes a small project",
    )


def _mentions_partwise(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return False
    return b"partwise" in text and re.search(rb"(?m)^\s*\[{1,2}\s*tool\s*\.\s*partwise\b", text) is not None
