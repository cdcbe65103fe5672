"""Which marks in a piece of SQL stand in code, and which in a comment or a string.

Small on purpose: it runs for every model while a project loads, where a SQL parser would cost more than all the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

MARK = re.compile(r"zpw_(\d+)_zpw", re.IGNORECASE)


def mark(number: int) -> str:
    """The word that stands for a reference while a template is parsed."""
    return f"zpw_{number}_zpw"


@cache
def _pattern(dialect: str) -> re.Pattern[str]:
    backslash = dialect in ("snowflake", "bigquery", "databricks", "spark", "mysql", "clickhouse")
    line = r"--[^\n]*"
    if dialect == "snowflake":
        line += r"|//[^\n]*"
    if dialect in ("bigquery", "mysql"):
        line += r"|\#[^\n]*"
    string = r"'(?:[^'\\]|\\.|'')*'?" if backslash else r"(?:(?<![\w])[eE]'(?:[^'\\]|\\.|'')*'?|'(?:[^']|'')*'?)"
    parts = (
        rf"(?P<skip>{line}|{string}|\"(?:[^\"]|\"\")*\"?|\$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z))",
        r"(?P<block>/\*)",
        r"(?P<mark>zpw_\d+_zpw)",
    )
    return re.compile("|".join(parts), re.DOTALL | re.IGNORECASE)


def live_marks(text: str, dialect: str) -> set[int]:
    """The numbers of the marks that stand in code."""
    return {int(number) for number, live in _marks(text, dialect) if live}


def all_marks(text: str) -> set[int]:
    """The numbers of all marks, wherever they stand."""
    return {int(number) for number in MARK.findall(text)}


def without_comments(text: str, dialect: str) -> str:
    """The text with comments blanked; strings stay. Positions and line breaks are kept."""
    out: list[str] = []
    at = 0
    for kind, start, end in _pieces(text, dialect):
        if kind == "comment":
            out.append(text[at:start])
            out.append(re.sub(r"[^\n]", " ", text[start:end]))
            at = end
    out.append(text[at:])
    return "".join(out)


def _marks(text: str, dialect: str) -> Iterator[tuple[str, bool]]:
    for kind, start, end in _pieces(text, dialect):
        for number in MARK.findall(text, start, end):
            yield number, kind == "mark"


def _pieces(text: str, dialect: str) -> Iterator[tuple[str, int, int]]:
    """Comments, strings and marks in order, each as (kind, start, end)."""
    pattern = _pattern(dialect)
    at = 0
    while match := pattern.search(text, at):
        start, at = match.span()
        if match["block"]:
            at = _end_of_block(text, at, nested=dialect in ("duckdb", "postgres"))
            yield "comment", start, at
        elif match["mark"]:
            yield "mark", start, at
        else:
            yield ("comment" if text[start] in "-/#" else "string"), start, at


_BLOCK = re.compile(r"/\*|\*/")


def _end_of_block(text: str, at: int, *, nested: bool) -> int:
    depth = 1
    for match in _BLOCK.finditer(text, at):
        if match[0] == "*/":
            depth -= 1
        elif nested:
            depth += 1
        if depth == 0:
            return match.end()
    return len(text)
