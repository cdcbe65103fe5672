"""The values a project is made of: models, seeds, sources, and the edges between them.

Nothing here reads a file or talks to a warehouse. `project.py` makes these values, `graph.py`,
`planner.py` and `render.py` work on them.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, field
from typing import Any, Literal

from partwise.mapping import Mapping
from partwise.partitions import Definition
from partwise.policy import BackfillPolicy as BackfillPolicy
from partwise.policy import PolicyKind as PolicyKind

Materialization = Literal["partitioned", "table", "view", "ephemeral", "seed", "source"]

_AUTO = BackfillPolicy()


@dataclass(frozen=True, slots=True)
class RelationName:
    """A table or view in a warehouse; `database` None is the connection's own."""

    database: str | None
    schema: str
    identifier: str

    @property
    def key(self) -> str:
        """`schema.identifier`, the name under which the status tables know it (no database: design, identity)."""
        return f"{self.schema}.{self.identifier}"


@dataclass(frozen=True, slots=True)
class Edge:
    """One `ref()` or `source()` in a model, as written (several to one upstream are several edges).

    `mapping` None means inferred from the two definitions. `filter` pairs a dimension of the reader with an
    expression over the input: `ref('x', filter={'region': 'origin'})` is `(("region", "origin"),)`. `whole` reads the
    relation as it stands. `stale` makes an unpartitioned upstream count for staleness.
    """

    upstream: str  # unique id of the node
    mapping: Mapping | None = None
    filter: tuple[tuple[str, str], ...] = ()
    whole: bool = False
    stale: bool = False
    allow_missing_upstream: bool = False
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A model, seed or source.

    `unique_id` is dbt's (`model.project.name`, `seed.project.name`, `source.project.source.table`). `path` is relative
    to the project folder. `partition_expr` maps dimension name to SQL text in `dialect`; it may be given without a
    `definition` on a source. `inherited_from` names the input whose partitions a view took over.
    """

    unique_id: str
    name: str
    resource_type: Literal["model", "seed", "source"]
    path: str
    relation: RelationName
    materialized: Materialization
    package: str
    dialect: str  # sqlglot's name of the dialect the text is written in
    line: int | None = None
    raw_code: str = ""
    definition: Definition | None = None
    partition_expr: MappingOf[str, str] = field(default_factory=dict)
    edges: tuple[Edge, ...] = ()
    reads_own_past: bool = False
    policy: BackfillPolicy = _AUTO
    full_scan: bool = False
    trust: bool = False
    on_null: Literal["warn", "error", "skip"] = "warn"
    on_leak: Literal["warn", "error", "filter"] = "warn"
    on_schema_change: Literal["fail", "append_new_columns", "sync_all_columns"] = "fail"
    column_timezone: str | None = None
    partition_format: str | None = None
    rebuild_last: int = 0
    retries: int = 2
    inherited_from: str | None = None
    tags: tuple[str, ...] = ()
    description: str = ""
    columns: tuple[MappingOf[str, Any], ...] = ()
    config: MappingOf[str, Any] = field(default_factory=dict)  # every key as resolved, for `config.x:` and the manifest
    source_name: str | None = None  # sources only: the group the table belongs to

    @property
    def is_partitioned(self) -> bool:
        """Whether it stores rows by partition (views look through, so they are not)."""
        return self.materialized == "partitioned"
