"""What a person can get wrong: the exit code, the words that help, no traceback, and nothing written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from partwise.cli import call
from projects import write_project

SRC = """
    create schema raw; create table raw.orders (id int, ts timestamp, tz timestamptz, region varchar);
    insert into raw.orders select i, timestamp '2024-01-01' + interval (i) hour, timestamptz '2024-01-01 00:00Z', 'EU'
    from range(100) r(i);
"""
BASE = {
    "models/sources.yml": """
        version: 2
        sources:
          - name: raw
            tables:
              - {name: orders, config: {partition_expr: ts}}
        """,
    "models/orders_daily.sql": """\
        {{ config(partitions=daily(start='2024-01-01', end='2024-01-05'), partition_expr='ts') }}
        select id, ts, region from {{ source('raw', 'orders') }}
        """,
}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("PARTWISE_TARGET", "DBT_TARGET", "PARTWISE_PROFILES_DIR", "DBT_PROFILES_DIR", "MISSING_ONE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = tmp_path / "shop"
    write_project(root, BASE)
    with duckdb.connect(str(root / "shop.duckdb")) as connection:
        connection.execute(SRC)
    monkeypatch.chdir(root)
    return root


def tables(root: Path) -> set[str]:
    with duckdb.connect(str(root / "shop.duckdb"), read_only=True) as connection:
        found = connection.execute("select schema_name, table_name from duckdb_tables()").fetchall()
    return {f"{schema}.{name}" for schema, name in found}


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = call(list(arguments))
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err + shown.out
    assert "defect" not in shown.err, shown.err
    return code, shown.err


Files = dict[str, str]
NEW = "models/new.sql"
CONFIG = "{{ config(partitions=daily(start='2024-01-01', end='2024-01-05'), partition_expr='ts') }}\n"

REFUSALS: dict[str, tuple[Files, list[str], int, list[str]]] = {
    "reversed range": ({}, ["run", "--partition-range", "2024-01-04:2024-01-02"], 2, ["2024-01-04", "2024-01-02"]),
    "unknown key": ({}, ["run", "--partition", "2024-01-09"], 2, ["2024-01-09", "2024-01-04"]),
    "key that is none": ({}, ["run", "--partition", "banana"], 2, ["banana", "2024-01-01"]),
    "unknown model": ({}, ["run", "--select", "orders_dayly"], 2, ["orders_dayly", "orders_daily"]),
    "empty selection": ({}, ["run", "--select", "tag:nightly"], 2, ["tag:nightly", "empty"]),
    "unknown method": ({}, ["run", "--select", "tga:x"], 2, ["tga", "tag"]),
    "config typo": (
        {NEW: "{{ config(\n  partition_exp='ts') }}\nselect 1 as x"},
        ["run"],
        2,
        ["models/new.sql:", "partition_exp", "partition_expr"],
    ),
    "cyclic ref": (
        {"models/a.sql": "select * from {{ ref('b') }}", "models/b.sql": "select * from {{ ref('a') }}"},
        ["run"],
        2,
        ["models/a.sql", "models/b.sql"],
    ),
    "unknown ref": ({NEW: "select 1\nfrom {{ ref('orders_dialy') }}"}, ["run"], 2, [f"{NEW}:2", "orders_daily"]),
    "Jinja error": ({NEW: "select 1\n\n{% if %} x"}, ["run"], 2, ["models/new.sql:3"]),
    "undefined name": ({NEW: "select 1,\n{{ nope }} as x"}, ["run"], 2, ["models/new.sql:2", "nope"]),
    "SQL error": (
        {NEW: CONFIG + "select id, ts,\n  regoin\nfrom {{ source('raw', 'orders') }}"},
        ["run", "--select", "new"],
        1,
        ["models/new.sql:3", "regoin"],
    ),
    "missing profile": ({"partwise.yml": "name: shop\nprofile: shopp\n"}, ["run"], 2, ["shopp", "profiles.yml"]),
    "missing target": ({}, ["run", "--target", "prodd"], 2, ["prodd", "dev", "profiles.yml"]),
    "unset env_var": (
        {"profiles.yml": "shop:\n  outputs:\n    dev: {type: duckdb, path: \"{{ env_var('MISSING_ONE') }}\"}\n"},
        ["run"],
        2,
        ["MISSING_ONE", "profiles.yml"],
    ),
    "unset env_var in a model": ({NEW: "select '{{ env_var('MISSING_ONE') }}' as x"}, ["run"], 2, ["MISSING_ONE", NEW]),
    "partition column missing from the output": (
        {NEW: CONFIG + "select id from {{ source('raw', 'orders') }}"},
        ["run", "--select", "new"],
        1,
        ["`ts`", NEW],
    ),
    "zoneless timestamp in a zoned definition": (
        {
            NEW: "{{ config(partitions=daily(start='2024-01-01', end='2024-01-05', timezone='Europe/Berlin'), "
            "partition_expr='ts') }}\nselect id, ts from {{ source('raw', 'orders') }}"
        },
        ["run", "--select", "new"],
        1,
        ["column_timezone", "Europe/Berlin", NEW],
    ),
    "unknown command": ({}, ["runn"], 2, ["runn", "run"]),
    "unknown option": ({}, ["run", "--slect", "x"], 2, ["--slect"]),
    "full refresh with a range": ({}, ["run", "-f", "--partition", "2024-01-01"], 2, ["--full-refresh"]),
    "full scan": (
        {NEW: CONFIG + "select 1 as id, timestamp '2024-01-01' as ts"},
        ["run", "--select", "new"],
        1,
        ["full_scan", NEW],
    ),
    "bad now": ({}, ["run", "--now", "yesterday"], 2, ["--now", "yesterday"]),
    "bad vars": ({}, ["run", "--vars", "[1]"], 2, ["--vars"]),
    "unknown state of a model without partitions": (
        {"models/t.sql": "{{ config(materialized='table') }} select 1 as x"},
        ["partitions", "list", "t"],
        2,
        ["`t`", "no partitions"],
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, shop: Path, capsys: pytest.CaptureFixture[str]):
    files, arguments, code, words = REFUSALS[name]
    if files:
        write_project(shop, {**BASE, **files})
    before = tables(shop)
    found, text = refused(capsys, *arguments)
    assert found == code, text
    assert [word for word in words if word not in text] == [], text
    built = {t for t in tables(shop) - before if not t.startswith("partwise.")}
    assert built == set()


def test_a_locked_database_names_the_process(shop: Path, capsys: pytest.CaptureFixture[str]):
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(shop / "shop.duckdb")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        found, text = refused(capsys, "run")
        assert found == 1
        assert f"PID {holder.pid}" in text and "shop.duckdb" in text
    finally:
        holder.communicate(b"")


def test_a_seed_that_is_not_there_names_its_path(shop: Path, capsys: pytest.CaptureFixture[str]):
    properties = "version: 2\nseeds:\n  - name: prices\n    description: not here yet\n"
    write_project(shop, {**BASE, "models/seeds.yml": properties})
    found, text = refused(capsys, "seed")
    assert found == 2 and "prices" in text and "seeds/" in text


def test_hooks_are_refused_not_passed_over(shop: Path, capsys: pytest.CaptureFixture[str]):
    write_project(shop, {**BASE, NEW: "{{ config(materialized='table', pre_hook='create table h (i int)') }} select 1 as x"})
    found, text = refused(capsys, "run", "--select", "new")
    assert found == 2 and "hooks" in text and NEW in text


def test_a_ref_in_a_comment_is_no_dependency_even_to_nothing(shop: Path, capsys: pytest.CaptureFixture[str]):
    write_project(shop, {**BASE, NEW: "-- {{ ref('gone_model') }}\nselect '{{ ref('gone') }}' as x"})
    assert refused(capsys, "run", "--select", "new")[0] == 0


@pytest.mark.parametrize(
    ("key", "option"),
    [("a..b", "a..b:a..b"), ("a=b", "a=b:a=b"), ("a=b", "key=a=b"), ("x:y", "x:y..x:y"), ("x:y", "x:y")],
)
def test_keys_with_range_marks_in_them(key: str, option: str, shop: Path, capsys: pytest.CaptureFixture[str]):
    model = """
        {{ config(partitions=static(['a..b', 'a=b', 'x:y', 'z']), partition_expr='k', full_scan=true) }}
        select 'z' as k
        """
    write_project(shop, {**BASE, NEW: model})
    capsys.readouterr()
    assert call(["plan", "--select", "new", "--partition-range", option]) == 0
    assert f"key {{{key}}}" in capsys.readouterr().out


def test_leaked_rows_of_all_runs_are_counted_together(shop: Path, capsys: pytest.CaptureFixture[str]):
    shift = CONFIG + "select id, ts + interval 1 day as ts from {{ source('raw', 'orders') }}"
    write_project(shop, {**BASE, NEW: shift})
    found, text = refused(capsys, "run", "--select", "new")
    assert found == 0
    assert "`new` gave 96 rows outside the partitions of its runs" in text


def test_a_model_that_would_write_its_own_source_is_refused(shop: Path, capsys: pytest.CaptureFixture[str]):
    sql = "{{ config(schema='raw', alias='orders', materialized='table') }} select 1 as x"
    sources = "version: 2\nsources:\n  - {name: raw, schema: main_raw, tables: [{name: orders}]}\n"
    write_project(shop, {"models/sources.yml": sources, NEW: sql})
    found, text = refused(capsys, "run")
    assert found == 2 and "`main_raw.orders`" in text and "source" in text and NEW in text


def test_a_first_failure_is_seen_and_forgotten_when_it_is_over(shop: Path, capsys: pytest.CaptureFixture[str]):
    write_project(shop, {**BASE, NEW: CONFIG + "select id, ts, nope(id) as x from {{ source('raw', 'orders') }}"})
    assert refused(capsys, "run", "--select", "new")[0] == 1
    assert call(["status", "--select", "new"]) == 0
    assert "4 missing, 4 failed" in capsys.readouterr().out
    write_project(shop, {**BASE, NEW: CONFIG + "select id, ts from {{ source('raw', 'orders') }}"})
    assert refused(capsys, "run", "--select", "new", "--failed")[0] == 0
    with duckdb.connect(str(shop / "shop.duckdb")) as connection:
        connection.execute("drop table new")
    assert call(["run", "-q", "--select", "new", "--partition", "2024-01-02"]) == 0
    capsys.readouterr()
    assert call(["status", "--select", "new"]) == 0
    shown = capsys.readouterr().out
    assert "1 of 4" in shown and "failed" not in shown.replace("! failed", "")
