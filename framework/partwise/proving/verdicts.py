"""Verdicts on the models of a project, each worked out when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from partwise.adapters.base import Column
from partwise.errors import PartwiseError
from partwise.nodes import Node, RelationName
from partwise.proving.prove import Verdict, prove
from partwise.rendering import literals
from partwise.rendering.linemap import Location
from partwise.rendering.prepare import Describe, fetch_types
from partwise.rendering.render import Renderer
from partwise.rendering.splice import stub

Look = Callable[[RelationName], Sequence[Column] | None]
"""The columns of a relation of the warehouse, None when it is not there."""


@dataclass(slots=True)
class Verdicts(Mapping[str, Verdict]):
    """The verdict of each partitioned model, by unique id.

    `describe` and `look` ask the warehouse; without it types are not known, and less can be proven. An input that is
    not built yet is known by the columns that its own query would give.
    """

    nodes: Mapping[str, Node]
    renderer: Renderer
    describe: Describe | None = None
    look: Look | None = None
    _kept: dict[str, Verdict] = field(default_factory=dict)
    _columns: dict[str, tuple[Column, ...] | None] = field(default_factory=dict)

    def __getitem__(self, uid: str) -> Verdict:
        if uid not in self._kept:
            node = self.nodes[uid]
            if not node.is_partitioned:
                raise KeyError(uid)
            self._kept[uid] = self._judge(node)
        return self._kept[uid]

    def __iter__(self) -> Iterator[str]:
        return (uid for uid, node in self.nodes.items() if node.is_partitioned)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _judge(self, node: Node) -> Verdict:
        try:
            composed = self.renderer.compose(node, None)
            types = fetch_types(composed, self._describe(node)) if self.describe is not None else {}
            columns = self._by_name(node)
        except PartwiseError as error:  # running it says what is wrong
            place = Location(error.file or node.path, error.line)
            return Verdict("unknown", f"it cannot be rendered yet: {error.message}", place)
        return prove(composed, types, columns)

    def _by_name(self, node: Node) -> dict[str, tuple[str, ...]]:
        """The columns of what a query may name, by the names it may use."""
        columns: dict[str, tuple[str, ...]] = {}
        for up in self._inputs(node):
            found = self.columns(up)
            if found is not None:
                parts = [p for p in (up.relation.database, up.relation.schema, up.relation.identifier) if p]
                names = tuple(column.name for column in found)
                columns.update({".".join(parts[i:]).lower(): names for i in range(len(parts) - 1)})
        return columns

    def _inputs(self, node: Node) -> list[Node]:
        """The relations a query may name: its own inputs, and those of ephemeral models in it."""
        found: dict[str, Node] = {}
        todo = [node]
        while todo:
            for edge in todo.pop().edges:
                up = self.nodes.get(edge.upstream)
                if up is not None and up.unique_id not in found:
                    found[up.unique_id] = up
                    if up.materialized == "ephemeral":
                        todo.append(up)
        return list(found.values())

    def columns(self, node: Node) -> tuple[Column, ...] | None:
        """The columns of a relation: as it stands, or as its query would make it; None when neither is known."""
        uid = node.unique_id
        if uid not in self._columns:
            self._columns[uid] = None  # a cycle ends here
            self._columns[uid] = self._found_columns(node)
        return self._columns[uid]

    def _found_columns(self, node: Node) -> tuple[Column, ...] | None:
        if self.look is None or self.describe is None or node.materialized == "ephemeral":
            return None
        there = self.look(node.relation)
        if there is not None:
            return tuple(there)
        if node.resource_type != "model":
            return None
        try:
            composed = self.renderer.compose(node, None)
            return None if composed.reads_this else tuple(self._describe(node)(composed.describe_sql))
        except PartwiseError:
            return None

    def _describe(self, node: Node) -> Describe:
        """`describe`, for a query whose inputs may not be built yet."""
        assert self.describe is not None and self.look is not None
        ask, dialect = self.describe, self.renderer.dialect
        missing: dict[str, str] = {}
        for up in self._inputs(node):
            if up.materialized != "ephemeral" and up.resource_type == "model" and self.look(up.relation) is None:
                columns = self.columns(up)
                if columns is not None:
                    missing[literals.relation(up.relation, dialect)] = stub(columns, dialect)

        def describe(sql: str) -> Sequence[Column]:
            for name, instead in missing.items():
                literal = instead.replace("\\", "\\\\")
                sql = re.sub(rf"(?<![\w.\"]){re.escape(name)}(?![\w.\"])", literal, sql)
            return ask(sql)

        return describe

