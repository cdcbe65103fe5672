"""Loads seeds: CSV and Parquet files of the project, read by the warehouse itself into tables.

A seed is one partition with an empty key. It is loaded in one transaction with its log row, and left alone as long as
the file and its settings are what was loaded.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.errors import PartwiseError, ProjectError, WarehouseError
from partwise.nodes import Node
from partwise.planning.facts import Facts
from partwise.rendering import literals, sql
from partwise.warehouse import history, status, write
from partwise.warehouse.claims import Claim, claims_of

if TYPE_CHECKING:
    from partwise.adapters.base import Adapter
    from partwise.session import Session

_SETTINGS = ("column_types", "delimiter", "quote_columns", "header", "encoding", "null_string", "quote", "escape")

_CSV_OPTIONS = {"delimiter": "delim", "null_string": "nullstr", "quote": "quote", "escape": "escape"}


def load_seeds(
    session: Session, nodes: Sequence[Node], *, full_refresh: bool = False, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Load seeds and return a row for each: name, status (success | unchanged | error), rows, seconds, error.

    `say` gets a line per seed. Raises ProjectError before anything is loaded when a file is not there.
    """
    files = {node.unique_id: session.root / node.path for node in nodes}
    for node in nodes:
        path = files[node.unique_id]
        if not path.is_file():
            raise ProjectError(f"the file of the seed `{node.name}` is not there: {path}", file=node.path)
    if not nodes:
        return []
    adapter, log = session.adapter(), write.Log(session.schema, session.now)
    catalog = status.ensure(adapter, session.schema)
    facts = status.read_facts(adapter, {n.unique_id: n for n in nodes}, schema=session.schema, catalog=catalog)
    results = []
    for number, node in enumerate(nodes, 1):
        loader = _Loader(adapter, node, files[node.unique_id], log, catalog, facts, session.invocation_id, number)
        result = loader.load(full_refresh=full_refresh)
        say(f"{number} of {len(nodes)} {_line(result)}")
        results.append(result)
    return results


def _line(result: dict[str, Any]) -> str:
    if result["status"] == "error":
        return f"ERROR {result['name']}\n{result['error']}"
    if result["status"] == "unchanged":
        return f"OK {result['name']}: unchanged"
    return f"OK {result['name']}: {result['rows']:,} rows in {result['seconds']:.2f}s"


def fingerprint(node: Node, file: Path) -> str:
    """Hash of a seed's file and of the settings that say how to read it."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    settings = {name: node.config.get(name) for name in _SETTINGS}
    digest.update(json.dumps(settings, sort_keys=True, default=str).encode())
    return digest.hexdigest()[:16]


class _Loader:
    """One seed on its way into its table."""

    def __init__(
        self,
        adapter: Adapter,
        node: Node,
        file: Path,
        log: write.Log,
        catalog: status.Catalog,
        facts: Facts,
        invocation_id: str,
        number: int,
    ) -> None:
        self.adapter = adapter
        self.node = node
        self.file = file
        self.log = log
        self.catalog = catalog
        self.facts = facts.of(node.unique_id)
        self.invocation_id = invocation_id
        self.run_id = f"{invocation_id}.seed.{number}"

    def load(self, *, full_refresh: bool) -> dict[str, Any]:
        began = time.monotonic()
        result: dict[str, Any] = {"name": self.node.name, "unique_id": self.node.unique_id, "rows": None, "error": None}
        try:
            found = fingerprint(self.node, self.file)
            same = self.facts.exists and self.facts.built and self.facts.fingerprint == found
            if same and not self.facts.last_failed and not full_refresh:
                return {**result, "status": "unchanged", "seconds": time.monotonic() - began}
            claim = Claim(self.node.relation.key, None, self.invocation_id)
            with claims_of(self.adapter.identity).hold(claim):
                rows = self._replace(found)
            return {**result, "status": "success", "rows": rows, "seconds": time.monotonic() - began}
        except PartwiseError as error:
            error.file, error.model = error.file or self.node.path, error.model or self.node.name
            with self.adapter.transaction():
                there = self.catalog.find(self.node.relation)
                incarnation = there.incarnation if there is not None else None
                write.mark_whole(self.adapter, self.node, incarnation, self.run_id, "failed", self.log)
            return {**result, "status": "error", "error": str(error), "seconds": time.monotonic() - began}

    def _replace(self, found: str) -> int:
        node, dialect = self.node, self.adapter.dialect
        there = self.catalog.find(node.relation)
        incarnation = write.new_incarnation()
        query = self._query()
        comment = status.marked(there.comment if there is not None else "", incarnation)
        statements = sql.create_table_as(node.relation, query, dialect, comment=comment)
        if there is None:
            self.adapter.create_schema(node.relation.schema)
        history.note_definitions(self.adapter, [node], self.invocation_id, schema=self.log.schema)
        try:
            written = write.replace_whole(
                self.adapter, node, statements, there, incarnation, self.run_id, self.log, found
            )
        except WarehouseError as error:
            raise WarehouseError(
                f"the seed `{node.name}` cannot be loaded: {error.message}", file=node.path, model=node.name
            ) from error
        return written.rows

    def _query(self) -> str:
        """The SELECT that reads the file."""
        path = literals.text(str(self.file), "duckdb")
        config = self.node.config
        types = {str(k): str(v) for k, v in (config.get("column_types") or {}).items()}
        if self.file.suffix.lower() == ".parquet":
            if not types:
                return f"select * from read_parquet({path})"
            casts = ", ".join(f"cast({_quoted(c)} as {kind}) as {_quoted(c)}" for c, kind in types.items())
            return f"select * replace ({casts}) from read_parquet({path})"
        options = ["header = true" if config.get("header") is not False else "header = false"]
        if types:
            pairs = ", ".join(f"{literals.text(c, 'duckdb')}: {literals.text(k, 'duckdb')}" for c, k in types.items())
            options.append(f"types = {{{pairs}}}")
        for name, option in _CSV_OPTIONS.items():
            if config.get(name) is not None:
                options.append(f"{option} = {literals.text(str(config[name]), 'duckdb')}")
        return f"select * from read_csv({path}, {', '.join(options)})"


def _quoted(name: str) -> str:
    return literals.column(name, "duckdb")
