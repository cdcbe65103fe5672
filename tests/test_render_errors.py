
"""What cannot be rendered is refused before anything runs, with the template's file and line and a way on."""

from __future__ import annotations

import duckdb
import pytest

from partwise.errors import PartwiseError, RenderError, WarehouseError
from partwise.partitions import daily, hourly, multi, static
from partwise.rendering import sql
from partwise.rendering.prepare import prepare
from rendering import Project, model, source

DAYS = daily("2024-01-01")
BOTH = multi(day=DAYS, region=static(["eu", "us"]))
MACROS = {
    "macros/sums.sql": "{% macro good(c) %}sum({{ c }}){% endmacro %}\n"
    "{% macro divides(by) %}\n  {{ 1 / by }}\n{% endmacro %}\n"
    "{% macro reads_gone() %}\n\nselect d from {{ ref('gone') }}\n{% endmacro %}\n"
    "{% macro wrong_column() %}\n  nowhere\n{% endmacro %}"
}
FILTERED = "where {{ partition_filter('d') }}"

#        template, the place, words of the message
REFUSED = [
    ("select d,\n  {{ nothing }}\nfrom {{ ref('t') }}", "models/m.sql:2", ["nothing"]),
    ("select d\nfrom {{ ref('t') }\n", "models/m.sql:2", []),
    ("{% if true %}\nselect d", "models/m.sql", []),
    ("select\n\n  {{ 1 / 0 }}", "models/m.sql:3", ["division"]),
    ("select d,\n  {{ divides(0) }}", "macros/sums.sql:3", ["division", "models/m.sql:2"]),
    ("select d\nfrom {{ ref('gone') }}", "models/m.sql:2", ["ref('gone')"]),
    ("select 1 as d, x.*\nfrom (\n{{ reads_gone() }}) x", "macros/sums.sql:7", ["ref('gone')", "models/m.sql:3"]),
    ("select d\nfrom {{ ref('t', lookbak=2) }}", "models/m.sql:2", ["lookbak", "did you mean `lookback`?"]),
    ("select d\nfrom {{ ref('t') }}\nwhere where d", "models/m.sql:3", ["duckdb SQL"]),
    ("select d from {{ ref('t') }};\nselect 2", "models/m.sql:1", ["more than one statement"]),
    ("-- nothing\n", "models/m.sql:1", ["empty"]),
    ("\ninsert into t values (1)", "models/m.sql:2", ["INSERT"]),
    ("\nselect d from {{ ref('t') }}", "models/m.sql:2", ["none of its inputs", "ref('t')", "full_scan"]),
    ("select current_date as d", "models/m.sql:1", ["none of its inputs", "full_scan"]),
    (f"select day from {{{{ ref('t') }}}} {FILTERED}", "models/m.sql", ["lacks the partition column `d`", "`day`"]),
    ("select d from {{ ref('t') }}\nwhere d = '{{ partition.key }}'", "models/m.sql:2", ["quoted again"]),
    ("select d from {{ ref('t') }}\nwhere d = {{ partition }}", "models/m.sql:2", ["partition.key"]),
    ("select d from {{ ref('t') }}\nwhere d = {{ partition.strat }}", "models/m.sql:2", ["strat", "`start`"]),
    ("select d from {{ ref('t') }}\nwhere d = {{ partition.dims.regoin }}", "models/m.sql:2", ["regoin"]),
    ("select d from {{ ref('t') }}\nwhere {{ partition_filter('max(d)') }}", "models/m.sql:2", ["max", "one row"]),
    ("select d from {{ ref('t') }}\nwhere {{ partition_filter('d; drop') }}", "models/m.sql:2", ["d; drop"]),
    ("select d from {{ ref('t') }}\nwhere {{ partition_filter('d', back=1) }}", "models/m.sql:2", ["back"]),
    ("select d from {{ ref('t') }}\nwhere {{ partition_filter('d', lookback=-1) }}", "models/m.sql:2", ["lookback"]),
    ("select d from {{ ref('t') }}\nwhere {{ partition_filter('d', dimension='dya') }}", "models/m.sql:2", ["dya"]),
    ("select ts as d\nfrom {{ ref('orders') }}\nwhere {{ partition_filter('ts', lookback=2) }}", "models/m.sql:3",
     ["wider", "ref('orders', lookback=2)"]),
    ("select ts as d from {{ ref('orders', lookback=1) }} o where {{ partition_filter('o.ts', lookback=2) }}",
     "models/m.sql:1", ["wider", "lookback=2"]),
    ("with o as (select * from {{ ref('orders') }})\nselect ts as d from o where {{ partition_filter('ts', lookback=1) }}",
     "models/m.sql:2", ["wider", "ref('orders', lookback=1)"]),
    ("select ts as d from {{ ref('orders') }} join {{ ref('orders', lookback=1) }} b using (ts)\njoin main.orders c using (ts)",
     "models/m.sql:2", ["main.orders", "different partitions"]),
    ("select d\n, {{ ref('gone') }}.id from {{ ref('t') }}", "models/m.sql:2", ["ref('gone')"]),
    ("select 'a' as d\nfrom {{ ref('regions') }}", "models/m.sql:2", ["cannot map", "mapping=all()"]),
    ("select ts as d\nfrom {{ ref('orders', filter={'region': 'r'}) }}", "models/m.sql:2", ["region"]),
    ("select d from {{ this_partition(offset=1) }}", "models/m.sql:1", ["past", "offset=-1"]),
]  # fmt: skip


def project(code: str) -> Project:
    made = Project(
        model("t", materialized="seed", resource_type="seed"),
        model("orders", "", hourly("2024-01-01"), "ts"),
        model("regions", "", static(["eu"]), "r"),
        model("m", code, DAYS, "d", line=1),
        macros=MACROS,
    )
    made.table("t", {"d": "DATE", "day": "DATE", "local": "TIMESTAMP"})
    made.table("orders", {"ts": "TIMESTAMP"})
    made.table("regions", {"r": "VARCHAR"})
    return made


@pytest.mark.parametrize(("code", "place", "words"), REFUSED)
def test_refused(code, place, words):
    with pytest.raises(RenderError) as caught:
        project(code).render("m", "2024-01-05")
    assert caught.value.where == place or (":" not in place and caught.value.file == place)
    for word in words:
        assert word in str(caught.value)
    assert "\x1b" not in str(caught.value)


def refusal(made: Project, partitions: str = "2024-01-05") -> PartwiseError:
    with pytest.raises(PartwiseError) as caught:
        made.render("m", partitions)
    return caught.value


def test_a_relation_outside_from_is_told():
    made = project("select d from {{ ref('t') }}\nwhere {{ partition_filter('d') }} and reads({{ ref('orders') }})")
    assert made.render("m", "2024-01-05", types={}).warnings == (
        "ref('orders') at models/m.sql:2 stands outside FROM: it is not filtered",
    )


def test_key_needs_a_run_of_one():
    made = project("select d from {{ ref('t') }}\nwhere d = {{ partition.key }}")
    assert "DATE" not in str(made.render("m", "2024-01-05").select)
    error = refusal(made, "2024-01-05:2024-01-06")
    assert error.where == "models/m.sql:2" and "partition.keys" in str(error) and "has 2" in str(error)


def test_a_filter_without_partitions():
    made = Project(model("m", "select 1 as a where {{ partition_filter('a') }}"))
    with pytest.raises(RenderError, match="not built by partition"):
        made.render("m")


def test_a_partitioned_model_needs_a_partition_expr():
    made = Project(source("raw", "x", "d"), model("m", "select d from {{ source('raw', 'x') }}", DAYS))
    made.table("raw.x", {"d": "DATE"})
    assert "no partition_expr for `day`" in str(refusal(made))


def test_one_expression_for_two_dimensions():
    made = Project(
        source("raw", "x", "r"),
        model("m", "select 1 from {{ source('raw', 'x') }}", multi(a=static(["x"]), b=static(["y"])), {"a": "r", "b": "s"}),
    )
    assert "`a` or `b`" in str(refusal(made, "x|y"))


def test_a_zoneless_timestamp_in_a_zoned_definition():
    zoned = daily("2024-01-01", timezone="America/New_York")
    code = "select local as d from {{ ref('t') }} where {{ partition_filter('local') }}"
    made = project("")
    made = Project(*(n for n in made.nodes.values() if n.name != "m"), model("m", code, zoned, "d"))
    made.table("t", {"local": "TIMESTAMP"})
    error = refusal(made)
    assert "America/New_York" in str(error) and "column_timezone='UTC'" in str(error)
    assert error.model == "m" and error.file == "models/m.sql"


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("d, count(*)", ["without a name", "COUNT(*)", "... as name"]),
        ("d, 1, d::varchar", ["`1`", "`CAST(d AS TEXT)`"]),
        ("d, local, day as LOCAL", ["`LOCAL`", "more than once"]),
        ("d, t.*", ["`d`", "more than once"]),
    ],
)
def test_output_columns_are_named_once(columns, words):
    made = project(f"select {columns} from {{{{ ref('t') }}}} {FILTERED} {'group by d' if 'count' in columns else ''}")
    with pytest.raises(RenderError) as caught:
        prepare(made.renderer, made["m"], made.set_of("m", "2024-01-05"), made.describe)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("code", "place"),
    [
        (f"select d,\n  nowhere\nfrom {{{{ ref('t') }}}} {FILTERED}", "models/m.sql:2"),
        (f"{{# a\ncomment #}}\n\nselect d,\n  {{{{ good('nowhere') }}}}\nfrom {{{{ ref('t') }}}} {FILTERED}\ngroup by d",
         "macros/sums.sql:1"),
        (f"select d,\n{{{{ wrong_column() }}}}\nfrom {{{{ ref('t') }}}} {FILTERED}", "macros/sums.sql:10"),
        (f"{{% set x = 1 %}}\n{{%- if x %}}\nselect d from {{{{ ref('t') }}}}\n{{% endif -%}}\n\n{FILTERED}\n and nope = 1",
         "models/m.sql:7"),
        ("select ts as d from {{ ref('orders') }}\nwhere no_such_function(1) = 1", "models/m.sql:2"),
    ],
)  # fmt: skip
def test_an_error_of_the_engine_names_the_line_of_the_template(code, place):
    made = project(code)
    rendered = made.render("m", "2024-01-05", types={})
    statement = sql.insert(rendered.node.relation, ["d"], rendered.query(["d"]), "duckdb")
    made.connection.execute("create table m (d date)")
    try:
        made.connection.execute(statement)
    except duckdb.Error as error:
        found = rendered.explain_error(WarehouseError(str(error)), statement)
        assert found.where == place
    else:
        pytest.fail("the statement should not run")


def test_snowflake_positions():
    made = project(f"select d,\n  nowhere\nfrom {{{{ ref('t') }}}} {FILTERED}")
    rendered = made.render("m", "2024-01-05", types={})
    statement = "create temporary table stage as " + rendered.query(["d"])
    message = "SQL compilation error: error line 2 at position 2\ninvalid identifier 'NOWHERE'"
    assert rendered.explain_error(WarehouseError(message), statement).where == "models/m.sql:2"
    assert rendered.explain_error(WarehouseError("no position at all"), statement).where == "models/m.sql"
