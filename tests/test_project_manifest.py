"""manifest.json: dbt's keys, and partitions."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from partwise import mapping
from partwise.manifest import manifest
from partwise.mapping import Mapping
from partwise.project.constructors import mapping_from_text, mapping_text
from projects import load

DAILY = "partitions=daily(start='2024-01-01'), partition_expr='d'"


def test_manifest(tmp_path: Path) -> None:
    files = {
        "models/marts/m.sql": f"{{{{ config({DAILY}, tags=['x'], meta={{'owner': 'me'}}) }}}}\n"
        "select * from {{ ref('v', lookback=6) }} join {{ ref('v') }} join {{ source('raw', 'clicks') }}",
        "models/v.sql": "select * from {{ ref('a') }}",
        "models/a.sql": f"{{{{ config({DAILY}) }}}}select 1 as d",
        "models/m.yml": "models: [{name: m, description: about m, columns: [{name: d, data_type: date}]}]\n"
        "sources: [{name: raw, tables: [{name: clicks}]}]",
        "macros/f.sql": "{% macro f() %}{% endmacro %}{% macro g() %}{% endmacro %}",
    }
    project = load(tmp_path, files)
    made = manifest(project, generated_at=datetime(2024, 5, 6, tzinfo=UTC), invocation_id="i")
    assert json.loads(json.dumps(made)) == made
    assert str(tmp_path) not in json.dumps(made)
    assert made["metadata"]["generated_at"] == "2024-05-06T00:00:00.000000Z"
    node = made["nodes"]["model.shop.m"]
    assert node["fqn"] == ["shop", "marts", "m"] and node["path"] == "marts/m.sql"
    assert (node["relation_name"], node["alias"], node["description"]) == ("main.m", "m", "about m")
    assert node["columns"]["d"]["data_type"] == "date"
    assert node["config"]["materialized"] == "partitioned" and node["meta"] == {"owner": "me"}
    assert node["partitions"] == "daily(start='2024-01-01')" and node["partition_expr"] == {"day": "d"}
    assert [(m["mapping"], m["inferred"]) for m in node["mappings"]] == [
        ("window(start_offset=-6)", False),
        ("window()", True),
        (None, False),
    ]
    assert node["refs"] == [{"name": "v", "package": None, "version": None}]
    assert node["sources"] == [["raw", "clicks"]]
    assert made["nodes"]["model.shop.v"]["inherited_from"] == "model.shop.a"
    assert made["parent_map"]["model.shop.m"] == ["model.shop.v", "source.shop.raw.clicks"]
    assert made["child_map"]["model.shop.a"] == ["model.shop.v"]
    assert set(made["macros"]) == {"macro.shop.f", "macro.shop.g"}
    assert made["sources"]["source.shop.raw.clicks"]["source_name"] == "raw"


@pytest.mark.parametrize(
    "made",
    [
        mapping.identity(),
        mapping.all(),
        mapping.last(),
        mapping.window(),
        mapping.window(start_offset=-6, end_offset=1),
        mapping.keys(["a", "b'c"]),
        mapping.static_map({"eu": ["de", "fr"], "us": "us"}),
        mapping.dims(day=("date", mapping.window(start_offset=-1)), region="area", key=mapping.all()),
    ],
)
def test_text_of_mappings(made: Mapping) -> None:
    assert mapping_from_text(mapping_text(made)) == made
