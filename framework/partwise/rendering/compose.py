"""From template to SQL with holes: everything about a model's query that does not depend on the set being built.

A template is run, each `ref()` is found again in the text it wrote, and a filter put around it whose condition is a
hole, `__pw_3`. `render.py` fills the holes for one set of partitions; where the template does not look at the set
itself, one composition serves every run of the model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from partwise import mapping as maps
from partwise.adapters.base import Column
from partwise.errors import PartwiseError, RenderError, did_you_mean
from partwise.nodes import Node
from partwise.partitions import Definition, PartitionSet
from partwise.planning.inputs import Hop, hop_to
from partwise.project.jinja_env import Engine
from partwise.rendering import literals
from partwise.rendering.composed import Composed, Condition, Probe, Slot, declared
from partwise.rendering.exprs import parse_expr, same_name
from partwise.rendering.linemap import Located, Location, edit, join, locate
from partwise.rendering.marks import HOLE, INLINE, Lookup, Use, Writing, placed, run_template
from partwise.rendering.splice import Edit, alias_of, by_name, put, qualifiers, requalified, stub

if TYPE_CHECKING:
    from sqlglot import exp

    from partwise.rendering.query import Query, TableUse


def compose(
    node: Node,
    engine: Engine,
    lookup: Lookup,
    dialect: str,
    *,
    partitions: PartitionSet | None = None,
    table_exists: bool = True,
    this_columns: Sequence[Column] | None = None,
) -> Composed:
    """The query of a model for a target that speaks `dialect`.

    `partitions` is the set to build, for templates that look at it (`is_reusable` says whether this one did).
    `table_exists` answers `is_incremental()`. `this_columns` stands in for a table that is not there yet:
    `{{ this }}` then reads no rows, of these columns. Raises RenderError, with the template's line.
    """
    writing = Writing(node, lookup, partitions, table_exists)
    return _Composer(writing, engine, dialect, this_columns).compose()


@dataclass(frozen=True, slots=True)
class _Scope:
    """Whose sets a template's refs map from: the definition, and the way to it from the model's own set."""

    owner: Node
    reader: Definition | None
    hops: tuple[Hop, ...] = ()


class _Composer:
    def __init__(
        self, writing: Writing, engine: Engine, dialect: str, this_columns: Sequence[Column] | None
    ) -> None:
        self.writing = writing
        self.engine = engine
        self.node = writing.model
        self.dialect = dialect
        self.this_columns = this_columns
        self.conditions: dict[int, Condition] = {}
        self.probes: dict[str, Probe] = {}
        self.inlined: dict[tuple[str, tuple[Hop, ...]], tuple[str, Located]] = {}
        self.inlining: list[str] = []
        self.whole: dict[str, None] = {}
        self.warnings: dict[str, None] = {}
        self.reads_this = False
        self.is_filtered = False  # some condition depends on the run's set
        self.nodes: dict[int, Node] = {}  # id of a table in a tree -> the node it stands for
        self.holes: dict[int, int] = {}  # id of a table in a tree -> the hole of its condition

    def compose(self) -> Composed:
        node, writing = self.node, self.writing
        text, query = self.body(_Scope(node, node.definition))
        text = self.with_inlined(text, query)
        if writing.is_by_partition and not node.full_scan and not self.is_filtered:
            self.refuse_full_scan(text, query)
        if node.dialect != self.dialect:
            text = self.translated(text, node.dialect, self.dialect)
        describe_sql = self.empty(text)
        output = self.output_slots(describe_sql)
        return Composed(
            node=node,
            dialect=self.dialect,
            text=text,
            conditions=dict(self.conditions),
            output=output,
            probes=tuple(self.probes.values()),
            whole_reads=tuple(self.whole),
            reads_this=self.reads_this,
            partitions=writing.partitions if writing.is_touched else None,
            is_reusable=not writing.is_touched,
            passes=self.passing(query, output),
            unnamed=query.unnamed,
            names=query.output_names,
            warnings=tuple(self.warnings),
            describe_sql=describe_sql,
        )

    def body(self, scope: _Scope) -> tuple[Located, Query]:
        """The query of one template with holes, in its own dialect."""
        from partwise.rendering.query import Query  # brings sqlglot, which is slow to load

        owner, before = scope.owner, len(self.writing.called)
        text, marks = self.writing.take_signs(run_template(self.engine, self.writing, owner))
        called = [use for of, use in self.writing.called[before:] if of is owner]
        try:
            query = Query(text, owner.dialect)
            marks = sorted([*marks, *by_name(query, marks, called)], key=lambda mark: mark[0])
        except RenderError as error:
            raise placed(error, None, owner) from None
        edits: list[Edit] = [(at, at + 1, "") for at in query.semicolons]
        renamed: list[tuple[TableUse, str]] = []
        filters: list[tuple[int, Use]] = []
        for offset, use in marks:
            if use.kind == "filter":
                filters.append((offset, use))
            elif use.kind == "constant":
                self.conditions[use.hole] = Condition("constant", write=use.write, where=text.at(offset))
                self.is_filtered = self.is_filtered or offset in query.column_at
            elif use.kind == "relation" and query.is_live(offset):
                table = query.tables.get(offset)
                try:
                    if table is not None:
                        edits += self.place(scope, query, table, use, renamed)
                    else:
                        self.used_elsewhere(use, query, offset)
                except RenderError as error:
                    raise placed(error, text.at(offset), owner) from None
                except PartwiseError as error:  # a mapping that does not fit
                    made = RenderError(f"{use.call}: {error.message}", hint=error.hint)
                    raise placed(made, text.at(offset), owner) from None
        for offset, use in filters:
            try:
                edits.append(self.place_filter(owner, query, offset, use, renamed))
            except RenderError as error:
                raise placed(error, text.at(offset), owner) from None
        edits += qualifiers(query, renamed)
        return edit(text, edits), query

    # ------------------------------------------------------------ relations

    def used_elsewhere(self, use: Use, query: Query, offset: int) -> None:
        """A relation outside FROM: in front of a column it is a qualifier; else nothing can filter it."""
        if use.node is None:
            raise RenderError(f"{use.call} names no model, seed or source of the project")
        column = query.column_at.get(offset)
        parts = 3 if use.node.relation.database else 2
        is_qualifier = column is not None and (len(column.parts) > parts or use.node.materialized == "ephemeral")
        if not is_qualifier and not use.is_this and self.writing.is_by_partition:
            where = query.text.at(offset)
            self.warnings.setdefault(f"{use.call} at {where} stands outside FROM: it is not filtered")

    def place(
        self, scope: _Scope, query: Query, table: TableUse, use: Use, renamed: list[tuple[TableUse, str]]
    ) -> list[Edit]:
        """The edits that put a filter around one relation in FROM."""
        if use.node is None:
            raise RenderError(f"{use.call} names no model, seed or source of the project")
        self.nodes[id(table.node)] = use.node
        alias = alias_of(query, table, use.node)
        written = str.__str__(query.text)[table.start : table.end]
        if use.is_this:
            self.reads_this = True
            if self.this_columns is not None:
                return put(table, stub(self.this_columns, scope.owner.dialect), alias, renamed)
            condition = self.past_condition(use) if self.writing.is_by_partition else None
            name = written
        else:
            name, condition = self.read(scope, use, written)
        if condition is None:
            as_written = name == written and use.node.materialized != "ephemeral"
            return [] if as_written else put(table, name, alias, renamed)
        hole = self.writing.hole()
        self.is_filtered = self.is_filtered or not use.is_this
        self.conditions[hole] = replace(condition, where=query.text.at(table.start))
        self.holes[id(table.node)] = hole
        return put(table, f"(select * from {name} where __pw_{hole})", alias, renamed)

    def read(self, scope: _Scope, use: Use, written: str) -> tuple[str, Condition | None]:
        """The name an input is read under, and how it is filtered."""
        assert use.node is not None and use.edge is not None
        hop = hop_to(scope.reader, use.edge, use.node)
        name, target = written, literals.relation(use.node.relation, self.dialect)
        if use.node.materialized == "ephemeral":
            inherits = use.node.definition is None
            inner = _Scope(use.node, scope.reader if inherits else use.node.definition, (*scope.hops, *hop))
            name = target = self.inline(inner)
        condition = self.read_condition(scope, use, (*scope.hops, *hop), target)
        if condition is None:
            self.whole.setdefault(use.node.unique_id)
        return name, condition

    def read_condition(self, scope: _Scope, use: Use, hops: tuple[Hop, ...], relation: str) -> Condition | None:
        """How one input is filtered; None when it is read as it stands."""
        up, edge = use.node, use.edge
        assert up is not None and edge is not None
        if edge.whole or self.node.materialized not in ("partitioned", "table"):
            return None
        reader_slots: dict[str, Slot] = {}
        if self.writing.is_by_partition:
            reader_slots = {dim: self.slot(up, text, scope.owner.dialect, relation) for dim, text in edge.filter}
            self.check_dims(reader_slots, use)
        if up.definition is not None and up.partition_expr:
            slots = {dim: self.slot(up, text, up.dialect, relation) for dim, text in up.partition_expr.items()}
            return Condition("read", slots, hops, reader_slots=reader_slots, upstream=up)
        offsets = (0, 0)
        slots = {}
        if up.definition is None and up.partition_expr and self.writing.is_by_partition:
            if isinstance(edge.mapping, maps.TimeWindow):
                offsets = (edge.mapping.start_offset, edge.mapping.end_offset)
            if edge.mapping is None or isinstance(edge.mapping, (maps.TimeWindow, maps.Identity)):
                texts = self.onto_reader(up.partition_expr, use)
                slots = {dim: self.slot(up, text, up.dialect, relation) for dim, text in texts.items()}
        if not slots and not reader_slots:
            return None
        return Condition("own", slots, offsets=offsets, reader_slots=reader_slots, upstream=up)

    def check_dims(self, slots: Mapping[str, Slot], use: Use) -> None:
        known = list(self.node.definition.dims) if self.node.definition else []
        for dim in slots:
            if dim not in known:
                hint = did_you_mean(dim, known) or f"it has {', '.join(f'`{d}`' for d in known)}"
                raise RenderError(f"{use.call}: filter names `{dim}`, no dimension of `{self.node.name}`", hint=hint)

    def onto_reader(self, exprs: Mapping[str, str], use: Use) -> Mapping[str, str]:
        """A source's expressions by dimension of the reader: by name, or the one expression on its time dimension."""
        assert self.node.definition is not None
        dims = self.node.definition.dims
        shared = {dim: text for dim, text in exprs.items() if dim in dims}
        if shared or len(exprs) != 1:
            return shared
        axis = self.node.definition.time_axis
        if axis is None and len(dims) > 1:
            raise RenderError(
                f"{use.call}: its partition_expr does not say which dimension of `{self.node.name}` it filters",
                hint=f"write partition_expr as a mapping, with {' or '.join(f'`{d}`' for d in dims)}",
            )
        return {axis.name if axis is not None else next(iter(dims)): next(iter(exprs.values()))}

    def past_condition(self, use: Use) -> Condition:
        node = self.node
        name = literals.relation(node.relation, self.dialect)
        slots = {dim: self.slot(node, text, node.dialect, name) for dim, text in node.partition_expr.items()}
        if use.shift is None:
            return Condition("past", slots)
        return Condition("shifted", slots, offsets=(use.shift, use.shift))

    def slot(self, up: Node, text: str, dialect: str, relation: str) -> Slot:
        """An expression over a relation, and the query that tells its type."""
        try:
            expr = parse_expr(text, dialect)
            inlined = relation.startswith(INLINE)
            sql = f"select {expr.write(self.node.dialect if inlined else self.dialect)} from {relation}"
        except RenderError as error:
            raise placed(error, Location(up.path, up.line), up) from None
        if inlined:
            sql = self.with_definitions(sql)
        return Slot(expr, self.probe(sql), up.column_timezone, up.partition_format, declared(up, expr))

    def empty(self, text: str) -> str:
        """A text with holes, each condition filled with one that never holds, each constant with that of some set."""

        def fill(match: re.Match[str]) -> str:
            condition = self.conditions.get(int(match[1]))
            if condition is None or condition.write is None or self.writing.partitions is None:
                return "1 = 0" if condition is None or condition.write is None else "null"
            try:
                return condition.write(self.writing.partitions, self.dialect)
            except RenderError as error:
                raise placed(error, condition.where, self.node) from None

        return HOLE.sub(fill, str.__str__(text))

    def probe(self, sql: str, column: str | None = None) -> str:
        self.probes.setdefault(sql, Probe(sql, column))
        return sql

    # ------------------------------------------------------------ ephemeral models

    def inline(self, scope: _Scope) -> str:
        """The name under which an ephemeral model is defined in front of the query: once per set it is read with."""
        up = scope.owner
        key = (up.unique_id, scope.hops)
        if key not in self.inlined:
            if up.unique_id in self.inlining:
                raise RenderError(f"the ephemeral model `{up.name}` reads itself")
            self.inlining.append(up.unique_id)
            text, _ = self.body(scope)
            self.inlining.pop()
            if up.dialect != self.node.dialect:
                text = self.translated(text, up.dialect, self.node.dialect)
            else:
                text = text.rstrip()  # type: ignore[assignment]
            taken = {name for name, _ in self.inlined.values()}
            base = name = INLINE + re.sub(r"\W", "_", up.name)
            while name in taken:
                name = f"{base}_{len(taken) + 1}"
            self.inlined[key] = (name, text)
        return self.inlined[key][0]

    def definitions(self) -> list[str]:
        return [f"{name} as ({self.empty(text)}\n)" for name, text in self.inlined.values()]

    def with_definitions(self, sql: str) -> str:
        """A probe with the inlined models in front of it, in the target's dialect, reading nothing."""
        parts = self.definitions()
        if not parts:
            return sql
        head = re.match(r"\s*with\s+(recursive\s+)?", sql, re.IGNORECASE)
        made = f"with {', '.join(parts)} {sql}" if head is None else f"{head[0]}{', '.join(parts)}, {sql[head.end() :]}"
        if self.node.dialect == self.dialect:
            return made
        return self.plainly_translated(made, self.node.dialect)

    def plainly_translated(self, sql: str, source: str) -> str:
        return str.__str__(self.translated(locate(sql, Location(self.node.path, None)), source, self.dialect))

    def with_inlined(self, text: Located, query: Query) -> Located:
        """The model's text with the inlined models defined in front of it."""
        if not self.inlined:
            return text
        first = query.tokens[0]
        at, opening, closing = first.start, "with ", " "
        if first.text.lower() == "with":
            second = query.tokens[1]
            at, opening, closing = first.end + 1, " ", ","
            if second.text.lower() == "recursive":
                at = second.end + 1
        where = text.at(at)  # nothing was edited before the first token, so the position still holds
        pieces: list[str] = []
        for i, (name, inner) in enumerate(self.inlined.values()):
            pieces += [locate(f"{', ' if i else opening}{name} as (", where), inner, locate("\n)", where)]
        return join([text.cut(0, at), *pieces, locate(closing, where), text.cut(at, len(text))])

    # ------------------------------------------------------------ partition_filter

    def place_filter(
        self, owner: Node, query: Query, offset: int, use: Use, renamed: list[tuple[TableUse, str]]
    ) -> Edit:
        """Fill in the condition of a partition_filter() now that its place is known."""
        hole = f"__pw_{use.hole}"
        end = offset + len(hole)
        column = query.column_at.get(offset)
        if column is None:
            return (offset, end, use.call)  # inside a comment or a string
        select = next(query.selects_around(column), None)
        slots: dict[str, Slot] = {}
        for dim, text in use.exprs.items():
            slot = self.filter_slot(owner, query, select, text, use)
            slots[dim] = replace(slot, expr=parse_expr(requalified(text, query, select, renamed), owner.dialect))
        if select is not None and use.lookback:
            self.check_lookback(query, select, use)
        where, self.is_filtered = query.text.at(offset), True
        self.conditions[use.hole] = Condition("own", slots, offsets=(-use.lookback, 0), grouped=True, where=where)
        return (offset, end, hole)

    def filter_slot(self, owner: Node, query: Query, select: exp.Select | None, text: str, use: Use) -> Slot:
        expr = parse_expr(text, owner.dialect)
        timezone, form = self.node.column_timezone, self.node.partition_format
        origin = query.origin_of(select, text) if select is not None else None
        up = self.nodes.get(id(origin.table)) if origin is not None else None
        if origin is not None and up is not None and up.materialized != "ephemeral":
            column = parse_expr(origin.written, owner.dialect).write(self.dialect)
            probe = f"select {column} from {literals.relation(up.relation, self.dialect)}"
            timezone, form = up.column_timezone or timezone, up.partition_format or form
        elif select is not None:
            made = self.empty(query.probe(select, text))
            if owner.dialect != self.dialect and not self.inlined:
                made = self.plainly_translated(made, owner.dialect)
            probe = self.with_definitions(made) if INLINE in made else made
        else:
            probe = f"select {expr.write(self.dialect)}"
        return Slot(expr, self.probe(probe), use.timezone or timezone, use.format or form)

    def check_lookback(self, query: Query, select: exp.Select, use: Use) -> None:
        """Refuse a filter that is wider than what the ref under it reads."""
        tables: list[object] = [source for source, _ in query.sources(select)]
        origins = (query.origin_of(select, text) for text in use.exprs.values())
        tables += [origin.table for origin in origins if origin is not None]
        for table in tables:
            condition = self.conditions.get(self.holes.get(id(table), -1))
            if condition is None or condition.upstream is None:
                continue
            reads = condition.start_offset
            if reads is not None and -use.lookback < reads:
                up = condition.upstream
                names = f"source('{up.source_name}', '{up.name}'" if up.source_name else f"ref('{up.name}'"
                raise RenderError(
                    f"partition_filter(lookback={use.lookback}) is wider than what is read of `{up.name}`",
                    hint=f"say it at the input: {names}, lookback={use.lookback})",
                )

    # ------------------------------------------------------------ the result

    def output_slots(self, describe_sql: str) -> dict[str, Slot]:
        """The model's own partition exprs over its output."""
        node = self.node
        if not self.writing.is_by_partition or node.definition is None:
            return {}
        missing = [dim for dim in node.definition.dims if dim not in node.partition_expr]
        if missing:
            error = RenderError(
                f"`{node.name}` has partitions but no partition_expr for {', '.join(f'`{d}`' for d in missing)}",
                hint="say which column places a row: partition_expr='...'",
            )
            raise placed(error, Location(node.path, node.line), node)
        slots: dict[str, Slot] = {}
        alias = literals.identifier(node.relation.identifier, self.dialect)
        for dim in node.definition.dims:
            try:
                expr = parse_expr(node.partition_expr[dim], node.dialect)
                sql = f"select {expr.write(self.dialect)} from ({describe_sql}\n) as {alias}"
            except RenderError as error:
                raise placed(error, Location(node.path, node.line), node) from None
            column = expr.column
            if column is not None and not expr.is_quoted and self.dialect == "snowflake":
                column = column.upper()
            slots[dim] = Slot(
                expr, self.probe(sql, column), node.column_timezone, node.partition_format, declared(node, expr)
            )
        return slots

    def translated(self, text: Located, source: str, target: str) -> Located:
        from partwise.rendering.translate import translate

        try:
            return translate(text, source, target)
        except RenderError as error:
            raise placed(error, None, self.node) from None

    def passing(self, query: Query, output: Mapping[str, Slot]) -> tuple[Condition, ...]:
        """The filtered inputs that all rows of the output come from, their partition columns unchanged.

        One per arm of a UNION; none when that cannot be shown.
        """
        if self.node.dialect == "snowflake" and '"' in query.text:
            return ()  # names there differ by case, which is not looked at here
        holes: list[set[int]] = []
        for dim, slot in output.items():
            origins = query.output_origins(slot.expr.column) if slot.expr.column is not None else None
            if origins is None:
                return ()
            holes = holes or [set() for _ in origins]
            for arm, origin in zip(holes, origins, strict=True):
                hole = self.holes.get(id(origin.table))
                theirs = self.conditions[hole].all_slots.get(dim) if hole is not None and not origin.nullable else None
                if hole is None or theirs is None or theirs.expr.column is None:
                    return ()
                if not same_name(theirs.expr.column, origin.column):
                    return ()
                arm.add(hole)
        if any(len(arm) != 1 for arm in holes):
            return ()
        return tuple(self.conditions[hole] for arm in holes for hole in arm)

    def refuse_full_scan(self, text: Located, query: Query) -> None:
        node = self.node
        uses = [use for use in self.writing.uses if use.kind == "relation" and not use.is_this and use.node is not None]
        named = ", ".join(dict.fromkeys(use.call for use in uses))
        error = RenderError(
            f"`{node.name}` is partitioned, and none of its inputs{f' ({named})' if named else ''} is filtered: every "
            "run would read everything",
            hint="give an input a partition_expr, write where {{ partition_filter('column') }}, or say full_scan: true",
        )
        raise placed(error, text.at(min(query.start, len(text) - 1)), node)
