"""A project of a few models on an in-memory DuckDB, for tests of rendering: no files, no runner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import count
from typing import Any

import duckdb

from partwise.adapters.base import Column
from partwise.errors import WarehouseError
from partwise.nodes import Node, RelationName
from partwise.partitions import Definition, PartitionSet
from partwise.project.jinja_env import Engine, MacroFile, World
from partwise.rendering import literals, sql
from partwise.rendering.prepare import fetch_types, prepare
from partwise.rendering.render import Renderer, Types, fill, find_in
from partwise.rendering.rendered import Rendered

_DUCKDB = duckdb.connect()
_NUMBERS = count()
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def model(name: str, code: str = "", definition: Definition | None = None, expr: Any = None, **more: Any) -> Node:
    """A model in schema `main`: partitioned when it has a definition, else a table."""
    exprs = expr if isinstance(expr, Mapping) else {} if expr is None else {_dimension(definition): expr}
    given: dict[str, Any] = {
        "unique_id": f"model.test.{name}",
        "name": name,
        "resource_type": "model",
        "path": f"models/{name}.sql",
        "relation": RelationName(None, "main", name),
        "materialized": "partitioned" if definition else "table",
        "package": "test",
        "dialect": "duckdb",
        "raw_code": code,
        "definition": definition,
        "partition_expr": exprs,
    }
    return Node(**{**given, **more})


def source(group: str, name: str, expr: str | Mapping[str, str] | None = None, **more: Any) -> Node:
    """A source table `group.name`."""
    given: dict[str, Any] = {
        "unique_id": f"source.test.{group}.{name}",
        "resource_type": "source",
        "materialized": "source",
        "source_name": group,
        "relation": RelationName(None, group, name),
        "path": "models/sources.yml",
    }
    return model(name, "", more.pop("definition", None), expr, **{**given, **more})


def _dimension(definition: Definition | None) -> str:
    return next(iter(definition.dims)) if definition else ""


class Project:
    """Nodes, macros, and a warehouse; `render`, `build` and `rows` are what tests need."""

    def __init__(
        self, *nodes: Node, macros: Mapping[str, str] | None = None, dialect: str = "duckdb", zone: str = "UTC"
    ) -> None:
        self.nodes = {node.unique_id: node for node in nodes}
        files = tuple(MacroFile(path, text) for path, text in (macros or {}).items())
        self.engine = Engine(World("test", {}, {}, {"name": "dev"}, files))
        self.renderer = Renderer(self.engine, find_in(self.nodes), dialect)
        self.dialect = dialect
        self.zone = zone

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The warehouse: a database of its own in one in-memory DuckDB, which is much quicker to open than another."""
        made = _DUCKDB.cursor()
        name = f"p{next(_NUMBERS)}"
        made.execute(f"attach ':memory:' as {name}; use {name}; set TimeZone = '{self.zone}'")
        return made

    def __getitem__(self, name: str) -> Node:
        return next(node for node in self.nodes.values() if node.name == name and node.resource_type == "model")

    def table(self, name: str, columns: Mapping[str, str], rows: Iterable[Sequence[Any]] = ()) -> None:
        """A table of the warehouse, with rows written as text or numbers."""
        schema, _, table = name.rpartition(".")
        if schema:
            self.connection.execute(f"create schema if not exists {schema}")
        listed = ", ".join(f"{literals.column(c, 'duckdb')} {kind}" for c, kind in columns.items())
        target = f"{schema or 'main'}.{literals.identifier(table, 'duckdb')}"
        self.connection.execute(f"create or replace table {target} ({listed})")
        for row in rows:
            marks = ", ".join(f"?::{kind}" for kind in columns.values())
            self.connection.execute(f"insert into {target} values ({marks})", list(row))

    def describe(self, query: str) -> list[Column]:
        try:
            return [Column(row[0], row[1]) for row in self.connection.execute(f"describe {query}").fetchall()]
        except duckdb.Error as error:
            raise WarehouseError(str(error), sql=query) from None

    def render(
        self, name: str, partitions: PartitionSet | str | None = None, *, types: Types | None = None, **more: Any
    ) -> Rendered:
        """A model rendered for a set (or the text of one); types from the warehouse unless given."""
        wanted = self.set_of(name, partitions)
        composed = self.renderer.compose(self[name], wanted, **more)
        if types is None:
            types = fetch_types(composed, self.describe)
        return fill(composed, wanted, types=types, now=NOW)

    def exists(self, name: str) -> bool:
        relation = self[name].relation
        found = self.connection.execute(
            "select 1 from information_schema.tables"
            " where table_catalog = current_database() and table_schema = ? and table_name = ?",
            [relation.schema, relation.identifier],
        )
        return bool(found.fetchall())

    def set_of(self, name: str, partitions: PartitionSet | str | None) -> PartitionSet | None:
        definition = self[name].definition
        if isinstance(partitions, str):
            assert definition is not None
            return definition.subset(partitions, NOW)
        return partitions

    def build(self, name: str, partitions: PartitionSet | str | None = None) -> Rendered:
        """DELETE and INSERT of one run, in a transaction; the table is made when it is not there."""
        node, wanted, there = self[name], self.set_of(name, partitions), self.exists(name)
        ready = prepare(self.renderer, node, wanted, self.describe, table_exists=there)
        for statement in sql.create_table(node.relation, ready.columns, self.dialect) if not there else ():
            self.connection.execute(statement)
        if ready.for_missing_table:
            ready = prepare(self.renderer, node, wanted, self.describe)
        rendered = ready.render(wanted, NOW)
        self.connection.execute("begin")
        for statement in sql.write(rendered, ready.names):
            self.connection.execute(statement)
        self.connection.execute("commit")
        return rendered

    def build_each(self, name: str, partitions: PartitionSet | str) -> None:
        """One run per partition."""
        wanted = self.set_of(name, partitions)
        assert wanted is not None
        for one in wanted.split(1):
            self.build(name, one)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()
