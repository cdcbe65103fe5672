"""Edits of a query's text: filtered relations put in place of names, and the qualifiers that follow from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from partwise.adapters.base import Column
from partwise.errors import RenderError
from partwise.nodes import Node
from partwise.rendering import literals
from partwise.rendering.exprs import same_name
from partwise.rendering.linemap import Located, edit
from partwise.rendering.marks import Use, placed

if TYPE_CHECKING:
    from sqlglot import exp

    from partwise.rendering.query import Query, TableUse

Edit = tuple[int, int, str]
"""Start, end, and the text to stand there instead."""


def put(
    table: TableUse, text: str, alias: str, renamed: list[tuple[TableUse, str]]
) -> list[Edit]:
    """The edit that replaces a relation; the alias goes right behind it unless the author's own does."""
    if table.has_alias_here:
        return [(table.start, table.end, text)]
    if table.alias is None:
        renamed.append((table, alias))
    return [(table.start, table.end, f"{text} as {alias}")]


def by_name(query: Query, marks: list[tuple[int, Use]], called: list[Use]) -> list[tuple[int, Use]]:
    """The relations in FROM that carry no sign and still are what a ref was asked for: `{{ ref('x').schema }}.x`.

    Raises RenderError when several refs to it differ in what they read.
    """
    found: list[tuple[int, Use]] = []
    signed = {offset for offset, _ in marks}
    for start, table in query.tables.items():
        parts = [part.lower() for part in table.parts]
        if start in signed or len(parts) < 2:
            continue
        same = {}
        for use in called:
            name = use.node.relation if use.node is not None else None
            if name is not None and [name.schema.lower(), name.identifier.lower()] == parts[-2:]:
                same[use.edge] = use
        if len(same) > 1:
            shown = ".".join(table.parts)
            raise placed(
                RenderError(
                    f"`{shown}` is written by name, and the refs to it read different partitions",
                    hint="write the ref itself in FROM",
                ),
                query.text.at(start),
            )
        found += [(start, use) for use in same.values() if use.node is None or use.node.materialized != "ephemeral"]
    return found


def alias_of(query: Query, table: TableUse, node: Node) -> str:
    """The relation's identifier as rendered; with its schema in front where two relations of a FROM share it."""
    if node.materialized == "ephemeral":
        return literals.identifier(node.name, query.dialect)
    own = query.identifier_text(table)
    select = query.owner(table.node)
    twins = (
        other
        for other in query.tables.values()
        if other.start != table.start
        and query.owner(other.node) is select
        and same_name(other.alias or other.parts[-1], table.parts[-1])
    )
    if table.alias is not None or next(twins, None) is None:
        return own
    return literals.identifier("__".join(table.parts), query.dialect)


def by_owner(query: Query, renamed: list[tuple[TableUse, str]]) -> dict[int, list[tuple[TableUse, str]]]:
    """The relations that got an alias, by the SELECT whose FROM they stand in."""
    found: dict[int, list[tuple[TableUse, str]]] = {}
    for table, alias in renamed:
        found.setdefault(id(query.owner(table.node)), []).append((table, alias))
    return found


def qualifiers(query: Query, renamed: list[tuple[TableUse, str]]) -> list[Edit]:
    """The edits that turn `schema.table.column` into the alias that the filtered relation now has."""
    owners = by_owner(query, renamed)
    columns = query.columns if owners else ()
    made = (qualifier(query, column, query.selects_around(column), owners) for column in columns)
    return [change for change in made if change is not None]


def requalified(text: str, query: Query, select: exp.Select | None, renamed: list[tuple[TableUse, str]]) -> str:
    """An expression to be put into a SELECT, with its qualifiers as the relations are called there now."""
    import sqlglot
    from sqlglot import exp

    owners = by_owner(query, renamed)
    if select is None or not owners or "." not in text:
        return text
    columns = sqlglot.parse_one(text, read=query.dialect).find_all(exp.Column)
    made = (qualifier(query, c, [select, *query.selects_around(select)], owners) for c in columns)
    return str.__str__(edit(Located(text), [change for change in made if change is not None]))


def qualifier(
    query: Query,
    column: exp.Column,
    selects: Iterable[exp.Select],
    owners: Mapping[int, list[tuple[TableUse, str]]],
) -> Edit | None:
    """The edit of one column reference: the nearest SELECT around that has the relation decides."""
    names = [part.name.lower() for part in column.parts]
    place = query.place(column, 1)
    for select in selects if place is not None else ():
        found = (_matches(names, table, alias) for table, alias in owners.get(id(select), ()))
        hit = next((h for h in found if h is not None), None)
        if hit is not None:
            count, alias = hit
            if count == 1 and alias.strip('"').lower() == names[0]:
                return None
            span = query.place(column, count)
            return span and (span[0], span[1], alias)
    return None


def _matches(names: list[str], table: TableUse, alias: str) -> tuple[int, str] | None:
    """How many leading names of a column reference name the table, with its new alias."""
    parts = [part.lower() for part in table.parts]
    for count in range(len(parts), 0, -1):
        if len(names) > count and names[:count] == parts[-count:] and (count > 1 or len(parts) == 1):
            return count, alias
    return None


def stub(columns: Sequence[Column], dialect: str) -> str:
    """A relation of these columns without rows; a column without a type is a bare NULL."""
    nulls = (f"cast(null as {c.type})" if c.type else "null" for c in columns)
    listed = ", ".join(f"{n} as {literals.column(c.name, dialect)}" for n, c in zip(nulls, columns, strict=True))
    return f"(select {listed or '1 as one'} where 1 = 0)"
