"""Models of a project on disk, loaded and rendered: the whole way from files to SQL."""

from __future__ import annotations

from datetime import UTC, datetime

import duckdb
import pytest

from partwise.adapters.base import Column
from partwise.errors import PartwiseError, WarehouseError
from partwise.partitions import PartitionSet
from partwise.rendering import sql
from partwise.rendering.prepare import prepare
from partwise.rendering.render import Renderer, find_in
from projects import load

NOW = datetime(2024, 3, 1, tzinfo=UTC)
FILES = {
    "models/sources.yml": """
        version: 2
        sources:
          - name: raw
            schema: raw
            tables:
              - name: events
                config: {partition_expr: happened_at}
    """,
    "models/staging/events.sql": """
        {{ config(partitions=hourly(start='2024-01-01', timezone='America/New_York'), partition_expr='ts') }}
        -- one row per event
        select id, happened_at as ts, {{ cents('amount') }} as amount
        from {{ source('raw', 'events') }}
    """,
    "models/staging/seen_events.sql": """
        {{ config(materialized='view') }}
        select * from {{ ref('events') }}
    """,
    "models/big.sql": """
        {{ config(materialized='ephemeral') }}
        select * from {{ ref('seen_events') }} where amount > {{ var('least', 100) }}
    """,
    "models/days.sql": """
        {{ config(partitions=daily(start='2024-01-01', timezone='America/New_York'), partition_expr='day') }}
        select (timezone('America/New_York', ts))::date as day, count(*) as n, sum(amount) as amount
        from {{ ref('big') }}
        group by all
    """,
    "models/totals.sql": "select sum(n) as n from {{ ref('days') }}",
    "macros/money.sql": "{% macro cents(column) %}({{ column }} * 100)::bigint{% endmacro %}",
}


class Warehouse:
    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("set TimeZone = 'UTC'; create schema raw")
        self.connection.execute("create table raw.events (id integer, happened_at timestamptz, amount double)")

    def describe(self, query: str) -> list[Column]:
        try:
            return [Column(row[0], row[1]) for row in self.connection.execute(f"describe {query}").fetchall()]
        except duckdb.Error as error:
            raise WarehouseError(str(error), sql=query) from None


@pytest.fixture
def warehouse() -> Warehouse:
    return Warehouse()


def build(project, warehouse: Warehouse, name: str, partitions: PartitionSet | None = None) -> None:
    node = project.model(name)
    renderer = Renderer(project.engine(), find_in(project.nodes), "duckdb")
    ready = prepare(renderer, node, partitions, warehouse.describe)
    rendered = ready.render(partitions, NOW)
    if node.materialized == "view":
        statements: tuple[str, ...] = (sql.create_view(node.relation, rendered.sql, "duckdb"),)
    elif partitions is None:
        statements = sql.create_table_as(node.relation, rendered.query(ready.names), "duckdb", comment="x")
    else:
        made = sql.create_table(node.relation, ready.columns, "duckdb", if_not_exists=True)
        statements = (*made, *sql.write(rendered, ready.names))
    for statement in statements:
        warehouse.connection.execute(statement)


def test_from_files_to_rows(tmp_path, warehouse):
    project = load(tmp_path, FILES)
    rows = [(1, "2024-01-05 04:59:59Z", 2.0), (2, "2024-01-05 05:00:00Z", 3.0), (3, "2024-01-06 04:59:59Z", 0.5)]
    warehouse.connection.executemany("insert into raw.events values (?, ?, ?)", rows)
    hours = project.model("events").definition
    days = project.model("days").definition
    build(project, warehouse, "events", hours.subset("2024-01-04-00:00..2024-01-06-23:00", NOW))
    build(project, warehouse, "seen_events")
    build(project, warehouse, "days", days.subset("2024-01-05", NOW))
    build(project, warehouse, "totals")
    found = warehouse.connection.execute("select day::varchar, n, amount from days").fetchall()
    assert found == [("2024-01-05", 1, 300)]
    assert warehouse.connection.execute("select n from totals").fetchall() == [(1,)]


def test_what_is_read_is_shown(tmp_path, warehouse):
    project = load(tmp_path, FILES)
    build(project, warehouse, "events", project.model("events").definition.subset("2024-01-04-00:00", NOW))
    build(project, warehouse, "seen_events")
    renderer = Renderer(project.engine(), find_in(project.nodes), "duckdb")
    wanted = project.model("days").definition.subset("2024-01-05", NOW)
    rendered = prepare(renderer, project.model("days"), wanted, warehouse.describe).render(wanted, NOW)
    shown = [(read.upstream, str(read.partitions)) for read in rendered.reads]
    hours = "hour [2024-01-05-00:00, 2024-01-06-00:00)"
    assert ("model.shop.seen_events", hours) in shown
    assert not rendered.is_leak_proof and not rendered.notes


def test_without_a_warehouse(tmp_path):
    project = load(tmp_path, FILES)
    renderer = Renderer(project.engine(), find_in(project.nodes), "duckdb")
    wanted = project.model("days").definition.subset("2024-01-05", NOW)
    rendered = prepare(renderer, project.model("days"), wanted, None).render(wanted, NOW)
    assert "ts >= TIMESTAMPTZ '2024-01-05 00:00:00-05:00'" in rendered.sql
    assert any("`day` is not known yet" in note for note in rendered.notes)


def test_errors_name_files_of_the_project(tmp_path, warehouse):
    wrong = {**FILES, "macros/money.sql": "{% macro cents(column) %}\n{{ column }} * nowhere{% endmacro %}"}
    project = load(tmp_path, wrong)
    with pytest.raises(PartwiseError) as caught:
        build(project, warehouse, "events", project.model("events").definition.subset("2024-01-04-00:00", NOW))
    assert caught.value.where == "macros/money.sql:2"
    assert "called from models/staging/events.sql:4" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
