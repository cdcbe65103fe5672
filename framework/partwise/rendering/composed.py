"""A model's query with holes, and what each hole is to be filled with: values that `compose.py` makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from partwise import mapping as maps
from partwise.nodes import Node
from partwise.partitions import PartitionSet
from partwise.planning.inputs import Hop
from partwise.rendering.exprs import Expr, same_name
from partwise.rendering.linemap import Located, Location
from partwise.rendering.partitionvalues import Write
from partwise.rendering.sqltypes import SqlType


@dataclass(frozen=True, slots=True)
class Probe:
    """A query (in the target's dialect) whose first column has the type wanted. `column`: it is that output column."""

    sql: str
    column: str | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """An expression to be compared with bounds, and how to learn its type. `declared`: what its properties say."""

    expr: Expr
    probe: str
    timezone: str | None = None
    format: str | None = None
    declared: SqlType | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """What a hole is to be filled with.

    `read`: the partitions of `upstream` that follow from the run's by `hops`. `own`: the run's own partitions, widened
    by `offsets` windows. `past`: what the model has built earlier. `shifted`: the run's windows moved by `offsets[0]`.
    `constant`: what `write` says.
    """

    kind: Literal["read", "own", "past", "shifted", "constant"]
    slots: Mapping[str, Slot] = field(default_factory=dict)
    hops: tuple[Hop, ...] = ()
    offsets: tuple[int, int] = (0, 0)
    reader_slots: Mapping[str, Slot] = field(default_factory=dict)
    upstream: Node | None = None
    grouped: bool = False  # stands among other conditions, so it needs parentheses
    where: Location | None = None
    write: Write | None = None

    @property
    def start_offset(self) -> int | None:
        """How many windows back it reads (0, -1 ...); None when that cannot be said, or it reads everything."""
        if self.kind == "own":
            return self.offsets[0]
        total = 0
        for hop in self.hops:
            if isinstance(hop.mapping, maps.TimeWindow):
                total += hop.mapping.start_offset
            elif isinstance(hop.mapping, maps.Dims):
                inner = [m.start_offset for _, _, m in hop.mapping.by_upstream if isinstance(m, maps.TimeWindow)]
                total += min(inner, default=0)
            elif not isinstance(hop.mapping, maps.Identity):
                return None
        return total

    @property
    def all_slots(self) -> Mapping[str, Slot]:
        """Everything compared, by dimension: of the upstream, and of the reader where the input has none such."""
        return {**self.reader_slots, **self.slots}


@dataclass(frozen=True, slots=True)
class Composed:
    """A model's query with holes, in the target's dialect. See `render.fill`."""

    node: Node
    dialect: str
    text: Located
    conditions: Mapping[int, Condition]  # by the number in the hole
    output: Mapping[str, Slot]
    probes: tuple[Probe, ...]
    whole_reads: tuple[str, ...]  # unique ids of the inputs read as they stand
    reads_this: bool
    partitions: PartitionSet | None  # the set the template looked at; it is good for that one only
    is_reusable: bool
    passes: tuple[Condition, ...]  # the filtered inputs whose partition columns are the output's, unchanged
    unnamed: tuple[str, ...]  # output columns without a name of their own, as SQL
    names: tuple[str, ...] | None  # the output columns; None when a star hides them
    warnings: tuple[str, ...]
    describe_sql: str  # the query reading nothing: for its columns and their types


def declared(node: Node, expr: Expr) -> SqlType | None:
    """The type that the properties file gives the column an expression names."""
    if expr.column is None:
        return None
    for column in node.columns:
        if column.get("data_type") and same_name(str(column.get("name")), expr.column):
            return SqlType.of(str(column["data_type"]))
    return None
