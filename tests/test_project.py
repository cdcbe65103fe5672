"""Projects that load: what ends up in the nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from partwise import mapping, partitions
from partwise.nodes import BackfillPolicy
from partwise.project.jinja_env import ReadConfig, Scope
from projects import load

M = "models/m.sql"
DAILY = "partitions=daily(start='2024-01-01'), partition_expr='d'"
ORDERS = f"{{{{ config({DAILY}) }}}}select d, x from raw"


def node(root: Path, files: dict[str, Any], name: str = "m", **given: Any) -> Any:
    return load(root, files, **given).model(name)


# ---------------------------------------------------------------- definitions

JINJA = "{{{{ config(partitions={}, partition_expr={}) }}}}select 1 as d"
YAML = "models:\n- name: m\n  config:\n    partition_expr: {}\n    partitions: {}\n"
DEFINITIONS = {
    "call": (JINJA.format("daily(start='2024-01-01')", "'d'"), "", partitions.daily("2024-01-01")),
    "text": (JINJA.format('"daily(start=\'2024-01-01\')"', "'d'"), "", partitions.daily("2024-01-01")),
    "name": (JINJA.format("'calendar'", "'d'"), "", partitions.daily("2013-01-01")),
    "yaml mapping": ("select 1", YAML.format("d", "{daily: {start: 2024-01-01}}"), partitions.daily("2024-01-01")),
    "yaml date alone": ("select 1", YAML.format("d", "{daily: 2024-01-01}"), partitions.daily("2024-01-01")),
    "yaml text": ("select 1", YAML.format("d", "daily(start='2024-01-01')"), partitions.daily("2024-01-01")),
    "yaml name": ("select 1", YAML.format("d", "calendar"), partitions.daily("2013-01-01")),
    "yaml numbers": (
        "select 1",
        YAML.format("d", "{weekly: {start: 2024-01-01, day_offset: 6, hour_offset: 5, end_offset: -1}}"),
        partitions.weekly("2024-01-01", day_offset=6, hour_offset=5, end_offset=-1),
    ),
    "yaml keys stay as written": (
        "select 1",
        YAML.format("k", "{static: [US, NO, 007, 1e3, 0x1F, 1_000, 12:30, 2024-01-01, true, ~x, on, 1.50]}"),
        partitions.static(
            ["US", "NO", "007", "1e3", "0x1F", "1_000", "12:30", "2024-01-01", "true", "~x", "on", "1.50"]
        ),
    ),
    "yaml several dimensions": (
        "select 1",
        YAML.format("{date: d, region: r}", "{multi: {region: {static: [NO]}, date: {daily: {start: 2024-01-01}}}}"),
        partitions.multi(date=partitions.daily("2024-01-01"), region=partitions.static(["NO"])),
    ),
    "yaml dimension by name": (
        "select 1",
        YAML.format("{date: d, region: r}", "{multi: {region: 'static([\"NO\"])', date: calendar}}"),
        partitions.multi(date=partitions.daily("2013-01-01"), region=partitions.static(["NO"])),
    ),
    "yaml dynamic": ("select 1", YAML.format("k", "{dynamic: releases}"), partitions.dynamic("releases")),
    "yaml shared dynamic": (
        "select 1", YAML.format("k", "{dynamic: {name: releases, shared: true}}"), partitions.dynamic("releases", shared=True),
    ),
    "yaml cron": (
        "select 1",
        YAML.format("d", "{cron: {cron: '*/30 9-17 * * 1-5', start: 2024-01-01, exclude: [2024-01-02-09:00]}}"),
        partitions.cron("*/30 9-17 * * 1-5", "2024-01-01", exclude=["2024-01-02-09:00"]),
    ),
    "datetime": (
        JINJA.format("daily(start=modules.datetime.date(2024, 1, 1))", "'d'"), "", partitions.daily("2024-01-01"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFINITIONS)
def test_definitions(name: str, tmp_path: Path) -> None:
    sql, yml, wanted = DEFINITIONS[name]
    project = "name: shop\npartitions:\n  calendar: daily(start='2013-01-01')\n"
    found = node(tmp_path, {M: sql, "models/m.yml": yml, "partwise.yml": project})
    assert found.definition == wanted or found.definition.axes[0].start.startswith("2024-01-01")
    assert [a.keys if hasattr(a, "keys") else a.begin for a in found.definition.axes] == [
        a.keys if hasattr(a, "keys") else a.begin for a in wanted.axes
    ]
    assert found.definition.id == wanted.id
    assert found.materialized == "partitioned"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("'auto'", BackfillPolicy()),
        ("single_run()", BackfillPolicy("single_run")),
        ("single_run(max_partitions_per_run=30)", BackfillPolicy("single_run", 30)),
        ("'multi_run'", BackfillPolicy("multi_run", 1)),
        ("'multi_run(7)'", BackfillPolicy("multi_run", 7)),
        ("{'multi_run': 7}", BackfillPolicy("multi_run", 7)),
        ("{'single_run': {'max_partitions_per_run': 7}}", BackfillPolicy("single_run", 7)),
    ],
)
def test_policies(text: str, wanted: BackfillPolicy, tmp_path: Path) -> None:
    assert node(tmp_path, {M: f"{{{{ config({DAILY}, policy={text}) }}}}select 1 as d"}).policy == wanted


# ---------------------------------------------------------------- config


def test_later_layers_win_and_lists_add_up(tmp_path: Path) -> None:
    files = {
        "partwise.yml": """
            name: shop
            models:
              +tags: all
              +meta: {owner: a, team: x}
              shop:
                +schema: base
                staging:
                  +schema: stg
                  +materialized: table
                  deep: {+tags: [deep], m: {+alias: from_project}}
            """,
        "models/staging/deep/m.sql": "{{ config(tags=['sql'], schema='own', meta={'owner': 'c'}) }}"
        "{{ config(pre_hook='select 2') }}select 1 as a",
        "models/p.yml": "models: [{name: m, config: {tags: yml, schema: yml, pre-hook: select 1, meta: {owner: b}}}]",
        "models/staging/n.sql": "select 1 as a",
        "models/o.sql": "select 1 as a",
    }
    project = load(tmp_path, files)
    m, n, o = (project.model(name) for name in "mno")
    assert m.tags == ("all", "deep", "yml", "sql")
    assert m.relation.key == "main_own.from_project"
    assert m.config["pre_hook"] == ["select 1", "select 2"]
    assert m.config["meta"] == {"owner": "c", "team": "x"}
    assert (m.materialized, n.materialized, o.materialized) == ("table", "table", "view")
    assert (n.relation.key, o.relation.key) == ("main_stg.n", "main_base.o")


def test_hooks_and_descriptions_keep_their_templates(tmp_path: Path) -> None:
    files = {
        "partwise.yml": "name: shop\nmodels: {+pre-hook: 'grant {{ this }}'}\n",
        M: "select 1 as a",
        "models/m.yml": "models: [{name: m, description: \"{{ doc('m') }}\", config: {post-hook: ['drop {{ this }}'],"
        " alias: \"{{ var('v', 'w') }}\", meta: {n: \"{{ 1 + 1 }}\"}}}]",
    }
    found = node(tmp_path, files)
    assert found.config["pre_hook"] == ["grant {{ this }}"] and found.config["post_hook"] == ["drop {{ this }}"]
    assert found.description == "{{ doc('m') }}"
    assert found.relation.identifier == "w" and found.config["meta"] == {"n": 2}


def test_the_same_in_toml(tmp_path: Path) -> None:
    toml = """
        [tool.other]
        x = 1
        [tool.partwise]
        name = "shop"
        model-paths = ["models", "more"]
        on-run-end = "select 1"
        [tool.partwise.vars]
        country = "US"
        shop.country = "FR"
        day = 2013-01-01
        [tool.partwise.partitions]
        calendar = "daily(start='2013-01-01')"
        [tool.partwise.models.shop.staging]
        "+materialized" = "table"
        "+tags" = ["a"]
        """
    files = {
        "pyproject.toml": toml,
        "models/staging/a.sql": "select '{{ var('country') }}' as c",
        "more/b.sql": "{{ config(partitions='calendar', partition_expr='d') }}select 1 as d",
    }
    project = load(tmp_path, files)
    assert project.model("a").materialized == "table" and project.model("a").tags == ("a",)
    assert project.model("b").path == "more/b.sql"
    assert project.vars["country"] == "FR"
    assert project.settings.on_run_end == ("select 1",)
    assert load(tmp_path, vars={"country": "DE"}).vars["country"] == "DE"
    assert project.vars["day"] == "2013-01-01"
    assert project.vars["shop"] == {"country": "FR"}


def test_disabled_nodes_are_left_out(tmp_path: Path) -> None:
    files = {
        "models/a.sql": "{{ config(enabled=false) }}select * from {{ ref('nope') }}",
        "models/b.sql": "{% this is not even Jinja",
        "models/x/c.sql": "select 1 as a",
        "models/y/c.sql": "{{ config(enabled=var('y', false)) }}select 2 as a",
        "models/m.yml": "models: [{name: b, config: {enabled: no}}]",
        "seeds/s.csv": "a\n1\n",
        "seeds/s.yml": "seeds: [{name: s, config: {enabled: false}}]",
    }
    assert list(load(tmp_path, files).nodes) == ["model.shop.c"]
    assert load(tmp_path).model("c").path == "models/x/c.sql"


def test_relation_names(tmp_path: Path) -> None:
    files = {
        "models/a.sql": "{{ config(schema='mart', alias='orders', database='db') }}select 1 as a",
        "models/s.yml": """
            sources:
              - name: raw
                database: lake
                schema: "{{ target.schema }}_raw"
                tables: [{name: clicks}, {name: views, identifier: Page Views}]
              - {name: plain, tables: [{name: t}]}
            """,
    }
    project = load(tmp_path, files)
    shown = {uid: (n.relation.database, n.relation.schema, n.relation.identifier) for uid, n in project.nodes.items()}
    assert shown == {
        "model.shop.a": ("db", "main_mart", "orders"),
        "source.shop.raw.clicks": ("lake", "main_raw", "clicks"),
        "source.shop.raw.views": ("lake", "main_raw", "Page Views"),
        "source.shop.plain.t": (None, "plain", "t"),
    }
    assert load(tmp_path, target="sf").model("a").dialect == "snowflake"


def test_naming_macros_of_the_project(tmp_path: Path) -> None:
    macros = """
        {% macro generate_schema_name(custom_schema_name, node) -%}
            {%- if custom_schema_name is none -%} {{ target.schema }} {%- else -%} {{ custom_schema_name | trim }} {%- endif -%}
        {%- endmacro %}
        {% macro generate_alias_name(custom_alias_name=none, node=none) -%}
            {{ node.fqn[1] ~ '_' ~ (custom_alias_name or node.name) }}
        {%- endmacro %}
        """
    files = {
        "macros/naming.sql": macros,
        "models/marts/a.sql": "{{ config(schema='mart') }}select 1 as a",
        "models/stg/b.sql": "{{ config(alias='bb') }}select 1 as a",
        "models/s.yml": "sources: [{name: raw, schema: app, tables: [{name: t}]}]",
    }
    project = load(tmp_path, files)
    assert project.model("a").relation.key == "mart.marts_a"
    assert project.model("b").relation.key == "main.stg_bb"
    assert project.nodes["source.shop.raw.t"].relation.key == "app.t"
    assert load(tmp_path).model("a").relation.key == "mart.marts_a"


def test_sources_and_seeds_with_partitions(tmp_path: Path) -> None:
    files = {
        "models/s.yml": """
            sources:
              - name: raw
                partition_expr: ts
                tables:
                  - name: a
                  - name: b
                    partitions: {daily: {start: 2024-01-01}}
                    partition_expr: cast(ts as date)
                    description: second
                    columns: [{name: ts, data_type: timestamp, data_tests: [not_null]}]
            """,
        "seeds/days.csv": "day\n2024-01-01\n",
        "seeds/deep/rates.parquet": b"PAR1",
        "seeds/s.yml": "seeds: [{name: days, config: {partition_expr: day, column_types: {day: date}}}]",
    }
    project = load(tmp_path, files)
    a, b = project.nodes["source.shop.raw.a"], project.nodes["source.shop.raw.b"]
    assert (dict(a.partition_expr), a.definition) == ({"": "ts"}, None)
    assert dict(b.partition_expr) == {"day": "cast(ts as date)"} and b.definition == partitions.daily("2024-01-01")
    assert b.description == "second" and b.columns[0]["data_type"] == "timestamp"
    days = project.model("days")
    assert (days.materialized, dict(days.partition_expr)) == ("seed", {"": "day"})
    assert days.config["column_types"] == {"day": "date"}
    assert project.model("rates").path == "seeds/deep/rates.parquet"


# ---------------------------------------------------------------- references


def edges(found: Any) -> list[tuple[str, int | None]]:
    return [(edge.upstream.rpartition(".")[2], edge.line) for edge in found.edges]


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("select * from {{ ref('a') }}", [("a", 1)]),
        ("select *\n\nfrom {{ ref('shop', 'a') }}", [("a", 3)]),
        ("-- {{ ref('old_model') }}\nselect * from {{ ref('a') }}", [("a", 2)]),
        ("/* {{ ref('old') }}\n*/ select * from {{ ref('a') }} -- x", [("a", 2)]),
        ("select '{{ ref('old') }}' from {{ ref('a') }}", [("a", 1)]),
        ("select 'it''s -- ' from {{ ref('a') }}", [("a", 1)]),
        ('select "--" from {{ ref(\'a\') }}', [("a", 1)]),
        ("select $$ {{ ref('old') }} -- $$ from {{ ref('a') }}", [("a", 1)]),
        ("select $x$ $$ {{ ref('old') }} $x$ from {{ ref('a') }}", [("a", 1)]),
        ("select E'\\' -- ' from {{ ref('a') }}", [("a", 1)]),
        ("/* /* */ {{ ref('old') }} */ select * from {{ ref('a') }}", [("a", 1)]),
        ("{# {{ ref('old') }} #}select * from {{ ref('a') }}", [("a", 1)]),
        ("{% raw %}-- {{ ref('old') }}{% endraw %}\nselect * from {{ ref('a') }}", [("a", 2)]),
        ("select 8 -- {{ ref('old')\n }}\nfrom {{ ref('a') }}", [("a", 3)]),
        ("{% set x = ref('a') %}select * from {{ x }}", [("a", 1)]),
        ("{% set x = ref('a') %}select 1", [("a", 1)]),
        ("{% for t in ['a', 'b'] %}select * from {{ ref(t) }}\nunion all {% endfor %}", [("a", 1), ("b", 1)]),
        ("select * from {{ ref('a') }} join {{ ref('a') }} as b", [("a", 1)]),
        ("select * from {{ ref('a') }} where {{ ref('a') }}.x = 1", [("a", 1)]),
        ("select * from {{ ref('a').schema }}.{{ ref('a').identifier }}", [("a", 1)]),
        ("select * from {{ ref('a') | upper }}", [("a", 1)]),
        ("{% if is_incremental() %}select * from {{ ref('a') }}{% else %}select * from {{ ref('b') }}{% endif %}",
         [("a", 1), ("b", 1)]),
        ("{% if execute %}select * from {{ ref('a') }}{% else %}select 1{% endif %}", []),
        ("{% if partition.start.datetime.year == 2000 %}select * from {{ ref('a') }}{% endif %}", [("a", 1)]),
        ("select 1 as x\n{{ two_levels('a') }}", [("a", 2)]),
    ],
)  # fmt: skip
def test_references(sql: str, wanted: list[tuple[str, int]], tmp_path: Path) -> None:
    files = {
        "models/a.sql": "select 1 as x",
        "models/b.sql": "select 1 as x",
        "macros/one.sql": "{% macro read(name) %}\n\nunion all select * from {{ ref(name) }}{% endmacro %}",
        "macros/deep/two.sql": "{% macro two_levels(name) %}{{ read(name) }}{% endmacro %}",
        M: sql,
    }
    assert edges(node(tmp_path, files)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "{{ partition.key }}{{ partition.keys }}{% for k in partition.keys %}{{ k }}{% endfor %}",
        "{{ partition.start }}{{ partition.end.date }}{{ partition.start.strftime('%Y%m%d') }}{{ partition.end.epoch }}",
        "{{ partition.start.timestamp }}{{ partition.start.timestamptz }}{{ partition.start.utc }}",
        "{{ partition.start.datetime - modules.datetime.timedelta(days=1) }}",
        "{{ partition.dims.region }}{{ partition.dims['region'] }}{{ partition.dims.all('region') | join(',') }}",
        "{% if partition %}{{ partition.key | replace('-', '') }}{% endif %}",
        "{% if partition.key == 'US' or partition.key > 'a' or partition.key.startswith('2') or 'x' in partition.key %}{% endif %}",
        "{{ partition_filter('d') }}{{ partition_filter() }}{{ partition_filter({'a': 'b'}, lookback=1) }}",
    ],
)
def test_templates_may_use_the_partition(text: str, tmp_path: Path) -> None:
    sql = f"{{{{ config({DAILY}) }}}}" + text + " select * from {{ ref('a') }}"
    assert edges(node(tmp_path, {"models/a.sql": "select 1 as x", M: sql})) == [("a", 1)]


def test_slashes_begin_a_comment_on_snowflake_only(tmp_path: Path) -> None:
    files = {"models/a.sql": "select 1 as x", M: "select 4 // {{ ref('a') }}\n from t"}
    assert edges(node(tmp_path, files)) == [("a", 1)]
    assert edges(node(tmp_path, files, target="sf")) == []


def test_options_of_references(tmp_path: Path) -> None:
    multi = "partitions=multi(d=daily(start='2024-01-01'), r=static(['a'])), partition_expr={'d': 'd', 'r': 'r'}"
    sql = f"""{{{{ config({multi}) }}}}
        select * from {{{{ ref('a', lookback=6) }}}}
        join {{{{ ref('a', mapping=mapping.window(start_offset=-1, end_offset=1)) }}}}
        join {{{{ ref('a', mapping='last()', filter={{'r': 'region'}}, allow_missing_upstream=true) }}}}
        join {{{{ ref('a', whole=true) }}}}
        join {{{{ ref('t', stale=true) }}}}
        join {{{{ source('raw', 'x', mapping=all()) }}}}
        join {{{{ ref('a', mapping=dims(day='d')) }}}}
        """
    files = {
        "models/a.sql": ORDERS,
        "models/t.sql": "{{ config(materialized='table') }}select 1 as x",
        "models/s.yml": "sources: [{name: raw, tables: [{name: x}]}]",
        M: sql,
    }
    found = node(tmp_path, files).edges
    assert [edge.mapping for edge in found] == [
        mapping.window(start_offset=-6),
        mapping.window(start_offset=-1, end_offset=1),
        mapping.last(),
        None,
        None,
        mapping.all(),
        mapping.dims(day="d"),
    ]
    assert found[2].filter == (("r", "region"),) and found[2].allow_missing_upstream
    assert found[3].whole and found[4].stale
    assert [edge.line for edge in found] == [2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("select * from {{ this }}", True),
        ("select * from {{ this_partition(offset=-1) }}", True),
        ("select 1 -- {{ this }}", False),
        ("select '{{ this.identifier }}' as x", False),
        ("{% if is_incremental() %}select max(d) from {{ this }}{% endif %}", True),
        ("{% if not is_incremental() %}select max(d) from {{ this }}{% endif %}", True),
        ("{{ config(post_hook='grant select on {{ this }} to bi') }}select 1 as x", False),
    ],
)
def test_own_past(sql: str, wanted: bool, tmp_path: Path) -> None:
    assert node(tmp_path, {M: sql}).reads_own_past is wanted


def test_config_can_be_asked_for(tmp_path: Path) -> None:
    files = {
        "partwise.yml": "name: shop\nmodels: {+meta: {n: 3}}\n",
        M: "{{ config(alias='x') }}{{ config(tags=[config.get('alias'), this.schema]) }}"
        "{{ config(schema=config.get('nope', 'dflt')) }}{% for i in range(config.get('meta').n) %}{{ i }}{% endfor %}",
    }
    found = node(tmp_path, files)
    assert found.tags == ("x", "main") and found.relation.key == "main_dflt.x"


# ---------------------------------------------------------------- views


DOWN = f"{{{{ config({DAILY}) }}}}select * from {{{{ ref('v') }}}}"
VIEWS = {
    "select * from {{ ref('a') }}": True,
    "SELECT *\nFROM {{ ref('a') }} AS t\nWHERE x > 1 -- from": True,
    "select d, x + 1 as y from {{ ref('a') }}": True,
    "select t.d as d from {{ ref('a') }} t": True,
    "select distinct d from {{ ref('a') }}": True,
    "select d, count(*) as n from {{ ref('a') }} group by d": True,
    "select coalesce(x, 'a, b') as x, d from {{ ref('a') }}": True,
    "with s as (select * from {{ ref('a') }}), t as (select d, x from s) select * from t where x > 1": True,
    "select t.* from {{ ref('a') }} t left join {{ ref('plain') }} p on p.x = t.x": True,
    "select a.d from {{ ref('a') }} join {{ ref('plain') }} on true": False,
    "select zpw.d from {{ ref('a') }} as zpw join {{ ref('plain') }} p on true": True,
    "select d from {{ ref('a') }} union all select d from {{ ref('a') }} as b": True,
    "select d + 1 as d from {{ ref('a') }}": False,
    "select x as d from {{ ref('a') }}": False,
    "select x from {{ ref('a') }}": False,
    "select * exclude (d) from {{ ref('a') }}": False,
    "select * replace (d + 1 as d) from {{ ref('a') }}": False,
    "select d from (select x as d from {{ ref('a') }})": False,
    "with a as (select x as d from {{ ref('a') }}) select d from a": False,
    "select p.d from {{ ref('plain') }} p left join {{ ref('a') }} t on p.x = t.x": False,
    "select t.d from {{ ref('plain') }} p left join {{ ref('a') }} t on p.x = t.x": False,
    "select * from {{ ref('a', whole=true) }}": False,
    "select * from {{ ref('a') }} join {{ ref('b') }} using (d)": False,
    "this is no SQL {{ ref('a') }} (": False,
}


@pytest.mark.parametrize("sql", VIEWS)
def test_views_inherit_partitions(sql: str, tmp_path: Path) -> None:
    files = {
        "models/a.sql": ORDERS,
        "models/b.sql": ORDERS,
        "models/plain.sql": "{{ config(materialized='table') }}select 1 as x",
        "models/v.sql": "{{ config(materialized='ephemeral') }}\n" + sql,
    }
    found = node(tmp_path, files, "v")
    if VIEWS[sql]:
        assert found.inherited_from == "model.shop.a" and found.definition == partitions.daily("2024-01-01")
        assert dict(found.partition_expr) == {"day": "d"} and found.materialized == "ephemeral"
    else:
        assert found.inherited_from is None and found.definition is None and not found.partition_expr


def test_a_view_over_a_source_takes_its_partition_expr_over(tmp_path: Path) -> None:
    files = {
        "models/s.yml": "sources: [{name: raw, partition_expr: {day: d, region: r}, tables: [{name: t}]}]",
        "models/v.sql": "select d, r, x + 1 as y from {{ source('raw', 't') }}",
        "models/w.sql": "select d, x from {{ source('raw', 't') }}",
    }
    v, w = node(tmp_path, files, "v"), node(tmp_path, files, "w")
    assert v.inherited_from == "source.shop.raw.t" and dict(v.partition_expr) == {"day": "d", "region": "r"}
    assert v.definition is None and w.inherited_from is None and not w.partition_expr


def test_views_pass_inherited_partitions_on(tmp_path: Path) -> None:
    files = {
        "models/a.sql": ORDERS,
        "models/v.sql": "select * from {{ ref('a') }}",
        "models/w.sql": "select d from {{ ref('v') }}",
        "models/own.sql": "{{ config(partition_expr='dd') }}select d as dd from {{ ref('w') }}",
        "models/z.sql": f"{{{{ config(materialized='view', {DAILY}) }}}}select d from {{{{ ref('a') }}}}",
    }
    project = load(tmp_path, files)
    assert project.model("w").inherited_from == "model.shop.v"
    assert project.model("own").inherited_from == "model.shop.w"
    assert dict(project.model("own").partition_expr) == {"day": "dd"}
    assert project.model("z").inherited_from is None and project.model("z").materialized == "view"


# ---------------------------------------------------------------- odd files


def test_odd_files(tmp_path: Path) -> None:
    files: dict[str, Any] = {
        "models/bom.sql": "\ufeffselect 1 as a\r\nfrom {{ ref('ümläut') }}\r\n".encode(),
        "models/ümläut.sql": "select 'é' as a",
        "models/empty.yml": "",
        "models/comment.yaml": "# nothing\n",
        "models/bom.yml": b"\xef\xbb\xbfmodels:\r\n- name: bom\r\n  description: x\r\n",
        "models/.hidden/x.sql": "{% broken",
        "models/notes.txt": "not a model",
        "models/with.dots.sql": "select 1 as a",
        "target/compiled/models/z.sql": "{% broken",
    }
    project = load(tmp_path, files)
    assert sorted(item.name for item in project.items) == ["bom", "with.dots", "ümläut"]
    assert edges(project.model("bom")) == [("ümläut", 2)]
    assert project.model("bom").raw_code == "select 1 as a\nfrom {{ ref('ümläut') }}\n"
    assert project.model("bom").description == "x"


def test_no_folders_and_no_models(tmp_path: Path) -> None:
    assert dict(load(tmp_path, {}).nodes) == {}
    (tmp_path / "models").write_text("a file, not a folder")
    assert dict(load(tmp_path).nodes) == {}


def test_links(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "linked.sql").write_text("select 1 as a")
    load(root, {M: "select 1 as a"})
    (root / "models" / "more").symlink_to(tmp_path / "elsewhere")
    (root / "models" / "circle").symlink_to(root / "models")
    (root / "models" / "gone.sql").symlink_to(tmp_path / "gone.sql")
    assert [item.path for item in load(root).items] == ["models/m.sql", "models/more/linked.sql"]


def test_the_nearest_folder_above_with_a_project(tmp_path: Path) -> None:
    load(tmp_path, {M: "select 1 as a", "models/deep/x.txt": "", "models/pyproject.toml": "[tool.ruff]\n"})
    assert load(tmp_path / "models" / "deep", environ={"HOME": str(tmp_path)}).root == tmp_path


def test_test_blocks_are_macros(tmp_path: Path) -> None:
    files = {
        "macros/t.sql": "{% test positive(model, column_name) %}select * from {{ model }} where {{ column_name }} <= 0"
        "{% endtest %}",
        M: "{{ test_positive('t', 'c') }}",
    }
    project = load(tmp_path, files)
    engine = project.engine()
    text = engine.render(engine.compile(project.model("m").raw_code, M), Scope(engine, model_file=M))
    assert text == "select * from t where c <= 0"


def test_other_properties_are_kept(tmp_path: Path) -> None:
    files = {
        M: "select 1 as a",
        "models/m.yml": "models: [{name: m, data_tests: [unique_x], columns: [{name: a, data_tests: [not_null]}]}]\n"
        "unit_tests: [{name: t, model: m, given: [], expect: {rows: []}}]\n",
    }
    project = load(tmp_path, files)
    assert project.others["unit_tests"][0][0] == "models/m.yml"
    assert project.others["unit_tests"][0][1]["name"] == "t"
    assert project.tests == {"model.shop.m": ("unique_x",)}


def test_keys_of_dbt_without_effect_are_noted(tmp_path: Path) -> None:
    project = load(tmp_path, {"partwise.yml": "name: shop\nrequire-dbt-version: '>=1.0'\nsnapshot-paths: [s]\n"})
    assert project.notes == ("partwise.yml: `require-dbt-version` has no effect in partwise",)


# ---------------------------------------------------------------- the engine for runs


class RunScope(Scope):
    def ref(self, *args: Any, **options: Any) -> str:
        return f"<{args[-1]}>"

    def config(self) -> Any:
        return ReadConfig({"alias": "x"})


def test_engine_for_runs(tmp_path: Path) -> None:
    files = {
        "macros/m.sql": "{% macro pick(xs) %}{% for x in xs %}{% if x > 1 %}{{ return(x) }}{% endif %}{% endfor %}"
        "{{ return(none) }}{% endmacro %}{% macro r(n) %}{{ ref(n) }}{% endmacro %}",
        M: "{{ config(alias='x') }}{{ pick([1, 2, 3]) + 1 }} {{ r('m2') }} {{ config.get('alias') }} {{ target.name }}"
        "{{ execute }}{{ log('hi', info=true) }}{{ print('there') }}{{ env_var('E') }}"
        "{% set l = [] %}{% do l.append(1) %}{{ l }}",
        "models/m2.sql": "select 1 as a",
    }
    said: list[tuple[str, bool]] = []
    project = load(tmp_path, files, environ={"E": "env"})
    engine = project.engine(log=lambda message, info: said.append((message, info)))
    text = engine.render(engine.compile(project.model("m").raw_code, M), RunScope(engine, model_file=M))
    assert text == "3 <m2> x devTrueenv[1]"
    assert said == [("hi", True), ("there", True)]


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ ref.__func__ }}",
        "{{ ref.__globals__ }}",
        "{{ modules.datetime.sys }}",
        "{{ modules.re.os }}",
        "{{ [].__class__ }}",
        "{{ (1).__add__ }}",
        "{{ log.engine }}",
        "{{ range(10000000) }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ exceptions._world.environ }}",
        "{{ mapping.all.__code__ }}",
        "{{ '{0.__class__}'.format(1) }}",
    ],
)
def test_the_sandbox_holds(text: str, tmp_path: Path) -> None:
    from partwise.errors import RenderError

    engine = load(tmp_path, {}).engine()
    with pytest.raises(RenderError) as caught:
        engine.render(engine.compile(text, M), Scope(engine, model_file=M))
    assert caught.value.where == "models/m.sql:1"
