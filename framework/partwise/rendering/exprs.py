"""Partition exprs: parsed once in their own dialect, written in the dialect of the text they go into."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from partwise.errors import RenderError

if TYPE_CHECKING:
    from sqlglot import exp

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_QUOTED = re.compile(r'"(?:[^"]|"")+"\Z')


@dataclass(frozen=True, slots=True)
class Expr:
    """One SQL expression over the columns of one row. `column` is its name when it is a bare column, unquoted."""

    text: str
    dialect: str
    column: str | None = None
    is_quoted: bool = False

    def write(self, dialect: str) -> str:
        """The text for another dialect, in parentheses unless it binds more tightly than a comparison.

        In its own dialect it is the author's text, byte for byte. Raises RenderError for what cannot be said there.
        """
        if self.column is not None and not self.is_quoted:
            return self.text
        return _written(self.text, self.dialect, dialect)


@lru_cache(maxsize=4096)
def parse_expr(text: str, dialect: str) -> Expr:
    """The expression a text holds.

    Raises RenderError when it is not exactly one expression, or needs more than one row (subquery, aggregate, window).
    """
    stripped = text.strip()
    if _NAME.match(stripped) and stripped.lower() not in ("null", "true", "false", "select"):
        return Expr(stripped, dialect, column=stripped)
    if _QUOTED.match(stripped):
        return Expr(stripped, dialect, column=stripped[1:-1].replace('""', '"'), is_quoted=True)
    tree = _tree(stripped, dialect)
    if "--" in stripped or "/*" in stripped or "\n" in stripped:
        stripped = tree.sql(dialect, comments=False)
    return Expr(stripped, dialect)


@lru_cache(maxsize=4096)
def _tree(text: str, dialect: str) -> exp.Condition:
    import sqlglot
    from sqlglot import errors, exp

    def refuse(why: str, hint: str | None = None) -> RenderError:
        hint = hint or "write an expression of one row's columns"
        return RenderError(f"`{text}` is no partition expr: {why}", hint=hint)

    try:
        trees = sqlglot.parse(text, read=dialect)
    except errors.SqlglotError as error:
        raise refuse(f"it cannot be read as {dialect} SQL ({parse_problem(error)})") from None
    tree = trees[0] if len(trees) == 1 else None
    if tree is None:
        raise refuse("it is empty" if len(trees) < 2 else "it is more than one statement")
    if isinstance(tree, (exp.Alias, exp.Star, exp.Query, exp.DDL, exp.Command)) or not isinstance(tree, exp.Condition):
        raise refuse("it is not an expression")
    for node in tree.walk():
        if isinstance(node, (exp.Query, exp.AggFunc, exp.Window, exp.UDTF)):
            raise refuse(f"`{node.sql(dialect)}` needs more than one row")
    return tree


@lru_cache(maxsize=4096)
def _written(text: str, source: str, target: str) -> str:
    from sqlglot import errors, exp

    if _QUOTED.match(text):
        return text
    tree = _tree(text, source)
    body = text
    if source != target:
        try:
            body = tree.sql(target, unsupported_level=errors.ErrorLevel.RAISE)
        except errors.UnsupportedError as error:
            raise RenderError(f"`{text}` cannot be said in {target}: {error}") from None
    tight = (exp.Column, exp.Func, exp.Literal, exp.Paren, exp.Dot, exp.Bracket, exp.Add, exp.Sub, exp.Mul, exp.Div)
    connective = (exp.Connector, exp.Predicate, exp.Not, exp.Case)
    return body if isinstance(tree, tight) and not isinstance(tree, connective) else f"({body})"


def parse_problem(error: Exception) -> str:
    """What sqlglot complained about, in a few words and without terminal colours."""
    details = getattr(error, "errors", None)
    if details:
        found = details[0].get("highlight") or ""
        what = str(details[0].get("description") or "").rstrip(". ")
        return f"{what} near `{found}`" if found else what
    return re.sub(r"\x1b\[[0-9;]*m", "", str(error)).split("\n")[0]


def same_name(a: str, b: str) -> bool:
    """Whether two names, case aside, are one."""
    return a.lower() == b.lower()


def same_column(name: str, expr: Expr, dialect: str) -> bool:
    """Whether a column as a catalog lists it is the bare column that an expression names."""
    if expr.column is None:
        return False
    if dialect != "snowflake":
        return name.lower() == expr.column.lower()
    return name == (expr.column if expr.is_quoted else expr.column.upper())


