"""Models written for Snowflake, run on DuckDB: the SELECT is translated, filters are written for the target."""

from __future__ import annotations

import pytest

from partwise.errors import RenderError, WarehouseError
from partwise.partitions import daily
from partwise.rendering.prepare import prepare
from rendering import Project, model, source

DAYS = daily("2024-01-01")


def project(code: str, **more: str) -> Project:
    made = Project(
        source("raw", "events", "to_date(day_text, 'YYYYMMDD')", dialect="snowflake"),
        model("eph", "select iff(v > 1, 'x', 'y') as k, d from {{ source('raw', 'plain') }}", dialect="snowflake",
              materialized="ephemeral"),
        source("raw", "plain", "d", dialect="snowflake"),
        model("m", code, DAYS, "d", dialect=more.pop("dialect", "snowflake")),
    )  # fmt: skip
    made.table("raw.events", {"v": "INTEGER", "day_text": "VARCHAR"}, [(1, "20240105"), (2, "20240106")])
    made.table("raw.plain", {"v": "INTEGER", "d": "DATE"}, [(1, "2024-01-05"), (2, "2024-01-05"), (3, "2024-01-06")])
    return made


def test_filter_in_the_words_of_the_target():
    made = project("select v, to_date(day_text, 'YYYYMMDD') as d from {{ source('raw', 'events') }}")
    made.build("m", "2024-01-05")
    assert made.rows("select v, d::varchar from m") == [(1, "2024-01-05")]
    condition = "CAST(STRPTIME(day_text, '%Y%m%d') AS DATE) >= DATE '2024-01-05'"
    assert condition in str(made.render("m", "2024-01-05").select)


@pytest.mark.parametrize("dialect", ["snowflake", "duckdb"])
def test_an_expression_of_another_dialect(dialect):
    """The source's expression is Snowflake's, whatever its reader is written in; so is the ephemeral's text."""
    made = project("select k, d from {{ ref('eph') }}", dialect=dialect)
    made.build("m", "2024-01-05")
    assert sorted(made.rows("select k from m")) == [("x",), ("y",)]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("select v, d from {{ source('raw', 'plain') }} match_recognize (order by v pattern (a) define a as v > 1)",
         ["MATCH_RECOGNIZE of snowflake", "duckdb"]),
        ("select a.v, a.d from {{ source('raw', 'plain') }} a,\n{{ source('raw', 'plain') }} b\nwhere a.v = b.v(+)",
         ["outer join `b.v (+)`", "models/m.sql:3"]),
        ("select v, d from {{ source('raw', 'plain') }} at(offset => -60)", ["time travel on `plain`"]),
    ],
)  # fmt: skip
def test_what_cannot_be_translated_is_refused(code, words):
    with pytest.raises(RenderError) as caught:
        project(code).render("m", "2024-01-05")
    assert caught.value.file == "models/m.sql"
    for word in words:
        assert word in str(caught.value)


def test_an_error_names_the_line_of_the_original():
    code = "select\n  v,\n  iff(nowhere > 1, 2, 3) as x,\n  d\nfrom {{ source('raw', 'plain') }}"
    made = project(code)
    with pytest.raises(WarehouseError) as caught:
        prepare(made.renderer, made["m"], made.set_of("m", "2024-01-05"), made.describe)
    assert caught.value.where == "models/m.sql:3"
