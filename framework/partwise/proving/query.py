"""Following a query from its inputs to its output: what is known of the rows of each SELECT, join and set operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from partwise.partitions.axes import Axis
from partwise.proving.exprs import text_of, value
from partwise.proving.forms import Form, Region
from partwise.proving.scopes import Scope
from partwise.proving.values import FIXED, RAW, Col, Fault, Rel
from partwise.rendering.composed import Slot

Holes = Mapping[int, "tuple[tuple[Slot, Region], ...] | Fault"]
Env = Mapping[str, Any]
_SUBQUERY = frozenset("this alias with_ with limit offset order fetch".split())  # noqa: SIM905
_TABLE = frozenset("this db catalog alias joins".split())  # noqa: SIM905


class Follower:
    """Follows one query. `holes` says what each filter reads, `columns` which columns a relation has, where known."""

    def __init__(
        self, dialect: str, axes: Mapping[str, Axis], holes: Holes, columns: Mapping[str, Sequence[str]]
    ) -> None:
        self.dialect = dialect
        self.axes = axes
        self.holes = holes
        self.columns = columns
        self.depth = 0
        self.kept: dict[int, Rel] = {}
        self.numbers = 0

    def next_number(self) -> int:
        """A number that no other join has."""
        self.numbers += 1
        return self.numbers

    # ------------------------------------------------------------ queries

    def query(self, q: exp.Expr, env: Env, parent: Scope | None = None) -> Rel:
        """The rows of any query."""
        self.depth += 1
        try:
            if self.depth > 60:
                return replace(FIXED, fault=Fault("the query is nested too deeply to be followed", q))
            return self._query(q, env, parent)
        finally:
            self.depth -= 1

    def _query(self, q: exp.Expr, env: Env, parent: Scope | None) -> Rel:
        with_ = q.args.get("with_") or q.args.get("with")
        if with_ is not None:
            env = self.with_ctes(with_, env, parent)
        if isinstance(q, exp.Subquery):
            rel = self.query(q.this, env, parent)
            if any(given and key not in _SUBQUERY for key, given in q.args.items()):
                return _failed(rel, Fault("a clause behind a subquery is not followed", q))
            return self.limited(q, rel, rel.deps)
        if isinstance(q, exp.Select):
            return self.select(q, env, parent)
        if isinstance(q, exp.SetOperation):
            return self.limited(q, self.set_operation(q, env, parent), None)
        if isinstance(q, exp.Values):
            return self.made_up(q, Scope(self, parent, env))
        if isinstance(q, exp.Table):
            return self.table(q, env)
        return replace(FIXED, fault=Fault(f"{text_of(q, self.dialect)} is not followed", q))

    def with_ctes(self, with_: exp.Expr, env: Env, parent: Scope | None) -> Env:
        made = dict(env)
        for cte in with_.expressions:
            name = cte.alias.lower()
            recursive = bool(with_.args.get("recursive")) and any(
                t.name.lower() == name and not t.args.get("db") for t in cte.this.find_all(exp.Table)
            )
            made[name] = (cte, dict(made), parent, recursive)
        return made

    def table(self, t: exp.Table, env: Env) -> Rel:
        """A relation by name: a CTE, or what stands in the warehouse. A function in FROM gives rows of its own."""
        if any(given and key not in _TABLE for key, given in t.args.items()):
            return _failed(FIXED, Fault(f"a clause behind {text_of(t, self.dialect)} is not followed", t))
        if not isinstance(t.this, exp.Identifier):
            if t.this.key in ("generateseries", "unnest", "explode", "flatten"):
                return FIXED  # its arguments are looked at by `source`
            return replace(FIXED, fault=Fault(f"{text_of(t, self.dialect)} is not followed", t))
        entry = None if t.args.get("db") else env.get(t.name.lower())
        if entry is not None:
            return self.cte(entry)
        listed = self.columns.get(".".join(part.name for part in t.parts).lower())
        if listed is None:
            return FIXED
        return Rel({name.lower(): RAW for name in listed}, open=False)

    def cte(self, entry: Any) -> Rel:
        cte, env, parent, recursive = entry
        key = id(cte)
        if key not in self.kept:
            inner = {k: v for k, v in env.items() if k != cte.alias.lower()} if recursive else env
            rel = self.query(cte.this, inner, parent)
            if recursive:
                if rel.deps or rel.fault:
                    rel = _failed(rel, Fault("a recursive query over partitions is not followed", cte))
                else:
                    rel = FIXED
            self.kept[key] = renamed(rel, cte.args.get("alias"))
        return self.kept[key]

    def source(self, node: exp.Expr, scope: Scope) -> tuple[str, Rel]:
        """One relation of a FROM: its name there, and its rows."""
        if isinstance(node, exp.Table):
            rel = self.table(node, scope.env)
            if not isinstance(node.this, exp.Identifier) and rel.fault is None:
                rel = self.made_up(node.this, scope)
            return node.alias_or_name, renamed(rel, node.args.get("alias"))
        if isinstance(node, exp.Subquery):
            if node.args.get("joins"):
                return node.alias_or_name, _failed(FIXED, Fault("joins in parentheses are not followed", node))
            rel = self.query(node, scope.env, scope.parent)
            return node.alias_or_name, renamed(rel, node.args.get("alias"))
        if isinstance(node, exp.Values):
            return node.alias_or_name, renamed(self.made_up(node, scope), node.args.get("alias"))
        if isinstance(node, (exp.Lateral, exp.Unnest, exp.TableFromRows)):
            return node.alias_or_name, self.lateral(node, scope)
        return node.alias_or_name, _failed(FIXED, Fault(f"{text_of(node, self.dialect)} is not followed", node))

    def lateral(self, node: exp.Expr, scope: Scope) -> Rel:
        """Rows made from each row to the left."""
        inner = node.this if isinstance(node, (exp.Lateral, exp.TableFromRows)) else node
        if isinstance(inner, exp.Subquery):
            rel = self.query(inner.this, scope.env, scope)
            scope.narrow(rel)
            if rel.deps:
                rel = _failed(rel, Fault("a lateral query that is not joined on the partition column", node))
            return renamed(replace(rel, deps=frozenset(), free=False), node.args.get("alias"))
        kinds = ("explode", "unnest", "flatten", "generateseries", "inline", "posexplode")
        if inner.key not in kinds:
            return _failed(FIXED, Fault(f"{text_of(node, self.dialect)} is not followed", node))
        return self.made_up(inner, scope)

    def made_up(self, node: exp.Expr, scope: Scope) -> Rel:
        """Rows made from constants and from the row to the left."""
        if any(isinstance(n, (exp.Query, exp.AggFunc)) for n in node.walk() if not isinstance(n, exp.Values)):
            return _failed(FIXED, Fault(f"{text_of(node, self.dialect)} is not followed", node))
        for child in node.expressions or [node]:
            fault = value(child, scope).fault
            if fault is not None:
                return _failed(FIXED, fault.doubted())
        for child in (node.this,) if isinstance(node.this, exp.Expr) else ():
            fault = value(child, scope).fault
            if fault is not None:
                return _failed(FIXED, fault.doubted())
        return FIXED

    # ------------------------------------------------------------ SELECT

    def select(self, q: exp.Select, env: Env, parent: Scope | None) -> Rel:
        from partwise.proving.select import select

        return select(self, q, env, parent)

    def limited(self, q: exp.Expr, rel: Rel, deps: frozenset[str] | None) -> Rel:
        """Rows cut off by LIMIT, OFFSET or FETCH: never the same for one query and for many."""
        if not (q.args.get("limit") or q.args.get("offset") or q.args.get("fetch")):
            return rel
        left = rel.deps if deps is None else deps
        node = q.args.get("limit") or q.args.get("offset") or q.args.get("fetch")
        if not left:
            return _failed(rel, Fault("LIMIT takes any of several rows", node))
        return _failed(
            rel,
            Fault(
                "LIMIT counts rows over all partitions of a query", node, rel.free and _counts(node),
                "two partitions with more rows than the limit each",
            ),
        )

    # ------------------------------------------------------------ set operations

    def set_operation(self, q: exp.SetOperation, env: Env, parent: Scope | None) -> Rel:
        left, right = self.query(q.this, env, parent), self.query(q.expression, env, parent)
        deps = left.deps | right.deps
        fault = left.fault or right.fault
        if q.args.get("by_name") or q.args.get("on") or q.args.get("side"):
            return Rel(deps=deps, fault=fault or Fault("UNION BY NAME is not followed", q))
        if not deps:
            return replace(left, fault=fault, free=False, unique=frozenset())
        if left.open or right.open or len(left.cols) != len(right.cols):
            why = Fault("the columns of both sides are not all named, so which one is the partition is not known", q)
            return Rel(deps=deps, fault=fault or why)
        cols: dict[str, Col] = {}
        for (name, a), b in zip(left.cols.items(), right.cols.values(), strict=True):
            keys: dict[str, Form] = {}
            for dim in deps:
                x, y = a.keys.get(dim), b.keys.get(dim)
                if dim not in left.deps:
                    x = y
                if dim not in right.deps:
                    y = x
                if x is not None and y is not None and x.same(y) and not (a.fault or b.fault):
                    keys[dim] = x
            moved = next((c.moved for c, of in ((a, left), (b, right)) if c.moved is not None), None)
            flaw = a.fault or b.fault
            cols[name] = Col(keys=keys, fault=flaw and flaw.doubted(), moved=moved and moved.doubted())
        is_union = isinstance(q, exp.Union)
        if not (is_union and not q.args.get("distinct")):
            for dim in deps:
                if not any(dim in col.keys for col in cols.values()):
                    reason = f"{q.key.upper()} compares rows of different partitions: `{dim}` is not among its columns"
                    fault = fault or Fault(reason, q)
            for col in cols.values():
                fault = fault or (col.fault and used(col.fault))
        tight = left.tight & right.tight if is_union else left.tight
        back = {d: min(r.back.get(d, 0) for r in (left, right) if d in r.deps) for d in deps}
        return Rel(cols, False, deps, tight, back, free=False, fault=fault and fault.doubted())


def _counts(node: Any) -> bool:
    """Whether a LIMIT or OFFSET is a plain number above 0."""
    number = node.args.get("expression") or node.args.get("count")
    return isinstance(number, exp.Literal) and number.name.isdigit() and int(number.name) > 0


def used(fault: Fault | None) -> Fault | None:
    """What becomes of a value's fault when rows are chosen or grouped by it."""
    return fault and fault.doubted()


def _failed(rel: Rel, fault: Fault) -> Rel:
    return rel if rel.fault is not None else replace(rel, fault=fault)


def renamed(rel: Rel, alias: exp.Expr | None) -> Rel:
    """A relation behind `as name(a, b)`."""
    listed = alias.args.get("columns") if alias is not None else None
    if not listed:
        return rel
    if rel.open or len(listed) > len(rel.cols):
        # which column takes which name is not known
        return replace(rel, cols={}, exprs={}, unique=frozenset(), open=True)
    names = [c.name.lower() for c in listed]
    old = list(rel.cols)
    return replace(
        rel,
        cols=dict(zip(names + old[len(names) :], rel.cols.values(), strict=True)),
        unique=frozenset(),
        exprs={},
    )

