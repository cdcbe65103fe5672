
"""Where the filter goes in the author's text, and what else of it changes: nothing.

`[F]` in what is expected stands for the filter on `ts` for 2024-01-05, `[o]` for the whole spliced relation without its
alias. Every case is also described by DuckDB, so that what is written is valid.
"""

from __future__ import annotations

import re

import pytest

from partwise.nodes import RelationName
from partwise.partitions import daily, hourly
from rendering import Project, model, source

DAYS = daily("2024-01-01")
F = "ts >= TIMESTAMP '2024-01-05 00:00:00' and ts < TIMESTAMP '2024-01-06 00:00:00'"
ORDERS = f"(select * from main.orders where {F})"
COLUMNS = {"id": "INTEGER", "cust": "INTEGER", "ts": "TIMESTAMP", "d": "DATE", "s": "STRUCT(a INTEGER, x INTEGER)"}

#        name, template, text expected (None: as written, but for Jinja)
SHAPES = [
    ("plain", "select id, ts as d from {{ ref('orders') }}", "select id, ts as d from [o] as orders"),
    ("alias with as", "select o.id, o.ts d from {{ ref('orders') }} as o", "select o.id, o.ts d from [o] as o"),
    ("alias without as", "select o.id, o.ts d from {{ ref('orders') }} o", "select o.id, o.ts d from [o] o"),
    ("alias on the next line", "select o.id, o.ts d from {{ ref('orders') }}\n  o", "select o.id, o.ts d from [o]\n  o"),
    ("column aliases", "select a, c d from {{ ref('orders') }} as o(a, b, c)", "select a, c d from [o] as o(a, b, c)"),
    ("own name as qualifier", "select orders.ts d from {{ ref('orders') }}", "select orders.ts d from [o] as orders"),
    ("schema as qualifier", "select main.orders.ts d from {{ ref('orders') }}", "select orders.ts d from [o] as orders"),
    ("ref as qualifier", "select {{ ref('orders') }}.ts d from {{ ref('orders') }}",
     "select orders.ts d from [o] as orders"),
    ("qualified star", "select {{ ref('orders') }}.*, ts dd from {{ ref('orders') }}",
     "select orders.*, ts dd from [o] as orders"),
    ("struct field behind a qualifier", "select main.orders.s.x, ts d from {{ ref('orders') }}",
     "select orders.s.x, ts d from [o] as orders"),
    ("alias that looks like a schema", "with main as (select {'ts': 1} as orders)"
     " select main.orders.ts, o.ts d from main, {{ ref('orders') }} o",
     "with main as (select {'ts': 1} as orders) select main.orders.ts, o.ts d from main, [o] o"),
    ("comma join", "select o.ts d from {{ ref('plain') }} p, {{ ref('orders') }} o",
     "select o.ts d from main.plain p, [o] o"),
    ("self join", "select a.ts d from {{ ref('orders') }} a join {{ ref('orders') }} b using (id)",
     "select a.ts d from [o] a join [o] b using (id)"),
    ("join in parentheses", "select p.ts d from ({{ ref('orders') }} join {{ ref('plain') }} p using (id))",
     "select p.ts d from ([o] as orders join main.plain p using (id))"),
    ("two relations of one name", "select main.orders.ts d, raw.orders.id from {{ ref('orders') }}"
     " join {{ source('raw', 'orders') }} on main.orders.id = raw.orders.id",
     "select main__orders.ts d, raw__orders.id from [o] as main__orders"
     " join (select * from raw.orders where d >= DATE '2024-01-05' and d < DATE '2024-01-06') as raw__orders"
     " on main__orders.id = raw__orders.id"),
    ("cte of the same name", "with orders as (select * from {{ ref('orders') }}) select ts d from orders",
     "with orders as (select * from [o] as orders) select ts d from orders"),
    ("union", "select ts d from {{ ref('orders') }} union all select ts from {{ ref('orders') }}",
     "select ts d from [o] as orders union all select ts from [o] as orders"),
    ("union in parentheses", "(select ts d from {{ ref('orders') }}) union (select ts from {{ ref('orders') }})",
     "(select ts d from [o] as orders) union (select ts from [o] as orders)"),
    ("subquery in where", "select ts d from {{ ref('orders') }} where id in (select id from {{ ref('orders') }})",
     "select ts d from [o] as orders where id in (select id from [o] as orders)"),
    ("correlated", "select ts d from {{ ref('orders') }} where exists"
     " (select 1 from {{ ref('plain') }} p where p.id = {{ ref('orders') }}.id)",
     "select ts d from [o] as orders where exists (select 1 from main.plain p where p.id = orders.id)"),
    ("correlated, the inner one nearer", "select o.ts d from {{ ref('orders') }} o where exists"
     " (select 1 from {{ ref('orders') }} where main.orders.id = o.id)",
     "select o.ts d from [o] o where exists (select 1 from [o] as orders where orders.id = o.id)"),
    ("nested with", "select d from (with a as (select ts as d from {{ ref('orders') }}) select d from a)",
     "select d from (with a as (select ts as d from [o] as orders) select d from a)"),
    ("from first", "from {{ ref('orders') }} select ts as d", "from [o] as orders select ts as d"),
    ("sample stays outside", "select ts d from {{ ref('orders') }} tablesample 10%",
     "select ts d from [o] as orders tablesample 10%"),
    ("pivot", "select max(d) d from {{ ref('orders') }} pivot (count(*) for cust in (1, 2))",
     "select max(d) d from [o] as orders pivot (count(*) for cust in (1, 2))"),
    ("comments are kept", "select ts d -- of {{ ref('orders') }}\nfrom /* {{ ref('gone') }} */ {{ ref('orders') }} -- end",
     "select ts d -- of main.orders\nfrom /* gone */ [o] as orders -- end"),
    ("a name in a string", "select ts d, '{{ ref('orders') }}' t from {{ ref('orders') }}",
     "select ts d, 'main.orders' t from [o] as orders"),
    ("final semicolon and comment", "select ts d from {{ ref('orders') }};\n-- the end",
     "select ts d from [o] as orders\n-- the end"),
    ("read whole", "select o.ts d, p.id from {{ ref('orders') }} o join {{ ref('orders', whole=true) }} p using (id)",
     "select o.ts d, p.id from [o] o join main.orders p using (id)"),
    ("reserved word", "select o.ts d from {{ ref('orders') }} o join {{ ref('order') }} on o.id = \"order\".id",
     "select o.ts d from [o] o join main.\"order\" on o.id = \"order\".id"),
    ("uneven spacing", "SELECT  ts   AS d\n\n\tFROM\t{{ref('orders')}}\n", "SELECT  ts   AS d\n\n\tFROM\t[o] as orders"),
    ("a name put together by hand", "select ts d from {{ ref('orders').schema }}.{{ ref('orders').identifier }}",
     "select ts d from [o] as orders"),
    ("a name written beside its ref", "select a.ts d from {{ ref('orders') }} a join Main.Orders using (id)",
     "select a.ts d from [o] a join (select * from Main.Orders where [F]) as Orders using (id)"),
    ("inside a macro", "select ts d {{ reading(ref('orders')) }}", "select ts d from [o] as orders"),
    ("filtered again, narrower", "select ts d from {{ ref('orders') }} where {{ partition_filter('ts') }} or id = 1",
     "select ts d from [o] as orders where ([F]) or id = 1"),
    ("filter on a qualified column", "select ts d from {{ ref('orders') }} where not {{ partition_filter('main.orders.ts') }}",
     "select ts d from [o] as orders where not (orders.ts >= TIMESTAMP '2024-01-05 00:00:00'"
     " and orders.ts < TIMESTAMP '2024-01-06 00:00:00')"),
    ("filter through a cte", "with p as (select d, id from {{ ref('plain') }}) select d from p"
     " where {{ partition_filter('d') }}",
     "with p as (select d, id from main.plain) select d from p"
     " where (d >= DATE '2024-01-05' and d < DATE '2024-01-06')"),
    ("filter on an expression", "select d from {{ ref('plain') }} where {{ partition_filter('ts::date') }}",
     "select d from main.plain where (ts::date >= DATE '2024-01-05' and ts::date < DATE '2024-01-06')"),
    ("constants", "select d, {{ partition.key }} k from {{ ref('plain') }} where d in {{ partition.keys }}"
     " and ts between {{ partition.start }} and {{ partition.end.date }}",
     "select d, '2024-01-05' k from main.plain where d in ('2024-01-05')"
     " and ts between TIMESTAMP '2024-01-05 00:00:00' and DATE '2024-01-06'"),
    ("a source", "select d from {{ source('raw', 'orders') }}",
     "select d from (select * from raw.orders where d >= DATE '2024-01-05' and d < DATE '2024-01-06') as orders"),
    ("a source with look-back", "select d from {{ source('raw', 'orders', lookback=2) }}",
     "select d from (select * from raw.orders where d >= DATE '2024-01-03' and d < DATE '2024-01-06') as orders"),
    ("look-back", "select ts d from {{ ref('orders', lookback=2) }}", "select ts d from (select * from main.orders where"
     " ts >= TIMESTAMP '2024-01-03 00:00:00' and ts < TIMESTAMP '2024-01-06 00:00:00') as orders"),
    ("two different reads", "select a.ts d from {{ ref('orders') }} a join {{ ref('orders', lookback=1) }} b using (id)",
     "select a.ts d from [o] a join (select * from main.orders where ts >= TIMESTAMP '2024-01-04 00:00:00'"
     " and ts < TIMESTAMP '2024-01-06 00:00:00') b using (id)"),
    ("ephemeral", "select e.d, e2.id from {{ ref('eph') }} e join {{ ref('eph') }} as e2 using (id)",
     "with __pw__eph as (select ts as d, id from [o] as orders\n) select e.d, e2.id from __pw__eph e"
     " join __pw__eph as e2 using (id)"),
    ("ephemeral as qualifier", "select {{ ref('eph') }}.d from {{ ref('eph') }}",
     "with __pw__eph as (select ts as d, id from [o] as orders\n) select eph.d from __pw__eph as eph"),
    ("ephemeral in front of a with", "with a as (select d from {{ ref('eph') }}) select d from a",
     "with __pw__eph as (select ts as d, id from [o] as orders\n), a as (select d from __pw__eph as eph) select d from a"),
    ("ephemeral of an ephemeral", "-- first\nselect d from {{ ref('eph2') }}",
     "-- first\nwith __pw__eph as (select ts as d, id from [o] as orders\n), __pw__eph2 as (select d from __pw__eph as eph"
     "\n) select d from __pw__eph2 as eph2"),
    ("a view with partitions", "select d from {{ ref('seen') }}",
     "select d from (select * from main.seen where d >= DATE '2024-01-05' and d < DATE '2024-01-06') as seen"),
]  # fmt: skip


def project(code: str) -> Project:
    made = Project(
        model("orders", "", hourly("2024-01-01"), "ts"),
        model("plain", materialized="seed", resource_type="seed"),
        model("order", materialized="seed", resource_type="seed"),
        model("eph", "select ts as d, id from {{ ref('orders') }}", materialized="ephemeral"),
        model("eph2", "select d from {{ ref('eph') }}", materialized="ephemeral"),
        model("seen", "", DAYS, "d", materialized="view"),
        source("raw", "orders", "d"),
        model("m", code, DAYS, "d"),
        macros={"macros/reading.sql": "{% macro reading(r) %}from {{ r }}{% endmacro %}"},
    )
    for name in ("orders", "plain", "order", "seen", "raw.orders"):
        made.table(name, COLUMNS)
    return made


@pytest.mark.parametrize(("code", "right"), [shape[1:] for shape in SHAPES], ids=[shape[0] for shape in SHAPES])
def test_shape(code, right):
    made = project(code)
    rendered = made.render("m", "2024-01-05")
    assert str(rendered.select) == right.replace("[o]", ORDERS).replace("[F]", F)
    made.describe(rendered.query())


ROWS = [
    (1, 1, "2024-01-04 23:00:00", "2024-01-04", "{'a': 1, 'x': 1}"),
    (2, 1, "2024-01-05 00:00:00", "2024-01-05", "{'a': 2, 'x': 2}"),
    (3, 2, "2024-01-05 09:00:00", "2024-01-05", "{'a': 3, 'x': 3}"),
    (3, 2, "2024-01-06 00:00:00", "2024-01-06", "{'a': 4, 'x': 4}"),
    (5, 2, None, None, None),
]
# Not those that cannot be said without a filter; DuckDB takes no `schema.table.*` either.
PLAIN = [s for s in SHAPES if not re.search(r"partition|lookback|whole|sample|eph|reading|schema|Main|\.\*|'order'", s[1])]


@pytest.mark.parametrize("code", [shape[1] for shape in PLAIN], ids=[shape[0] for shape in PLAIN])
def test_a_filter_means_a_smaller_table(code):
    """What a query gives over whole tables is what its text, unfiltered, gives over tables of the partition alone."""
    made = project(code)
    for name in ("orders", "plain", "order", "seen", "raw.orders"):
        made.table(name, COLUMNS, ROWS)
    spliced = made.rows(str(made.render("m", "2024-01-05").select))
    made.connection.execute(f"delete from orders where not coalesce({F}, false)")
    for name in ("seen", "raw.orders"):
        made.connection.execute(f"delete from {name} where d is distinct from date '2024-01-05'")
    plain = Project(*(n for n in made.nodes.values() if n.name != "m"), model("m", code, materialized="view"))
    assert plain.render("m", types={}).guard is None
    assert sorted(spliced, key=str) == sorted(made.rows(plain.render("m", types={}).sql), key=str)
    assert len(spliced) > 0


def test_names_that_need_quotes_and_a_database():
    code = (
        'select "my table".ts as d, "my schema"."my table".id, {{ source("my schema", "my table") }}.cust'
        ' from {{ source("my schema", "my table") }} join {{ ref("far") }} on db.main.far.id = far.id'
        " and {{ ref('far') }}.id = 1"
    )
    made = Project(
        source("my schema", "my table", "ts"),
        model("far", "", DAYS, "ts", relation=RelationName("db", "main", "far")),
        model("m", code, DAYS, "d"),
    )
    assert str(made.render("m", "2024-01-05", types={}).select) == (
        'select "my table".ts as d, "my table".id, "my table".cust'
        f' from (select * from "my schema"."my table" where {F}) as "my table"'
        f" join (select * from db.main.far where {F}) as far on far.id = far.id and far.id = 1"
    )


def test_time_travel_moves_inside():
    """Snowflake's, which DuckDB cannot describe; `as` or not, SAMPLE stays outside."""
    code = (
        "select a.ts as d from {{ ref('orders') }} at(offset => -60) as a sample (10)"
        " join {{ ref('orders') }} before (statement => 'x') b on a.id = b.id"
        " join {{ ref('orders') }} changes (information => default) at (offset => -9) on orders.id = b.id"
    )
    made = Project(
        model("orders", "", hourly("2024-01-01"), "ts", dialect="snowflake"),
        model("m", code, DAYS, "d", dialect="snowflake"),
        dialect="snowflake",
    )
    bounds = "ts >= '2024-01-05 00:00:00'::TIMESTAMP_NTZ and ts < '2024-01-06 00:00:00'::TIMESTAMP_NTZ"
    assert str(made.render("m", "2024-01-05", types={}).select) == (
        f"select a.ts as d from (select * from main.orders at(offset => -60) where {bounds}) as a sample (10)"
        f" join (select * from main.orders before (statement => 'x') where {bounds}) b on a.id = b.id"
        f" join (select * from main.orders changes (information => default) at (offset => -9) where {bounds}) as orders"
        " on orders.id = b.id"
    )


def test_a_table_without_partitions_reads_what_exists():
    made = project("")
    made = Project(*made.nodes.values(), model("all_of_it", "select id from {{ ref('orders') }}"))
    assert str(made.render("all_of_it", types={}).select) == (
        "select id from (select * from main.orders where ts >= TIMESTAMP '2024-01-01 00:00:00'"
        " and ts < TIMESTAMP '2030-01-01 00:00:00') as orders"
    )


def test_a_view_is_kept_for_all_times():
    made = project("")
    made = Project(*made.nodes.values(), model("v", "select id from {{ ref('orders') }}", materialized="view"))
    assert str(made.render("v", types={}).sql) == "select id from main.orders"
