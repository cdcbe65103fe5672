"""dbt's selection grammar, as a table."""

from __future__ import annotations

import pytest

from partwise.errors import PlanError
from partwise.project.graph import Graph
from partwise.project.selection import Item, Selection, select


def item(
    name: str, folder: str = "", tags: tuple[str, ...] = (), kind: str = "model", source: str | None = None
) -> Item:
    parts = tuple(part for part in folder.split("/") if part)
    if kind == "source":
        return Item(f"source.shop.{source}.{name}", name, kind, "shop", "models/src.yml",
                    ("shop", str(source), name), tags, kind, source)  # fmt: skip
    path = "/".join(("models", *parts, f"{name}.sql")) if kind == "model" else f"seeds/{name}.csv"
    return Item(f"{kind}.shop.{name}", name, kind, "shop", path, ("shop", *parts, name), tags, "view")


ITEMS = [
    item("clicks", kind="source", source="raw"),
    item("views", kind="source", source="raw"),
    item("days", kind="seed"),
    item("stg_clicks", "staging", ("daily",)),
    item("stg_views", "staging/deep", ("daily", "slow")),
    item("orders", "marts", ("mart",)),
    item("orders_daily", "marts", ("mart", "daily")),
    item("report", "marts/finance", ("slow",)),
    item("lonely"),
]
PARENTS = {
    "stg_clicks": ["raw.clicks"],
    "stg_views": ["raw.views"],
    "orders": ["stg_clicks", "days"],
    "orders_daily": ["orders", "stg_views"],
    "report": ["orders_daily"],
}
UID = {(f"{i.source_name}.{i.name}" if i.source_name else i.name): i.unique_id for i in ITEMS}
SHORT = {uid: name for name, uid in UID.items()}
GRAPH = Graph({i.unique_id: tuple(UID[p] for p in PARENTS.get(SHORT[i.unique_id], ())) for i in ITEMS})
CONFIG = {
    "orders": {"materialized": "table", "meta": {"owner": {"team": "x"}}, "tags": ["a"], "trust": True},
    "report": {"materialized": "view"},
}


def run(*texts: str, exclude: tuple[str, ...] = (), **given: object) -> Selection:
    config = lambda uid: CONFIG.get(SHORT[uid], {})  # noqa: E731
    return select(ITEMS, GRAPH, texts, exclude, config=config, **given)  # type: ignore[arg-type]


def names(selection: Selection) -> str:
    return " ".join(SHORT[uid] for uid in selection.nodes)


ALL = "raw.clicks raw.views days lonely stg_clicks stg_views orders orders_daily report"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("orders", "orders"),
        ("orders report", "orders report"),
        ("report orders", "orders report"),
        ("+orders", "raw.clicks days stg_clicks orders"),
        ("1+orders", "days stg_clicks orders"),
        ("2+orders_daily", "raw.views days stg_clicks stg_views orders orders_daily"),
        ("orders+", "orders orders_daily report"),
        ("orders+1", "orders orders_daily"),
        ("1+orders+1", "days stg_clicks orders orders_daily"),
        ("+orders+", "raw.clicks days stg_clicks orders orders_daily report"),
        ("@stg_clicks", "raw.clicks raw.views days stg_clicks stg_views orders orders_daily report"),
        ("@report", "raw.clicks raw.views days stg_clicks stg_views orders orders_daily report"),
        ("@lonely", "lonely"),
        ("stg_*", "stg_clicks stg_views"),
        ("*daily", "orders_daily"),
        ("stg_[cv]*s", "stg_clicks stg_views"),
        ("orders?daily", "orders_daily"),
        ("shop", "days lonely stg_clicks stg_views orders orders_daily report"),
        ("staging", "stg_clicks stg_views"),
        ("staging.deep", "stg_views"),
        ("shop.marts", "orders orders_daily report"),
        ("marts.finance.report", "report"),
        ("marts.*", "orders orders_daily report"),
        ("fqn:orders", "orders"),
        ("tag:daily", "stg_clicks stg_views orders_daily"),
        ("tag:dai*", "stg_clicks stg_views orders_daily"),
        ("tag:daily,tag:mart", "orders_daily"),
        ("tag:daily,staging", "stg_clicks stg_views"),
        ("+orders,tag:daily", "stg_clicks"),
        ("tag:mart tag:slow", "stg_views orders orders_daily report"),
        ("path:models/staging", "stg_clicks stg_views"),
        ("path:./models/staging/", "stg_clicks stg_views"),
        ("path:models/staging/*.sql", "stg_clicks"),
        ("path:models/**/*.sql", "lonely stg_clicks stg_views orders orders_daily report"),
        ("path:models/stag", ""),
        ("models/staging", "stg_clicks stg_views"),
        ("models/marts/orders.sql", "orders"),
        ("orders.sql", "orders"),
        ("days.csv", "days"),
        ("file:orders.sql", "orders"),
        ("file:orders*", "orders orders_daily"),
        ("source:raw", "raw.clicks raw.views"),
        ("source:raw.clicks", "raw.clicks"),
        ("source:shop.raw.clicks", "raw.clicks"),
        ("source:*", "raw.clicks raw.views"),
        ("source:raw.clicks+1", "raw.clicks stg_clicks"),
        ("resource_type:seed", "days"),
        ("resource_type:source", "raw.clicks raw.views"),
        ("package:shop", ALL),
        ("package:this", ALL),
        ("package:other", ""),
        ("config.materialized:table", "orders"),
        ("config.meta.owner.team:x", "orders"),
        ("config.meta.owner:team", "orders"),
        ("config.tags:a", "orders"),
        ("config.trust:true", "orders"),
        ("config.nope:x", ""),
        ("+tag:mart,resource_type:source", "raw.clicks raw.views"),
        ("", ALL),
    ],
)
def test_select(text: str, wanted: str) -> None:
    assert names(run(text)) == wanted


@pytest.mark.parametrize(
    ("select_", "exclude", "wanted"),
    [
        ("+orders", "stg_clicks", "raw.clicks days orders"),
        ("", "+report", "lonely"),
        ("tag:daily", "tag:slow tag:mart", "stg_clicks"),
        ("orders+", "orders_daily+", "orders"),
        ("+report", "source:raw,resource_type:source days", "stg_clicks stg_views orders orders_daily report"),
    ],
)
def test_exclude(select_: str, exclude: str, wanted: str) -> None:
    assert names(run(select_, exclude=(exclude,))) == wanted


def test_resource_types() -> None:
    assert names(run("+orders", resource_types=["seed", "source"])) == "raw.clicks days"


def test_named_are_those_a_term_matched() -> None:
    found = run("+orders", "tag:slow")
    assert {SHORT[uid] for uid in found.named} == {"orders", "stg_views", "report"}
    assert {SHORT[uid] for uid in run("@orders").named} == {"orders"}
    assert len(run().named) == len(ITEMS)


def test_terms_that_match_nothing_are_told() -> None:
    assert run("tag:nope", "orders").unmatched == ("tag:nope",)
    assert run("x*").unmatched == ("x*",)
    assert run("tag:mart,tag:nope").unmatched == ("tag:nope", "tag:mart,tag:nope")
    assert run("orders", exclude=("tag:nope",)).unmatched == ("tag:nope",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ordrs", ["no model or seed is called `ordrs`", "did you mean `orders`?"]),
        ("+ordrs", ["`ordrs`", "did you mean `orders`?"]),
        ("raw.clicks", ["`raw.clicks`", "write source:raw.clicks"]),
        ("clicks", ["`clicks`", "write source:raw.clicks"]),
        ("tga:daily", ["unknown selection method `tga:`", "did you mean `tag:`?"]),
        ("state:modified", ["`state:` is not there yet"]),
        ("config:table", ["unknown selection method `config:`"]),
        ("resource_type:modle", ["unknown resource type `modle`", "did you mean `model`?"]),
        ("@+orders", ["`@+orders`"]),
        ("@2+orders", ["both `@` and `+`"]),
        ("+", ["`+` is no selection"]),
        ("tag:", ["is no selection"]),
    ],
)
def test_refused(text: str, words: list[str]) -> None:
    with pytest.raises(PlanError) as caught:
        run(text)
    for word in words:
        assert word in str(caught.value)
    with pytest.raises(PlanError):
        run(exclude=(text,))
