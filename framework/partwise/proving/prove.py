"""Whether one query over many partitions gives the same rows as one query per partition.

    verdict = prove(composed, types, columns)       # proven | refuted | unknown, with the reason and the line

The query is followed from its filtered inputs to its output. What is carried along is which columns tell the partition
of a row. *Proven* means: for any set of partitions, the rows of one guarded query are those of one guarded query per
partition. *Refuted* means there are rows for which they differ. What is not known to be safe is *unknown*.

Everything here is a function of its arguments. sqlglot, which is slow to load, is imported when a verdict is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from partwise.errors import PartwiseError
from partwise.rendering.composed import Composed
from partwise.rendering.linemap import Location
from partwise.rendering.sqltypes import SqlType

if TYPE_CHECKING:
    from sqlglot import exp

    from partwise.proving.values import Fault, Rel

Kind = Literal["proven", "refuted", "unknown"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of a model. `example` says how it goes wrong, where that is certain.

    `stays`: no row leaves its partition in the unguarded query either, so leaks need not be counted.
    """

    kind: Kind
    reason: str
    where: Location | None = None
    example: str = ""
    stays: bool = False

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where is not None else ""
        return f"{place}{self.reason}"


def prove(
    composed: Composed,
    types: Mapping[str, SqlType] | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
) -> Verdict:
    """The verdict on a model's query.

    `types` are those of the probes (see `prepare.fetch_types`), `columns` the columns of relations by their name as it
    is written in the query; both may be left out, at the price of more *unknown*.
    """
    return _Prover(composed, types or {}, columns or {}).verdict()


class _Prover:
    def __init__(
        self, composed: Composed, types: Mapping[str, SqlType], columns: Mapping[str, Sequence[str]]
    ) -> None:
        self.composed = composed
        self.types = types
        self.columns = columns

    def verdict(self) -> Verdict:
        composed, node = self.composed, self.composed.node
        start = Location(node.path, node.line)
        if node.definition is None:
            return Verdict("unknown", "the model has no partitions", start)
        if composed.reads_this or node.reads_own_past:
            why = "it reads its own past, which a query over several partitions has not built yet"
            return Verdict("refuted", why, start, "a partition that needs the one before it, in the same run")
        if not composed.is_reusable:
            return Verdict("unknown", "its template looks at the partitions of the run", start)
        if composed.dialect == "snowflake" and '"' in str.__str__(composed.text):
            return Verdict("unknown", "names in quotes, which differ by case, are not followed", start)
        import sqlglot

        try:
            tree = sqlglot.parse_one(str.__str__(composed.text).rstrip().rstrip(";"), read=composed.dialect)
        except sqlglot.errors.SqlglotError:
            return Verdict("unknown", "the query cannot be read", start)
        return self._judge(tree, start)

    def _judge(self, tree: exp.Expr, start: Location) -> Verdict:
        from partwise.proving.forms import Unfollowed, regions
        from partwise.proving.query import Follower
        from partwise.proving.values import Fault

        composed, definition = self.composed, self.composed.node.definition
        assert definition is not None
        holes: dict[int, object] = {}
        for hole, condition in composed.conditions.items():
            try:
                holes[hole] = regions(condition, definition, self.types)
            except (Unfollowed, PartwiseError) as error:
                holes[hole] = Fault(f"an input is read in a way that is not followed: {error}")
        follower = Follower(composed.dialect, definition.dims, holes, self.columns)  # type: ignore[arg-type]
        rel = follower.query(tree, {})
        fault = rel.fault or next((col.fault for col in rel.cols.values() if col.fault is not None), None)
        if fault is not None:
            return self._faulty(fault.doubted() if self._may_tell(rel) else fault, start)
        return self._output(rel, tree, start)

    def _may_tell(self, rel: Rel) -> bool:
        """Whether the output is placed by a column of an input that may tell its partition without our knowing.

        `flight_date` of an input that is partitioned by `departed_at`: nothing is certain then.
        """
        placed = [rel.cols.get(str(slot.expr.column).lower()) for slot in self.composed.output.values()]
        return any(col is None or (col.raw and not col.keys and col.moved is None) for col in placed)

    def _faulty(self, fault: Fault, start: Location) -> Verdict:
        kind: Kind = "refuted" if fault.certain else "unknown"
        example = fault.example if fault.certain else ""
        return Verdict(kind, fault.reason, self._place(fault.node) or start, example)

    def _place(self, node: exp.Expr | None) -> Location | None:
        at = node
        while at is not None:
            starts = [n.meta["start"] for n in at.walk() if "start" in n.meta]
            if starts:
                return self.composed.text.at(min(starts))
            at = at.parent
        return None

    def _output(self, rel: Rel, tree: exp.Expr, start: Location) -> Verdict:
        """Whether the model's own partition exprs place each row where its inputs were."""
        import sqlglot

        from partwise.proving.exprs import value
        from partwise.proving.forms import form_of
        from partwise.proving.query import Follower
        from partwise.proving.scopes import Scope

        composed, definition = self.composed, self.composed.node.definition
        assert definition is not None
        follower = Follower(composed.dialect, definition.dims, {}, {})
        scope = Scope(follower)
        scope.add(composed.node.relation.identifier, rel)
        has_sets = any(n.key in ("union", "except", "intersect", "values") for n in tree.walk())
        for dim, slot in composed.output.items():
            written = slot.expr.write(composed.dialect)
            col = value(sqlglot.parse_one(written, read=composed.dialect), scope)
            if col.fault is not None:
                return self._faulty(col.fault, start)
            if dim not in rel.deps:
                continue
            form = col.keys.get(dim)
            if form is None:
                if col.moved is not None:
                    return self._faulty(col.moved, start)
                why = f"`{written}` is not shown to be the partition column of an input, passed on unchanged"
                return Verdict("unknown", why, self._place(self._projection(tree, written)) or start)
            own = form_of(slot, definition.dims[dim], self.types)
            if own.kind == "unknown":
                if has_sets or (own.zone != form.zone and form.kind in ("wall", "unknown", "text", "number")):
                    return Verdict("unknown", f"the type of `{written}` is not known yet", start)
                continue
            if own.kind == "key" and own.name.startswith("? "):
                continue
            if not own.same(form):
                how = f"{_shown(own)}, not {_shown(form)}"
                why = f"`{written}` places rows otherwise than the inputs are filtered ({how})"
                return Verdict("unknown", why, start)
        stays = bool(rel.deps) and any(set(definition.dims) <= group for group in rel.tight)
        if not rel.deps:
            return Verdict("proven", "its inputs are read whole, and the output is cut to the partitions wanted", start)
        dims = ", ".join(f"`{dim}`" for dim in definition.dims if dim in rel.deps)
        return Verdict("proven", f"every row is made from rows of its own {dims} partition", start, stays=stays)

    def _projection(self, tree: exp.Expr, name: str) -> exp.Expr | None:
        selects = tree.selects if hasattr(tree, "selects") else []
        return next((p for p in selects if p.alias_or_name.lower() == name.lower()), None)


def _shown(form: object) -> str:
    kind, zone = getattr(form, "kind", ""), getattr(form, "zone", "")
    names = {"wall": f"the clock of {zone}", "instant": "instants", "key": "keys", "unknown": "a type not known yet"}
    return names.get(kind, kind)
