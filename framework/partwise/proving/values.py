"""What is known of the columns and rows of a relation while a query is followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from partwise.proving.forms import Form

if TYPE_CHECKING:
    from sqlglot import exp

Keys = Mapping[str, Form]
_NONE: Keys = {}


@dataclass(frozen=True, slots=True)
class Fault:
    """Why one query may give other rows than one per partition. `certain`: there are rows for which it does."""

    reason: str
    node: exp.Expr | None = None
    certain: bool = False
    example: str = ""

    def doubted(self) -> Fault:
        """The same, where what follows in the query might undo it."""
        return replace(self, certain=False, example="") if self.certain else self


@dataclass(frozen=True, slots=True)
class Col:
    """A value of one row.

    `keys`: the dimensions whose partition it tells, and how. `weak`: those it tells when it is not NULL. `halves`:
    the same for one side of a FULL JOIN, with the join's number and side. `fault`: the value itself may differ.
    `moved`: why it is no key although made from one.
    """

    keys: Keys = field(default_factory=dict)
    weak: Keys = field(default_factory=dict)
    halves: tuple[tuple[str, Form, int, str], ...] = ()
    fault: Fault | None = None
    moved: Fault | None = None
    outer: bool = False  # belongs to a query around this one
    place: tuple[int, str] | None = None  # number of its source in FROM, and its name there
    bare: bool = False  # a column, as it stands
    raw: bool = False  # as it stands in an input, so that any values can be imagined

    def nullable(self) -> Col:
        """The same behind an outer join that may replace it by NULL."""
        return replace(self, keys={}, weak={**self.weak, **self.keys}, halves=(), place=None)


OPAQUE = Col()
RAW = Col(raw=True)


@dataclass(frozen=True, slots=True)
class Rel:
    """The rows of a relation, as a function of the set of partitions asked for.

    They depend on the set by the dimensions `deps` only; what lies in the set (by the key columns) is complete and
    right, whatever else is there. `tight`: dimensions by which nothing lies outside, jointly. `back`: how many windows
    before the set are complete too. `open`: has other columns than `cols`, all of them plain. `unique`: names that
    tell rows apart. `free`: rows can be imagined freely, so that a fault shows.
    """

    cols: Mapping[str, Col] = field(default_factory=dict)
    open: bool = True
    deps: frozenset[str] = frozenset()
    tight: frozenset[frozenset[str]] = frozenset()
    back: Mapping[str, int] = field(default_factory=dict)
    unique: frozenset[frozenset[str]] = frozenset()
    free: bool = False
    fault: Fault | None = None
    exprs: Mapping[str, Col] = field(default_factory=dict)  # by text, of columns of this relation

    def col(self, name: str) -> Col | None:
        """A column by name; None when it is not known to have it."""
        return self.cols.get(name.lower())

    def has(self, name: str) -> bool | None:
        """Whether it has a column; None when that is not known."""
        if name.lower() in self.cols:
            return True
        return None if self.open else False


FIXED = Rel()
