"""Staging, leak counts and NULL counts, executed; and how many requests a model costs before its first run."""

from __future__ import annotations

import pytest

from partwise.adapters.base import Column
from partwise.nodes import RelationName
from partwise.partitions import daily, multi, static
from partwise.rendering import sql
from partwise.rendering.prepare import prepare
from rendering import NOW, Project, model, source

DAYS = daily("2024-01-01")
FORECAST = "select d, v from {{ source('raw', 's') }} union all select d + 1, v + 1 from {{ source('raw', 's') }}"
ROWS = [("2024-01-05", 1), ("2024-01-06", 2), (None, 3), (None, 4)]


@pytest.fixture
def made() -> Project:
    project = Project(source("raw", "s", "d"), model("m", FORECAST, DAYS, "d"))
    project.table("raw.s", {"d": "DATE", "v": "INTEGER"}, ROWS)
    project.table("m", {"d": "DATE", "v": "INTEGER"}, [("2024-01-05", 9), ("2024-01-07", 7)])
    return project


def test_a_stage_counts_leaks_and_publishes_the_rest(made):
    rendered = made.render("m", "2024-01-05")
    made.connection.execute(sql.stage(rendered, "pw_stage", ["d", "v"]))
    assert made.rows(sql.count_leaks(rendered, "pw_stage")) == [(1,)]
    for statement in sql.publish(rendered, "pw_stage", ["d", "v"]):
        made.connection.execute(statement)
    assert sorted(made.rows("select d::varchar, v from m")) == [("2024-01-05", 1), ("2024-01-07", 7)]


def test_null_is_a_leak(made):
    leaky = Project(*(n for n in made.nodes.values() if n.name == "s"),
                    model("m", "select nullif(d, d) as d, v from {{ source('raw', 's') }}", DAYS, "d"))  # fmt: skip
    leaky.connection = made.connection
    rendered = leaky.render("m", "2024-01-05")
    leaky.connection.execute(sql.stage(rendered, "pw_stage", ["d", "v"]))
    assert leaky.rows(sql.count_leaks(rendered, "pw_stage")) == [(1,)]


def test_rows_of_no_partition_are_counted_once_per_source(made):
    rendered = made.render("m", "2024-01-05")
    assert [read.upstream.name for read in rendered.filtered] == ["s"]
    assert made.rows(sql.count_nulls(rendered.filtered[0], "duckdb")) == [(2,)]


def test_null_in_either_dimension():
    both = multi(day=DAYS, k=static(["x"]))
    code = "select d, k from {{ source('raw', 's', filter={'k': 'k'}) }}"
    made = Project(source("raw", "s", "d"), model("m", code, both, {"day": "d", "k": "k"}))
    made.table("raw.s", {"d": "DATE", "k": "VARCHAR"}, [("2024-01-05", "x"), (None, "x"), ("2024-01-05", None)])
    read = made.render("m", "2024-01-05|x").filtered[0]
    assert made.rows(sql.count_nulls(read, "duckdb")) == [(2,)]


def test_a_model_costs_two_requests_before_its_first_run(made):
    asked: list[str] = []

    def describe(query: str) -> list[Column]:
        asked.append(query)
        return made.describe(query)

    days = DAYS.subset("2024-01-05:2024-01-09", NOW)
    ready = prepare(made.renderer, made["m"], days, describe)
    for one in days.split(1):
        ready.render(one, NOW)
    assert len(asked) == 2


def test_ddl_on_both_engines():
    name, columns = RelationName("db", "s", "t"), [Column("a", "INTEGER"), Column("B c", '"NULL"')]
    assert sql.create_table(name, columns, "duckdb", comment="it's") == (
        'create table db.s.t (a INTEGER, "B c" INTEGER)',
        "comment on table db.s.t is 'it''s'",
    )
    assert sql.create_table(name, columns[:1], "snowflake", comment="it's", if_not_exists=True) == (
        "create table if not exists db.s.t (\"a\" INTEGER) comment = 'it''s'",
    )
    assert sql.add_columns(name, columns[:1], "duckdb") == ("alter table db.s.t add column a INTEGER",)
    assert sql.drop_columns(name, ["a"], "snowflake") == ('alter table db.s.t drop column "a"',)
    assert sql.drop(name, "duckdb", kind="view") == "drop view if exists db.s.t"
    new = RelationName("db", "s", "t2")
    assert sql.rename(name, new, "duckdb") == "alter table db.s.t rename to t2"
    assert sql.rename(name, new, "snowflake") == "alter table db.s.t rename to db.s.t2"
    assert sql.create_view(name, "select 1 -- x", "snowflake").endswith("copy grants as select 1 -- x\n")
    assert sql.create_table_as(name, "select 1", "snowflake", comment="c") == (
        "create or replace table db.s.t copy grants comment = 'c' as select 1\n",
    )
