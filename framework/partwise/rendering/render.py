"""A model and a set of partitions, as the SQL that runs.

    renderer = Renderer(engine, find_in(project.nodes), dialect="duckdb")
    prepared = prepare(renderer, node, partitions, adapter.describe)     # prepare.py: once per model
    rendered = fill(prepared.composed, partitions, types=prepared.types, now=now)    # once per run, 0.2 ms
    delete, insert = sql.write(rendered, [column.name for column in prepared.columns])

Everything here is a function of its arguments: types come from outside (by `describe`, an adapter's), `now` is given.
`partwise compile` and runs use the same calls, so what is shown is what runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from partwise import mapping as maps
from partwise.adapters.base import Column
from partwise.errors import PartwiseError, RenderError
from partwise.nodes import Node
from partwise.partitions import Definition, PartitionSet
from partwise.partitions.axes import KeyAxis, Slice, Spans, TimeAxis, merge, subtract
from partwise.planning.plan import Read
from partwise.project.jinja_env import Engine
from partwise.project.references import RefCall
from partwise.rendering.compose import compose
from partwise.rendering.composed import Composed, Condition, Slot
from partwise.rendering.linemap import Location, edit
from partwise.rendering.marks import HOLE, Lookup, placed
from partwise.rendering.predicates import NEVER, Notes, PartitionExpr, axis_filter, before, excluding, set_filter
from partwise.rendering.rendered import FilteredInput, Rendered
from partwise.rendering.repeats import reading_set
from partwise.rendering.sqltypes import UNKNOWN, SqlType

Types = Mapping[str, SqlType]
"""The types of expressions, by the `sql` of their probe; one that is missing is not known yet."""


@dataclass(slots=True)
class Renderer:
    """Renders the models of one project for one target. Threads may share it: at worst two compose the same model.

    `lookup` says which node a ref means (`find_in(nodes)` for the plain rule).
    """

    engine: Engine
    lookup: Lookup
    dialect: str
    _composed: dict[tuple[str, bool], Composed] = field(default_factory=dict)

    def compose(
        self,
        node: Node,
        partitions: PartitionSet | None = None,
        *,
        table_exists: bool = True,
        this_columns: Sequence[Column] | None = None,
    ) -> Composed:
        """The model's query with holes. Kept, and used for every set, where the template does not look at the set."""
        key = (node.unique_id, table_exists)
        kept = self._composed.get(key)
        if kept is not None and kept.node is node and this_columns is None:
            return kept
        given = {"partitions": partitions, "table_exists": table_exists, "this_columns": this_columns}
        made = compose(node, self.engine, self.lookup, self.dialect, **given)  # type: ignore[arg-type]
        if made.is_reusable and this_columns is None:
            self._composed[key] = made
        return made

    def render(
        self,
        node: Node,
        partitions: PartitionSet | None,
        *,
        types: Types,
        now: datetime,
        table_exists: bool = True,
        this_columns: Sequence[Column] | None = None,
    ) -> Rendered:
        """The SQL that builds `partitions` of a model (None: what has no partitions)."""
        composed = self.compose(node, partitions, table_exists=table_exists, this_columns=this_columns)
        return fill(composed, partitions, types=types, now=now)


def find_in(nodes: Mapping[str, Node]) -> Lookup:
    """The plain rule by which refs find nodes: sources by group and table, models and seeds by name."""
    sources = {(n.source_name, n.name): n for n in nodes.values() if n.resource_type == "source"}
    named = {n.name: n for n in nodes.values() if n.resource_type != "source"}

    def lookup(owner: Node, call: RefCall) -> Node | None:
        if call.kind == "source":
            return sources.get((call.group, call.name))
        found = named.get(call.name)
        return found if call.group is None or found is None or found.package == call.group else None

    return lookup


# ---------------------------------------------------------------- filling the holes


def fill(composed: Composed, partitions: PartitionSet | None, *, types: Types, now: datetime) -> Rendered:
    """The SQL of a composition for one set. Raises RenderError for types that cannot hold the set's bounds."""
    if not composed.is_reusable and composed.partitions != partitions:
        raise ValueError("this composition was made for another set of partitions")
    filler = _Filler(composed, partitions, types, now)
    conditions = {hole: filler.condition(condition) for hole, condition in composed.conditions.items()}
    text = composed.text
    edits = [
        (match.start(), match.end(), conditions[int(match[1])])
        for match in HOLE.finditer(text)
        if int(match[1]) in conditions
    ]
    guard = None
    if partitions is not None and composed.output:
        exprs = {dim: filler.expr(slot) for dim, slot in composed.output.items()}
        try:
            guard = set_filter(partitions, exprs, composed.dialect, filler.notes)
        except PartwiseError as error:
            raise filler.placed(error, None) from None
    return Rendered(
        node=composed.node,
        dialect=composed.dialect,
        select=edit(text, edits) if edits else text,
        guard=guard,
        partitions=partitions,
        reads=tuple(dict.fromkeys((*filler.reads, *(Read(uid, None) for uid in composed.whole_reads)))),
        filtered=tuple(filler.filtered.values()),
        warnings=(*composed.warnings, *filler.notes.warnings),
        notes=tuple(filler.unknown),
        is_leak_proof=filler.is_leak_proof(),
        reads_this=composed.reads_this,
    )


class _Filler:
    def __init__(self, composed: Composed, partitions: PartitionSet | None, types: Types, now: datetime) -> None:
        self.composed = composed
        self.dialect = composed.dialect
        self.partitions = partitions
        self.types = types
        self.now = now
        self.notes = Notes()
        self.unknown: dict[str, None] = {}
        self.reads: list[Read] = []
        self.filtered: dict[str, FilteredInput] = {}

    def expr(self, slot: Slot) -> PartitionExpr:
        written = slot.expr.write(self.dialect)
        found = self.types.get(slot.probe) or slot.declared or UNKNOWN
        if found.kind == "unknown":
            self.unknown.setdefault(f"the type of `{written}` is not known yet: its bounds are a guess")
        return PartitionExpr(written, found, slot.timezone, slot.format)

    def condition(self, condition: Condition) -> str:
        try:
            made = getattr(self, f"_{condition.kind}")(condition)
        except PartwiseError as error:
            raise self.placed(error, condition.where) from None
        if condition.grouped and (" and " in made or " or " in made):
            return f"({made})"
        return str(made)

    def placed(self, error: PartwiseError, where: Location | None) -> RenderError:
        """The error as one of rendering, at the line of the filter it is about (of the model, without one)."""
        node = self.composed.node
        made = RenderError(error.message, file=error.file, line=error.line, hint=error.hint)
        return placed(made, where or Location(node.path, node.line), node)

    def _wanted(self) -> PartitionSet:
        if self.partitions is None:
            raise ValueError("a set of partitions is needed to fill this query")
        return self.partitions

    def _reading(self) -> PartitionSet:
        """The set to read for: the run's own, but for passes of a repeated hour that its column cannot tell apart."""
        reading = self._wanted()
        for dim, slot in self.composed.output.items():
            axis = reading.definition.dims[dim]
            expr = self.expr(slot)
            if isinstance(axis, TimeAxis) and expr.is_wall_clock:
                reading = reading_set(reading, dim, expr.timezone or axis.timezone)
        return reading

    def _constant(self, condition: Condition) -> str:
        assert condition.write is not None
        return condition.write(self._wanted(), self.dialect)

    def _read(self, condition: Condition) -> str:
        upstream = condition.upstream
        assert upstream is not None
        exprs = {dim: self.expr(slot) for dim, slot in condition.slots.items()}
        self._note_filtered(condition)
        if self.partitions is None:
            last = condition.hops[-1].definition
            found = last.existing(self.now)
            self.reads.append(Read(upstream.unique_id, found))
            return set_filter(found, exprs, self.dialect, self.notes)
        if not condition.reader_slots:
            found = self._needed(condition, self._reading())
            self.reads.append(Read(upstream.unique_id, found))
            return set_filter(found, exprs, self.dialect, self.notes)
        return self._read_by_box(condition, exprs)

    def _read_by_box(self, condition: Condition, exprs: Mapping[str, PartitionExpr]) -> str:
        """Mapped partitions and a filter on the reader's own dimensions: paired rectangle by rectangle, exactly."""
        wanted, terms = self._reading(), []
        all_found: PartitionSet | None = None
        mine = {dim: self.expr(slot) for dim, slot in condition.reader_slots.items()}
        for part in _rectangles(wanted):
            found = self._needed(condition, part)
            all_found = found if all_found is None else all_found | found
            pairs = ((found, exprs), (part, mine))
            sides = [set_filter(some, by, self.dialect, self.notes) for some, by in pairs]
            if NEVER not in sides:
                terms.append(" and ".join(f"({side})" if " or " in side else side for side in sides))
        if all_found is not None and condition.upstream is not None:
            self.reads.append(Read(condition.upstream.unique_id, all_found))
        if not terms:
            return NEVER
        return terms[0] if len(terms) == 1 else " or ".join(f"({term})" for term in terms)

    def _needed(self, condition: Condition, wanted: PartitionSet) -> PartitionSet:
        """The upstream partitions of a set, ended or not, as far as the upstream's definition holds them."""
        need = wanted
        for hop in condition.hops:
            found = maps.upstream(hop.mapping, need, of=hop.definition, now=self.now)
            need = found.existing | found.nonexistent
        return condition.hops[-1].definition.clip(need)

    def _own(self, condition: Condition) -> str:
        wanted = _widened(self._reading(), *condition.offsets)
        exprs = {dim: self.expr(slot) for dim, slot in condition.all_slots.items()}
        if condition.upstream is not None:
            self._note_filtered(condition)
            self.reads.append(Read(condition.upstream.unique_id, wanted))
        return set_filter(wanted, exprs, self.dialect, self.notes)

    def _past(self, condition: Condition) -> str:
        wanted = self._wanted()
        exprs = {dim: self.expr(slot) for dim, slot in condition.slots.items()}
        axis = wanted.definition.time_axis
        if axis is not None:
            spans = wanted.spans(axis.name)
            return before(axis, spans[0][0], exprs[axis.name], self.dialect, self.notes) if spans else NEVER
        if len(exprs) == 1:
            ((name, expr),) = exprs.items()
            only = wanted.definition.dims[name]
            if isinstance(only, KeyAxis):
                return excluding(only.sorted(k for k in wanted.project(name) if isinstance(k, str)), expr, self.dialect)
        return f"not ({set_filter(wanted, exprs, self.dialect, self.notes)})"

    def _shifted(self, condition: Condition) -> str:
        wanted = self._wanted()
        moved = wanted.definition.clip(_widened(wanted, *condition.offsets))
        exprs = {dim: self.expr(slot) for dim, slot in condition.slots.items()}
        return set_filter(moved, exprs, self.dialect, self.notes)

    def _note_filtered(self, condition: Condition) -> None:
        upstream = condition.upstream
        if upstream is None or upstream.materialized == "ephemeral":
            return
        slots = condition.all_slots.values()
        exprs = tuple(dict.fromkeys(slot.expr.write(self.dialect) for slot in slots))
        self.filtered.setdefault(upstream.unique_id, FilteredInput(upstream, upstream.relation, exprs))

    def is_leak_proof(self) -> bool:
        """Whether every row that can come out lies in the set: all partition columns pass through from inputs whose
        filters, with the output's columns in place of the input's, are the guard itself."""
        partitions = self.partitions
        if partitions is None or not self.composed.passes:
            return False
        own = self._canonical([(partitions, self.composed.output)])
        return own is not None and all(self._filter_of(passes, partitions) == own for passes in self.composed.passes)

    def _filter_of(self, condition: Condition, partitions: PartitionSet) -> object:
        if condition.kind == "own" and condition.offsets == (0, 0):
            return self._canonical([(partitions, condition.all_slots)])
        if condition.kind != "read":
            return None
        if not condition.reader_slots:
            return self._canonical([(self._needed(condition, partitions), condition.slots)])
        found: set[object] = set()
        for part in _rectangles(partitions):
            one = self._canonical([(self._needed(condition, part), condition.slots), (part, condition.reader_slots)])
            if one is None or len(one) != 1:
                return None
            found |= one
        return frozenset(found)

    def _canonical(self, sides: Sequence[tuple[PartitionSet, Mapping[str, Slot]]]) -> frozenset[object] | None:
        """A filter as the set of its rectangles, each the terms of its dimensions with the column's name taken out.

        Several sides hold together. None when the dimensions are not those of the output, or a type is not known.
        """
        terms: list[frozenset[object]] = [frozenset()]
        seen: set[str] = set()
        for partitions, slots in sides:
            dims = [dim for dim in slots if dim in partitions.definition.dims]
            exprs = {dim: replace(self.expr(slots[dim]), sql="c") for dim in dims}
            if seen & set(dims) or any(expr.type.kind == "unknown" for expr in exprs.values()):
                return None
            if len(sides) == 1 and set(partitions.definition.dims) != set(dims):
                return None
            seen |= set(dims)
            axes = partitions.definition.dims
            boxes = [
                frozenset(
                    (dim, expr, axis_filter(axes[dim], box.dims[dim], expr, self.dialect, Notes()))
                    for dim, expr in exprs.items()
                )
                for box in partitions.boxes()
            ]
            terms = [left | right for left in terms for right in boxes]
        return frozenset(terms) if seen == set(self.composed.output) else None


def _rectangles(partitions: PartitionSet) -> list[PartitionSet]:
    """The set cut into its rectangles."""
    of = partitions.definition
    return [of.product({name: _slice(of, name, box.dims) for name in box.dims}) for box in partitions.boxes()]


def _slice(definition: Definition, name: str, dims: Mapping[str, Sequence[object]]) -> Slice:
    if isinstance(definition.dims[name], TimeAxis):
        return tuple((span.lo, span.hi) for span in dims[name])  # type: ignore[attr-defined]
    return frozenset(str(key) for key in dims[name])


def _widened(wanted: PartitionSet, start: int, end: int) -> PartitionSet:
    """The set with each stretch of time reaching from `start` windows before (negative) to `end` windows after.

    Both moved by the same number: the set itself, moved. It may reach outside the definition; excluded windows are
    never in it.
    """
    axis = wanted.definition.time_axis
    if axis is None or (start, end) == (0, 0):
        return wanted
    boxes: list[dict[str, Slice]] = []
    for box in wanted.boxes():
        made = {name: _slice(wanted.definition, name, box.dims) for name in box.dims}
        spans: Spans = merge(
            (axis.shift(span.lo, start), axis.grid.after(axis.shift(axis.grid.floor(span.hi - 1), end)))  # type: ignore[union-attr]
            for span in box.dims[axis.name]
        )
        if axis.exclude and spans:
            spans = subtract(spans, axis.excluded_in(spans[0][0], spans[-1][1]))
        boxes.append({**made, axis.name: spans})
    return wanted.definition.union(boxes)
