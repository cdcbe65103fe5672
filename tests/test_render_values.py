"""`partition` in templates: constants that cannot become SQL, and when one text serves every run."""

from __future__ import annotations

import pytest

from partwise.partitions import daily, hourly, multi, static
from partwise.rendering.prepare import prepare
from rendering import NOW, Project, model, source

DAYS = daily("2024-01-01", timezone="America/New_York")
BOTH = multi(day=daily("2024-01-01"), region=static(["eu", "us", "Val d'Oise", "x' or '1'='1"]))

#        what is written, the set, what it becomes, whether the text serves every run
WRITTEN = [
    ("{{ partition.key }}", "2024-03-10|eu", "'2024-03-10|eu'", True),
    ("{{ partition.keys }}", "2024-03-10|eu,2024-03-10|us", "('2024-03-10|eu', '2024-03-10|us')", True),
    ("{{ partition.dims.region }}", "2024-03-10|Val d'Oise", "'Val d''Oise'", True),
    ("{{ partition.dims['region'] }}", "2024-03-10|x' or '1'='1", "'x'' or ''1''=''1'", True),
    ("{{ partition.dims.all('region') }}", "2024-03-10|eu,2024-03-10|us", "('eu', 'us')", True),
    ("{{ partition.start }}", "2024-03-10|eu", "TIMESTAMP '2024-03-10 00:00:00'", True),
    ("{{ partition.end.date }}", "2024-03-10|eu", "DATE '2024-03-11'", True),
    ("{{ partition.start.strftime('%Y%m%d') }}", "2024-03-10|eu", "'20240310'", True),
    ("{{ partition.start.epoch }}", "2024-03-10|eu", "1710028800", True),
    ("{{ quoted(partition.key) }}", "2024-03-10|eu", "upper('2024-03-10|eu')", True),
    ("{{ partition.dims.region | replace('e', 'E') }}", "2024-03-10|eu", "'Eu'", False),
    ("{{ 'lower(' ~ partition.dims.region ~ ')' }}", "2024-03-10|eu", "lower('eu')", False),
    ("{% if partition.dims.region == 'eu' %}1{% else %}2{% endif %}", "2024-03-10|eu", "1", False),
    ("{% if partition.dims.region in ['us'] %}1{% else %}2{% endif %}", "2024-03-10|eu", "2", False),
    ("{% if partition.key.startswith('2024') %}1{% endif %}", "2024-03-10|eu", "1", False),
    ("[{% for k in partition.keys %}{{ k }}{{ ', ' if not loop.last }}{% endfor %}]", "2024-03-10|eu,2024-03-11|us",
     "['2024-03-10|eu', '2024-03-11|us']", False),
    ("{{ partition.keys | length }}", "2024-03-10|eu,2024-03-11|us", "2", False),
    ("{{ partition.start.datetime.year + 1 }}", "2024-03-10|eu", "2025", False),
    ("{% if partition %}1{% endif %}", "2024-03-10|eu", "1", True),
]  # fmt: skip


def project(code: str) -> Project:
    made = Project(
        source("raw", "s", "d"),
        model("m", f"select d, r, {code} as v from {{{{ source('raw', 's') }}}}", BOTH, {"day": "d", "region": "r"}),
        macros={"macros/q.sql": "{% macro quoted(k) %}upper({{ k }}){% endmacro %}"},
    )
    made.table("raw.s", {"d": "DATE", "r": "VARCHAR"})
    return made


@pytest.mark.parametrize(("code", "run", "right", "reusable"), WRITTEN)
def test_written(code, run, right, reusable):
    made = project(code)
    wanted = made.set_of("m", run)
    ready = prepare(made.renderer, made["m"], wanted, made.describe)
    rendered = ready.render(wanted, NOW)
    assert str(rendered.select).startswith(f"select d, r, {right} as v from ")
    assert ready.composed.is_reusable is reusable
    made.describe(rendered.query(ready.names))


def test_one_text_serves_every_run():
    made = project("{{ partition.key }}")
    ready = prepare(made.renderer, made["m"], made.set_of("m", "2024-03-10|eu"), made.describe)
    again = prepare(made.renderer, made["m"], made.set_of("m", "2024-03-11|us"), made.describe)
    assert again.composed is ready.composed
    for run in ("2024-03-10|eu", "2024-03-11|us"):
        assert f"'{run}' as v" in str(ready.render(made.set_of("m", run), NOW).select)


def test_text_for_one_set_is_refused_for_another():
    made = project("{{ partition.key | upper }}")
    ready = prepare(made.renderer, made["m"], made.set_of("m", "2024-03-10|eu"), made.describe)
    with pytest.raises(ValueError, match="another set"):
        ready.render(made.set_of("m", "2024-03-11|us"), NOW)


def test_zoned_bounds():
    code = (
        "select ts from {{ ref('h') }} where ts >= {{ partition.start }} and ts < {{ partition.end }}"
        " -- {{ partition.key }}"
    )
    made = Project(model("h", "", hourly("2024-01-01"), "ts"), model("m", code, DAYS, "ts::date"))
    made.table("h", {"ts": "TIMESTAMPTZ"})
    assert str(made.render("m", "2024-03-10").select).endswith(
        "where ts >= TIMESTAMPTZ '2024-03-10 00:00:00-05:00' and ts < TIMESTAMPTZ '2024-03-11 00:00:00-04:00'"
        " -- '2024-03-10'"
    )
