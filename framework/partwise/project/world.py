"""What templates know that is the same for all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class MacroFile:
    """A file of macros; `path` is relative to the project folder."""

    path: str
    text: str


def macro_heads(text: str) -> Iterator[tuple[str, int]]:
    """Name and line of every macro in a file, found without compiling it. A `{% test x %}` is the macro `test_x`."""
    if "{#" in text:  # blank out comments, keep line breaks
        text = re.sub(r"\{#.*?#\}", lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.DOTALL)
    for match in re.finditer(r"\{%[-+]?\s*(macro|test)\s+(\w+)\s*\(", text):
        name = f"test_{match[2]}" if match[1] == "test" else match[2]
        yield name, text.count("\n", 0, match.start()) + 1


@dataclass
class World:
    """What is the same for every template of one invocation.

    `target` holds no secrets. `env_read` collects the environment variables that templates asked for (None: unset), so
    that a cache knows what it depends on.
    """

    project_name: str
    vars: Mapping[str, Any]
    environ: Mapping[str, str]
    target: Mapping[str, Any]
    macros: Sequence[MacroFile] = ()
    run_started_at: datetime = datetime(2000, 1, 1, tzinfo=UTC)
    invocation_id: str = "00000000-0000-0000-0000-000000000000"
    log: Callable[[str, bool], None] = lambda message, info: None
    execute: bool = False
    env_read: dict[str, str | None] = field(default_factory=dict)
