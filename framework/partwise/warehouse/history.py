"""What an invocation leaves in the logs besides facts: that it ran, over what, and how each run ended.

Losing any of this loses history, never truth: what is materialized stands in `partition_log`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from partwise import __version__
from partwise.adapters.base import Adapter
from partwise.nodes import Node
from partwise.partitions import PartitionSet
from partwise.warehouse.claims import holder
from partwise.warehouse.results import RunResult
from partwise.warehouse.status import bounds_of, identity_of
from partwise.warehouse.status_sql import table


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of `run`, `build` or `seed`: what was asked, and by whom."""

    id: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    user: str | None = None
    git_commit: str | None = None


def begin(
    adapter: Adapter,
    invocation: Invocation,
    wanted: Sequence[tuple[Node, PartitionSet | None]],
    *,
    alive: Iterable[str] = (),
    schema: str = "partwise",
) -> None:
    """Log that an invocation starts, claim what it will write, and note definitions that are new: one transaction.

    Claims that invocations other than `alive` have left on the same relations are cleared away.
    """
    relations = [node.relation.key for node, _ in wanted]
    texts = [_text(partitions) for _, partitions in wanted]
    definitions = _new_definitions(adapter, [node for node, _ in wanted], schema)
    with adapter.transaction():
        _log_invocation(adapter, invocation, "start", None, dict(zip(relations, texts, strict=True)), schema)
        claims = table("partition_claims", schema, adapter.dialect)
        adapter.execute(
            f"delete from {claims} where relation in (select unnest(?::varchar[])) "
            "and invocation_id not in (select unnest(?::varchar[]))",
            [relations, [invocation.id, *alive]],
        )
        adapter.execute(
            f"insert into {claims} (relation, claim_id, invocation_id, partitions, holder, claimed_at) "
            "select unnest(?::varchar[]), ?, ?, unnest(?::varchar[]), ?, now()",
            [relations, invocation.id, invocation.id, texts, holder()],
        )
        if definitions:
            _log_definitions(adapter, definitions, invocation.id, schema)


def note_definitions(adapter: Adapter, nodes: Sequence[Node], invocation_id: str, *, schema: str = "partwise") -> None:
    """Note definitions that are new or have changed. In the caller's transaction when one is open."""
    if rows := _new_definitions(adapter, nodes, schema):
        _log_definitions(adapter, rows, invocation_id, schema)


def finish(adapter: Adapter, invocation: Invocation, status: str, *, schema: str = "partwise") -> None:
    """Log that an invocation ended, and give its claims back."""
    with adapter.transaction():
        claims = table("partition_claims", schema, adapter.dialect)
        adapter.execute(f"delete from {claims} where invocation_id = ?", [invocation.id])
        _log_invocation(adapter, invocation, "finish", status, {}, schema)


def _log_invocation(
    adapter: Adapter, invocation: Invocation, event: str, status: str | None, wanted: Mapping[str, str], schema: str
) -> None:
    adapter.execute(
        f"insert into {table('invocation_log', schema, adapter.dialect)} (invocation_id, event, arguments, requested, "
        "user_name, host, version, status, recorded_at) values (?, ?, ?, ?, ?, ?, ?, ?, now())",
        [
            invocation.id,
            event,
            json.dumps(invocation.arguments, default=str),
            json.dumps(wanted),
            invocation.user,
            holder(),
            __version__,
            status,
        ],
    )


def _text(partitions: PartitionSet | None) -> str:
    return "" if partitions is None else str(partitions)


# ---------------------------------------------------------------- definitions


def _definition_row(node: Node) -> list[Any]:
    definition = node.definition if node.is_partitioned else None
    return [
        node.relation.key,
        node.unique_id,
        node.materialized,
        "" if definition is None else definition.id,
        json.dumps(identity_of(definition)),
        json.dumps(bounds_of(definition)),
        json.dumps(dict(node.partition_expr)),
    ]


def _new_definitions(adapter: Adapter, nodes: Sequence[Node], schema: str) -> list[list[Any]]:
    """Rows for `model_log` of models whose latest row says something else, or that have none."""
    rows = adapter.fetch(
        "select arg_max([relation, model, materialized, definition_id, definition, bounds, partition_expr], "
        f"recorded_at) from {table('model_log', schema, adapter.dialect)} "
        "where relation in (select unnest(?::varchar[])) group by relation",
        [[node.relation.key for node in nodes]],
    )
    known = {row[0][0]: row[0] for row in rows}
    return [row for node in nodes if (row := _definition_row(node)) != known.get(node.relation.key)]


def _log_definitions(adapter: Adapter, rows: Sequence[Sequence[Any]], invocation_id: str, schema: str) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)]
    listed = ", ".join("unnest(?::varchar[])" for _ in columns)
    adapter.execute(
        f"insert into {table('model_log', schema, adapter.dialect)} (relation, model, materialized, definition_id, "
        f"definition, bounds, partition_expr, invocation_id, recorded_at) select {listed}, ?, now()",
        [*columns, invocation_id],
    )


# ---------------------------------------------------------------- runs


def log_runs(
    adapter: Adapter,
    invocation: Invocation,
    results: Sequence[RunResult],
    nodes: Mapping[str, Node],
    *,
    schema: str = "partwise",
) -> None:
    """Write how runs ended, all in one statement. In the caller's transaction when one is open."""
    if not results:
        return
    columns: list[tuple[str, str, list[Any]]] = [
        ("run_id", "varchar", [r.run_id for r in results]),
        ("relation", "varchar", [nodes[r.model].relation.key for r in results]),
        ("model", "varchar", [r.model for r in results]),
        ("mode", "varchar", [r.run.mode for r in results]),
        ("partitions", "varchar", [_text(r.run.partitions) for r in results]),
        ("partition_count", "bigint", [r.run.size for r in results]),
        ("status", "varchar", [r.status for r in results]),
        ("started_at", "timestamptz", [r.started_at for r in results]),
        ("seconds", "double", [r.seconds for r in results]),
        ("row_count", "bigint", [r.rows for r in results]),
        ("sql_hash", "varchar", [r.sql_hash or None for r in results]),
        ("error", "varchar", [_error(r) for r in results]),
    ]
    names = ", ".join(name for name, _, _ in columns)
    values = ", ".join(f"unnest(?::{kind}[])" for _, kind, _ in columns)
    adapter.execute(
        f"insert into {table('run_log', schema, adapter.dialect)} ({names}, invocation_id, git_commit, user_name, "
        f"recorded_at) select {values}, ?, ?, ?, now()",
        [*(column for _, _, column in columns), invocation.id, invocation.git_commit, invocation.user],
    )


def _error(result: RunResult) -> str | None:
    if result.error is not None:
        return str(result.error)
    return result.because or None
