"""Whether a view hands on the partition column of its one partitioned input unchanged.

Plain selects are told by a few patterns. Only what they cannot tell is given to sqlglot, which is slow to load. The
answer is conservative: no means "not shown".
"""

from __future__ import annotations

import re

from partwise.project.sqltext import without_comments

_SIMPLE = re.compile(
    r"\s*select\s+(?P<list>(?:(?!\bfrom\b).)*?)\s+from\s+(?P<from>zpw_\d+_zpw)"
    r"(?:\s+(?:as\s+)?(?!where\b|group\b|order\b|limit\b|having\b|qualify\b|join\b|left\b|right\b|inner\b|full\b|cross\b"
    r"|natural\b|union\b|except\b|intersect\b|on\b|using\b|asof\b|positional\b|lateral\b|pivot\b|unpivot\b|sample\b"
    r"|tablesample\b|window\b)(?P<alias>[a-z_]\w*))?"
    r"(?P<tail>\s+where\b.*|\s*;?\s*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_TAIL_STOPS = re.compile(r"\b(union|except|intersect|from|limit|qualify|window)\b", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_PLAIN_ITEM = re.compile(
    r"(?:(?P<table>\w+)\s*\.\s*)?(?P<column>\w+|\*)(?:\s+(?:as\s+)?(?P<alias>\w+))?\Z", re.IGNORECASE
)
_DISTINCT = re.compile(r"\A(?:distinct|all)\s+(?!on\b)", re.IGNORECASE)
_ENDS_IN_ALIAS = re.compile(r"\bas\s+(?P<alias>\w+)\s*\Z", re.IGNORECASE)


def passes_through(sql: str, mark: str, columns: frozenset[str], dialect: str) -> bool:
    """Whether every column in `columns` of the relation `mark` leaves the query under its own name, unchanged."""
    text = without_comments(sql, dialect).strip()
    told = _told_by_pattern(text, mark, columns)
    if told is not None:
        return told
    return _told_by_sqlglot(text, mark, columns, dialect)


def _told_by_pattern(text: str, mark: str, columns: frozenset[str]) -> bool | None:
    match = _SIMPLE.match(text)
    if match is None or match["from"].lower() != mark.lower() or '"' in match["list"] or "'" in match["list"]:
        return None
    if _TAIL_STOPS.search(match["tail"]) or text.count("zpw_") != 1:
        return None
    missing = {column.lower() for column in columns}
    for item in _items(_DISTINCT.sub("", match["list"])):
        plain = _PLAIN_ITEM.match(item)
        if plain is None:
            named = _ENDS_IN_ALIAS.search(item)
            if named is None or named["alias"].lower() in missing:
                return None
        elif plain["column"] == "*" and not plain["alias"]:
            return True if not match["list"].lower().count("exclude") else None
        elif (plain["alias"] or plain["column"]).lower() in missing:
            if plain["alias"] and plain["alias"].lower() != plain["column"].lower():
                return False
            missing.discard(plain["column"].lower())
    return not missing


def _items(text: str) -> list[str]:
    """The entries of a select list, split at commas outside parentheses."""
    items, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            items.append(text[start:at].strip())
            start = at + 1
    return [*items, text[start:].strip()]


def columns_of(expression: str) -> frozenset[str] | None:
    """The columns a partition expr reads: at once when it is a plain name, else None."""
    text = expression.strip()
    return frozenset((text,)) if _NAME.match(text) else None


def columns_by_sqlglot(expression: str, dialect: str) -> frozenset[str]:
    """The columns that any partition expr reads; empty when it cannot be parsed."""
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(expression, dialect=dialect)
    except sqlglot.errors.SqlglotError:
        return frozenset()
    return frozenset(column.name for column in tree.find_all(exp.Column))


def _told_by_sqlglot(text: str, mark: str, columns: frozenset[str], dialect: str) -> bool:
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(text, dialect=dialect)
    except sqlglot.errors.SqlglotError:
        return False
    if not isinstance(tree, exp.Query):
        return False
    return all(_traced(tree, column, mark.lower(), {}) for column in columns)


def _traced(query: object, column: str, mark: str, ctes: dict[str, object]) -> bool:
    """Whether an output column of a query is that column of the marked relation, handed on through every select."""
    from sqlglot import exp

    if isinstance(query, exp.Subquery):
        return _traced(query.this, column, mark, ctes)
    if isinstance(query, exp.Union):
        own = {**ctes, **_ctes(query)}
        return _traced(query.left, column, mark, own) and _traced(query.right, column, mark, own)
    if not isinstance(query, exp.Select):
        return False
    own = {**ctes, **_ctes(query)}
    sources = _sources(query)
    if sources is None:
        return False
    for item in query.expressions:
        if isinstance(item, exp.Star) and len(sources) == 1:
            changed = any(item.args.get(key) for key in ("except", "except_", "replace", "rename"))
            return not changed and _from(next(iter(sources.values())), column, mark, own)
        inner = item.this if isinstance(item, exp.Alias) else item
        if isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star):
            source = sources.get(inner.table.lower())
            if source is not None and _from(source, column, mark, own):
                return True
            continue
        if item.alias_or_name.lower() != column.lower():
            continue
        if not isinstance(inner, exp.Column) or inner.name.lower() != column.lower():
            return False
        if inner.table:
            source = sources.get(inner.table.lower())
            return source is not None and _from(source, column, mark, own)
        return len(sources) == 1 and _from(next(iter(sources.values())), column, mark, own)
    return False


def _ctes(query: object) -> dict[str, object]:
    return {cte.alias.lower(): cte.this for cte in getattr(query, "ctes", [])}


def _sources(query: object) -> dict[str, object] | None:
    """What a select reads, by alias; what an outer join may leave out is a NULL. None: unknown."""
    from sqlglot import exp

    assert isinstance(query, exp.Select)
    start = query.args.get("from") or query.args.get("from_")
    if start is None or query.args.get("laterals"):
        return None
    found = {start.this.alias_or_name.lower(): start.this}
    for join in query.args.get("joins") or []:
        if (join.side or "").upper() in ("RIGHT", "FULL"):
            return None
        name = join.this.alias_or_name.lower()
        found[name] = join.this if (join.side or "").upper() != "LEFT" else exp.Null()
    return found


def _from(source: object, column: str, mark: str, ctes: dict[str, object]) -> bool:
    from sqlglot import exp

    if isinstance(source, exp.Subquery):
        return _traced(source.this, column, mark, ctes)
    if not isinstance(source, exp.Table):
        return False
    name = source.name.lower()
    if name == mark:
        return not source.args.get("pivots")
    inner = ctes.get(name) if not source.db else None
    rest = {k: v for k, v in ctes.items() if k != name}
    return inner is not None and _traced(inner, column, mark, rest)
