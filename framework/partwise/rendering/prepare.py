"""A model made ready for its runs: its query with holes, the types of what fills them, and its output columns.

Types are asked of the warehouse, through a function that describes a query. Everything else is `render.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from partwise.adapters.base import Column
from partwise.errors import RenderError, WarehouseError, did_you_mean
from partwise.nodes import Node
from partwise.partitions import PartitionSet
from partwise.rendering.composed import Composed
from partwise.rendering.render import Renderer, Types, fill
from partwise.rendering.rendered import Rendered, explained
from partwise.rendering.sqltypes import SqlType

Describe = Callable[[str], Sequence[Column]]
"""The columns a query would give, without running it: an adapter's `describe`. Raises WarehouseError."""

_ROUNDS = 6  # how often types that depend on themselves are asked for; each round settles at least one column


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything about a model that its runs share. `columns` are those of its query, () when nobody was asked.

    `for_missing_table`: made while the table was not there, with a stand-in for `{{ this }}` where it is read: prepare
    again once the table is made.
    """

    composed: Composed
    types: Types
    columns: tuple[Column, ...] = ()
    for_missing_table: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The output columns' names, in order."""
        return tuple(column.name for column in self.columns)

    def render(self, partitions: PartitionSet | None, now: datetime) -> Rendered:
        """The SQL of one run."""
        return fill(self.composed, partitions, types=self.types, now=now)


def prepare(
    renderer: Renderer,
    node: Node,
    partitions: PartitionSet | None,
    describe: Describe | None,
    *,
    table_exists: bool = True,
) -> Prepared:
    """A model made ready for its runs; good for every set when `composed.is_reusable`, else for `partitions` only.

    Without `describe` (no warehouse at hand) types are guessed, and `Rendered.notes` says so. Raises RenderError when
    the output lacks a partition column or has columns without a name, WarehouseError (with its template line) when the
    warehouse does not understand the query.
    """
    past: tuple[Column, ...] | None = None
    composed = renderer.compose(node, partitions, table_exists=table_exists)
    if describe is None:
        return Prepared(composed, {})
    if composed.reads_this and not table_exists:
        past = own_past_columns(renderer, node, partitions, describe)
        composed = renderer.compose(node, partitions, table_exists=False, this_columns=past)
    types = fetch_types(composed, describe, output=False)
    columns = tuple(_described(composed, describe))
    check_columns(composed, columns)
    types |= output_types(composed, columns, describe)
    return Prepared(composed, types, columns, past is not None)


def _described(composed: Composed, describe: Describe) -> Sequence[Column]:
    sql = composed.describe_sql
    try:
        return describe(sql)
    except WarehouseError as error:
        raise explained(error, composed.node, composed.text, sql, lines_only=True) from None


def fetch_types(composed: Composed, describe: Describe, *, output: bool = True) -> dict[str, SqlType]:
    """The types a composition asks for, all in one describe; what the warehouse cannot tell is left out.

    With `output` those of the model's own partition exprs too. Raises RenderError when the output lacks one's column.
    """
    own = {slot.probe for slot in composed.output.values()}
    wanted = [probe.sql for probe in composed.probes if probe.sql not in own]
    types = _together(wanted, describe) or {}
    for sql in wanted if not types else ():
        try:
            types[sql] = SqlType.of(describe(sql)[0].type)
        except WarehouseError:
            continue  # the relation is not there yet, or running will say what is wrong, with its line
    if own and output:
        types |= output_types(composed, describe(composed.describe_sql), describe)
    return types


def _together(probes: Sequence[str], describe: Describe) -> dict[str, SqlType] | None:
    """The types of several probes by one request; None when one of them fails, or there is only one."""
    if len(probes) < 2:
        return None
    names = [f"p{i}" for i in range(len(probes))]
    joined = " cross join ".join(f"({sql}) as {name}" for sql, name in zip(probes, names, strict=True))
    try:
        columns = describe(f"select {', '.join(f'{name}.*' for name in names)} from {joined}")
    except WarehouseError:
        return None
    if len(columns) != len(probes):
        return None
    return {sql: SqlType.of(column.type) for sql, column in zip(probes, columns, strict=True)}


def own_past_columns(
    renderer: Renderer, node: Node, partitions: PartitionSet | None, describe: Describe
) -> tuple[Column, ...]:
    """The columns of a model that reads its own past, before its table is there: to be given as `this_columns`.

    A column may depend on itself (`v + coalesce(yesterday, 0)`), so types are found by describing the query until they
    stay the same. Raises RenderError when a star hides the names and the properties file does not list them.
    """
    declared = [Column(str(c["name"]), str(c["data_type"])) for c in node.columns if c.get("data_type")]
    if declared:
        return tuple(declared)
    names = renderer.compose(node, partitions, table_exists=False, this_columns=()).names
    if names is None:
        raise RenderError(
            f"`{node.name}` reads its own past, and which columns it has cannot be told before its first run",
            file=node.path,
            line=node.line,
            model=node.name,
            hint="name the columns in the SELECT instead of `*`, or list them with data_type in its properties",
        )
    columns = tuple(Column(name, "") for name in names)
    for _ in range(_ROUNDS):
        composed = renderer.compose(node, partitions, table_exists=False, this_columns=columns)
        described = describe(composed.describe_sql)
        found = tuple(Column(c.name, "" if c.type.strip('"').upper() == "NULL" else c.type) for c in described)
        if found == columns:
            break
        columns = found
    return columns


def output_types(
    composed: Composed, columns: Sequence[Column], describe: Describe | None = None
) -> dict[str, SqlType]:
    """The types of the model's own partition exprs, given the columns of its query.

    An expression that is no bare column needs `describe`. Raises RenderError when a partition column is missing.
    """
    by_probe = {probe.sql: probe for probe in composed.probes}
    types: dict[str, SqlType] = {}
    for dim, slot in composed.output.items():
        column = by_probe[slot.probe].column
        if column is not None:
            types[slot.probe] = SqlType.of(partition_column(composed, dim, column, columns).type)
        elif describe is not None:
            try:
                types[slot.probe] = SqlType.of(describe(slot.probe)[0].type)
            except WarehouseError as error:
                raise RenderError(
                    f"the partition_expr of `{composed.node.name}` does not fit its output: {error.message}",
                    file=composed.node.path,
                    line=composed.node.line,
                    model=composed.node.name,
                    hint=f"the query gives {', '.join(f'`{c.name}`' for c in columns)}",
                ) from None
    return types


def partition_column(composed: Composed, dim: str, name: str, columns: Sequence[Column]) -> Column:
    """The output column that places rows. Raises RenderError, with near names, when the query does not give it."""
    exact = composed.dialect == "snowflake"
    found = [c for c in columns if c.name == name or (not exact and c.name.lower() == name.lower())]
    if len(found) == 1:
        return found[0]
    node = composed.node
    listed = [c.name for c in columns]
    if found:
        problem, hint = f"has the column `{name}` more than once", "give each output column its own name"
    else:
        problem = f"lacks the partition column `{name}` in its output"
        near = did_you_mean(name.lower(), [text.lower() for text in listed])
        hint = near or f"select it, or set partition_expr to one of {', '.join(f'`{text}`' for text in listed)}"
    raise RenderError(f"`{node.name}` {problem}", hint=hint, file=node.path, line=node.line, model=node.name)


def check_columns(composed: Composed, columns: Sequence[Column]) -> None:
    """Raise RenderError when output columns cannot be inserted by name: without one of their own, or given twice."""
    node = composed.node
    place = {"file": node.path, "line": composed.text.at(0).line, "model": node.name}
    if composed.unnamed:
        listed = ", ".join(f"`{name}`" for name in composed.unnamed)
        message = f"`{node.name}` has output columns without a name: {listed}"
        raise RenderError(message, hint="give each an alias: `... as name`", **place)  # type: ignore[arg-type]
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for column in columns:
        name = column.name if composed.dialect == "snowflake" else column.name.lower()
        if name in seen:
            twice.setdefault(column.name)
        seen.add(name)
    if twice:
        message = f"`{node.name}` gives the output column {', '.join(f'`{name}`' for name in twice)} more than once"
        raise RenderError(message, hint="give each output column its own name", **place)  # type: ignore[arg-type]
