"""The names that an expression of one SELECT can use, and what is known of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from partwise.partitions.axes import Axis
from partwise.proving.exprs import same_text, value
from partwise.proving.forms import Form
from partwise.proving.values import OPAQUE, RAW, Col, Fault, Rel

if TYPE_CHECKING:
    from partwise.proving.query import Follower


@dataclass(slots=True)
class Scope:
    """The relations of a FROM, and what was found of their rows together (see `Rel` for the meaning of these)."""

    follower: Follower
    parent: Scope | None = None
    env: Mapping[str, object] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    rels: list[Rel] = field(default_factory=list)
    using: dict[str, Col] = field(default_factory=dict)
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    named: dict[tuple[int, str], dict[str, Form]] = field(default_factory=dict)  # columns made keys by a comparison
    texts: dict[str, Col] = field(default_factory=dict)  # expressions made keys by a condition
    deps: frozenset[str] = frozenset()
    pinned: frozenset[str] = frozenset()
    tight: frozenset[frozenset[str]] = frozenset()
    back: dict[str, int] = field(default_factory=dict)
    free: bool = True
    fault: Fault | None = None
    asked: set[str] = field(default_factory=set)
    windows: dict[str, exp.Expr] = field(default_factory=dict)
    grouped: bool = False
    unique: frozenset[frozenset[str]] = frozenset()
    spent: dict[str, int] = field(default_factory=dict)  # how far back its windows looked

    @property
    def dialect(self) -> str:
        return self.follower.dialect

    @property
    def axes(self) -> Mapping[str, Axis]:
        return self.follower.axes

    @property
    def open_deps(self) -> frozenset[str]:
        """The dimensions its rows depend on, but for those a query around it has settled."""
        return self.deps - self.pinned

    def fail(self, fault: Fault | None) -> None:
        """Note a fault; the first one counts, and a certain one before a doubted."""
        if fault is not None and (self.fault is None or (fault.certain and not self.fault.certain)):
            self.fault = fault

    def add(self, name: str, rel: Rel) -> int:
        self.names.append(name.lower())
        self.rels.append(rel)
        self.fail(rel.fault)
        return len(self.rels) - 1

    # ------------------------------------------------------------ names

    def column(self, i: int, name: str) -> Col:
        """A column of one source."""
        rel, low = self.rels[i], name.lower()
        found = rel.cols.get(low, RAW if rel.open else OPAQUE)
        more = self.named.get((i, low))
        if more:
            found = replace(found, keys={**found.keys, **more})
        return replace(found, place=(i, low), bare=True)

    def resolve(self, column: exp.Column, group: bool = False) -> Col:
        parts = column.parts
        name = column.name
        if isinstance(column.this, exp.Star):
            return OPAQUE
        if name.lower() in ("nextval", "currval") and len(parts) > 1:
            return Col(fault=Fault(f"{column.sql()} gives another value each time it is asked", column))
        if name.startswith("__pw_"):
            return Col(fault=Fault("a partition condition or constant inside an expression is not followed", column))
        if len(parts) > 1:
            return self._qualified(column)
        return self._plain(column, name, group)

    def _qualified(self, column: exp.Column) -> Col:
        table = column.table.lower()
        found = [i for i, name in enumerate(self.names) if name == table]
        if len(found) == 1 and len(column.parts) <= 3:
            return self.column(found[0], column.name)
        if not found and self.parent is not None:
            outer = self.parent._qualified(column)
            return replace(outer, outer=True)
        if found:
            return OPAQUE
        # a field of a struct
        base = self._plain(column, column.parts[0].name, False)
        return Col(fault=base.fault and base.fault.doubted(), outer=base.outer)

    def _plain(self, column: exp.Column, name: str, group: bool) -> Col:
        low = name.lower()
        if low in self.using:
            return self.using[low]
        known = [i for i, rel in enumerate(self.rels) if rel.has(low) or (i, low) in self.named]
        if len(known) == 1:
            return self.column(known[0], low)
        if known:
            return OPAQUE
        is_open = any(rel.open for rel in self.rels)
        if low in self.aliases and low not in self.asked:
            self.asked.add(low)
            made = value(self.aliases[low], self)
            self.asked.discard(low)
            if group or not (is_open or self.parent is not None):
                return replace(made, bare=False, raw=False)
            return Col(fault=made.fault)
        if is_open or self.parent is None:
            return replace(RAW, bare=True, place=(0, low) if len(self.rels) == 1 else None)
        return replace(self.parent._plain(column, name, False), outer=True)

    def known_expr(self, e: exp.Expr) -> Col | None:
        """An expression that a condition compared with the partitions: as the partition expr of an input is."""
        if len(self.rels) != 1 or not (self.texts or self.rels[0].exprs):
            return None
        found = {**self.rels[0].exprs, **self.texts}.get(same_text(e))
        if found is None or any(isinstance(n, exp.Query) for n in e.walk()):
            return None
        mine = all(not col.outer and col.place is not None for col in map(self.resolve, e.find_all(exp.Column)))
        return found if mine else None

    def sources_of(self, e: exp.Expr) -> set[int] | None:
        """The sources whose columns an expression reads; None when that is not known."""
        found: set[int] = set()
        for column in e.find_all(exp.Column):
            col = self.resolve(column)
            if col.outer:
                continue
            if col.place is None:
                return None
            found.add(col.place[0])
        return found

    # ------------------------------------------------------------ keys

    def narrow(self, inner: Rel) -> None:
        """A subquery that reads less far back makes the rows it is asked for right only so far."""
        for dim in self.deps:
            if dim in inner.back or dim in inner.deps:
                self.back[dim] = min(self.back.get(dim, 0), inner.back.get(dim, 0))

    def name_key(self, col: Col, dim: str, form: Form) -> bool:
        """Make a column of rows that do not depend on a dimension the key of it. False when it cannot be one."""
        if col.outer or col.place is None or not col.bare or dim in self.deps or col.fault is not None:
            return False
        i, name = col.place
        if dim in self.rels[i].deps:
            return False
        self.named.setdefault((i, name), {})[dim] = form
        if name in self.using:
            self.using[name] = replace(self.using[name], keys={**self.using[name].keys, dim: form})
        return True
