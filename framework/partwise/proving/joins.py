"""Joins: relations that depend on the partitions must be joined on the columns that tell them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from partwise.proving.exprs import value
from partwise.proving.forms import Form
from partwise.proving.values import OPAQUE, Col, Fault, Rel

if TYPE_CHECKING:
    from partwise.proving.scopes import Scope

_KINDS = ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI")


def conjuncts(node: exp.Expr | None) -> Iterator[exp.Expr]:
    """The conditions that all have to hold."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.And):
        yield from conjuncts(node.this)
        yield from conjuncts(node.expression)
    elif node is not None:
        yield node


def join(scope: Scope, j: exp.Join, where: list[exp.Expr]) -> None:
    """Add one joined relation to a scope. `where`: conditions that hold behind all joins, where they may count."""
    follower = scope.follower
    side, kind, method = (j.side or "").upper(), (j.kind or "").upper(), (j.method or "").upper()
    if kind == "STRAIGHT":
        kind = ""
    name, rel = follower.source(j.this, scope)
    if rel.fault is not None:
        rel = replace(rel, fault=rel.fault.doubted())
    if scope.fault is not None:
        scope.fault = scope.fault.doubted()
    before = scope.deps
    i = scope.add(name, rel)
    if j.this.args.get("joins") or j.args.get("pivots"):
        scope.fail(Fault("joins inside joins are not followed", j.this))
    if method in ("ASOF", "POSITIONAL") or kind not in _KINDS:
        scope.fail(Fault(f"{method or kind} JOIN is not followed", j.this))
    if method == "NATURAL":
        scope.fail(Fault("NATURAL JOIN is not followed", j.this) if before and rel.deps else None)
    conditions = list(conjuncts(j.args.get("on")))
    usable = conditions + (where if side == "" and kind in ("", "INNER", "CROSS") else [])
    using = [c.name for c in j.args.get("using") or ()]
    linked = _links(scope, i, usable, using)
    shared = before & rel.deps
    missing = {dim for dim in shared if dim not in linked}
    if side in ("LEFT",) or kind in ("SEMI", "ANTI"):
        missing |= {dim for dim in rel.deps - before if dim not in linked or not _named(scope, dim, linked[dim], i)}
    elif side == "RIGHT":
        missing |= {dim for dim in before - rel.deps if dim not in linked or not _named(scope, dim, linked[dim], i)}
    elif side == "FULL" and (before or rel.deps):
        missing |= {dim for dim in before ^ rel.deps}
        missing |= {dim for dim in shared if dim in linked and linked[dim][3]}
    simple = all(_plain_equality(c, scope) for c in conditions)
    if missing:
        dim = sorted(missing)[0]
        inner = side == "" and kind in ("", "INNER", "CROSS")
        alike = scope.free and rel.free and all(any(dim in g for g in of) for of in (scope.tight, rel.tight))
        certain = inner and not method and missing <= shared and alike and not using and simple and not where
        word = "EXISTS" if kind in ("SEMI", "ANTI") else "joined"
        scope.fail(
            Fault(
                f"`{name}` is {word} without its `{dim}` partition: rows of different partitions meet",
                j.this,
                certain,
                "a row on each side, in different partitions, that fit each other",
            )
        )
    for condition in conditions:
        scope.fail(_used(value(condition, scope).fault))
    if side == "" and kind in ("", "INNER", "CROSS"):
        _name_equals(scope, linked)
    _merge_using(scope, i, using, side, linked)
    _after(scope, i, rel, side, kind, linked, before)
    scope.free = scope.free and simple and side in ("", "LEFT") and kind not in ("SEMI", "ANTI")


def _used(fault: Fault | None) -> Fault | None:
    return fault and fault.doubted()


def _plain_equality(c: exp.Expr, scope: Scope) -> bool:
    return isinstance(c, exp.EQ) and all(
        isinstance(side, exp.Column) and value(side, scope).raw for side in (c.this, c.expression)
    )


Link = tuple[Form, Col, Col, bool]  # the form, the left column, the right one, whether one of them is weak


def _links(scope: Scope, i: int, conditions: list[exp.Expr], using: list[str]) -> dict[str, Link]:
    """The dimensions whose keys a join makes equal. A column that is no key counts where its side has none."""
    found: dict[str, Link] = {}
    pairs: list[tuple[Col, Col]] = []
    for c in conditions:
        if not isinstance(c, (exp.EQ, exp.NullSafeEQ)):
            continue
        left, right = c.this, c.expression
        a, b = scope.sources_of(left), scope.sources_of(right)
        if a is None or b is None or not a or not b:
            continue
        if a == {i} and i not in b:
            pairs.append((value(right, scope), value(left, scope)))
        elif b == {i} and i not in a:
            pairs.append((value(left, scope), value(right, scope)))
    for name in using:
        low = name.lower()
        left_col = scope.using.get(low) or _left_column(scope, i, low)
        if left_col is not None:
            pairs.append((left_col, scope.column(i, low)))
    for a_col, b_col in pairs:
        for dim in scope.axes:
            x = a_col.keys.get(dim) or a_col.weak.get(dim)
            y = b_col.keys.get(dim) or b_col.weak.get(dim)
            weak = (dim not in a_col.keys and x is not None) or (dim not in b_col.keys and y is not None)
            if x is not None and y is not None:
                if x.same(y) and (dim not in found or found[dim][3]):
                    found[dim] = (x, a_col, b_col, weak)
            elif dim not in found and (x is None) != (y is None) and not weak:
                form = x if x is not None else y
                assert form is not None
                found.setdefault(dim, (form, a_col, b_col, False))
    # both sides have the dimension: then both columns must tell it
    left_deps, right_deps = scope.deps, scope.rels[i].deps
    for dim, (_, a_col, b_col, _) in list(found.items()):
        tells = (dim in {**a_col.keys, **a_col.weak}, dim in {**b_col.keys, **b_col.weak})
        if dim in left_deps and dim in right_deps and not all(tells):
            del found[dim]
    return found


def _left_column(scope: Scope, i: int, low: str) -> Col | None:
    known = [k for k in range(i) if scope.rels[k].has(low)]
    if len(known) == 1:
        return scope.column(known[0], low)
    if not known and i == 1:
        return scope.column(0, low)
    return None


def _named(scope: Scope, dim: str, link: Link, i: int) -> bool:
    """Let the column that the preserved side is joined by be its key."""
    form, a, b, weak = link
    if weak:
        return False
    mine = a if dim not in a.keys else b
    if dim in a.keys and dim in b.keys:
        return True
    if mine.place is None or not mine.bare or mine.fault is not None:
        return False
    scope.named.setdefault(mine.place, {})[dim] = form
    return True


def _name_equals(scope: Scope, linked: dict[str, Link]) -> None:
    """Behind an inner join a column that equals a key is one."""
    for dim, (form, a, b, weak) in linked.items():
        for mine, other in ((a, b), (b, a)):
            if not weak and dim not in mine.keys and dim in other.keys and mine.place is not None and mine.bare:
                scope.named.setdefault(mine.place, {})[dim] = form


def _merge_using(scope: Scope, i: int, using: list[str], side: str, linked: dict[str, Link]) -> None:
    for name in using:
        low = name.lower()
        left = scope.using.get(low) or _left_column(scope, i, low) or OPAQUE
        right = scope.column(i, low)
        if side == "FULL":
            keys = {d: f for d, f in left.keys.items() if d in right.keys and right.keys[d].same(f)}
            fault = left.fault or right.fault
            scope.using[low] = Col(keys=keys, fault=fault and fault.doubted())
        elif side == "RIGHT":
            scope.using[low] = right
        else:
            more = right.keys if side == "" else {}
            scope.using[low] = replace(left, keys={**more, **left.keys})


def _after(
    scope: Scope, i: int, rel: Rel, side: str, kind: str, linked: dict[str, Link], before: frozenset[str]
) -> None:
    """What the rows are behind the join."""
    number = scope.follower.next_number() if side == "FULL" else 0
    for k, old in enumerate(scope.rels):
        is_right = k == i
        if (is_right and side == "LEFT") or (not is_right and side == "RIGHT"):
            kept = {n: c.nullable() for n, c in old.cols.items()}
            for at, more in list(scope.named.items()):
                if at[0] == k:
                    kept[at[1]] = replace(kept.get(at[1], OPAQUE), weak=dict(more), keys={})
                    del scope.named[at]
            scope.rels[k] = replace(old, cols=kept, exprs={}, unique=frozenset())
        elif side == "FULL":
            label = "right" if is_right else "left"
            cols = {}
            for n, c in old.cols.items():
                halves = tuple((d, f, number, label) for d, f in c.keys.items() if d in linked)
                cols[n] = replace(c.nullable(), halves=halves)
            scope.rels[k] = replace(old, cols=cols, exprs={}, unique=frozenset())
        else:
            scope.rels[k] = replace(old, exprs={}) if len(scope.rels) > 1 else old
    if kind in ("SEMI", "ANTI"):
        gone = scope.rels[i]
        scope.rels[i] = replace(gone, cols={}, open=False)
    scope.deps = before | rel.deps
    if side == "FULL":
        both = scope.tight & rel.tight
        scope.tight = both
    elif side == "RIGHT":
        scope.tight = rel.tight
    elif side == "LEFT" or kind in ("SEMI", "ANTI"):
        pass
    else:
        scope.tight = scope.tight | rel.tight
    for dim in rel.deps:
        scope.back[dim] = min(scope.back.get(dim, rel.back.get(dim, 0)), rel.back.get(dim, 0))
