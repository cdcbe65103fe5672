"""Subqueries inside expressions: EXISTS, IN and single values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from partwise.proving.exprs import text_of, value
from partwise.proving.values import Col, Fault, Rel

if TYPE_CHECKING:
    from partwise.proving.scopes import Scope


def subquery(e: exp.Expr, scope: Scope) -> Col | None:
    """The value of a subquery for each row of a scope; None when the expression holds none itself."""
    if isinstance(e, exp.In):
        query = e.args.get("query")
        return None if query is None else _in(e, query, scope)
    if isinstance(e, (exp.Any, exp.All)):
        if any(isinstance(n, exp.Query) for n in e.walk()):
            return Col(fault=Fault(f"{text_of(e, scope.dialect)} is not followed", e))
        return None
    inner = e.this if isinstance(e, exp.Exists) else e
    if not isinstance(inner, exp.Query):
        return Col(fault=Fault(f"{text_of(e, scope.dialect)} is not followed", e))
    rel = scope.follower.query(inner, scope.env, scope)
    scope.narrow(rel)
    return _judged(e, rel, scope, set())


def _judged(e: exp.Expr, rel: Rel, scope: Scope, settled: set[str], shows: bool = True) -> Col:
    fault = rel.fault
    if fault is None:
        fault = next((c.fault for c in rel.cols.values() if c.fault is not None), None)
    if fault is not None:
        # an aggregate over all partitions as one value: it differs wherever it is compared or shown
        keeps = isinstance(e, exp.Subquery) and fault.certain and scope.free and _is_shown(e)
        return Col(fault=fault if keeps else fault.doubted())
    for dim in sorted(rel.deps - settled):
        why = f"{text_of(e, scope.dialect)} looks at all partitions of a query, not only at the row's own `{dim}`"
        certain = shows and rel.free and scope.free
        return Col(fault=Fault(why, e, certain, "the row that matches lies in another partition"))
    return Col()


def _is_shown(e: exp.Expr) -> bool:
    parent = e.parent
    while isinstance(parent, (exp.Paren, exp.Alias)):
        parent = parent.parent
    return isinstance(parent, exp.Select)


def _in(e: exp.In, query: exp.Expr, scope: Scope) -> Col:
    rel = scope.follower.query(query, scope.env, scope)
    scope.narrow(rel)
    left = e.this.expressions if isinstance(e.this, exp.Tuple) else [e.this]
    vals = [value(item, scope) for item in left]
    fault = next((v.fault for v in vals if v.fault is not None), None)
    if fault is not None:
        return Col(fault=fault.doubted())
    settled: set[str] = set()
    if not rel.open and len(rel.cols) == len(vals):
        for val, col in zip(vals, rel.cols.values(), strict=True):
            for dim, form in col.keys.items():
                theirs = val.keys.get(dim)
                if theirs is not None and theirs.same(form):
                    settled.add(dim)
                elif theirs is None and dim not in scope.deps and scope.name_key(val, dim, form):
                    scope.deps = scope.deps | {dim}
                    settled.add(dim)
    around = e.parent.parent if isinstance(e.parent, exp.Paren) else e.parent
    negated = isinstance(around, exp.Not)
    if negated and rel.deps and settled and (len(vals) > 1 or not any(settled <= group for group in rel.tight)):
        return Col(fault=Fault(f"NOT IN is not followed where NULL may be among the values: {text_of(e)}", e))
    # a plain column on either side, of nothing but the partitions asked for: a match may lie in another one
    pairs = [*vals, *rel.cols.values()]
    shows = len(pairs) == 2 and all(col.raw and not col.keys for col in pairs) and any(rel.tight) and any(scope.tight)
    return _judged(e, rel, scope, settled, shows)
