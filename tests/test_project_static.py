"""Plain templates are parsed without Jinja: the two ways must agree."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.errors import PartwiseError
from partwise.project.jinja_env import Engine
from partwise.project.parsed import Parsed
from partwise.project.parsing import parse_model
from partwise.project.static import static_parse
from partwise.project.world import World

WORLD = World("shop", {}, {}, {"schema": "main"})

PLAIN = [
    "select 1",
    "select * from {{ ref('a') }}",
    'select * from {{ref("a")}}',
    "select *\nfrom {{ ref('a') }}\n\njoin {{\n ref(\n'b'\n) }}\n{{ ref('c', lookback=3) }}\n",
    "{{ config(\n    partitions = daily(start='2013-01-01', end='2014-01-01'),\n    partition_expr = 'd',\n) }}\nselect d",
    "\n\n{{ config(materialized='view', tags=['a', 'b'], meta={'x': {'y': [1, 2.5, none, true, False]}}) }}\nselect 1",
    "{{- config(trust=true) -}}  \n select {{- ref('a') -}} \n x",
    "{{ config(partitions=multi(d=daily(start='2024-01-01'), r=static(['US', \"NO's\"])), retries=-1 + 0) }}",
    "{{ config(partitions=multi(d=daily('2024-01-01'), r=static(['US', \"NO's\"])), policy=multi_run(7)) }}x",
    "{{ config({'materialized': 'view'}) }}",
    "{{ config(a=1) }}",
    "{{ config(tags='a') }}{{ config(tags='b', **{'alias': 'x'}) }}",
    "{{ config(pre_hook='grant {{ this }}') }}select",
    "-- {{ ref('old') }}\nselect '{{ ref('x') }}' from {{ source('raw', 'clicks') }} where {{ this }}",
    "select * from {{ source('raw', 'clicks', mapping=all(), whole=false) }}",
    "select * from {{ ref('a', mapping=mapping.window(start_offset=-1)) }}",
    "select * from {{ ref('a', mapping=window(start_offset=-1), filter={'d': 'x'}) }}",
    "select * from {{ ref('a', mapping='last()') }}",
    "select * from {{ ref('a') }}{{ ref('a') }} /* {{ this }} */",
    "select { 'a': 1 } }} from {{ ref('a') }} {",
    "{{ ref('a' 'b') }}",
    "{{ ref('a\\x41') }}",
    "{{ ref(r'a') }}",
    "{{ ref('ä') }}",
    "{{ ref('''a''') }}",
    "{{ ref('a', 1_0) }}",
    "{{ ref() }}",
    "{{ ref('a', lookbak=1) }}",
    "{{ partition_filter('d') }}{{ ref('a') }}{{ partition_filter() }}{{ partition_filter({'a': 'b'}, lookback=1) }}",
    "{{ this.name }}",
    "{{ this }}",
    "{{ ref('a').name }}",
    "{{ 'a}}b' }}{{ ref('a') }}",
    "{{ ref('a}}b') }}",
    "{{ ref('a # b') }}",
    "{{ ref('a') # b\n }}",
    "{{ {'a': {'b': 1}} }}",
    "{{ config(meta={'a': {'b': 1}}) }}{{ ref('a') }}",
    "{{ ref('a')",
    "{{ ref('a') }",
    "{{ }}",
    "{{ ref ('a') }}",
    "{{ ref('a',) }}",
    "{{ ref(('a')) }}",
    "{{ ref(('a',)) }}",
    "{{ config(enabled=not true) }}",
    "{{ config(tags=()) }}{{ config(tags=(1, 2)) }}{{ config(tags=('a' ~ 'b')) }}",
    "{{ config(tags={1, 2}) }}",
    "{{ config(alias=0x1f) }}{{ config(alias=1e3) }}{{ config(alias=1j) }}",
    "{{ config(partition_expr='a' if true else 'b') }}",
    "{{ config(true=1) }}",
    "{{ config(alias='a', alias='b') }}",
    "{{ config(alias=b'a') }}",
    "{{ config(alias=f'a') }}",
    "{{ config(alias=lambda: 1) }}",
    "{{ config(alias=(x := 1)) }}",
    "{{ daily('2024-01-01') }}",
    "a\r\n{{ ref('a') }}\r\n",
    "{{ ref('a') }}\n\n",
    "",
]


def both(text: str, dialect: str = "duckdb") -> tuple[Parsed | None, Parsed | None]:
    engine = Engine(WORLD)
    try:
        slow = parse_model(engine, text, "models/m.sql", {}, dialect)
    except PartwiseError:
        slow = None
    return static_parse(text, "models/m.sql", dialect), slow


@pytest.mark.parametrize("text", PLAIN)
def test_the_same(text: str) -> None:
    fast, slow = both(text)
    assert fast is None or fast == slow


@pytest.mark.parametrize("text", PLAIN[:6] + PLAIN[8:9] + PLAIN[13:17] + PLAIN[18:19])
def test_really_without_jinja(text: str) -> None:
    assert static_parse(text, "models/m.sql", "duckdb") is not None


PIECES = st.sampled_from(
    ["{{", "}}", "{{-", "-}}", " ", "\n", "ref", "source", "config", "this", "(", ")", "'a'", '"b"', ",", "=", "[", "]",
     "{", "}", ":", "tags", "true", "none", "-", "1", "2.5", "daily", "all", "mapping", ".", "'", '"', "--", "/*", "*/",
     "select", "{#", "#}", "{{ ref('a') }}", "{{ config(tags='x') }}", "{{ this }}", "{{ source('r', 't') }}", "\\", "$$"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_the_same_on_noise(text: str) -> None:
    fast, slow = both(text)
    assert fast is None or fast == slow
