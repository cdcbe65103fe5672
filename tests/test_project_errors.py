"""Projects that must be refused: each problem names its file and line, and what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from partwise.errors import ProjectError
from partwise.project import load_project
from projects import problems

ORDERS = "{{ config(partitions=daily(start='2024-01-01'), partition_expr='d') }}\nselect d from raw\n"
M = "models/m.sql"

# name -> (files, words that the one problem holds in this order)
CASES: dict[str, tuple[dict[str, str], list[str]]] = {
    "unknown ref": (
        {"models/orders.sql": "select 1 as a", M: "select *\n\nfrom {{ ref('ordrs') }}"},
        ["no model or seed `ordrs`", "models/m.sql:3", "did you mean `orders`?"],
    ),
    "ref in other case": (
        {"models/orders.sql": "select 1 as a", M: "select * from {{ ref('Orders') }}"},
        ["`Orders`", "models/m.sql:1", "did you mean `orders`? Upper and lower case count"],
    ),
    "ref of a source": (
        {"models/s.yml": "sources: [{name: raw, tables: [{name: clicks}]}]", M: "select * from {{ ref('clicks') }}"},
        ["`clicks`", "models/m.sql:1", "source('raw', 'clicks')"],
    ),
    "ref of a disabled model": (
        {"models/a.sql": "{{ config(enabled=false) }}select 1 as a", M: "select * from {{ ref('a') }}"},
        ["`a` is disabled", "models/m.sql:1", "models/a.sql"],
    ),
    "ref with another package": (
        {"models/a.sql": "select 1 as a", M: "select * from {{ ref('other', 'a') }}"},
        ["package `other`", "models/m.sql:1"],
    ),
    "ref without name": ({M: "select * from {{ ref() }}"}, ["ref() takes the name", "models/m.sql:1"]),
    "ref with a number": ({M: "select * from {{ ref(1) }}"}, ["takes names as text, not 1", "models/m.sql:1"]),
    "ref with unknown option": (
        {"models/a.sql": "select 1 as a", M: "select *\nfrom {{ ref('a', lookbak=1) }}"},
        ["no option `lookbak`", "models/m.sql:2", "did you mean `lookback`?"],
    ),
    "negative lookback": (
        {"models/a.sql": ORDERS, M: "select * from {{ ref('a', lookback=-1) }}"},
        ["`lookback` is `-1`", "models/m.sql:1"],
    ),
    "lookback and mapping": (
        {"models/a.sql": ORDERS, M: "select * from {{ ref('a', lookback=1, mapping=all()) }}"},
        ["both `mapping` and `lookback`", "models/m.sql:1"],
    ),
    "unknown source": (
        {"models/s.yml": "sources: [{name: raw, tables: [{name: clicks}]}]", M: "select * from {{ source('rw', 'clicks') }}"},
        ["no source `rw`", "models/m.sql:1", "did you mean `raw`?"],
    ),
    "unknown table of a source": (
        {"models/s.yml": "sources: [{name: raw, tables: [{name: clicks}]}]", M: "select * from {{ source('raw', 'click') }}"},
        ["no table `click`", "models/m.sql:1", "did you mean `clicks`?"],
    ),
    "the model itself": ({M: "select * from {{ ref('m') }}"}, ["refers to itself", "models/m.sql:1", "{{ this }}"]),
    "a circle": (
        {
            "models/a.sql": "select * from {{ ref('b') }}",
            "models/x/b.sql": "select * from\n{{ ref('c') }}",
            "models/c.sql": "select * from {{ ref('a') }}",
        },
        ["circle", "a (models/a.sql) -> b (models/x/b.sql) -> c (models/c.sql) -> a", "models/a.sql:1"],
    ),
    "Jinja syntax": ({M: "select 1\n\n{% if %} x"}, ["Jinja:", "models/m.sql:3"]),
    "Jinja block not closed": ({M: "select 1\n{% if true %}\n x"}, ["Jinja:", "endif", "models/m.sql:"]),
    "unknown name in Jinja": ({M: "select 1\n{{ reff('a') }}"}, ["`reff`", "models/m.sql:2", "did you mean `ref`?"]),
    "unknown name of the partition": (
        {M: "select 1\n{{ partition.strt }}"},
        ["`partition` has no `strt`", "models/m.sql:2", "did you mean `start`?"],
    ),
    "bare name in Jinja": ({M: "select {{ orders }}"}, ["`orders` is not defined", "models/m.sql:1"]),
    "error in a macro": (
        {"macros/f.sql": "{% macro f(x) %}\n{{ 1 / x }}\n{% endmacro %}", M: "select\n{{ f(0) }}"},
        ["ZeroDivisionError", "models/m.sql:2", "macros/f.sql:2"],
    ),
    "syntax in a macro": ({"macros/f.sql": "{% macro f(x) %}\n{{ x", M: "select 1 as a"}, ["Jinja:", "macros/f.sql:2"]),
    "error in a naming macro": (
        {
            "macros/n.sql": "{% macro generate_schema_name(custom, node) %}\n{{ custom.nope.x }}{% endmacro %}",
            M: "{{ config(schema='x') }}select 1 as a",
        },
        ["macros/n.sql:2"],
    ),
    "macro defined twice": (
        {"macros/f.sql": "{% macro f() %}{% endmacro %}", "macros/g.sql": "\n{% macro f() %}{% endmacro %}"},
        ["`f` is defined twice", "macros/f.sql:1", "macros/g.sql:2"],
    ),
    "compiler error raised": ({M: "\n{{ exceptions.raise_compiler_error('no good') }}"}, ["no good", "models/m.sql:2"]),
    "unset var": (
        {"partwise.yml": "name: shop\nvars: {country: US}\n", M: "select '{{ var('countr') }}'"},
        ["variable `countr` is not set", "models/m.sql:1", "did you mean `country`?"],
    ),
    "unset env_var": (
        {M: "select\n'{{ env_var('NOT_SET') }}'"},
        ["environment variable `NOT_SET` is not set", "models/m.sql:2"],
    ),
    "secret env_var in a model": (
        {M: "select '{{ env_var('DBT_ENV_SECRET_X', 'y') }}'"},
        ["secret environment variable `DBT_ENV_SECRET_X`", "models/m.sql:1"],
    ),
    "unknown config key": (
        {M: "{{ config(\n  materialized='view',\n  partition_exp='x',\n) }}\nselect 1 as a"},
        ["unknown config key `partition_exp`", "models/m.sql:", "did you mean `partition_expr`?"],
    ),
    "unknown config key in YAML": (
        {M: "select 1 as a", "models/m.yml": "models:\n  - name: m\n    config:\n      materialised: view\n"},
        ["unknown config key `materialised`", "models/m.yml:4", "did you mean `materialized`?"],
    ),
    "unknown property in YAML": (
        {M: "select 1 as a", "models/m.yml": "models:\n  - name: m\n    descripton: x\n"},
        ["unknown key `descripton`", "models/m.yml:3", "did you mean `description`?"],
    ),
    "unknown top-level key in YAML": (
        {"models/m.yml": "version: 2\nmodel:\n  - name: m\n"},
        ["unknown key `model`", "models/m.yml:2", "did you mean `models`?"],
    ),
    "unknown key of a column": (
        {M: "select 1 as a", "models/m.yml": "models:\n- name: m\n  columns:\n  - name: a\n    datatype: int\n"},
        ["unknown key `datatype` of the column `a`", "models/m.yml:5", "did you mean `data_type`?"],
    ),
    "unknown key of a source": (
        {"models/s.yml": "sources:\n- name: raw\n  shema: x\n  tables: []\n"},
        ["unknown key `shema`", "models/s.yml:3", "did you mean `schema`?"],
    ),
    "unknown config key in the project file": (
        {"partwise.yml": "name: shop\nmodels:\n  shop:\n    +materialised: view\n", M: "select 1 as a"},
        ["`+materialised`", "partwise.yml:4", "did you mean `materialized`?"],
    ),
    "unknown folder in the project file": (
        {"partwise.yml": "name: shop\nmodels:\n  shop:\n    stagin:\n      +tags: x\n", "models/staging/a.sql": "select 1 as a"},
        ["`stagin`", "partwise.yml:4", "did you mean `staging`?"],
    ),
    "unknown config key in TOML": (
        {"pyproject.toml": '[tool.partwise]\nname = "shop"\n\n[tool.partwise.models.shop]\n"+tag" = "x"\n', M: "select 1 as a"},
        ["`+tag`", "pyproject.toml:5", "did you mean `tags`?"],
    ),
    "unknown key of the project file": (
        {"pyproject.toml": '[tool.partwise]\nname = "shop"\nmodel-path = ["m"]\n'},
        ["unknown key `model-path`", "pyproject.toml:3", "did you mean `model-paths`?"],
    ),
    "TOML that cannot be read": (
        {"pyproject.toml": '[tool.partwise]\nname = "shop\n'},
        ["TOML:", "pyproject.toml:2"],
    ),
    "project file that is a list": ({"partwise.yml": "- a\n"}, ["must hold a mapping", "partwise.yml:1"]),
    "name of the project": ({"partwise.yml": "name: my-shop\n"}, ["`name` is `my-shop`", "partwise.yml:1"]),
    "YAML syntax": ({"models/m.yml": "models:\n  - name: m\n   x: 1\n"}, ["YAML:", "models/m.yml:3"]),
    "YAML with a tab": ({"models/m.yml": "models:\n\t- name: m\n"}, ["YAML:", "models/m.yml:2"]),
    "YAML list on top": ({"models/m.yml": "- name: m\n"}, ["holds a mapping", "models/m.yml:1", "models:"]),
    "YAML key twice": ({"models/m.yml": "models:\n  - name: m\n    name: n\n"}, ["`name` is given twice", "models/m.yml:3"]),
    "entry without name": ({"models/m.yml": "models:\n  - description: m\n"}, ["a model without a name", "models/m.yml:2"]),
    "entry that is text": ({"models/m.yml": "models:\n  - m\n"}, ["a model without a name", "models/m.yml:2"]),
    "models that are a mapping": ({"models/m.yml": "models:\n  name: m\n"}, ["`models` takes a list", "models/m.yml:1"]),
    "entry for no model": (
        {"models/orders.sql": "select 1 as a", "models/m.yml": "models:\n  - name: order\n"},
        ["model `order`, which does not exist", "models/m.yml:2", "did you mean `orders`?"],
    ),
    "entry twice": (
        {M: "select 1 as a", "models/a.yml": "models: [{name: m}]", "models/b.yml": "\nmodels: [{name: m}]"},
        ["`m` is described twice, first in models/a.yml:1", "models/b.yml:2"],
    ),
    "same name in two folders": (
        {"models/a/x.sql": "select 1 as a", "models/b/x.sql": "select 1 as a"},
        ["`x` is there twice", "models/a/x.sql", "models/b/x.sql"],
    ),
    "model and seed of one name": (
        {"models/x.sql": "select 1 as a", "seeds/x.csv": "a\n1\n"},
        ["`x` is there twice", "models/x.sql", "seeds/x.csv"],
    ),
    "names that differ in case": (
        {"models/a/Orders.sql": "select 1 as a", "models/b/orders.sql": "select 1 as a"},
        ["`orders` and `Orders`", "differ only in upper and lower case", "models/b/orders.sql"],
    ),
    "one relation twice": (
        {"models/a.sql": "select 1 as a", "models/b.sql": "\n{{ config(alias='a') }}select 1 as a"},
        ["both the relation `main.a`", "models/b.sql:2"],
    ),
    "materialization that is not there": (
        {M: "{{ config(materialized='incremental') }}select 1 as a"},
        ["materialized `incremental` is not there yet", "models/m.sql:1", "partitioned"],
    ),
    "materialization misspelt": (
        {M: "{{ config(materialized='tabel') }}select 1 as a"},
        ["`materialized` is `tabel`", "models/m.sql:1", "did you mean `table`?"],
    ),
    "partitioned without partitions": (
        {M: "\n{{ config(materialized='partitioned') }}select 1 as a"},
        ["has no partitions", "models/m.sql:2", "partitions=daily"],
    ),
    "table with partitions": (
        {M: "{{ config(materialized='table', partitions=daily(start='2024-01-01'), partition_expr='d') }}select 1 as d"},
        ["table with partitions", "models/m.sql:1"],
    ),
    "partitions without partition_expr": (
        {M: "{{ config(partitions=daily(start='2024-01-01')) }}select 1 as d"},
        ["no partition_expr", "models/m.sql:1", "partition_expr='flight_date'"],
    ),
    "one partition_expr for two dimensions": (
        {M: "{{ config(partitions=multi(d=daily(start='2024-01-01'), r=static(['a'])), partition_expr='d') }}select 1 as d"},
        ["2 dimensions", "models/m.sql:1", "partition_expr={'d': '...', 'r': '...'}"],
    ),
    "a dimension without partition_expr": (
        {M: "{{ config(partitions=multi(d=daily(start='2024-01-01'), r=static(['a'])), partition_expr={'d': 'd'}) }}select 1"},
        ["leaves out `r`", "models/m.sql:1"],
    ),
    "partition_expr for no dimension": (
        {M: "{{ config(partitions=multi(d=daily(start='2024-01-01'), r=static(['a'])),"
            " partition_expr={'d': 'd', 'reg': 'r'}) }}select 1"},
        ["names `reg`, which is no dimension", "models/m.sql:1"],
    ),
    "definition argument misspelt": (
        {M: "\n{{ config(partitions=daily(start='2024-01-01', timezon='UTC'), partition_expr='d') }}select 1 as d"},
        ["daily() has no argument `timezon`", "models/m.sql:2", "did you mean `timezone`?"],
    ),
    "definition misspelt in text": (
        {M: "{{ config(partitions=\"dayly(start='2024-01-01')\", partition_expr='d') }}select 1 as d"},
        ["no `dayly()`", "models/m.sql:1", "did you mean `daily`?"],
    ),
    "definition misspelt in YAML": (
        {M: "select 1 as d", "models/m.yml": "models:\n- name: m\n  config:\n    partitions: {dayly: {start: 2024-01-01}}\n"},
        ["no partition definition `dayly`", "models/m.yml:4", "did you mean `daily`?"],
    ),
    "definition argument misspelt in YAML": (
        {M: "select 1 as d", "models/m.yml": "models:\n- name: m\n  config:\n    partitions: {daily: {strt: 2024-01-01}}\n"},
        ["daily() has no argument `strt`", "models/m.yml:4", "did you mean `start`?"],
    ),
    "named definition misspelt": (
        {"partwise.yml": "name: shop\npartitions: {calendar: \"daily(start='2024-01-01')\"}\n",
         M: "{{ config(partitions='calender', partition_expr='d') }}select 1 as d"},
        ["no partition definition `calender`", "models/m.sql:1", "did you mean `calendar`?"],
    ),
    "definition without start": (
        {M: "{{ config(partitions=daily(), partition_expr='d') }}select 1 as d"},
        ["daily()", "start", "models/m.sql:1"],
    ),
    "start that is no date": (
        {M: "{{ config(partitions='daily(start=\"2024-13-01\")', partition_expr='d') }}select 1 as d"},
        ["2024-13-01", "models/m.sql:1"],
    ),
    "definition that calls something": (
        {M: "{{ config(partitions='daily(start=open(1))', partition_expr='d') }}select 1 as d"},
        ["no `open()`", "models/m.sql:1"],
    ),
    "zone that does not exist": (
        {M: "{{ config(partitions=daily(start='2024-01-01', timezone='Amerika/New_York'), partition_expr='d') }}select 1"},
        ["Amerika/New_York", "models/m.sql:1"],
    ),
    "policy misspelt": (
        {M: "{{ config(partitions=daily(start='2024-01-01'), partition_expr='d', policy='singel_run') }}select 1 as d"},
        ["singel_run", "models/m.sql:1"],
    ),
    "policy of nothing": (
        {M: "{{ config(partitions=daily(start='2024-01-01'), partition_expr='d', policy=multi_run(0)) }}select 1 as d"},
        ["`max_partitions_per_run` is `0`", "models/m.sql:1"],
    ),
    "on_null misspelt": (
        {M: "{{ config(on_null='wrn') }}select 1 as d"},
        ["`on_null` is `wrn`", "models/m.sql:1", "did you mean `warn`?"],
    ),
    "switch that is text": ({M: "{{ config(trust='maybe') }}select 1 as d"}, ["`trust` is `maybe`", "models/m.sql:1"]),
    "count that is negative": ({M: "{{ config(retries=-1) }}select 1 as d"}, ["`retries` is `-1`", "models/m.sql:1"]),
    "partitions that cannot be mapped": (
        {
            "models/stores.sql": "{{ config(partitions=static(['a', 'b']), partition_expr='k') }}select 1 as k",
            M: "{{ config(partitions=daily(start='2024-01-01'), partition_expr='d') }}\nselect * from {{ ref('stores') }}",
        },
        ["`m` reads `stores`", "models/m.sql:2", "mapping=all()"],
    ),
    "mapping that does not fit": (
        {
            "models/stores.sql": "{{ config(partitions=static(['a', 'b']), partition_expr='k') }}select 1 as k",
            M: "{{ config(partitions=daily(start='2024-01-01'), partition_expr='d') }}\n"
               "select * from {{ ref('stores', lookback=1) }}",
        },
        ["`m` reads `stores`", "models/m.sql:2"],
    ),
    "mapping to nothing partitioned": (
        {"models/a.sql": "select 1 as a",
         M: "{{ config(partitions=daily(start='2024-01-01'), partition_expr='d') }}select * from {{ ref('a', lookback=1) }}"},
        ["`m` reads `a`", "not partitioned", "models/m.sql:1"],
    ),
    "filter on no dimension": (
        {"models/a.sql": ORDERS,
         M: "{{ config(partitions=daily(start='2024-01-01'), partition_expr='d') }}\n"
            "select * from {{ ref('a', filter={'region': 'r'}) }}"},
        ["`filter` names `region`", "models/m.sql:2"],
    ),
    "empty model": ({M: "  \n"}, ["the model is empty", "models/m.sql:1"]),
    "model that is not UTF-8": ({M: b"select '\xe9'"}, ["not UTF-8", "models/m.sql"]),  # type: ignore[dict-item]
    "sources without a list": ({"models/s.yml": "sources:\n- name: raw\n  tables: x\n"}, ["`tables` takes a list", "models/s.yml:3"]),
    "YAML template": (
        {"models/s.yml": "sources:\n- name: raw\n  schema: \"{{ var('nope') }}\"\n  tables: [{name: t}]\n"},
        ["variable `nope` is not set", "models/s.yml:3"],
    ),
    "no profile": (
        {"partwise.yml": "name: shop\nprofile: shp\n"},
        ["no profile `shp`; searched", "profiles.yml", ".partwise", ".dbt", "did you mean `shop`?"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_problem(name: str, tmp_path: Path) -> None:
    files, words = CASES[name]
    found = problems(tmp_path, files)
    assert len(found) == 1, found
    at = 0
    for word in words:
        position = found[0].find(word, at)
        assert position >= 0, f"{word!r} is not there, or not in this order:\n{found[0]}"


def test_all_problems_at_once_in_order(tmp_path: Path) -> None:
    files = {
        "models/a.sql": "select * from {{ ref('nope') }}",
        "models/b.sql": "{{ config(tag='x') }}select 1 as a",
        "models/c.sql": "{% if %}",
        "models/d.yml": "models:\n- name: e\n  configs: {}\n",
        "models/e.sql": "select * from {{ ref('b') }} join {{ ref('c') }} using (a)",  # of broken models: no second error
    }
    found = problems(tmp_path, files)
    assert [line.partition(" --> ")[2].partition(" ")[0] for line in found] == [
        "models/a.sql:1", "models/b.sql:1", "models/c.sql:1", "models/d.yml:3",
    ]  # fmt: skip


def test_no_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    with pytest.raises(ProjectError, match="no partwise project here") as caught:
        load_project(inner, environ={})
    assert str(inner) in str(caught.value) and f"{tmp_path}\n" in str(caught.value)
