"""The statements of a run, per engine. Text only: an adapter carries it.

DDL and DML are written here for `duckdb` and `snowflake`, never translated. Names of columns are those of a describe,
names of relations those of the project; see `literals.py` for how each is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from partwise.adapters.base import Column
from partwise.nodes import RelationName
from partwise.rendering import literals
from partwise.rendering.rendered import FilteredInput, Rendered


def delete(target: RelationName, condition: str, dialect: str) -> str:
    """DELETE of the rows a condition holds for."""
    return f"delete from {literals.relation(target, dialect)} where {condition}"


def insert(target: RelationName, columns: Sequence[str], query: str, dialect: str) -> str:
    """INSERT of a query that gives `columns` in this order. The first line of the query stays on the first line."""
    return f"insert into {literals.relation(target, dialect)} ({literals.columns(columns, dialect)}) {query}"


def write(rendered: Rendered, columns: Sequence[str]) -> tuple[str, str]:
    """DELETE and INSERT of one run, to be sent in one transaction, straight from the guarded query."""
    target = rendered.node.relation
    guard = _guard(rendered)
    return (
        delete(target, guard, rendered.dialect),
        insert(target, columns, rendered.query(columns), rendered.dialect),
    )


def stage(rendered: Rendered, name: str, columns: Sequence[str]) -> str:
    """A temporary table of everything the query gives, unguarded. It is DDL: send it before BEGIN."""
    listed = literals.columns(columns, rendered.dialect)
    body = f"select {listed} from ({str.__str__(rendered.select)}\n) as {rendered.alias}"
    return f"create temporary table {literals.identifier(name, rendered.dialect)} as {body}"


def publish(rendered: Rendered, name: str, columns: Sequence[str]) -> tuple[str, str]:
    """DELETE and INSERT of one run from its stage: the target holds exactly the staged rows of its partitions after."""
    return (
        delete(rendered.node.relation, _guard(rendered), rendered.dialect),
        insert(rendered.node.relation, columns, _from_stage(rendered, name, columns), rendered.dialect),
    )


def _from_stage(rendered: Rendered, name: str, columns: Sequence[str]) -> str:
    listed = literals.columns(columns, rendered.dialect)
    staged = literals.identifier(name, rendered.dialect)
    return f"select {listed} from {staged} as {rendered.alias} where {_guard(rendered)}"


def count_leaks(rendered: Rendered, name: str) -> str:
    """The query that counts the staged rows outside the run's partitions (NULL included), for `on_leak`."""
    staged = literals.identifier(name, rendered.dialect)
    return f"select count(*) from {staged} as {rendered.alias} where ({_guard(rendered)}) is not true"


def _guard(rendered: Rendered) -> str:
    if rendered.guard is None:
        raise ValueError("a query without partitions has no guard")
    return rendered.guard


def count_nulls(read: FilteredInput, dialect: str) -> str:
    """The query that counts the rows of an input that no partition holds, because a partition column is NULL."""
    nulls = " or ".join(f"{expr} is null" for expr in read.exprs)
    return f"select count(*) from {literals.relation(read.relation, dialect)} where {nulls}"


def create_table(
    name: RelationName, columns: Sequence[Column], dialect: str, *, comment: str = "", if_not_exists: bool = False
) -> tuple[str, ...]:
    """The statements that make an empty table of described columns, with a comment."""
    listed = ", ".join(f"{literals.column(c.name, dialect)} {column_type(c, dialect)}" for c in columns)
    missing = " if not exists" if if_not_exists else ""
    made = f"create table{missing} {literals.relation(name, dialect)} ({listed})"
    if not comment:
        return (made,)
    if dialect == "snowflake":
        return (f"{made} comment = {literals.text(comment, dialect)}",)
    return (made, comment_on(name, comment, dialect))


def column_type(column: Column, dialect: str) -> str:
    """The type a described column gets in a table. A bare NULL has none and becomes what CTAS makes of it."""
    if dialect == "duckdb" and column.type.strip('"').upper() == "NULL":
        return "INTEGER"
    return column.type


def comment_on(name: RelationName, comment: str, dialect: str, *, kind: str = "table") -> str:
    """COMMENT ON a table or view: where its incarnation is kept."""
    return f"comment on {kind} {literals.relation(name, dialect)} is {literals.text(comment, dialect)}"


def create_view(name: RelationName, query: str, dialect: str) -> str:
    """CREATE OR REPLACE VIEW over a query."""
    grants = " copy grants" if dialect == "snowflake" else ""
    return f"create or replace view {literals.relation(name, dialect)}{grants} as {query}\n"


def create_table_as(name: RelationName, query: str, dialect: str, *, comment: str = "") -> tuple[str, ...]:
    """CREATE OR REPLACE TABLE from a query, with a comment: on Snowflake one statement, on DuckDB two."""
    target = literals.relation(name, dialect)
    if dialect == "snowflake":
        noted = f" comment = {literals.text(comment, dialect)}" if comment else ""
        return (f"create or replace table {target} copy grants{noted} as {query}\n",)
    made = f"create or replace table {target} as {query}\n"
    return (made, comment_on(name, comment, dialect)) if comment else (made,)


def add_columns(name: RelationName, columns: Sequence[Column], dialect: str) -> tuple[str, ...]:
    """ALTER TABLE ADD COLUMN, one statement each. It commits on Snowflake: send it before BEGIN."""
    target = literals.relation(name, dialect)
    return tuple(
        f"alter table {target} add column {literals.column(c.name, dialect)} {column_type(c, dialect)}" for c in columns
    )


def drop_columns(name: RelationName, columns: Sequence[str], dialect: str) -> tuple[str, ...]:
    """ALTER TABLE DROP COLUMN, one statement each."""
    target = literals.relation(name, dialect)
    return tuple(f"alter table {target} drop column {literals.column(c, dialect)}" for c in columns)


def drop(name: RelationName, dialect: str, *, kind: str = "table") -> str:
    """DROP of a table or view, no error when it is not there."""
    return f"drop {kind} if exists {literals.relation(name, dialect)}"


def rename(old: RelationName, new: RelationName, dialect: str) -> str:
    """ALTER TABLE RENAME within one schema."""
    target = literals.relation(new, dialect) if dialect == "snowflake" else literals.identifier(new.identifier, dialect)
    return f"alter table {literals.relation(old, dialect)} rename to {target}"
