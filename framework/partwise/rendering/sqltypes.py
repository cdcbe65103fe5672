"""What kind of values an SQL expression has, as far as comparing it with a bound needs to know."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "date", "timestamp", "timestamptz", "text", "integer", "decimal", "float", "boolean", "uuid", "other", "unknown"
]

_INTEGERS = frozenset(
    """
    tinyint smallint integer int bigint hugeint utinyint usmallint uinteger ubigint uhugeint byteint int1 int2 int4
    int8 long short signed bignum varint
    """.split()  # noqa: SIM905
)
_KINDS: dict[str, Kind] = {
    "date": "date",
    "timestamp": "timestamp",
    "datetime": "timestamp",
    "timestamp_ntz": "timestamp",
    "timestampntz": "timestamp",
    "timestamp_s": "timestamp",
    "timestamp_ms": "timestamp",
    "timestamp_us": "timestamp",
    "timestamp_ns": "timestamp",
    "timestamp without time zone": "timestamp",
    "timestamptz": "timestamptz",
    "timestamp with time zone": "timestamptz",
    "timestamp_ltz": "timestamptz",
    "timestamp_tz": "timestamptz",
    "timestampltz": "timestamptz",
    "varchar": "text",
    "char": "text",
    "character": "text",
    "bpchar": "text",
    "string": "text",
    "text": "text",
    "nvarchar": "text",
    "enum": "text",
    "fixed": "decimal",
    "number": "decimal",
    "numeric": "decimal",
    "decimal": "decimal",
    "float": "float",
    "float4": "float",
    "float8": "float",
    "double": "float",
    "double precision": "float",
    "real": "float",
    "boolean": "boolean",
    "bool": "boolean",
    "uuid": "uuid",
}


@dataclass(frozen=True, slots=True)
class SqlType:
    """The kind of an expression; `name` is the warehouse's own text, kept for messages and for casts."""

    kind: Kind
    name: str = ""

    @staticmethod
    def of(name: str) -> SqlType:
        """The type a warehouse calls `name`.

        >>> [SqlType.of(n).kind for n in ("TIMESTAMP_NTZ(9)", "TIMESTAMP WITH TIME ZONE", "NUMBER(38,0)", "INTEGER[]")]
        ['timestamp', 'timestamptz', 'integer', 'other']
        """
        text = " ".join(name.lower().split())
        if text.endswith("]"):
            return SqlType("other", name)
        arguments = re.search(r"\(([^)]*)\)", text)
        word = " ".join(re.sub(r"\(.*\)", " ", text).split())
        if word in _INTEGERS:
            return SqlType("integer", name)
        kind = _KINDS.get(word, "other")
        if kind == "decimal" and _scale(word, arguments[1] if arguments else "") == 0:
            kind = "integer"
        return SqlType(kind, name)

    def __str__(self) -> str:
        return self.name or self.kind.upper()


def _scale(word: str, arguments: str) -> int | None:
    """Digits after the point: Snowflake's NUMBER without arguments has none, DuckDB's DECIMAL has three."""
    if not arguments:
        return 0 if word in ("number", "fixed") else None
    parts = arguments.split(",")
    return int(parts[1]) if len(parts) > 1 and parts[1].strip().isdigit() else 0


UNKNOWN = SqlType("unknown")
