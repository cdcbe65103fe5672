"""The sequences of statements that put rows into the warehouse, each with its facts in the same transaction.

A partitioned model has a `Target` per invocation: its table, made ready once (created, columns changed), and what is
known of earlier writes. Each run is then BEGIN, DELETE, INSERT, INSERT into the log, COMMIT.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from partwise.adapters.base import Adapter, Column, Relation
from partwise.errors import PartwiseError, RenderError, WarehouseError
from partwise.nodes import Node, RelationName
from partwise.partitions import PartitionSet
from partwise.rendering import literals, sql
from partwise.rendering.rendered import Rendered
from partwise.warehouse.logrows import Part
from partwise.warehouse.schemachange import compare
from partwise.warehouse.status import (
    NO_TABLE,
    Attempts,
    Catalog,
    Entry,
    Found,
    marked,
    read_attempts,
    read_whole_attempt,
    record,
    record_whole,
)
from partwise.warehouse.status_sql import table as log_table

_FILLING = "__partwise_"  # between the name of a table and the incarnation, while a full refresh fills it


@dataclass(frozen=True, slots=True)
class Log:
    """Where facts go, and what the facts of one invocation have in common."""

    schema: str
    as_of: datetime


@dataclass(slots=True)
class Target:
    """The table of a partitioned model in one invocation. `relation` is another than the node's during a full refresh.

    `is_ours`: partwise created it, so it holds no rows that the log does not know of.
    """

    node: Node
    relation: RelationName
    incarnation: str
    columns: tuple[Column, ...]
    attempts: Attempts
    is_ours: bool
    fingerprint: str | None = None

    @property
    def is_refresh(self) -> bool:
        return self.relation != self.node.relation

    def needs_delete(self, partitions: PartitionSet) -> bool:
        """Whether the table may hold rows of a set. Read after our claim, so nobody else has written since."""
        return not (self.is_ours and self.attempts.is_known) or self.attempts.written(partitions)


@dataclass(frozen=True, slots=True)
class Written:
    """What a committed write did."""

    rows: int
    leaks: int = 0
    warnings: tuple[str, ...] = ()


def new_incarnation() -> str:
    """A new id for a table that is about to be created: 12 hex digits."""
    return os.urandom(6).hex()


def sql_hash(rendered: Rendered) -> str:
    """A short hash of the query that ran."""
    return hashlib.sha256(str.__str__(rendered.select).encode()).hexdigest()[:16]


# ---------------------------------------------------------------- making a table ready


def prepare(
    adapter: Adapter,
    node: Node,
    columns: Sequence[Column],
    log: Log,
    *,
    full_refresh: bool = False,
    fingerprint: str | None = None,
) -> Target:
    """The table of a partitioned model, created or changed as needed. All DDL of a model happens here.

    To be called while the claim stands. Raises RenderError when the columns changed and the model does not allow it.
    """
    _check_database(adapter, node)
    there = adapter.relation(node.relation)
    if there is not None and there.kind == "view":
        _drop_view(adapter, node, there)
        there = None
    if there is None or full_refresh:
        return _create(adapter, node, columns, there, fingerprint)
    found = Found(there.kind, there.comment)
    incarnation = found.incarnation
    if incarnation is None:  # not made by us: its rows stay, and every write begins with a DELETE
        incarnation = new_incarnation()
        comment = marked(there.comment, incarnation, adopted=True)
        adapter.execute(sql.comment_on(node.relation, comment, adapter.dialect))
        attempts = Attempts()
    else:
        attempts = read_attempts(adapter, node, incarnation, log.schema)
    order = _change_columns(adapter, node, there, columns)
    return Target(node, node.relation, incarnation, order, attempts, found.is_ours, fingerprint)


def _check_database(adapter: Adapter, node: Node) -> None:
    """DuckDB writes to one database in a transaction, so the log and the data must be in the same."""
    database = node.relation.database
    if not database or adapter.dialect != "duckdb":
        return
    own = str(adapter.fetch("select current_database()")[0][0])
    if own.lower() != database.lower():
        raise WarehouseError(
            f"`{node.name}` is to be written to the database `{database}`, but the status tables are in `{own}`",
            hint="DuckDB writes to one database in a transaction: leave out `database`, or use it as the path",
            model=node.name,
        )


def _drop_view(adapter: Adapter, node: Node, there: Relation) -> None:
    if Found(there.kind, there.comment).incarnation is None:
        raise WarehouseError(
            f"`{node.relation.key}` is a view that partwise did not make, so it is not replaced by a table",
            hint="drop the view, or give the model another name or schema",
            model=node.name,
        )
    adapter.drop(node.relation)


def _create(
    adapter: Adapter, node: Node, columns: Sequence[Column], there: Relation | None, fingerprint: str | None
) -> Target:
    incarnation = new_incarnation()
    relation = node.relation
    if there is None:
        adapter.create_schema(relation.schema)
    else:
        relation = replace(relation, identifier=f"{relation.identifier}{_FILLING}{incarnation}")
    before = "" if there is None else there.comment
    statements = sql.create_table(relation, columns, adapter.dialect, comment=marked(before, incarnation))
    with adapter.transaction():
        for statement in statements:
            adapter.execute(statement)
    return Target(node, relation, incarnation, tuple(columns), Attempts((), True), True, fingerprint)


def drop_leftovers(adapter: Adapter, catalog: Catalog, relations: Sequence[RelationName]) -> None:
    """Drop what full refreshes of some relations have left that were killed. To be called while the claims stand."""
    wanted = {relation.key.lower(): relation for relation in relations}
    for key in catalog.relations:
        of, sign, _ = key.rpartition(_FILLING)
        if sign and of in wanted and re.fullmatch("[0-9a-f]{12}", key[len(of) + len(sign) :]):
            adapter.drop(replace(wanted[of], identifier=key.partition(".")[2]))


def _change_columns(adapter: Adapter, node: Node, there: Relation, columns: Sequence[Column]) -> tuple[Column, ...]:
    changes = compare(node, there.columns, columns)
    if not changes:
        return tuple(columns)
    target = literals.relation(node.relation, adapter.dialect)
    statements = [
        *sql.add_columns(node.relation, changes.add, adapter.dialect),
        *sql.drop_columns(node.relation, changes.drop, adapter.dialect),
        *(
            f"alter table {target} alter column {literals.column(c.name, adapter.dialect)} set data type {c.type}"
            for c in changes.retype
        ),
    ]
    for statement in statements:  # each on its own: DuckDB alters a table once in a transaction
        adapter.execute(statement)
    return tuple(columns)


# ---------------------------------------------------------------- writing partitions


@dataclass(frozen=True, slots=True)
class Try:
    """One try at one run of a partitioned model. A second one always deletes: what the first did may not be known."""

    target: Target
    rendered: Rendered
    parts: Sequence[Part]
    run_id: str
    is_retry: bool = False

    @property
    def needs_delete(self) -> bool:
        assert self.rendered.partitions is not None
        return self.is_retry or self.target.needs_delete(self.rendered.partitions)


def write_partitions(adapter: Adapter, work: Try, log: Log) -> Written:
    """Replace some partitions of a table by what the query gives for them, and log it, in one transaction.

    Whatever goes wrong, the table and the log are as before; only a CommitError leaves that open (`committed` tells).
    Rows outside the partitions are counted first where they cannot be ruled out, and with `on_leak: error` refused.
    """
    target, rendered = work.target, work.rendered
    names = _names(target)
    if rendered.is_leak_proof or target.node.on_leak == "filter":
        return Written(_replace(adapter, work, log, rendered.query(names)))
    stage = f"partwise_stage_{new_incarnation()}"
    try:
        _execute(adapter, rendered, sql.stage(rendered, stage, names))
        leaks = int(adapter.fetch(sql.count_leaks(rendered, stage))[0][0])
        if leaks and target.node.on_leak == "error":
            raise _leak_error(target.node, leaks)
        staged = literals.identifier(stage, adapter.dialect)
        listed = literals.columns(names, adapter.dialect)
        query = f"select {listed} from {staged} as {rendered.alias} where {rendered.guard}"
        rows = _replace(adapter, work, log, query)
    finally:
        with suppress(PartwiseError):
            adapter.execute(f"drop table if exists {literals.identifier(stage, adapter.dialect)}")
    return Written(rows, leaks)


def _names(target: Target) -> list[str]:
    return [column.name for column in target.columns]


def _leak_error(node: Node, leaks: int) -> RenderError:
    rows = "1 row that lies" if leaks == 1 else f"{leaks} rows that lie"
    return RenderError(
        f"`{node.name}` gives {rows} outside the partitions of the run",
        file=node.path,
        line=node.line,
        model=node.name,
        hint="filter them in the query, or set on_leak to `filter`",
    )


def _replace(adapter: Adapter, work: Try, log: Log, query: str) -> int:
    target, rendered = work.target, work.rendered
    assert rendered.guard is not None
    entry = Entry(target.node.relation, target.incarnation, "materialized", work.run_id, log.as_of, target.fingerprint)
    insert = sql.insert(target.relation, _names(target), query, adapter.dialect)
    with adapter.transaction():
        if work.needs_delete:
            adapter.execute(sql.delete(target.relation, rendered.guard, adapter.dialect))
        rows = _execute(adapter, rendered, insert)
        record(adapter, entry, work.parts, log.schema)
    return rows


def _execute(adapter: Adapter, rendered: Rendered, statement: str) -> int:
    """Run a statement that holds the model's query; errors point into its template."""
    try:
        return adapter.execute(statement)
    except WarehouseError as error:
        raise rendered.explain_error(error, statement) from error


def committed(adapter: Adapter, run_id: str, log: Log) -> bool:
    """Whether the transaction of a run took effect. The answer to a CommitError, from a session of its own."""
    found = adapter.fetch(
        f"select 1 from {log_table('partition_log', log.schema, adapter.dialect)} "
        "where run_id = ? and state = 'materialized' limit 1",
        [run_id],
    )
    return bool(found)


def publish_refresh(adapter: Adapter, target: Target) -> None:
    """Put a filled table in the place of the one before, in one transaction."""
    with adapter.transaction():
        adapter.execute(sql.drop(target.node.relation, adapter.dialect))
        adapter.execute(sql.rename(target.relation, target.node.relation, adapter.dialect))


def drop_refresh(adapter: Adapter, target: Target) -> None:
    """Drop a table whose filling failed; the one before stays as it is."""
    adapter.execute(sql.drop(target.relation, adapter.dialect))


def mark_partitions(
    adapter: Adapter, node: Node, incarnation: str | None, parts: Sequence[Part], run_id: str, state: str, log: Log
) -> None:
    """Log an attempt that wrote nothing: `failed` or `cancelled`. Inside the caller's transaction."""
    entry = Entry(node.relation, incarnation or NO_TABLE, state, run_id, log.as_of)
    record(adapter, entry, parts, log.schema)


def remove(adapter: Adapter, node: Node, partitions: PartitionSet, condition: str, schema: str, now: datetime) -> int:
    """Delete the rows a condition holds for, and with them the facts about some partitions. Returns how many rows."""
    found = adapter.relation(node.relation)
    incarnation = Found(found.kind, found.comment).incarnation if found is not None else None
    if incarnation is None:
        return 0
    attempts = read_attempts(adapter, node, incarnation, schema)
    parts = [part for part in attempts.parts(partitions) if part.attempt > 1]  # what was never written has no facts
    entry = Entry(node.relation, incarnation, "removed", f"prune-{new_incarnation()}", now)
    with adapter.transaction():
        rows = adapter.execute(sql.delete(node.relation, condition, adapter.dialect))
        record(adapter, entry, parts, schema)
    return rows


# ---------------------------------------------------------------- tables and views


def write_whole(
    adapter: Adapter, rendered: Rendered, catalog: Catalog, run_id: str, log: Log, fingerprint: str | None = None
) -> Written:
    """Build a table or view anew, under a new incarnation, in one transaction with its log row."""
    node, dialect = rendered.node, adapter.dialect
    _check_database(adapter, node)
    incarnation = new_incarnation()
    there = catalog.find(node.relation)
    comment = marked(there.comment if there else "", incarnation)
    if node.materialized == "view":
        statements: tuple[str, ...] = (
            sql.create_view(node.relation, rendered.query(), dialect),
            sql.comment_on(node.relation, comment, dialect, kind="view"),
        )
    else:
        statements = sql.create_table_as(node.relation, rendered.query(), dialect, comment=comment)
    if there is None:
        adapter.create_schema(node.relation.schema)
    return replace_whole(adapter, node, statements, there, incarnation, run_id, log, fingerprint, rendered)


def replace_whole(
    adapter: Adapter,
    node: Node,
    statements: Sequence[str],
    there: Found | None,
    incarnation: str,
    run_id: str,
    log: Log,
    fingerprint: str | None,
    rendered: Rendered | None = None,
) -> Written:
    """Run the statements that make a relation, the first of which holds its query, and log it, in one transaction."""
    warnings = []
    kind = "view" if node.materialized == "view" else "table"
    attempt = read_whole_attempt(adapter, node.relation, log.schema)
    entry = Entry(node.relation, incarnation, "materialized", run_id, log.as_of, fingerprint)
    with adapter.transaction():
        if there is not None and there.kind != kind:
            adapter.execute(sql.drop(node.relation, adapter.dialect, kind=there.kind))
        if there is not None and there.incarnation is None:
            warnings.append(f"`{node.relation.key}` was a {there.kind} not made by partwise; it has been replaced")
        first, *rest = statements
        rows = _execute(adapter, rendered, first) if rendered is not None else adapter.execute(first)
        for statement in rest:
            adapter.execute(statement)
        record_whole(adapter, entry, attempt, schema=log.schema)
    return Written(rows, warnings=tuple(warnings))


def mark_whole(adapter: Adapter, node: Node, incarnation: str | None, run_id: str, state: str, log: Log) -> None:
    """Log an attempt on a relation without partitions that wrote nothing. Inside the caller's transaction."""
    attempt = read_whole_attempt(adapter, node.relation, log.schema)
    record_whole(
        adapter,
        Entry(node.relation, incarnation or NO_TABLE, state, run_id, log.as_of),
        attempt,
        schema=log.schema,
    )
