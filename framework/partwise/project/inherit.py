"""Partitions of drafts: definitions made, handed on through views, and checked along every edge."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as MappingOf
from typing import Any

from partwise import mapping as mappings
from partwise.errors import PartitionError, PartwiseError, ProjectError, did_you_mean
from partwise.nodes import Edge
from partwise.partitions import Definition
from partwise.project import constructors
from partwise.project.config import partition_exprs
from partwise.project.draft import Around, Draft, placed
from partwise.project.passthrough import columns_by_sqlglot, columns_of, passes_through
from partwise.project.sqltext import mark


class Partitioner:
    """Settles the partitions of drafts, upstream first. What is wrong goes to `fail`."""

    def __init__(
        self, around: Around, drafts: MappingOf[str, Draft], fail: Callable[[PartwiseError, Draft], None]
    ) -> None:
        self.around = around
        self.drafts = drafts
        self._fail = fail
        self._definitions: dict[str, Definition] = {}

    def settle(self, draft: Draft) -> None:
        """Everything about the partitions of one draft, once what it reads is settled."""
        if not draft.broken:
            self.define(draft)
        if not draft.broken and draft.definition is None and draft.materialized in ("view", "ephemeral"):
            self.inherit(draft)
        if not draft.broken:
            self.check_edges(draft)

    def _dialect(self, draft: Draft) -> str:
        return draft.dialect(self.around)

    def define(self, draft: Draft) -> None:
        try:
            if draft.config.get("policy"):
                draft.policy = constructors.policy_from(draft.config["policy"])
        except PartwiseError as error:
            self._fail(placed(error, draft.place("policy")), draft)
        given = draft.config.get("partitions")
        try:
            if given is not None:
                draft.definition = self.definition(given)
                draft.partitions = draft.config["partitions"] = constructors.definition_text(draft.definition)
        except PartwiseError as error:
            self._fail(placed(error, draft.place("partitions")), draft)
            return
        dims = None if draft.definition is None else tuple(draft.definition.dims)
        kind = "" if draft.definition is None else draft.definition.kind
        try:
            draft.exprs = partition_exprs(draft.config.get("partition_expr"), dims, kind)
        except PartwiseError as error:
            self._fail(placed(error, draft.place("partition_expr")), draft)
            return
        if dims is not None and not draft.exprs:
            example = "'flight_date'" if len(dims) == 1 else "{" + ", ".join(f"'{d}': '...'" for d in dims) + "}"
            hint = f"write the SQL expression that places a row in its partition: partition_expr={example}"
            message = f"`{draft.name}` has partitions and no partition_expr"
            self._fail(ProjectError(message, **draft.place("partitions"), hint=hint), draft)

    def definition(self, given: Any) -> Definition:
        """The definition of a config value; equal values give the same object."""
        key = repr(given)
        if key not in self._definitions:
            self._definitions[key] = constructors.definition_from(given, self.around.named)
        return self._definitions[key]

    def inherit(self, draft: Draft) -> None:
        """A view over one partitioned input takes over its partitions when the partition column passes through."""
        inputs = [(e, n) for e, n in zip(draft.edges, draft.marks, strict=True) if self.drafts[e.upstream].exprs]
        inputs = [(e, n) for e, n in inputs if self.drafts[e.upstream].definition is not None or draft.exprs == {}]
        if len(inputs) != 1 or draft.parsed is None:
            return
        edge, numbers = inputs[0]
        upstream = self.drafts[edge.upstream]
        if edge.whole or edge.mapping is not None or min(numbers) < 0:
            return
        if draft.exprs:  # it says itself where the partition column is
            if upstream.definition is not None and len(upstream.definition.dims) == len(draft.exprs):
                self._take_over(draft, upstream)
                value = draft.exprs.get("", draft.exprs)
                draft.exprs = partition_exprs(value, tuple(upstream.definition.dims), upstream.definition.kind)
            return
        dialect = self._dialect(draft)
        columns: set[str] = set()
        for text in upstream.exprs.values():
            found = columns_of(text) or columns_by_sqlglot(text, self._dialect(upstream))
            if not found:
                return
            columns |= found
        sql = draft.parsed.sql
        for number in numbers[1:]:
            sql = sql.replace(mark(number), mark(numbers[0]))
        if dialect != self._dialect(upstream) or not passes_through(sql, mark(numbers[0]), frozenset(columns), dialect):
            return
        self._take_over(draft, upstream)
        draft.exprs = upstream.exprs

    def _take_over(self, draft: Draft, upstream: Draft) -> None:
        draft.definition, draft.partitions = upstream.definition, upstream.partitions
        draft.inherited_from = upstream.unique_id

    def check_edges(self, draft: Draft) -> None:
        for edge in draft.edges:
            upstream = self.drafts[edge.upstream]
            if upstream.broken:
                continue
            try:
                self._check_edge(draft, edge, upstream)
            except PartitionError as error:
                named = f"`{draft.name}` reads `{upstream.name}`: {error.message}"
                made = PartitionError(named, file=draft.path, line=edge.line, model=draft.name, hint=error.hint)
                self._fail(made, draft)

    def _check_edge(self, draft: Draft, edge: Edge, upstream: Draft) -> None:
        down, up = draft.definition, upstream.definition
        for dimension, _ in edge.filter:
            if down is None or dimension not in down.dims:
                names = () if down is None else tuple(down.dims)
                ways = "filter takes {dimension of this model: expression over the input}"
                hint = did_you_mean(dimension, names) or ways
                raise PartitionError(f"`filter` names `{dimension}`, no dimension of `{draft.name}`", hint=hint)
        if edge.whole:
            return
        if up is None:
            if edge.mapping is not None and not upstream.exprs and not isinstance(edge.mapping, mappings.All):
                raise PartitionError("it is not partitioned, so `mapping` has no effect", hint="leave it out")
        elif down is not None:
            if edge.mapping is None:
                mappings.infer(up, down)
            else:
                mappings.check(edge.mapping, up, down)
        elif isinstance(edge.mapping, (mappings.TimeWindow, mappings.StaticMap, mappings.Dims)):
            message = f"`{draft.name}` is not partitioned, so this mapping has no meaning"
            raise PartitionError(message, hint=mappings.WAYS)
