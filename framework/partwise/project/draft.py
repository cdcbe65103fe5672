"""Nodes on their way from files to `Node` values."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from partwise.errors import PartwiseError
from partwise.nodes import Edge, RelationName
from partwise.policy import BackfillPolicy
from partwise.project.config import Layer, Setting
from partwise.project.parsed import Parsed
from partwise.project.properties import Entry, SourceEntry

if TYPE_CHECKING:
    from partwise.partitions import Definition

_NOWHERE = RelationName(None, "", "")
_AUTO = BackfillPolicy()


@dataclass(slots=True)
class Draft:
    """A node on its way. `parsed` is None when the file could not be parsed; such a node is known by name only."""

    unique_id: str
    name: str
    resource_type: str
    path: str
    fqn: tuple[str, ...]
    line: int | None
    layers: list[Layer]
    parsed: Parsed | None = None
    text: str = ""
    entry: Entry | SourceEntry | None = None
    # filled in by resolve()
    layer: MappingOf[str, Setting] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    relation: RelationName = _NOWHERE
    materialized: str = ""
    definition: Definition | None = None
    partitions: str | None = None  # the definition as text
    exprs: MappingOf[str, str] = field(default_factory=dict)
    edges: tuple[Edge, ...] = ()
    marks: tuple[tuple[int, ...], ...] = ()  # per edge the marks in the parsed SQL that stand for it
    inherited_from: str | None = None
    policy: BackfillPolicy = _AUTO
    broken: bool = False

    def dialect(self, around: Around) -> str:
        """sqlglot's name of the dialect it is written in."""
        return self.config.get("dialect") or around.dialect

    def place(self, key: str) -> dict[str, Any]:
        """Where a config key was given, as errors take it; else where the node is."""
        setting = self.layer.get(key)
        if setting is None:
            return {"file": self.path, "line": self.line, "model": self.name}
        return {"file": setting.file, "line": setting.line, "model": self.name}


@dataclass(frozen=True, slots=True)
class Around:
    """What resolving needs to know beside the drafts."""

    package: str
    dialect: str
    named: MappingOf[str, Any]  # [tool.partwise.partitions]


def placed(error: PartwiseError, place: MappingOf[str, Any]) -> PartwiseError:
    """The error with a place, when it has none of its own."""
    if error.file is None:
        error.file, error.line, error.model = place["file"], place["line"], place["model"]
    return error
