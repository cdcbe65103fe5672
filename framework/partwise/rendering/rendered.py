"""What rendering gives: the SELECT of one run as it will be executed, and all that is known about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from partwise.errors import PartwiseError
from partwise.nodes import Node, RelationName
from partwise.partitions import PartitionSet
from partwise.planning.plan import Read
from partwise.rendering import literals
from partwise.rendering.linemap import Located, Location, error_position

_Error = TypeVar("_Error", bound=PartwiseError)


@dataclass(frozen=True, slots=True)
class FilteredInput:
    """A relation read through a filter, for counting rows that no partition holds. `exprs` are in the target's SQL."""

    upstream: Node
    relation: RelationName
    exprs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rendered:
    """The SELECT of one run.

    `select` is the model's query with its inputs filtered, unguarded. `guard` is the condition that holds for exactly
    the rows of `partitions` (None: the model has no partitions). `is_leak_proof`: no row of `select` can lie outside
    the guard, so nothing needs counting. `warnings` are said once per invocation, `notes` say what was assumed.
    """

    node: Node
    dialect: str
    select: Located
    guard: str | None = None
    partitions: PartitionSet | None = None
    reads: tuple[Read, ...] = ()
    filtered: tuple[FilteredInput, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    is_leak_proof: bool = False
    reads_this: bool = False

    @property
    def alias(self) -> str:
        """The name of the guarded query: the model's own, so that a qualified partition expr means the same there."""
        return literals.identifier(self.node.relation.identifier, self.dialect)

    @property
    def sql(self) -> str:
        """The query as it runs: guarded when the model has partitions."""
        return self.query()

    def query(self, columns: Sequence[str] | None = None) -> str:
        """The query over named columns (all, when None). The first line of the model stays on the first line."""
        names = "*" if columns is None else literals.columns(columns, self.dialect)
        body = str.__str__(self.select)
        if self.guard is None:
            return body if columns is None else f"select {names} from ({body}\n) as {self.alias}"
        return f"select {names} from ({body}\n) as {self.alias} where {self.guard}"

    def explain_error(self, error: PartwiseError, statement: str) -> PartwiseError:
        """The same error, with the template line that the engine's message complains about (the file when unknown)."""
        return explained(error, self.node, self.select, statement)


def explained(
    error: _Error, node: Node, text: Located, statement: str, *, lines_only: bool = False
) -> _Error:
    """The error of a statement that holds a rendered query, with the template line its message complains about.

    `lines_only`: the statement is the query with other text in some lines (filled holes), so columns are only near.
    """
    error.model = error.model or node.name
    offset = error_position(error.message, statement)
    where: Location | None = None
    if offset is not None and lines_only:
        rows = str.__str__(text).split("\n")
        row = min(statement.count("\n", 0, offset), len(rows) - 1)
        column = min(offset - (statement.rfind("\n", 0, offset) + 1), max(0, len(rows[row]) - 1))
        where = text.at(min(sum(len(r) + 1 for r in rows[:row]) + column, len(text) - 1))
    elif offset is not None:
        start = statement.find(str.__str__(text))
        if start >= 0 and start <= offset <= start + len(text):
            where = text.at(min(offset - start, max(0, len(text) - 1)))
    if where is None or where.file is None:
        error.file = error.file or node.path
        return error
    error.file, error.line = where.file, where.line
    if where.caller is not None:
        error.message += f" (in a macro called from {where.caller[0]}:{where.caller[1]})"
    return error
