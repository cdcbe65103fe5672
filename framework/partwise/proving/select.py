"""One SELECT: its FROM, its conditions, its groups, and the columns it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from partwise.proving.exprs import same_text, text_of, value
from partwise.proving.joins import conjuncts, join
from partwise.proving.query import used
from partwise.proving.scopes import Scope
from partwise.proving.values import OPAQUE, Col, Fault, Rel
from partwise.rendering.exprs import Expr

if TYPE_CHECKING:
    from partwise.proving.query import Follower

_FOLLOWED = frozenset(
    """
    with_ with expressions from_ from joins where group having qualify windows distinct order limit offset fetch
    laterals hint kind
    """.split()  # noqa: SIM905
)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)


def select(follower: Follower, q: exp.Select, env: Mapping[str, Any], parent: Scope | None) -> Rel:
    """The rows of a SELECT."""
    scope = Scope(follower, parent, env)
    scope.aliases = {p.alias.lower(): p.this for p in q.expressions if isinstance(p, exp.Alias)}
    scope.windows = {w.name.lower(): w for w in q.args.get("windows") or ()}
    for key, given in q.args.items():
        if given and key not in _FOLLOWED:
            scope.fail(Fault(f"{key.strip('_').upper()} is not followed", q))
    where = list(conjuncts(q.args["where"].this)) if q.args.get("where") else []
    _from(scope, q, where)
    simple = _conditions(scope, where)
    grouped = _groups(scope, q)
    for name in ("having", "qualify"):
        clause = q.args.get(name)
        chosen = list(conjuncts(clause.this if clause is not None else None))
        for condition in chosen:
            _choose(scope, condition)
        simple = simple and (not chosen or (name == "qualify" and len(chosen) == 1))
    if q.args.get("order"):
        for ordered in q.args["order"].expressions:
            if not isinstance(ordered.this, exp.Literal):
                value(ordered.this, scope)  # its subqueries may depend on partitions; the order itself does not matter
    cols, is_open = outputs(scope, q)
    _distinct(scope, q, cols)
    unique = _unique(scope, q, cols)
    if not simple:
        scope.fault = used(scope.fault)
        cols = {n: replace(c, fault=used(c.fault), moved=used(c.moved)) for n, c in cols.items()}
    rel = Rel(
        cols=cols,
        open=is_open,
        deps=scope.open_deps,
        tight=scope.tight,
        back={dim: n - scope.spent.get(dim, 0) for dim, n in scope.back.items()},
        unique=unique,
        exprs=scope.texts if len(scope.rels) == 1 and _is_star(q) else {},
        free=scope.free and simple and grouped and not q.args.get("distinct") and not q.args.get("qualify"),
        fault=scope.fault,
    )
    return follower.limited(q, rel, scope.open_deps)


def _from(scope: Scope, q: exp.Select, where: list[exp.Expr]) -> None:
    origin = q.args.get("from_") or q.args.get("from")
    if origin is None:
        scope.free = False
        return
    name, rel = scope.follower.source(origin.this, scope)
    if not _passes_on(q):
        cols = {n: replace(c, moved=used(c.moved)) if c.moved is not None else c for n, c in rel.cols.items()}
        rel = replace(rel, fault=used(rel.fault), cols=cols)
    scope.add(name, rel)
    scope.deps, scope.tight, scope.back = rel.deps, rel.tight, dict(rel.back)
    scope.free, scope.unique = rel.free, rel.unique
    joins = [*(origin.this.args.get("joins") or ()), *(q.args.get("joins") or ())]
    # a condition behind the joins holds for their rows too, unless an outer join adds rows it never saw
    late = [] if any((j.side or "").upper() in ("FULL", "RIGHT") for j in joins) else where
    for j in joins:
        join(scope, j, late)
    for lateral in q.args.get("laterals") or ():
        name, rel = scope.follower.source(lateral, scope)
        scope.add(name, rel)
    if joins or q.args.get("laterals"):
        scope.unique = frozenset()


def _passes_on(q: exp.Select) -> bool:
    """Whether every row of the one relation comes out, its columns unchanged, so that a fault shows."""
    if any(given for key, given in q.args.items() if key not in ("expressions", "from_", "with_", "order", "kind")):
        return False
    return all(p.is_star or isinstance(p.unalias(), exp.Column) for p in q.expressions)


def _is_star(q: exp.Select) -> bool:
    """Whether a SELECT hands on the columns of one relation under their names."""
    only = q.expressions[0] if len(q.expressions) == 1 else None
    return isinstance(only, exp.Star) and not any(only.args.values()) and not q.args.get("group")


# ---------------------------------------------------------------- conditions


def _conditions(scope: Scope, where: list[exp.Expr]) -> bool:
    """Take in the conditions of WHERE; returns whether rows can be imagined that meet them."""
    simple, seen = True, set()
    holes = [c for c in where if _hole(c) is not None]
    for c in holes:
        _filter(scope, _hole(c) or 0, c)
    for c in where:
        if _hole(c) is not None:
            continue
        _pin(scope, c)
        _choose(scope, c)
        name = _about(scope, c)
        simple = simple and name is not None and name not in seen
        seen.add(name)
    return simple


def _hole(c: exp.Expr) -> int | None:
    while isinstance(c, exp.Paren):
        c = c.this
    if isinstance(c, exp.Column) and not c.table and c.name.startswith("__pw_"):
        return int(c.name.removeprefix("__pw_"))
    return None


def _choose(scope: Scope, c: exp.Expr) -> None:
    """Rows are chosen by a condition: a value that may differ makes the rows differ."""
    counted = isinstance(c.this, (exp.Column, exp.Window))
    if counted and isinstance(c, _COMPARISONS) and isinstance(c.expression, exp.Literal):
        fault = value(c.this, scope).fault
        low = isinstance(c, (exp.EQ, exp.LT, exp.LTE))
        scope.fail(fault if low and c.expression.name in ("1", "2", "3") else used(fault))
    else:
        fault = value(c, scope).fault
        scope.fail(fault if _plain_in(c, scope) else used(fault))


def _plain_in(c: exp.Expr, scope: Scope) -> bool:
    """`column in (select ...)`, where the column can hold anything."""
    return isinstance(c, exp.In) and isinstance(c.this, exp.Column) and value(c.this, scope).raw


def _about(scope: Scope, c: exp.Expr) -> str | None:
    """The plain column that a condition compares with a constant, or with an outer column."""
    if _plain_in(c, scope):
        return str(c.this.name).lower()
    if isinstance(c, exp.Not):
        c = c.this
    if isinstance(c, _COMPARISONS) and isinstance(c.this, exp.Column):
        other = c.expression
        col = value(c.this, scope)
        constant = isinstance(other, (exp.Literal, exp.Boolean)) and (not col.fault or other.name == "1")
        if constant and not col.keys:
            return str(c.this.name).lower()
        if isinstance(other, exp.Column) and isinstance(c, exp.EQ) and not col.fault:
            return f"{c.this.sql()} = {other.sql()}".lower()
    if isinstance(c, exp.Is) and isinstance(c.this, exp.Column) and not value(c.this, scope).keys:
        return str(c.this.name).lower()
    return None


def _filter(scope: Scope, hole: int, node: exp.Expr) -> None:
    """A partition condition: what it compares becomes the key of the rows."""
    known = scope.follower.holes.get(hole)
    if known is None or isinstance(known, Fault):
        scope.fail(replace(known, node=node) if known is not None else Fault("a condition is not known", node))
        return
    added: set[str] = set()
    for slot, region in known:
        tree = _parsed(slot.expr, scope.dialect)
        col = value(tree, scope)
        had = col.keys.get(region.dim)
        if region.dim in scope.deps:
            if had is None or not had.same(region.form):
                scope.fail(Fault(f"rows are filtered on `{region.dim}` by two different columns", node))
        elif isinstance(tree, exp.Column):
            at = col.place
            if at is None and len(scope.rels) == 1:
                at = (0, tree.name.lower())
            if at is None or col.fault is not None:
                scope.fail(Fault(f"which relation `{tree.sql()}` is a column of is not known", node))
            else:
                scope.named.setdefault(at, {})[region.dim] = region.form
                if tree.name.lower() in scope.using:
                    merged = scope.using[tree.name.lower()]
                    scope.using[tree.name.lower()] = replace(merged, keys={**merged.keys, region.dim: region.form})
            scope.back[region.dim] = region.back
        else:
            _name_expression(scope, tree, region.dim, region.form)
            scope.back[region.dim] = region.back
        if region.exact:
            added.add(region.dim)
    scope.deps = scope.deps | {region.dim for _, region in known}
    scope.tight = scope.tight | {frozenset(added)}
    scope.free = len(scope.rels) == 1 and (scope.free or not scope.rels[0].deps)


def _name_expression(scope: Scope, tree: exp.Expr, dim: str, form: Any) -> None:
    if len(scope.rels) != 1:
        scope.fail(Fault("an expression over several relations is filtered", tree))
        return
    text = same_text(tree)
    scope.texts[text] = Col(keys={**scope.texts.get(text, OPAQUE).keys, dim: form})
    columns = {c.sql().lower(): c for c in tree.find_all(exp.Column)}
    if len(columns) == 1 and len(scope.rels) == 1:
        ((_, column),) = columns.items()
        via = replace(form, kind="via", name=f"{text} of {id(scope.rels[0])} {column.name}", zone="", format="")
        scope.named.setdefault((0, column.name.lower()), {})[dim] = via


def _parsed(expr: Expr, dialect: str) -> exp.Expr:
    import sqlglot

    return sqlglot.parse_one(expr.write(dialect), read=dialect)


def _pin(scope: Scope, c: exp.Expr) -> None:
    """`inner.d = outer.d` in a subquery: for each outer row only its own partition is looked at."""
    parent = scope.parent
    if parent is None or not isinstance(c, exp.EQ):
        return
    a, b = value(c.this, scope), value(c.expression, scope)
    if a.outer == b.outer:
        return
    scope.free = False  # a row is looked at for one outer row: what others hold does not show
    inner, outer, outer_node = (a, b, c.expression) if b.outer else (b, a, c.this)
    for dim, form in inner.keys.items():
        theirs = outer.keys.get(dim)
        if theirs is not None and theirs.same(form):
            scope.pinned = scope.pinned | {dim}
        elif theirs is None and isinstance(outer_node, exp.Column):
            direct = parent.resolve(outer_node)
            if not direct.outer and parent.name_key(direct, dim, form):
                parent.deps = parent.deps | {dim}
                scope.pinned = scope.pinned | {dim}


# ---------------------------------------------------------------- groups


def _groups(scope: Scope, q: exp.Select) -> bool:
    """Take in GROUP BY; returns whether rows can still be imagined freely."""
    group = q.args.get("group")
    clauses = [*q.expressions, *(c for c in (q.args.get("having"), q.args.get("qualify")) if c is not None)]
    aggregates = [node for clause in clauses for node in aggregated(clause)]
    # subqueries may say what the keys of these rows are
    for p in q.expressions:
        if any(isinstance(n, exp.Query) for n in p.walk()):
            value(p, scope)
    if group is None:
        if aggregates and scope.open_deps:
            shown = text_of(aggregates[0], scope.dialect)
            scope.fail(
                Fault(
                    f"{shown} without GROUP BY takes all partitions of a query together",
                    aggregates[0],
                    scope.free and not scope.pinned,
                    "a row in each of two partitions",
                )
            )
        scope.grouped = bool(aggregates)
        return not aggregates
    scope.grouped = True
    exprs, whole = _grouping(scope, q, group)
    vals = [value(e, scope, group=True) for e in exprs]
    for val in vals:
        scope.fail(used(val.fault))
    covered = {dim for val in vals for dim in val.keys}
    if whole:
        covered |= {dim for i, rel in enumerate(scope.rels) for n in rel.cols for dim in scope.column(i, n).keys}
        covered |= {dim for more in scope.named.values() for dim in more}
    plain = all(val.bare and val.raw for val in vals)
    for dim in sorted(scope.open_deps - covered):
        moved = next((val.moved for val in vals if val.moved is not None), None)
        totals = _has_totals(group)
        why = f"GROUP BY does not contain the `{dim}` partition: its groups span partitions"
        if totals:
            why = f"the totals of ROLLUP, CUBE or GROUPING SETS span partitions of `{dim}`"
        certain = scope.free and plain and not totals and not whole and is_tight(scope, dim)
        scope.fail(moved or Fault(why, group, certain, "a row of one group in each of two partitions"))
        break
    plain_sets = not _has_totals(group) and not whole and len(scope.rels) == 1
    scope.unique = frozenset({frozenset(same_text(_unaliased(scope, e)) for e in exprs)} if plain_sets else ())
    scope.free = scope.free and plain
    return True


def is_tight(scope: Scope, dim: str) -> bool:
    """Whether nothing but the partitions asked for is read."""
    return any(dim in group for group in scope.tight)


def _has_totals(group: exp.Expr) -> bool:
    keys = ("rollup", "cube", "grouping_sets", "totals")
    inside = ("rollup", "cube", "groupingsets")
    return any(group.args.get(key) for key in keys) or any(node.key in inside for node in group.walk())


def _grouping(scope: Scope, q: exp.Select, group: exp.Expr) -> tuple[list[exp.Expr], bool]:
    """The expressions in every grouping set, and whether all columns of a star are among them."""
    found: list[exp.Expr] = []
    whole = False
    if group.args.get("all"):
        listed = [p for p in q.expressions if not any(aggregated(p))]
        for p in listed:
            whole = whole or p.is_star
            if not p.is_star:
                found.append(p.unalias())
        return found, whole
    for e in group.expressions:
        if e.key in ("rollup", "cube"):
            continue
        if isinstance(e, exp.GroupingSets):
            found += _in_all_sets(e)
            continue
        if isinstance(e, exp.Literal) and not e.is_string:
            at = int(e.name) - 1
            if any(p.is_star for p in q.expressions[: at + 1]) or at >= len(q.expressions):
                continue
            found.append(q.expressions[at].unalias())
        elif isinstance(e, exp.Tuple):
            found += e.expressions
        else:
            found.append(e)
    for e in group.args.get("grouping_sets") or ():
        found += _in_all_sets(e)
    return found, whole


def _in_all_sets(e: exp.Expr) -> list[exp.Expr]:
    """The expressions that every one of GROUPING SETS holds."""
    sets: list[list[exp.Expr]] = []
    for one in e.expressions:
        if one.key in ("rollup", "cube", "groupingsets"):
            return []
        while isinstance(one, exp.Paren):
            one = one.this
        sets.append(list(one.expressions) if isinstance(one, exp.Tuple) else [one])
    return [x for x in sets[0] if all(x in other for other in sets[1:])] if sets else []


def aggregated(e: exp.Expr) -> list[exp.Expr]:
    """The aggregate functions of an expression: not those over a window, nor in a subquery."""
    if isinstance(e, exp.Query):
        return []
    if isinstance(e, exp.Window):
        made: list[exp.Expr] = []
        for child in e.this.iter_expressions():
            made += aggregated(child)
        for key in ("partition_by", "order"):
            inner = e.args.get(key)
            for child in inner if isinstance(inner, list) else [inner] if inner is not None else []:
                made += aggregated(child)
        return made
    if isinstance(e, (exp.AggFunc, exp.WithinGroup)):
        return [e]
    return [node for child in e.iter_expressions() for node in aggregated(child)]


# ---------------------------------------------------------------- outputs


def outputs(scope: Scope, q: exp.Select) -> tuple[dict[str, Col], bool]:
    """The columns that a SELECT gives, in order, and whether it gives others too."""
    cols: dict[str, Col] = {}
    is_open = False

    def put(name: str, col: Col) -> None:
        low = name.lower()
        if low in cols or is_open:
            # which of two columns a name means differs between warehouses
            twice = low in cols
            old = cols.get(low, OPAQUE)
            unclear = Fault(f"there may be two columns `{low}`, of which `*` gives one", q)
            if twice or scope.parent is not None or not _is_outermost(q):
                col = Col(fault=col.fault or old.fault, moved=unclear)
        cols[low] = replace(col, place=None)

    for p in q.expressions:
        if p.is_star:
            star = p.this if isinstance(p, exp.Column) else p
            table = p.table.lower() if isinstance(p, exp.Column) else ""
            changed = {k: star.args.get(k) for k in ("except_", "except", "replace", "rename")}
            dropped = {c.name.lower() for k in ("except_", "except") for c in changed[k] or ()}
            replaced = {r.alias.lower(): r.this for r in changed["replace"] or ()}
            renamed = {r.this.name.lower(): r.alias.lower() for r in changed["rename"] or ()}
            if star.args.get("ilike"):
                is_open = True
                continue
            done: set[str] = set()
            opening = False
            for i, rel in enumerate(scope.rels):
                if table and scope.names[i] != table:
                    continue
                listed = [*rel.cols, *(n for at, n in scope.named if at == i and n not in rel.cols)]
                for name in listed:
                    if name in dropped or name in done:
                        continue
                    if not table and name in scope.using:
                        done.add(name)
                    col = scope.using[name] if not table and name in scope.using else scope.column(i, name)
                    if name in replaced:
                        col = value(replaced[name], scope)
                    put(renamed.get(name, name), replace(col, bare=col.bare and name not in replaced))
                opening = opening or rel.open
                is_open = is_open or (rel.open and len(scope.rels) > 1)
            is_open = is_open or opening
        elif p.key in ("columns",) or (isinstance(p, exp.Anonymous) and p.name.lower() == "columns"):
            is_open = True
            scope.fail(Fault(f"{text_of(p, scope.dialect)} is not followed", p))
        else:
            col = value(p, scope)
            put(p.alias_or_name or p.output_name or f"col{len(cols)}", col)
    return cols, is_open


def _is_outermost(q: exp.Expr) -> bool:
    return q.parent is None


def _distinct(scope: Scope, q: exp.Select, cols: dict[str, Col]) -> None:
    distinct = q.args.get("distinct")
    if distinct is None:
        return
    on = distinct.args.get("on")
    if on is None:
        for dim in sorted(scope.open_deps):
            if not any(dim in col.keys for col in cols.values()):
                why = f"DISTINCT does not contain the `{dim}` partition: equal rows of different partitions become one"
                scope.fail(Fault(why, q.expressions[0]))
        for col in cols.values():
            scope.fail(used(col.fault))
        return
    exprs = on.expressions if isinstance(on, exp.Tuple) else [on]
    vals = [value(e, scope) for e in exprs]
    covered = {dim for val in vals for dim in val.keys}
    for dim in sorted(scope.open_deps - covered):
        plain = all(val.bare and val.raw for val in vals) and is_tight(scope, dim)
        why = f"DISTINCT ON does not contain the `{dim}` partition"
        scope.fail(Fault(why, on, scope.free and plain, "a row of one value in each of two partitions"))
    ordered = [o.this for o in q.args["order"].expressions] if q.args.get("order") else []
    if not is_total(scope, [*exprs, *ordered]):
        scope.fail(Fault("DISTINCT ON takes any of several rows: its order leaves ties", on))


def is_total(scope: Scope, exprs: list[exp.Expr]) -> bool:
    """Whether some expressions tell the rows of a scope apart."""
    texts: set[str] = set()
    for e in exprs:
        texts.add(same_text(_unaliased(scope, e)))
    return any(names <= texts for names in scope.unique)


def _unaliased(scope: Scope, e: exp.Expr) -> exp.Expr:
    """The expression that an alias stands for, where no column has that name."""
    plain = isinstance(e, exp.Column) and not e.table and e.name.lower() in scope.aliases
    return scope.aliases[e.name.lower()] if plain and all(rel.has(e.name) is False for rel in scope.rels) else e


def _unique(scope: Scope, q: exp.Select, cols: dict[str, Col]) -> frozenset[frozenset[str]]:
    """The sets of output columns that tell rows apart."""
    if q.args.get("laterals") or any(n.key in ("explode", "unnest") for p in q.expressions for n in p.walk()):
        return frozenset()
    given: dict[str, str] = {}
    for p in q.expressions:
        if p.is_star and len(q.expressions) == 1 and len(scope.rels) == 1:
            given.update({name: name for name in cols})
        elif not p.is_star:
            given.setdefault(same_text(p.unalias()), p.alias_or_name.lower())
    found = {frozenset(given[t] for t in names) for names in scope.unique if all(t in given for t in names)}
    distinct = q.args.get("distinct")
    if distinct is not None and distinct.args.get("on") is None and not any(p.is_star for p in q.expressions):
        found.add(frozenset(cols))
    return frozenset(found)
