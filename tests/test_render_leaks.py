"""When it is shown that no row can leave its partition, and when that is left open: never shown wrongly."""

from __future__ import annotations

import pytest

from partwise.partitions import daily, hourly, multi, static
from rendering import Project, model, source

DAYS = daily("2024-01-01")

SHOWN = [
    "select d, v from {{ ref('a') }}",
    "select * from {{ ref('a') }}",
    "select x.*, 1 as one from {{ ref('a') }} x where v > 1 order by v limit 3",
    "select x.d, count(*) as n from {{ ref('a') }} x group by x.d",
    "select d, sum(v) as v from {{ ref('a') }} group by all having sum(v) > 1",
    "select distinct d from {{ ref('a') }}",
    "with s as (select d, v as w from {{ ref('a') }}), t as (select * from s) select w, d from t",
    "select d from (select d from (select * from {{ ref('a') }}) y) z",
    "select a.d, b.v from {{ ref('a') }} left join {{ ref('b') }} b using (v)",
    "select e.d from {{ ref('b') }} b right join {{ ref('a') }} e on e.v = b.v",
    "select d, row_number() over (partition by v order by d) as r from {{ ref('a') }} qualify r = 1",
    "select d from {{ source('raw', 's') }}",
    "select other as d from {{ source('raw', 'renamed') }}",
    "select d, v from {{ ref('a') }} union all select d, v from {{ source('raw', 's') }}",
    "(select v, d from {{ ref('a') }} union select v, other from {{ source('raw', 'renamed') }})"
    " except select 1, d from b",
]
OPEN = [
    "select d + 1 as d, v from {{ ref('a') }}",
    "select v as x, cast(d as date) as d from {{ ref('a') }}",
    "select other as d from {{ ref('a') }}",
    "select d from {{ ref('a', lookback=1) }}",
    "select d from {{ ref('a', mapping=all()) }}",
    "select x.d from {{ ref('b') }} b left join {{ ref('a') }} x using (v)",
    "select x.d from {{ ref('a') }} x full join {{ ref('b') }} b using (v)",
    "select d, v from {{ ref('a') }} union all select d + 1, v from {{ ref('a') }}",
    "select d, v from {{ ref('a') }} union all select other, v from {{ ref('a') }}",
    "select v as w, d from {{ ref('a') }} union all select v, d from {{ ref('b') }}",
    "select v, d from {{ ref('a') }} union all by name select d as v, v::text::date as d from {{ ref('a') }}",
    "select d from b except select d from {{ ref('a') }}",
    "select d, count(*) as n from {{ ref('a') }} group by rollup (d)",
    "select d, count(*) as n from {{ ref('a') }} group by grouping sets ((d), ())",
    "select * replace (d + 1 as d) from {{ ref('a') }}",
    "select * exclude (d), d + 1 as d from {{ ref('a') }}",
    "select q.d from {{ ref('a') }} as q(v, d, other)",
    "with s(v, d, other) as (select * from {{ ref('a') }}) select d from s",
    "select d from {{ ref('a', whole=true) }} where {{ partition_filter('d') }}",
    "select d from {{ ref('hours') }}",
    "select (select max(d) from {{ ref('a') }}) as d",
    "select d from {{ ref('a') }}, unnest([1]) u(d2) where false or u.d2 = 1",
    "select ts as d from {{ ref('hours') }}",
]


def project(code: str) -> Project:
    made = Project(
        model("a", "", DAYS, "d"),
        model("b", "", materialized="seed", resource_type="seed"),
        model("hours", "", hourly("2024-01-01"), "ts"),
        source("raw", "s", "d"),
        source("raw", "renamed", "other"),
        model("m", code, DAYS, "d"),
    )
    for name in ("a", "b", "hours", "raw.s", "raw.renamed"):
        made.table(name, {"v": "INTEGER", "d": "DATE", "other": "DATE", "ts": "TIMESTAMP"})
    return made


@pytest.mark.parametrize(("code", "shown"), [*((c, True) for c in SHOWN), *((c, False) for c in OPEN)])
def test_leak_proof(code, shown):
    assert project(code).render("m", "2024-01-05:2024-01-06").is_leak_proof is shown


def test_types_must_agree():
    """A timestamp at noon lies in the day that is read; rounded into a DATE it may not."""
    made = project("select d from {{ source('raw', 's') }}")
    assert made.render("m", "2024-01-05", types={}).is_leak_proof is False


def test_a_filter_on_a_dimension_the_input_lacks():
    both, exprs = multi(day=DAYS, k=static(["x", "y"])), {"day": "d", "k": "area"}
    made = Project(
        model("a", "", DAYS, "d"),
        model("m", "select d, area from {{ ref('a', filter={'k': 'area'}) }}", both, exprs),
        model("back", "select d, area from {{ ref('a', filter={'k': 'area'}, lookback=1) }}", both, exprs),
        model("other", "select d, 'x' as area from {{ ref('a', filter={'k': 'area'}) }}", both, exprs),
    )
    made.table("a", {"d": "DATE", "area": "VARCHAR"})
    for run in ("2024-01-05|x", "2024-01-05|x,2024-01-06|y", "2024-01-05|x,2024-01-05|y,2024-01-07|x"):
        assert made.render("m", run).is_leak_proof
        assert not made.render("back", run).is_leak_proof
        assert not made.render("other", run).is_leak_proof


def test_two_dimensions():
    both, exprs = multi(day=DAYS, k=static(["x", "y"])), {"day": "d", "k": "area"}
    made = Project(
        source("raw", "s", "d"),
        model("m", "select d, area from {{ source('raw', 's', filter={'k': 'area'}) }}", both, exprs),
        model("n", "select d, area from {{ source('raw', 's') }}", both, exprs),
    )
    made.table("raw.s", {"d": "DATE", "area": "VARCHAR"})
    assert made.render("m", "2024-01-05|x,2024-01-06|y").is_leak_proof
    assert not made.render("n", "2024-01-05|x").is_leak_proof
