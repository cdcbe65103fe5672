"""Window functions: within a partition, or over a stretch of time that is read in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from partwise.proving.exprs import AGGREGATES, text_of, value
from partwise.proving.values import Col, Fault

if TYPE_CHECKING:
    from partwise.proving.scopes import Scope

_RANKS = frozenset("rank denserank percentrank cumedist".split())  # noqa: SIM905
_TIED = frozenset("rownumber ntile lag lead firstvalue lastvalue nthvalue first last anyvalue".split())  # noqa: SIM905
_SURE = frozenset("rownumber rank denserank count sum lag lead firstvalue".split())  # noqa: SIM905
_UNITS = {  # how many of the axis' windows a unit of an interval may reach back over, at most
    ("daily", "day"): 1,
    ("daily", "week"): 7,
    ("weekly", "week"): 1,
    ("hourly", "hour"): 1,
    ("hourly", "day"): 24,
    ("monthly", "month"): 1,
    ("monthly", "year"): 12,
    ("monthly", "quarter"): 3,
    ("quarterly", "quarter"): 1,
    ("quarterly", "year"): 4,
    ("yearly", "year"): 1,
    ("daily", "hour"): 1,
    ("daily", "minute"): 1,
    ("weekly", "day"): 1,
    ("monthly", "day"): 1,
    ("monthly", "week"): 1,
}
_PER_WINDOW = {  # how many of a smaller unit a window holds, at least
    ("daily", "hour"): 24,
    ("daily", "minute"): 1440,
    ("weekly", "day"): 7,
    ("monthly", "day"): 28,
    ("monthly", "week"): 4,
}


def window(e: exp.Window, scope: Scope) -> Col:
    """The value of a window function."""
    from partwise.proving.select import is_total

    base = scope.windows.get(e.alias.lower()) if e.args.get("alias") else None
    if e.args.get("alias") and base is None:
        return Col(fault=Fault(f"{text_of(e, scope.dialect)} uses a window that is not followed", e))
    if base is not None and base.args.get("alias"):
        return Col(fault=Fault("a window made from another is not followed", e))
    parts = e.args.get("partition_by") or (base.args.get("partition_by") if base is not None else None) or []
    order = e.args.get("order") or (base.args.get("order") if base is not None else None)
    spec = e.args.get("spec") or (base.args.get("spec") if base is not None else None)
    ordered = [o.this for o in order.expressions] if order is not None else []
    shown = text_of(e, scope.dialect)
    function = e.this
    while isinstance(function, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)):
        if isinstance(function, exp.Filter):
            fault = value(function.expression.this, scope).fault
            if fault is not None:
                return Col(fault=fault.doubted())
        function = function.this
    name = function.key
    if name not in _RANKS and name not in _TIED and name not in AGGREGATES:
        return Col(fault=Fault(f"{shown}: the function is not known to depend on its window only", e))
    insides = [*function.iter_expressions(), *parts, *ordered]
    for inner in insides:
        if not isinstance(inner, (exp.Star, exp.Literal)):
            fault = value(inner.expressions[0] if isinstance(inner, exp.Distinct) else inner, scope).fault
            if fault is not None:
                return Col(fault=fault.doubted())
    vals = [value(p, scope) for p in parts]
    covered = {dim for val in vals for dim in val.keys}
    open_dims = sorted(scope.open_deps - covered)
    if open_dims:
        within = name in AGGREGATES and len(open_dims) == 1 and _looks_back(scope, open_dims[0], ordered, spec, order)
        if not within:
            plain = all(val.bare and val.raw for val in vals) and not scope.grouped
            tight = any(open_dims[0] in group for group in scope.tight)
            certain = scope.free and tight and spec is None and plain and _shows(name, function, parts, ordered, scope)
            why = f"{shown} spans partitions of `{open_dims[0]}`"
            if spec is not None and scope.back.get(open_dims[0]):
                why += ", or reaches further back than what is read"
            return Col(fault=Fault(why, e, certain, "rows of the same window in two partitions"))
    needs_order = name in _TIED or (spec is not None and _counts_rows(spec))
    if needs_order and not is_total(scope, [*parts, *ordered]):
        return Col(fault=Fault(f"{shown} depends on the order of rows, and its order leaves ties", e))
    return Col()


def _shows(
    name: str, function: exp.Expr, parts: list[exp.Expr], ordered: list[exp.Expr], scope: Scope
) -> bool:
    """Whether one row more in a window changes what a function gives, for some values."""
    if name not in _SURE:
        return False
    if name in ("rownumber", "count"):
        return True
    asked = ordered if name in ("rank", "denserank") else [function.this]
    return any(isinstance(e, exp.Column) and value(e, scope).raw and e not in parts for e in asked)


def _counts_rows(spec: exp.Expr) -> bool:
    if (spec.args.get("kind") or "").upper() != "ROWS":
        return bool(spec.args.get("exclude"))
    sides = (spec.args.get("start"), spec.args.get("end"))
    whole = all(str(s).upper() == "UNBOUNDED" for s in sides)
    return not whole or bool(spec.args.get("exclude"))


def _looks_back(
    scope: Scope, dim: str, ordered: list[exp.Expr], spec: exp.Expr | None, order: exp.Expr | None
) -> bool:
    """Whether a frame is one of time, no wider than what is read."""
    back = scope.back.get(dim, 0)
    axis = scope.axes[dim]
    if spec is None or order is None or not back or len(ordered) != 1 or not axis.is_time:
        return False
    if (spec.args.get("kind") or "").upper() != "RANGE" or spec.args.get("exclude"):
        return False
    if order.expressions[0].args.get("desc"):
        return False
    form = value(ordered[0], scope).keys.get(dim)
    start, end = spec.args.get("start"), spec.args.get("end")
    if form is None or str(end).upper() != "CURRENT ROW" or str(spec.args.get("start_side")).upper() != "PRECEDING":
        return False
    if not isinstance(start, exp.Interval) or not isinstance(start.this, exp.Literal):
        return False
    unit = start.args.get("unit")
    try:
        amount = int(start.this.name)
    except ValueError:
        return False
    kind = getattr(axis, "kind", "")
    key = (kind, unit.name.lower().rstrip("s") if unit is not None else "")
    if key not in _UNITS or amount < 0:
        return False
    zone = getattr(axis, "timezone", "UTC")
    if form.kind == "wall" and form.zone != zone:
        return False
    if form.kind not in ("wall", "instant") or (zone != "UTC" and (kind == "hourly" or form.kind == "instant")):
        return False
    if zone != "UTC" and key[1] in ("hour", "minute"):
        return False
    if getattr(axis, "minute", 0) or (getattr(axis, "hour", 0) and kind != "hourly"):
        return False
    if kind in ("monthly", "quarterly", "yearly") and getattr(axis, "day", 1) != 1:
        return False
    per = _PER_WINDOW.get(key)
    reach = -(-amount // per) if per else amount * _UNITS[key]
    if reach <= back:
        scope.spent[dim] = max(scope.spent.get(dim, 0), reach)
    return reach <= back
