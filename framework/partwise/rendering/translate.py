"""A SELECT written for one dialect, in the words of another. Only ever the SELECT: DDL and DML are made per engine."""

from __future__ import annotations

from difflib import SequenceMatcher

import sqlglot
from sqlglot import errors, exp

from partwise.errors import RenderError
from partwise.rendering.exprs import parse_problem
from partwise.rendering.linemap import Located, Location, Span


def translate(text: Located, source: str, target: str) -> Located:
    """`text` for another dialect, with the lines it came from as nearly as can be told.

    Raises RenderError for what cannot be said in `target`.
    """
    try:
        tree = sqlglot.parse_one(text, read=source)
        _refuse(tree, text, source, target)
        written = tree.sql(target, pretty=True, unsupported_level=errors.ErrorLevel.RAISE)
    except errors.UnsupportedError as error:
        where = text.at(0)
        raise RenderError(
            f"this {source} query cannot be run on {target}: {parse_problem(error)}",
            file=where.file,
            hint=_OTHER_WORDS,
        ) from None
    except errors.SqlglotError as error:
        where = text.at(0)
        message = f"the query cannot be read as {source} SQL: {parse_problem(error)}"
        raise RenderError(message, file=where.file) from None
    return _align(text, source, written, target)




def _refuse(tree: exp.Expr, text: Located, source: str, target: str) -> None:
    """Raise RenderError for what sqlglot would write wrongly or not at all, without a word."""
    for node in tree.walk():
        what = _wrong(node)
        if what is not None:
            start = next((n.meta["start"] for n in node.walk() if "start" in n.meta), 0)
            where = text.at(start)
            raise RenderError(
                f"{what} of {source} cannot be run on {target}", file=where.file, line=where.line, hint=_OTHER_WORDS
            )


_OTHER_WORDS = "write it in words that both have, or test the model where it runs"


def _wrong(node: exp.Expr) -> str | None:
    if isinstance(node, exp.MatchRecognize):
        return "MATCH_RECOGNIZE"
    if isinstance(node, exp.Column) and node.args.get("join_mark"):
        return f"the outer join `{node.sql('snowflake')}`"  # it would become an inner join
    if isinstance(node, exp.Table) and (node.args.get("when") or node.args.get("changes")):
        return f"the time travel on `{node.name}`"
    if isinstance(node, exp.Join) and node.args.get("match_condition"):
        return "ASOF JOIN with MATCH_CONDITION"
    return None


def _align(text: Located, source: str, written: str, target: str) -> Located:
    """The translation, each word of it with the line of the same word in the original."""
    if not text.spans:
        return Located(written)
    try:
        before, after = sqlglot.tokenize(text, read=source), sqlglot.tokenize(written, read=target)
    except errors.SqlglotError:
        return Located(written, (Span(0, text.at(0), False),))
    words = SequenceMatcher(None, [t.text.lower() for t in before], [t.text.lower() for t in after], autojunk=False)
    spans = [Span(0, text.at(before[0].start if before else 0), False)]
    last: Location = spans[0].location
    for a, b, size in words.get_matching_blocks():
        for i in range(size):
            where = text.at(before[a + i].start)
            if where != last:
                spans.append(Span(after[b + i].start, where, False))
                last = where
    if len(spans) > 1 and spans[1].start == 0:
        spans = spans[1:]
    return Located(written, tuple(spans))
