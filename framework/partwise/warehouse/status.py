"""Reads what the warehouse says about models, and records what was done to them.

Reading gives `Facts`: sets as ranges, whatever their size. Recording happens inside the transaction that writes the
data, so the two cannot disagree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from partwise.adapters.base import Adapter
from partwise.errors import WarehouseError
from partwise.nodes import Node, RelationName
from partwise.partitions import Definition, PartitionSet
from partwise.partitions.axes import TimeAxis
from partwise.planning.facts import Facts, ModelFacts
from partwise.warehouse import logsql
from partwise.warehouse.claims import claims_of
from partwise.warehouse.logrows import Part, batches, gather, timed_at
from partwise.warehouse.status_sql import (
    MARK,
    SCHEMA_VERSION,
    TABLES,
    create_table,
    create_view,
    ddl,
    set_version,
    table,
)

NO_TABLE = ""  # the incarnation under which failures are recorded while there is no table
_MARK = re.compile(MARK)
Range = tuple[str | None, int | None, int | None, int | None, int]  # dims, lo, hi, as_of, how many


@dataclass(frozen=True, slots=True)
class Found:
    """A relation of the catalog: what it is and what its comment says."""

    kind: str  # table | view
    comment: str

    @property
    def incarnation(self) -> str | None:
        mark = _MARK.search(self.comment)
        return mark[1] if mark else None

    @property
    def is_ours(self) -> bool:
        """Whether partwise created it, so that it can hold no rows that the log does not know."""
        mark = _MARK.search(self.comment)
        return mark is not None and mark[2] is None


@dataclass(frozen=True, slots=True)
class Catalog:
    """The relations of a database at one moment, by lower-case `schema.name`."""

    relations: Mapping[str, Found]
    log_schema: str

    def find(self, name: RelationName) -> Found | None:
        return self.relations.get(name.key.lower())

    def has(self, table_name: str) -> bool:
        """Whether one of partwise's own tables is there."""
        return f"{self.log_schema}.{table_name}".lower() in self.relations


def marked(comment: str, incarnation: str, *, adopted: bool = False) -> str:
    """A comment with the incarnation in it; what a person wrote in front of it stays."""
    mark = f"[partwise {incarnation}{' adopted' if adopted else ''}]"
    return f"{_MARK.sub('', comment).strip()} {mark}".strip()


def read_catalog(adapter: Adapter, schema: str = "partwise") -> Catalog:
    """Every table and view of the database, in one read."""
    rows = adapter.fetch(
        "select schema_name, table_name, 'table', comment from duckdb_tables() "
        "where database_name = current_database() and not internal and not temporary "
        "union all select schema_name, view_name, 'view', comment from duckdb_views() "
        "where database_name = current_database() and not internal and not temporary"
    )
    return Catalog({f"{s}.{n}".lower(): Found(kind, comment or "") for s, n, kind, comment in rows}, schema)


def ensure(adapter: Adapter, schema: str = "partwise", catalog: Catalog | None = None) -> Catalog:
    """Create what is missing of partwise's own tables; send no DDL when all of it is there.

    Raises WarehouseError when a later version of partwise has changed them.
    """
    catalog = catalog or read_catalog(adapter, schema)
    names = [*TABLES, "partition_status"]
    missing = [name for name in names if not catalog.has(name)]
    if catalog.has("meta"):
        check_version(adapter, schema)
    if not missing:
        return catalog
    if len(missing) == len(names):
        statements: Sequence[str] = ddl(schema, adapter.dialect)
    else:
        made = [create_table(name, schema, adapter.dialect) for name in missing if name in TABLES]
        statements = [*made, create_view(schema, adapter.dialect), set_version(schema, adapter.dialect)]
    with adapter.transaction():
        for statement in statements:
            adapter.execute(statement)
    there = {f"{schema}.{name}".lower(): Found("table", "") for name in names}
    return Catalog({**catalog.relations, **there}, schema)


def check_version(adapter: Adapter, schema: str = "partwise") -> None:
    """Raise WarehouseError when the tables are of a version that this client must not write."""
    rows = adapter.fetch(f"select value from {table('meta', schema, adapter.dialect)} where name = 'schema_version'")
    version = max((int(row[0]) for row in rows), default=SCHEMA_VERSION)
    if version > SCHEMA_VERSION:
        raise WarehouseError(
            f"the tables in schema `{schema}` are of version {version}; this partwise writes version {SCHEMA_VERSION}",
            hint="upgrade partwise; until then it can read the status, and write nothing",
        )


# ---------------------------------------------------------------- reading


def read_facts(
    adapter: Adapter,
    nodes: Mapping[str, Node],
    *,
    schema: str = "partwise",
    running: Iterable[str] = (),
    catalog: Catalog | None = None,
) -> Facts:
    """The live facts about every model and seed of `nodes`. Creates nothing and changes nothing.

    What an invocation claimed and never gave back was interrupted, unless it runs in this process, or is in `running`.
    """
    built = {uid: n for uid, n in nodes.items() if n.materialized in ("partitioned", "table", "view", "seed")}
    catalog = catalog or read_catalog(adapter, schema)
    if not built:
        return Facts({})
    if not catalog.has("partition_log"):
        return Facts({uid: _nothing(node, catalog) for uid, node in built.items()})
    alive = claims_of(adapter.identity).invocations() | frozenset(running)
    return _Reader(adapter, built, schema, catalog, alive).facts()


def _nothing(node: Node, catalog: Catalog) -> ModelFacts:
    empty = node.definition.empty() if node.is_partitioned and node.definition is not None else None
    found = catalog.find(node.relation)
    return ModelFacts(
        materialized=empty,
        failed=empty,
        open_built=empty,
        incomplete=empty,
        outside=empty,
        message=None if found is None else _foreign(node, found),
    )


def _noun(node: Node) -> str:
    return "view" if node.materialized == "view" else "table"


def _foreign(node: Node, found: Found) -> str | None:
    if found.incarnation is not None:
        return None
    return f"the {found.kind} `{node.relation.key}` was not made by partwise, or its comment was changed"


class _Reader:
    def __init__(
        self, adapter: Adapter, nodes: Mapping[str, Node], schema: str, catalog: Catalog, running: frozenset[str]
    ) -> None:
        self.adapter = adapter
        self.nodes = nodes
        self.schema = schema
        self.catalog = catalog
        self.running = running
        self.relations = [node.relation.key for node in nodes.values()]

    def facts(self) -> Facts:
        last: dict[str, dict[str, tuple[Any, ...]]] = {}
        newest: dict[str, datetime] = {}  # the last row about a table that is gone
        found = {node.relation.key: self.catalog.find(node.relation) for node in self.nodes.values()}
        live = {relation: table.incarnation for relation, table in found.items() if table is not None}
        rows = self.adapter.fetch(logsql.read_last(self.schema), [self.relations])
        for relation, incarnation, recorded, *rest in rows:
            last.setdefault(relation, {})[incarnation] = tuple(rest)
            if incarnation not in (NO_TABLE, live.get(relation)):
                newest[relation] = max(recorded, newest.get(relation, recorded))
        self.last = last
        self.ranges = self._read_ranges(live, newest)
        any_failed = any("failed" in kinds for by_id in self.ranges.values() for kinds in by_id.values())
        errors = self.adapter.fetch(logsql.read_errors(self.schema), [self.relations]) if any_failed else []
        self.errors: dict[str, str] = dict(errors)
        self.claims = self._read_claims()
        return Facts({uid: self._of(node) for uid, node in self.nodes.items()})

    def _read_ranges(
        self, live: Mapping[str, str | None], newest: Mapping[str, datetime]
    ) -> dict[str, dict[str, dict[str, list[Range]]]]:
        """Ranges by relation, definition id and kind.

        Failures to make a table count unless they are older than a table that has come and gone since (`newest`).
        """
        relations: list[str] = []
        incarnations: list[str] = []
        since: list[datetime | None] = []
        for relation in self.relations:
            for incarnation, after in ((live.get(relation), None), (NO_TABLE, newest.get(relation))):
                if incarnation is not None:
                    relations.append(relation)
                    incarnations.append(incarnation)
                    since.append(after)
        ranges: dict[str, dict[str, dict[str, list[Range]]]] = {}
        slack = max(_slack(node.definition) for node in self.nodes.values())
        rows = self.adapter.fetch(logsql.read_facts(self.schema, slack), [relations, incarnations, since])
        for relation, definition_id, kind, *rest in rows:
            kinds = ranges.setdefault(relation, {}).setdefault(definition_id, {})
            kinds.setdefault(kind, []).append((rest[0], rest[1], rest[2], rest[3], rest[4]))
        return ranges

    def _read_claims(self) -> dict[str, list[str]]:
        if not self.catalog.has("partition_claims"):
            return {}
        claims: dict[str, list[str]] = {}
        standing = table("partition_claims", self.schema, "duckdb")
        rows = self.adapter.fetch(f"select relation, invocation_id from {standing} order by claimed_at")
        for relation, invocation in rows:
            if invocation not in self.running:
                claims.setdefault(relation, []).append(invocation)
        return claims

    def _of(self, node: Node) -> ModelFacts:
        found = self.catalog.find(node.relation)
        incarnation = found.incarnation if found else None
        by_id = self.ranges.get(node.relation.key, {})
        last = self.last.get(node.relation.key, {})
        written, fingerprint, attempt, _ = last.get(incarnation, (None,) * 4) if incarnation else (None,) * 4
        failed_whole = "failed" in by_id.get("", {})
        partitioned: dict[str, Any] = {}
        any_failed = failed_whole
        if node.is_partitioned and node.definition is not None:
            partitioned = _sets(node.definition, by_id)
            any_failed = bool(partitioned["failed"])
        return ModelFacts(
            exists=incarnation is not None,
            incarnation=incarnation,
            built=incarnation is not None and attempt is not None,
            last_failed=failed_whole,
            fingerprint=fingerprint,
            last_written=None if written is None else written.astimezone(UTC),
            last_error=self.errors.get(node.relation.key) if any_failed else None,
            interrupted=tuple(self.claims.get(node.relation.key, ())),
            message=self._message(node, found, last, partitioned.get("other_definitions", {})),
            **partitioned,
        )

    def _message(
        self, node: Node, found: Found | None, last: Mapping[str, tuple[Any, ...]], other: Mapping[str, int]
    ) -> str | None:
        """Why earlier facts do not count, or what the definition was before."""
        incarnation = found.incarnation if found else None
        if incarnation is None or incarnation not in last:
            lives = [row for name, row in last.items() if name not in (incarnation, NO_TABLE) and row[0] is not None]
            counted = ""
            if lives and node.is_partitioned:
                n = max(lives, key=lambda row: row[0])[3]  # of the life before this one
                counted = f"; {n} recorded {'partition no longer counts' if n == 1 else 'partitions no longer count'}"
            if found is None:
                return f"the {_noun(node)} `{node.relation.key}` is gone{counted}" if lives else None
            if incarnation is None:
                return f"{_foreign(node, found)}{counted}"
            if lives:
                return f"the {found.kind} `{node.relation.key}` is not the one that was built{counted}"
        if other and node.definition is not None:
            return self._definition_change(node, node.definition, next(iter(other)))
        return None

    def _definition_change(self, node: Node, definition: Definition, before_id: str) -> str:
        rows = self.adapter.fetch(
            f"select definition from {table('model_log', self.schema, 'duckdb')} where relation = ? and "
            "definition_id = ? order by recorded_at desc limit 1",
            [node.relation.key, before_id],
        )
        before = _told(json.loads(rows[0][0])) if rows and rows[0][0] else "another definition"
        return f"it was {before}, it is {_told(identity_of(definition))}"


def _sets(definition: Definition, by_id: Mapping[str, Mapping[str, list[Range]]]) -> dict[str, Any]:
    """The sets of `ModelFacts`, from the ranges of each definition id."""
    kinds = by_id.get(definition.id, {})

    def read(kind: str) -> PartitionSet:
        return gather(definition, [row[:3] for row in kinds.get(kind, ())])

    written = read("materialized")
    removed = read("removed")
    written = written - removed if removed else written
    materialized = definition.clip(written)
    other: dict[str, int] = {}
    for definition_id, found in by_id.items():
        if definition_id not in ("", definition.id) and found.get("materialized"):
            other[definition_id] = sum(row[-1] for row in found["materialized"])
    return {
        "materialized": materialized,
        "outside": written - materialized,
        "failed": definition.clip(read("failed")),
        "incomplete": materialized & read("incomplete"),
        "open_built": materialized & _open(definition, kinds.get("open", ())),
        "other_definitions": other,
    }


def _open(definition: Definition, rows: Iterable[Range]) -> PartitionSet:
    """The partitions that did not exist yet at the time they were built."""
    by_time: dict[int, list[tuple[str | None, int | None, int | None]]] = {}
    for dims, lo, hi, as_of, _ in rows:
        by_time.setdefault(as_of or 0, []).append((dims, lo, hi))
    still_open = definition.empty()
    for as_of, ranges in by_time.items():
        built = gather(definition, ranges)
        still_open = still_open | (built - definition.existing(datetime.fromtimestamp(as_of, UTC)))
    return still_open


def _slack(definition: Definition | None) -> int:
    """How long after its end a window may not exist yet (a negative `end_offset`), in seconds, rather too long."""
    axis = definition.time_axis if definition is not None else None
    if axis is None or axis.end_offset >= 0:
        return 0
    return 2 * (axis.grid.shift(axis.begin, 1 - axis.end_offset) - axis.begin)


def identity_of(definition: Definition | None) -> list[list[Any]]:
    """What the id of a definition hashes, per dimension, with the dimension's name in front."""
    return [] if definition is None else [[axis.name, *axis.identity] for axis in definition.axes]


def _told(identity: Sequence[Sequence[Any]]) -> str:
    """A definition's identity for people: `daily in America/New_York`, `date: daily in UTC, region: static`."""
    shown = []
    for name, kind, *rest in identity:
        text = str(kind)
        if len(rest) == 5:
            timezone, minute, hour, day, cron = rest
            clock = f" at {hour:02}:{minute:02}" if hour or minute else ""
            anchor = f", day {day}" if day and kind != "daily" else ""
            text += (f" `{cron}`" if cron else "") + f" in {timezone}{clock}{anchor}"
        shown.append(f"{name}: {text}" if len(identity) > 1 else text)
    return ", ".join(shown)


# ---------------------------------------------------------------- what a writer needs to know


@dataclass(frozen=True, slots=True)
class Attempts:
    """How often partitions have been written, as of our claim: `levels[n - 1]` holds those written n times or more."""

    levels: tuple[PartitionSet, ...] = ()
    is_known: bool = False  # whether the log knows this life of the table at all

    def written(self, partitions: PartitionSet) -> bool:
        """Whether any of a set was ever written."""
        return any(level & partitions for level in self.levels[:1])

    def parts(self, partitions: PartitionSet, incomplete: PartitionSet | None = None) -> list[Part]:
        """A set as the log rows of its next write: cut by attempt, and by whether upstream partitions were there."""
        pieces: list[Part] = []
        rest = partitions
        for n in range(len(self.levels), 0, -1):
            some = rest & self.levels[n - 1]
            if some:
                pieces.append(Part(some, n + 1))
                rest = rest - some
        if rest:
            pieces.append(Part(rest, 1))
        if not incomplete:
            return pieces
        cut: list[Part] = []
        for piece in pieces:
            lacking = piece.partitions & incomplete
            if lacking:
                cut.append(Part(lacking, piece.attempt, '{"incomplete": true}'))
            if whole := piece.partitions - lacking:
                cut.append(Part(whole, piece.attempt))
        return cut

    def after(self, parts: Iterable[Part]) -> Attempts:
        """The attempts once these writes have been committed."""
        levels = list(self.levels)
        for part in parts:
            if part.attempt > len(levels):
                levels.append(part.partitions)
            else:
                levels[part.attempt - 1] = levels[part.attempt - 1] | part.partitions
        return Attempts(tuple(levels), True)


def read_attempts(adapter: Adapter, node: Node, incarnation: str, schema: str = "partwise") -> Attempts:
    """How often each partition of a model has been written, in ranges. To be read after the claim stands."""
    definition = node.definition
    assert definition is not None
    rows = adapter.fetch(logsql.read_attempts(schema), [[node.relation.key], [incarnation], [None]])
    by_attempt: dict[int, list[tuple[str | None, int | None, int | None]]] = {}
    for _, definition_id, attempt, dims, lo, hi, *_ in rows:
        if definition_id == definition.id:
            by_attempt.setdefault(int(attempt), []).append((dims, lo, hi))
    levels = [gather(definition, by_attempt.get(n, [])) for n in range(1, max(by_attempt, default=0) + 1)]
    only_ours = all(row[1] == definition.id for row in rows)
    return Attempts(tuple(levels), bool(rows) and only_ours)


def read_whole_attempt(adapter: Adapter, relation: RelationName, schema: str = "partwise") -> int:
    """The number of the next write of a relation without partitions; it counts on over its incarnations."""
    rows = adapter.fetch(
        f"select max(attempt) from {table('partition_log', schema, 'duckdb')} "
        "where relation = ? and partition_key = '' and state = 'materialized'",
        [relation.key],
    )
    return int(rows[0][0] or 0) + 1


# ---------------------------------------------------------------- recording


@dataclass(frozen=True, slots=True)
class Entry:
    """What the log rows of one attempt have in common."""

    relation: RelationName
    incarnation: str
    state: str  # materialized | failed | cancelled | removed
    run_id: str
    as_of: datetime
    fingerprint: str | None = None


def record(adapter: Adapter, entry: Entry, parts: Iterable[Part], schema: str = "partwise") -> None:
    """Write the log rows of some partitions, inside the caller's transaction."""
    for batch in batches(parts := list(parts)):
        definition = parts[0].partitions.definition
        constants = [
            entry.relation.key,
            entry.incarnation,
            definition.id,
            entry.state,
            entry.run_id,
            entry.fingerprint,
            entry.as_of,
        ]
        adapter.execute(*logsql.insert_batch(schema, batch, timed_at(definition), constants))


def record_whole(
    adapter: Adapter, entry: Entry, attempt: int, *, incomplete: bool = False, schema: str = "partwise"
) -> None:
    """Write the log row of a relation without partitions, inside the caller's transaction."""
    versions = '{"incomplete": true}' if incomplete else None
    adapter.execute(
        logsql.insert_whole(schema),
        [
            entry.relation.key,
            entry.incarnation,
            entry.state,
            attempt,
            entry.run_id,
            entry.fingerprint,
            versions,
            entry.as_of,
        ],
    )


def bounds_of(definition: Definition | None) -> list[dict[str, Any]]:
    """What a definition holds now, for SQL readers: start and end of its time, or its keys."""
    shown: list[dict[str, Any]] = []
    for axis in definition.axes if definition is not None else ():
        if isinstance(axis, TimeAxis):
            shown.append({"dimension": axis.name, "start": str(axis.start), "end": axis.end and str(axis.end)})
        else:
            shown.append({"dimension": axis.name, "keys": list(axis.keys) if axis.kind == "static" else None})
    return shown
