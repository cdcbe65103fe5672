"""What an expression tells of its row's partition: columns passed on, cut down, converted; everything else is opaque.

An allow-list: a function that is not named here may depend on more than its row, and is not followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from partwise.partitions.axes import TimeAxis
from partwise.proving.forms import Form, converts, keeps_window
from partwise.proving.values import Col, Fault

if TYPE_CHECKING:
    from partwise.proving.scopes import Scope

# Aggregates that give the same for the same rows, in whatever order these come.
AGGREGATES = frozenset(
    """
    count sum avg min max countif stddev stddevpop stddevsamp variance variancepop logicaland logicalor
    bitwiseandagg bitwiseoragg bitwisexoragg median percentilecont percentiledisc corr covarsamp covarpop
    skewness kurtosis grouping groupingid
    """.split()  # noqa: SIM905
)
# Aggregates that depend on the order of rows, unless they are told one.
ORDERED = frozenset("arrayagg groupconcat first last firstvalue lastvalue nthvalue anyvalue argmax argmin mode".split())  # noqa: SIM905
SCALARS = frozenset(
    """
    literal boolean null paren alias interval var datatype identifier tuple neg not and or xor eq neq gt gte lt lte
    nullsafeeq nullsafeneq is between in like ilike similarto regexplike regexpilike add sub mul div intdiv mod
    bitwiseand bitwiseor bitwisexor bitwisenot bitwiseleftshift bitwiserightshift dpipe concat concatws coalesce
    nullif if case cast trycast tochar timetostr strtotime strtodate tstodate datetodatestr tsordstodate date
    timestamptrunc datetrunc datediff timestampdiff dateadd datesub timestampadd timestampsub tsordsadd extract year
    quarter month week day dayofmonth dayofweek dayofweekiso dayofyear weekofyear hour minute second lastday
    monthname dayname datefromparts timestampfromparts unixtotime timetounix epochmillis abs ceil floor round sign
    sqrt cbrt exp ln log pow power greatest least sin cos tan asin acos atan atan2 degrees radians pi trunc
    lower upper trim ltrim rtrim substring left right length bytelength strposition replace repeat reverse split
    splitpart initcap startswith endswith contains lpad rpad pad chr ascii unicode translate levenshtein
    regexpextract regexpreplace regexpsplit regexpcount regexpinstr md5 md5digest sha sha2 farmfingerprint hex unhex
    array arraycontains arraysize arrayslice arrayconcat arraydistinct struct dot bracket slice propertyeq
    mapfromentries jsonextract jsonextractscalar jsonpath jsonpathroot jsonpathkey jsonpathsubscript parsejson
    attimezone converttimezone collate kwarg zeroifnull nvl2 isnan booland boolor widthbucket escape placeholder
    hash tonumber todouble safedivide intervalspan timestamp timetounix generateseries explode unnest flatten lateral
    arrayoverlaps arraysort sortarray arraytostring date_part decode decodecase
    """.split()  # noqa: SIM905
)
ANONYMOUS = frozenset(
    """
    epoch epoch_ms epoch_us epoch_ns date_part datepart strptime try_strptime strftime to_varchar to_char to_number
    to_decimal div0 div0null nullifzero zeroifnull hash regexp_matches regexp_full_match list_contains list_value
    len struct_pack struct_extract json_extract json_extract_string json_array_length try_to_number try_to_date
    try_to_timestamp to_timestamp_ntz editdist3 jaro_winkler_similarity starts_with suffix prefix bit_count fmod
    isfinite isinf monthname dayname equal_null typeof list_extract array_extract map_extract element_at
    parse_json try_parse_json get get_path object_construct array_construct as_varchar md5_number_lower64 even
    """.split()  # noqa: SIM905
)
VOLATILE = frozenset(
    """
    rand randn randstr uuid currentdate currenttime currenttimestamp currentdatetime localtime localtimestamp
    currentuser sessionuser seq1 seq2 seq4 seq8 nextvaluefor generateuuid uniform normal utcdate utctimestamp utctime
    """.split()  # noqa: SIM905
)
_VOLATILE_NAMES = frozenset(
    """
    random uuid gen_random_uuid uuidv4 uuidv7 now today get_current_timestamp get_current_time transaction_timestamp
    setseed nextval currval txid_current uuid_string randstr seq1 seq2 seq4 seq8 uniform normal sysdate
    current_localtime current_localtimestamp getdate
    """.split()  # noqa: SIM905
)


def text_of(node: exp.Expr, dialect: str = "duckdb") -> str:
    """A piece of SQL for a message, cut short."""
    text = " ".join(node.sql(dialect, comments=False).split())
    return text if len(text) <= 90 else text[:87] + "..."


def same_text(node: exp.Expr) -> str:
    """The text that two equal expressions over one relation share."""
    bare = node.copy()
    for column in [bare] if isinstance(bare, exp.Column) else list(bare.find_all(exp.Column)):
        for part in ("table", "db", "catalog"):
            column.set(part, None)
    return bare.sql(comments=False, normalize=True).lower()


def value(e: exp.Expr, scope: Scope, group: bool = False) -> Col:
    """What an expression is for each row of a scope. `group`: names mean aliases before they mean unknown columns."""
    if isinstance(e, (exp.Paren, exp.Alias)):
        made = value(e.this, scope, group)
        return made
    if isinstance(e, exp.Column):
        return scope.resolve(e, group)
    known = scope.known_expr(e)
    if known is not None:
        return known
    if isinstance(e, exp.Window):
        from partwise.proving.windows import window

        return window(e, scope)
    if isinstance(e, (exp.Subquery, exp.Exists, exp.In, exp.Any, exp.All, exp.Query)):
        from partwise.proving.subqueries import subquery

        made_by = subquery(e, scope)
        if made_by is not None:
            return made_by
    converted = _converted(e, scope, group)
    if converted is not None:
        return converted
    return _opaque(e, scope, group)


def _opaque(e: exp.Expr, scope: Scope, group: bool) -> Col:
    fault = None
    shown = text_of(e, scope.dialect)
    name = e.name.lower() if isinstance(e, exp.Anonymous) else e.key
    if isinstance(e, exp.Filter):
        fault = _first(value(e.this, scope).fault, value(e.expression.this, scope).fault)
        return Col(fault=fault)
    if name in VOLATILE or name in _VOLATILE_NAMES:
        return Col(fault=Fault(f"{shown} gives another value each time it is asked", e))
    if isinstance(e, exp.WithinGroup):
        return _within_group(e, scope)
    if isinstance(e, (exp.IgnoreNulls, exp.RespectNulls)):
        return value(e.this, scope)
    if name in ORDERED:
        return _ordered(e, scope)
    allowed = name in AGGREGATES or name in SCALARS or (isinstance(e, exp.Anonymous) and name in ANONYMOUS)
    if isinstance(e, exp.Distinct):
        allowed = True
    if not allowed and not isinstance(e, (exp.Star, exp.Ordered, exp.Order, exp.Where)):
        return Col(fault=Fault(f"{shown} is not known to depend on its row only", e))
    outer = False
    for child in _children(e):
        inner = value(child, scope, group)
        fault = _first(fault, inner.fault)
        outer = outer or inner.outer
    made = _moved(e, scope)
    return Col(fault=fault and fault.doubted(), moved=made, outer=outer)


def _children(e: exp.Expr) -> list[exp.Expr]:
    skipped = (exp.Identifier, exp.DataType, exp.Var, exp.Literal, exp.Star, exp.JSONPath)
    return [child for child in e.iter_expressions() if not isinstance(child, skipped)]


def _first(*faults: Fault | None) -> Fault | None:
    return next((fault for fault in faults if fault is not None), None)


# ---------------------------------------------------------------- aggregates that depend on order


def _ordered(e: exp.Expr, scope: Scope) -> Col:
    """`string_agg(x, ',' order by x)`: its order tells equal values apart only where these are equal anyway."""
    inner = e.this
    shown = text_of(e, scope.dialect)
    if isinstance(inner, exp.Order):
        what = inner.this.expressions[0] if isinstance(inner.this, exp.Distinct) else inner.this
        first = inner.expressions[0].this if inner.expressions else None
        if first is not None and first == what:
            return Col(fault=value(what, scope).fault)
    return Col(fault=Fault(f"{shown} depends on the order of rows that nothing settles", e))


def _within_group(e: exp.WithinGroup, scope: Scope) -> Col:
    order = e.expression
    ordered = [o.this for o in order.expressions] if isinstance(order, exp.Order) else []
    fault = _first(*(value(o, scope).fault for o in ordered))
    inner = e.this
    if inner.key in ("percentilecont", "percentiledisc", "median"):
        return Col(fault=fault)
    what = inner.this.expressions[0] if isinstance(inner.this, exp.Distinct) else inner.this
    if inner.key in ("groupconcat", "arrayagg") and ordered and ordered[0] == what:
        return Col(fault=fault)
    return Col(fault=Fault(f"{text_of(e, scope.dialect)} depends on the order of rows that nothing settles", e))


# ---------------------------------------------------------------- conversions that keep the partition


def _converted(e: exp.Expr, scope: Scope, group: bool) -> Col | None:
    if isinstance(e, exp.Coalesce):
        return _coalesced(e, scope, group)
    if isinstance(e, exp.AtTimeZone) and isinstance(e.args.get("zone"), exp.Literal):
        return _in_zone(value(e.this, scope, group), e.args["zone"].name, scope)
    if isinstance(e, exp.Anonymous) and e.name.lower() == "timezone" and len(e.expressions) == 2:
        if isinstance(e.expressions[0], exp.Literal):
            return _in_zone(value(e.expressions[1], scope, group), e.expressions[0].name, scope)
        return None
    if isinstance(e, exp.ConvertTimezone):
        return _snowflake_zone(e, scope, group)
    unit = _cut(e, scope.dialect)
    if unit is None:
        return None
    inner = value(e.this, scope, group)
    kept: dict[str, Form] = {}
    for dim, form in inner.keys.items():
        axis = scope.axes[dim]
        if isinstance(axis, TimeAxis) and not _is_fine(form) and keeps_window(axis, form, unit):
            kept[dim] = form
    moved = inner.moved
    lost = sorted(set(inner.keys) - set(kept))
    if lost:
        shown = text_of(e, scope.dialect)
        certain = _coarser(scope.axes[lost[0]], unit) and inner.bare and _is_tight(scope, lost[0])
        example = "a row late in its unit of time goes to the partition in which the unit begins"
        moved = Fault(f"{shown} may move rows to other partitions", e, certain, example)
    return Col(keys=kept, fault=inner.fault and inner.fault.doubted(), moved=moved, outer=inner.outer)


def _is_tight(scope: Scope, dim: str) -> bool:
    """Whether nothing but the partitions asked for is read."""
    return scope.free and any(dim in group for group in scope.tight)


def _is_fine(form: Form) -> bool:
    """Whether values are finer than a microsecond, so that a cast might round them up."""
    return "ns" in form.name


def _cut(e: exp.Expr, dialect: str) -> str | None:
    """The unit an expression cuts time down to; '' where it changes nothing; None when it is no such thing."""
    if isinstance(e, (exp.TsOrDsToDate, exp.Date)):
        others = [v for k, v in e.args.items() if k != "this" and v]
        return "day" if not others else None
    if isinstance(e, (exp.Cast, exp.TryCast)):
        to, kind = e.to, e.to.this
        if kind == exp.DType.DATE:
            return "day"
        plain = not to.expressions
        if plain and kind == exp.DType.TIMESTAMPNTZ:
            return "microsecond"
        if plain and kind == exp.DType.TIMESTAMP and dialect == "duckdb":
            return "microsecond"
        return None
    if isinstance(e, (exp.TimestampTrunc, exp.DateTrunc)) and not e.args.get("zone"):
        unit = e.args.get("unit")
        name = unit.name.lower() if isinstance(unit, (exp.Var, exp.Literal)) else ""
        name = name.removesuffix("s") if name.endswith("s") else name
        if name == "week" and dialect != "duckdb":
            return "week (of the session)"
        return name or None
    return None


def _coarser(axis: object, unit: str) -> bool:
    order = ("hour", "day", "week", "month", "quarter", "year")
    grains = {"hourly": 0, "daily": 1, "monthly": 3, "quarterly": 4}
    kind = getattr(axis, "kind", "")
    return unit in order and kind in grains and order.index(unit) > grains[kind]


def _coalesced(e: exp.Coalesce, scope: Scope, group: bool) -> Col | None:
    parts = [value(part, scope, group) for part in (e.this, *e.expressions)]
    fault = _first(*(p.fault for p in parts))
    fault = fault and fault.doubted()
    if len(parts) >= 2:
        first = parts[0]
        found: dict[str, Form] = {}
        for dim, form, number, side in first.halves:
            for dim2, form2, number2, side2 in parts[1].halves:
                if dim == dim2 and number == number2 and side != side2 and form.same(form2):
                    found[dim] = form
        if found:
            return Col(keys=found, fault=fault)
    return None


def _in_zone(inner: Col, name: str, scope: Scope) -> Col:
    """`ts at time zone 'Z'`: from an instant to the clock of Z, and from the clock of Z to an instant."""
    kept: dict[str, Form] = {}
    for dim, form in inner.keys.items():
        axis = scope.axes[dim]
        if not isinstance(axis, TimeAxis) or _is_fine(form):
            continue
        if form.kind == "instant" and converts(axis, name):
            kept[dim] = Form("wall", name, name="timestamp")
        elif form.kind == "wall" and form.zone == name and form.name.startswith("timestamp") and converts(axis, name):
            kept[dim] = Form("instant", name="timestamptz")
    return Col(keys=kept, fault=inner.fault and inner.fault.doubted(), outer=inner.outer)


def _snowflake_zone(e: exp.ConvertTimezone, scope: Scope, group: bool) -> Col | None:
    target, source = e.args.get("target_tz"), e.args.get("source_tz")
    if not isinstance(target, exp.Literal):
        return None
    inner = value(e.args["timestamp"], scope, group)
    if source is None:
        return Col(fault=inner.fault and inner.fault.doubted(), outer=inner.outer)
    if not isinstance(source, exp.Literal):
        return None
    return _in_zone(_in_zone(inner, source.name, scope), target.name, scope)


_SHIFTS = (exp.Add, exp.Sub, exp.DateAdd, exp.DateSub, exp.TimestampAdd, exp.TimestampSub, exp.TsOrDsAdd)


def _moved(e: exp.Expr, scope: Scope) -> Fault | None:
    """Whether an expression is a partition column moved by a constant, which leaves its partition for certain."""
    if not isinstance(e, _SHIFTS):
        return None
    base, by = e.this, e.expression
    inner = value(base, scope)
    amount = by.this if isinstance(by, exp.Interval) else by
    if not inner.keys or not isinstance(amount, exp.Literal) or amount.name in ("0", ""):
        return None
    unit = by.args.get("unit") if isinstance(by, exp.Interval) else e.args.get("unit")
    kinds = {getattr(scope.axes[dim], "kind", "") for dim in inner.keys}
    days = unit is None or unit.name.lower().rstrip("s") in ("day", "week", "month", "year", "quarter")
    certain = inner.bare and days and kinds <= {"daily", "hourly"} and all(_is_tight(scope, d) for d in inner.keys)
    shown = text_of(e, scope.dialect)
    return Fault(f"{shown} moves rows to other partitions", e, certain, "a row of one day goes to another day")
