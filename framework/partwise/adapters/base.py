"""What partwise asks of a warehouse.

SQL text is made by pure functions in `sql.py`; an adapter carries it, and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from partwise.nodes import RelationName


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the catalog knows it; `type` is the warehouse's own text, e.g. `TIMESTAMP WITH TIME ZONE`."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view that exists: its columns in order, and its comment ('' when it has none)."""

    name: RelationName
    kind: str  # "table" | "view"
    columns: tuple[Column, ...]
    comment: str = ""


class Adapter(Protocol):
    """One session with a warehouse. Not shared between threads: `session()` gives each its own."""

    @property
    def dialect(self) -> str:
        """The sqlglot name of the SQL it takes: `duckdb` or `snowflake`."""
        ...

    @property
    def identity(self) -> str:
        """Names the database: sessions on one database have the same, whoever opened them in this process."""
        ...

    def execute(self, sql: str, parameters: Sequence[Any] | None = None) -> int:
        """Rows affected (0 when the statement has no count). Inside the caller's transaction. Raises WarehouseError."""
        ...

    def fetch(self, sql: str, parameters: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        """All rows. Inside the caller's transaction. Raises WarehouseError."""
        ...

    def describe(self, sql: str) -> tuple[Column, ...]:
        """The columns a query would give, without running it. Raises WarehouseError with the engine's own words."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """BEGIN, then COMMIT when the block ends, ROLLBACK when anything at all is raised in it. Does not nest."""
        ...

    def relation(self, name: RelationName) -> Relation | None:
        """The relation, or None when absent. Reads the catalog."""
        ...

    def create_schema(self, name: str) -> None:
        """No effect when it exists; sends no DDL then."""
        ...

    def rename(self, old: RelationName, new: RelationName) -> None:
        """Rename a table. Raises WarehouseError when `old` is absent or `new` exists."""
        ...

    def drop(self, name: RelationName) -> None:
        """Drop a table or view, whichever it is; no effect when absent."""
        ...

    def session(self) -> Adapter:
        """Another session on the same warehouse, for another thread. The caller closes it."""
        ...

    def cancel(self) -> None:
        """Interrupt the statement running in this session, from another thread. No effect when none runs."""
        ...

    def close(self) -> None:
        """End the session; an open transaction is rolled back. Safe to repeat."""
        ...
