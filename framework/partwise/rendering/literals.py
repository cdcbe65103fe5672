"""Names and constants as SQL text, per dialect.

partwise writes names without quotes wherever that means the same thing, so that generated SQL reads like hand-written
SQL. `duckdb` and `snowflake` are written here; constants in another model dialect are left to sqlglot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from partwise.errors import RenderError
from partwise.nodes import RelationName

# duckdb_keywords() where keyword_category = 'reserved' (2.0.1), plus those that cannot name a table or a column.
_DUCKDB_RESERVED = frozenset(
    """
    all analyse analyze and any array as asc asymmetric at authorization between binary both case cast check collate
    collation column concurrently constraint create cross default deferrable desc describe distinct do else end except
    false fetch for foreign freeze from full generated glob group having ilike in initially inner intersect into is
    isnull join lambda lateral leading left like limit map natural not notnull null offset on only or order outer
    overlaps pivot pivot_longer pivot_wider placing positional primary qualify references returning right row select
    semi show similar some struct summarize symmetric table tablesample then to trailing true try_cast union unique
    unpivot using variadic verbose when where window with
    """.split()  # noqa: SIM905
)
# https://docs.snowflake.com/en/sql-reference/reserved-keywords
_SNOWFLAKE_RESERVED = frozenset(
    """
    account all alter and any as between by case cast check column connect connection constraint create cross current
    current_date current_time current_timestamp current_user database delete distinct drop else exists false following
    for from full grant group gscluster having ilike in increment inner insert intersect into is issue join lateral left
    like localtime localtimestamp minus natural not null of on or order organization qualify regexp revoke right rlike
    row rows sample schema select set some start table tablesample then to trigger true try_cast union unique update
    using values view when whenever where with
    """.split()  # noqa: SIM905
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PLAIN_UPPER = re.compile(r"[A-Z_][A-Z0-9_]*\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quote(name: str) -> str:
    """`name` in double quotes, always: a quote inside is doubled."""
    return '"' + name.replace('"', '""') + '"'


def identifier(name: str, dialect: str) -> str:
    """A name from the project (schema, table), in quotes only where it needs them.

    Snowflake folds a name without quotes to upper case, so one that must be quoted for being a reserved word is
    written in upper case, as an unquoted name would have been stored.
    """
    if not _PLAIN.match(name):
        return quote(name)
    if dialect == "snowflake":
        return quote(name.upper()) if name.lower() in _SNOWFLAKE_RESERVED else name
    return quote(name) if name.lower() in _DUCKDB_RESERVED else name


def column(name: str, dialect: str) -> str:
    """A column name exactly as a catalog or a describe gave it, in quotes where leaving them out would change it."""
    if dialect == "snowflake":
        plain = _PLAIN_UPPER.match(name) and name.lower() not in _SNOWFLAKE_RESERVED
    else:
        plain = _PLAIN.match(name) and name.lower() not in _DUCKDB_RESERVED
    return name if plain else quote(name)


def columns(names: Iterable[str], dialect: str) -> str:
    """Column names as a list for INSERT and SELECT."""
    return ", ".join(column(name, dialect) for name in names)


def relation(name: RelationName, dialect: str) -> str:
    """The relation's full name.

    >>> relation(RelationName(None, "shop", "order"), "duckdb")
    'shop."order"'
    """
    parts = (name.database, name.schema, name.identifier)
    return ".".join(identifier(part, dialect) for part in parts if part)


def text(value: str, dialect: str) -> str:
    r"""A text constant on one line, whatever it holds. Raises RenderError for a zero byte, which no SQL text may hold.

    Snowflake reads backslash escapes inside plain quotes, DuckDB only in `E'...'`.

    >>> print(text("Val d'Oise", "duckdb"), text(r"C:\x", "snowflake"), text(chr(10), "duckdb"))
    'Val d''Oise' 'C:\\x' E'\n'
    """
    if "\x00" in value:
        raise RenderError(f"the key {value!r} holds a zero byte, which SQL text cannot")
    if dialect == "snowflake":
        body = _CONTROL.sub(_escape, value.replace("\\", "\\\\"))
        return "'" + body.replace("'", "''") + "'"
    if dialect == "duckdb":
        if not _CONTROL.search(value):
            return "'" + value.replace("'", "''") + "'"
        return "E'" + _CONTROL.sub(_escape, value.replace("\\", "\\\\")).replace("'", "''") + "'"
    from sqlglot import exp

    return exp.Literal.string(value).sql(dialect)


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0], f"\\x{ord(match[0]):02x}")
