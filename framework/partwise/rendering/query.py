"""A rendered SELECT as text, tokens and tree at once: where its names stand, and where its columns come from.

The tree is only read. The text that runs is the author's, edited at positions found here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sqlglot
from sqlglot import Token, TokenType, errors, exp

from partwise.errors import RenderError
from partwise.rendering.exprs import parse_problem
from partwise.rendering.linemap import Located, Location

_TEXTS = frozenset(t for t in TokenType if t.name.endswith("STRING"))


@dataclass(frozen=True, slots=True)
class TableUse:
    """A relation in FROM. `[start, end)` covers its name and time travel; `alias` is the author's, None without one.

    `has_alias_here` says the alias comes right behind the name, so that none may be added. `travel` is the text of the
    time travel clause, with what stands before it.
    """

    node: exp.Table
    start: int
    end: int
    name_end: int
    alias: str | None
    has_alias_here: bool

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.node.parts)


@dataclass(frozen=True, slots=True)
class Origin:
    """A column followed to the relation it was read from, unchanged. `nullable`: an outer join may have emptied it."""

    table: exp.Table
    column: str
    nullable: bool = False

    @property
    def written(self) -> str:
        """The column as SQL: in quotes where it is no plain word."""
        plain = self.column.isidentifier() and self.column.isascii()
        return self.column if plain else exp.to_identifier(self.column, quoted=True).sql()


class Query:
    """One SELECT in one dialect. Raises RenderError, with the template's line, when it is not exactly that."""

    def __init__(self, text: Located, dialect: str) -> None:
        self.text = text
        self.dialect = dialect
        try:
            self.tokens: list[Token] = sqlglot.tokenize(text, read=dialect)
            trees = sqlglot.parse(text, read=dialect)
        except errors.SqlglotError as error:
            raise self._unreadable(error) from None
        found = [tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)]
        if not found:
            raise fail("the model is empty: it renders to no SQL", text.at(0))
        if len(found) > 1:
            at = next((t.end for t in self.tokens if t.token_type == TokenType.SEMICOLON), 0)
            raise fail(
                "the model holds more than one statement", text.at(at), "a model is one SELECT; put the rest in a hook"
            )
        self.tree: exp.Expr = found[0]
        if not isinstance(self.tree, (exp.Query, exp.Pivot, exp.Values)):
            kind = self.tree.key.upper()
            raise fail(f"the model is a {kind} statement, not a SELECT", text.at(self.start))

    def _unreadable(self, error: errors.SqlglotError) -> RenderError:
        line = 1
        if isinstance(error, errors.ParseError) and error.errors:
            line = error.errors[0].get("line") or 1
        offset = sum(len(row) + 1 for row in str.__str__(self.text).split("\n")[: line - 1])
        where = self.text.at(min(offset, max(0, len(self.text) - 1)))
        return fail(f"the query cannot be read as {self.dialect} SQL: {parse_problem(error)}", where)

    # ------------------------------------------------------------ positions

    @cached_property
    def start(self) -> int:
        """Where the statement begins, behind leading comments."""
        return self.tokens[0].start if self.tokens else 0

    @cached_property
    def end(self) -> int:
        """Where the statement ends, before a final semicolon."""
        for token in reversed(self.tokens):
            if token.token_type != TokenType.SEMICOLON:
                return token.end + 1
        return len(self.text)

    @cached_property
    def semicolons(self) -> tuple[int, ...]:
        """The positions of final semicolons."""
        return tuple(t.start for t in self.tokens if t.token_type == TokenType.SEMICOLON)

    @cached_property
    def _token_at(self) -> dict[int, int]:
        return {token.start: i for i, token in enumerate(self.tokens)}

    def is_live(self, offset: int) -> bool:
        """Whether a name begins at `offset`: not so inside a comment or a string."""
        return offset in self._token_at and self.tokens[self._token_at[offset]].token_type not in _TEXTS

    @cached_property
    def tables(self) -> dict[int, TableUse]:
        """The relations in FROM, by the position of their names."""
        found = {}
        for node in self.tree.find_all(exp.Table):
            use = self._table_use(node)
            if use is not None:
                found[use.start] = use
        return found

    def _table_use(self, node: exp.Table) -> TableUse | None:
        places = [_place(part) for part in node.parts]
        if not places or any(place is None for place in places):
            return None
        start, name_end = places[0][0], places[-1][1] + 1  # type: ignore[index]
        end = name_end
        if node.args.get("when") or node.args.get("changes"):
            end = self._travel_end(name_end)
        alias = node.args.get("alias")
        name = alias.this if isinstance(alias, exp.TableAlias) else None
        here = False
        if isinstance(name, exp.Identifier):
            after = self._token_from(end)
            own = _place(name)
            here = after is not None and (
                after.token_type == TokenType.ALIAS or (own is not None and after.start == own[0])
            )
        return TableUse(node, start, end, name_end, name.name if isinstance(name, exp.Identifier) else None, here)

    def _token_from(self, offset: int) -> Token | None:
        return next((token for token in self.tokens if token.start >= offset), None)

    def _travel_end(self, name_end: int) -> int:
        """The end of `at (...)`, `before (...)`, `changes (...) at (...) end (...)` behind a name."""
        i = next(i for i, token in enumerate(self.tokens) if token.start >= name_end)
        end = name_end
        while i + 1 < len(self.tokens) and self.tokens[i].text.lower() in ("at", "before", "changes", "end"):
            if self.tokens[i + 1].token_type != TokenType.L_PAREN:
                break
            depth, i = 0, i + 1
            while i < len(self.tokens):
                depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(self.tokens[i].token_type, 0)
                i += 1
                if not depth:
                    break
            end = self.tokens[i - 1].end + 1
        return end

    @cached_property
    def columns(self) -> tuple[exp.Column, ...]:
        return tuple(self.tree.find_all(exp.Column))

    @cached_property
    def column_at(self) -> dict[int, exp.Column]:
        """The column references, by position."""
        return {place[0]: column for column in self.columns if (place := _place(column.parts[0])) is not None}

    # ------------------------------------------------------------ outputs

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The output columns that have no name of their own, as SQL."""
        return _unnamed(self)

    @property
    def output_names(self) -> tuple[str, ...] | None:
        """The names of the output columns, None when they are not all written down."""
        return _output_names(self)

    # ------------------------------------------------------------ scopes

    def selects_around(self, node: exp.Expr) -> Iterator[exp.Select]:
        """The SELECTs a node stands in, innermost first."""
        at: exp.Expr | None = node.parent
        while at is not None:
            if isinstance(at, exp.Select):
                yield at
            at = at.parent

    def owner(self, table: exp.Table) -> exp.Select | None:
        """The SELECT whose FROM holds a table."""
        return next(self.selects_around(table), None)

    def place(self, column: exp.Column, parts: int) -> tuple[int, int] | None:
        """Where the first `parts` names of a column reference begin and end."""
        first, last = _place(column.parts[0]), _place(column.parts[parts - 1])
        return (first[0], last[1] + 1) if first is not None and last is not None else None

    def sources(self, select: exp.Select) -> list[tuple[exp.Expr, bool]]:
        """The relations of a SELECT's FROM, each with whether an outer join may replace its rows by NULL."""
        found: list[tuple[exp.Expr, bool]] = []
        origin = select.args.get("from_") or select.args.get("from")
        if origin is not None:
            found.append((origin.this, False))
            self._joined(origin.this, found)
        for join in select.args.get("joins") or ():
            found = self._join(join, found)
        found += [(lateral, True) for lateral in select.args.get("laterals") or ()]
        return found

    def _joined(self, node: exp.Expr, found: list[tuple[exp.Expr, bool]]) -> None:
        for join in node.args.get("joins") or ():
            found[:] = self._join(join, found)

    def _join(self, join: Any, before: list[tuple[exp.Expr, bool]]) -> list[tuple[exp.Expr, bool]]:
        side = (join.side or "").upper()
        left = [(node, nullable or side in ("RIGHT", "FULL")) for node, nullable in before]
        return [*left, (join.this, side in ("LEFT", "FULL"))]

    def identifier_text(self, table: TableUse) -> str:
        """The last part of a relation's name, as the author wrote it."""
        place = _place(table.node.parts[-1])
        assert place is not None
        return str.__str__(self.text)[place[0] : place[1] + 1]

    def origin_of(self, select: exp.Select, expression: str) -> Origin | None:
        """Where an expression comes from, when it is one column passed on unchanged."""
        column = sqlglot.parse_one(expression, read=self.dialect)
        return self.origin(select, column) if isinstance(column, exp.Column) else None

    def origin(self, select: exp.Expr, column: exp.Column, depth: int = 0) -> Origin | None:
        """The relation a column was read from, followed through subqueries and CTEs that pass it on unchanged."""
        if depth > 50 or not isinstance(select, exp.Select) or len(column.parts) > 2:
            return None
        sources = self.sources(select)
        if column.table:
            sources = [s for s in sources if _same(s[0].alias_or_name, column.table)]
        if len(sources) != 1:
            return None
        source, nullable = sources[0]
        found = self._through(source, column.name, depth)
        return found and Origin(found.table, found.column, found.nullable or nullable)

    def _through(self, source: exp.Expr, name: str, depth: int) -> Origin | None:
        if isinstance(source, exp.Table):
            cte = None if source.args.get("db") else self._cte(source)
            if source.args.get("pivots") or (source.args.get("alias") and source.args["alias"].args.get("columns")):
                return None
            if cte is None:
                return Origin(source, name)
            if cte.args["alias"].args.get("columns"):
                return None
            return self.output_origin(cte.this, name, depth + 1)
        if isinstance(source, exp.Subquery):
            alias = source.args.get("alias")
            if source.args.get("pivots") or (alias and alias.args.get("columns")) or source.args.get("joins"):
                return None
            return self.output_origin(source.this, name, depth + 1)
        return None

    def output_origins(self, name: str) -> list[Origin] | None:
        """The relations that the output column `name` was read from, unchanged; one per arm of a UNION."""
        arms = _arms(self.tree)
        if arms is None or len(arms) == 1:
            found = self.output_origin(arms[0] if arms else self.tree, name)
            return None if found is None else [found]
        if any(p.is_star for arm in arms for p in arm.expressions) or any(_has_totals(arm) for arm in arms):
            return None
        names = [p.alias_or_name.lower() for p in arms[0].expressions]
        if names.count(name.lower()) != 1:
            return None
        at = names.index(name.lower())
        origins: list[Origin] = []
        for arm in arms:
            column = arm.expressions[at].unalias() if at < len(arm.expressions) else None
            found = self.origin(arm, column) if isinstance(column, exp.Column) else None
            if found is None:
                return None
            origins.append(found)
        return origins

    def output_origin(self, query: exp.Expr, name: str, depth: int = 0) -> Origin | None:
        """The relation that the output column `name` of a query was read from, unchanged."""
        while isinstance(query, exp.Subquery) and not query.args.get("pivots"):
            query = query.this
        if depth > 50 or not isinstance(query, exp.Select) or _has_totals(query):
            return None
        matches = [p for p in query.expressions if not isinstance(p, exp.Star) and _same(p.alias_or_name, name)]
        stars = [p for p in query.expressions if p.is_star]
        if len(matches) == 1 and not stars:
            inner = matches[0].unalias()
            return self.origin(query, inner, depth) if isinstance(inner, exp.Column) else None
        if not matches and len(stars) == 1:
            return self._star_origin(query, stars[0], name, depth)
        return None

    def _star_origin(self, query: exp.Select, star: exp.Expr, name: str, depth: int) -> Origin | None:
        inner = star.this if isinstance(star, exp.Column) else star
        if any(inner.args.get(key) for key in ("except_", "except", "replace", "rename")):
            return None
        table = star.args.get("table") if isinstance(star, exp.Column) else None
        column = exp.Column(this=exp.to_identifier(name), table=table.copy() if table else None)
        return self.origin(query, column, depth)

    def _cte(self, table: exp.Table) -> exp.CTE | None:
        """The CTE a plain name means: the nearest around it, and not the one it stands in."""
        at: exp.Expr | None = table
        inside: exp.CTE | None = None
        while at is not None:
            if isinstance(at, exp.CTE):
                inside = at
            with_ = at.args.get("with_") or at.args.get("with")
            if with_ is not None:
                earlier = []
                for cte in with_.expressions:
                    if cte is inside:
                        break
                    earlier.append(cte)
                for cte in reversed(earlier):
                    if _same(cte.alias, table.name):
                        return cte if isinstance(cte, exp.CTE) else None
            at = at.parent
        return None

    def probe(self, select: exp.Select, expression: str) -> str:
        """A query whose one column is `expression` as seen by the SELECT given, for asking its type."""
        made = select.copy()
        for key in ("where", "group", "having", "qualify", "order", "limit", "offset", "distinct", "windows", "sort"):
            made.set(key, None)
        made.set("expressions", [sqlglot.parse_one(expression, read=self.dialect)])
        ctes: list[exp.Expr] = []
        at: exp.Expr | None = select
        inside: exp.Expr | None = None
        while at is not None:
            if isinstance(at, exp.CTE):
                inside = at
            with_ = at.args.get("with_") or at.args.get("with")
            if with_ is not None:
                around = list(with_.expressions)
                if inside in around:
                    around = around[: around.index(inside)]
                ctes = [*(cte.copy() for cte in around), *ctes]
            at = at.parent
        key = "with_" if "with_" in made.arg_types else "with"
        made.set(key, exp.With(expressions=ctes) if ctes else None)
        return made.sql(self.dialect, comments=False)


def _place(part: exp.Expr) -> tuple[int, int] | None:
    """First and last position of a name."""
    meta = part.meta
    return (meta["start"], meta["end"]) if "start" in meta else None


def _arms(tree: exp.Expr) -> list[exp.Select] | None:
    """The SELECTs whose rows a query is made of, None when that is not plain."""
    while isinstance(tree, exp.Subquery) and not (tree.args.get("pivots") or tree.args.get("joins")):
        tree = tree.this
    if isinstance(tree, exp.Select):
        return [tree]
    if not isinstance(tree, exp.SetOperation) or tree.args.get("by_name"):
        return None
    left = _arms(tree.this)
    if left is None or not isinstance(tree, exp.Union):
        return left  # EXCEPT and INTERSECT give rows of the left
    right = _arms(tree.expression)
    return None if right is None else [*left, *right]


def _has_totals(select: exp.Select) -> bool:
    """Whether GROUP BY makes rows that stand for several values of a key, which is NULL there."""
    group = select.args.get("group")
    if group is None:
        return False
    keys = ("rollup", "cube", "grouping_sets", "totals")
    inside = ("rollup", "cube", "groupingsets")
    return any(group.args.get(key) for key in keys) or any(node.key in inside for node in group.walk())


def _same(a: str, b: str) -> bool:
    return a.lower() == b.lower()


def fail(message: str, where: Location | None, hint: str | None = None) -> RenderError:
    """A RenderError at a line of a template, naming the calling line of the model too when that is another."""
    if where is None:
        return RenderError(message, hint=hint)
    if where.caller is not None:
        message += f" (called at {where.caller[0]}:{where.caller[1]})"
    return RenderError(message, file=where.file, line=where.line, hint=hint)


def _unnamed(query: Query) -> tuple[str, ...]:
    select: Any = query.tree
    while isinstance(select, (exp.SetOperation, exp.Subquery)):
        select = select.this
    if not isinstance(select, exp.Select):
        return ()
    named = (exp.Alias, exp.Aliases, exp.Column, exp.Star, exp.Dot, exp.Bracket)
    nameless = (p for p in select.expressions if not isinstance(p, named) and not p.is_star and not _expands(p))
    return tuple(p.sql(query.dialect) for p in nameless)


def _output_names(query: Query) -> tuple[str, ...] | None:
    select: Any = query.tree
    while isinstance(select, (exp.SetOperation, exp.Subquery)):
        select = select.this
    if not isinstance(select, exp.Select) or any(p.is_star or _expands(p) for p in select.expressions):
        return None
    return tuple(p.alias_or_name or p.output_name for p in select.expressions)


def _expands(projection: exp.Expr) -> bool:
    """DuckDB's `columns(...)` and unnesting of structs name their outputs themselves."""
    return projection.key in ("columns", "explode", "unnest", "inline") or (
        projection.key == "anonymous" and projection.name.lower() in ("columns", "unnest")
    )
