"""The command line, end to end, on small projects in real DuckDB files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from partwise.cli import COMMANDS, call


@pytest.fixture
def starter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What `partwise init` writes, seeded."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert call(["init", str(tmp_path / "shop")]) == 0
    monkeypatch.chdir(tmp_path / "shop")
    assert call(["seed", "-q"]) == 0
    return tmp_path / "shop"


def rows(root: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(root / "target/shop.duckdb"), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_init_seed_run_status(starter: Path, capsys: pytest.CaptureFixture[str]):
    assert call(["run"]) == 0
    shown = capsys.readouterr()
    assert "7 runs" in shown.err and "ERROR=0" in shown.err and shown.out == ""
    assert rows(starter, "select count(*), sum(orders) from daily_orders") == [(8, 8)]
    assert call(["run"]) == 0
    assert "Nothing to do" in capsys.readouterr().err
    assert call(["status"]) == 0
    assert "daily_orders  #######" in capsys.readouterr().out


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]):
    for name in COMMANDS:
        assert call([name, "--help"]) == 0
        assert "Usage: partwise" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["ls"],
        ["plan", "--all"],
        ["run"],
        ["run", "--dry-run"],
        ["status"],
        ["explain", "daily_orders", "2024-01-03"],
        ["partitions", "list", "daily_orders"],
        ["show", "--select", "orders"],
        ["compile", "--partition", "2024-01-03"],
        ["seed"],
        ["parse"],
        ["debug"],
        ["debug", "--ddl"],
        ["clean"],
        ["partitions", "prune", "daily_orders"],
    ],
    ids=" ".join,
)
def test_json_is_all_of_stdout(arguments: list[str], starter: Path, capsys: pytest.CaptureFixture[str]):
    capsys.readouterr()
    assert call([*arguments, "--output", "json"]) == 0
    json.loads(capsys.readouterr().out)


def test_plan_and_run_print_the_same_and_plan_writes_nothing(starter: Path, capsys: pytest.CaptureFixture[str]):
    before = rows(starter, "select count(*) from partwise.partition_log")
    capsys.readouterr()
    assert call(["plan", "--partition-range", "2024-01-02:2024-01-03"]) == 0
    planned = capsys.readouterr().out
    assert "2 partitions, [2024-01-02 00:00, 2024-01-04 00:00) UTC" in planned and "nothing executed" in planned
    assert call(["run", "--dry-run", "--partition-range", "2024-01-02:2024-01-03"]) == 0
    assert capsys.readouterr().out == planned
    assert rows(starter, "select count(*) from partwise.partition_log") == before


def test_a_failure_keeps_the_old_rows_and_exits_1(starter: Path, capsys: pytest.CaptureFixture[str]):
    assert call(["run", "-q"]) == 0
    model = starter / "models/daily_orders.sql"
    model.write_text(model.read_text().replace("sum(amount)", "sum(cast(region as integer))"))
    before = rows(starter, "select * from daily_orders order by all")
    assert call(["run", "--partition", "2024-01-03"]) == 1
    shown = capsys.readouterr().err
    assert "ERROR" in shown and "models/daily_orders.sql" in shown
    assert rows(starter, "select * from daily_orders order by all") == before
    assert call(["status", "--partitions"]) == 0
    assert "1 failed" in capsys.readouterr().out
    assert call(["explain", "daily_orders", "2024-01-03"]) == 0
    assert "failed, materialized" in capsys.readouterr().out


def test_a_table_dropped_by_hand_is_rebuilt_and_said_so(starter: Path, capsys: pytest.CaptureFixture[str]):
    assert call(["run", "-q"]) == 0
    with duckdb.connect(str(starter / "target/shop.duckdb")) as connection:
        connection.execute("drop table daily_orders")
    assert call(["status"]) == 0
    assert "7 missing" in (shown := capsys.readouterr().out) and "gone" in shown
    assert call(["run"]) == 0
    assert "gone" in capsys.readouterr().err
    assert rows(starter, "select count(*) from daily_orders") == [(8,)]


def test_explain_says_what_is_known_of_one_query(starter: Path, capsys: pytest.CaptureFixture[str]):
    assert call(["explain", "daily_orders"]) == 0
    assert "one query over many partitions: proven" in capsys.readouterr().out
    (starter / "models/top.sql").write_text(
        "{{ config(partitions=daily(start='2024-01-01', end='2024-01-08'), partition_expr='ordered_on') }}\n"
        "select * from {{ ref('daily_orders') }}\norder by orders limit 2"
    )
    assert call(["explain", "top"]) == 0
    assert "one query over many partitions: refuted, models/top.sql:3" in capsys.readouterr().out


def test_start_up_imports_click_and_nothing_heavy():
    code = (
        "import sys; from partwise.cli import call; call(['--help'])\n"
        "heavy = {'duckdb', 'sqlglot', 'jinja2', 'yaml', 'rich', 'snowflake', 'cronsim'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_run_results_and_manifest_hold_dbts_keys(starter: Path):
    assert call(["run", "-q"]) == 0
    assert call(["parse", "-q"]) == 0
    results = json.loads((starter / "target/run_results.json").read_text())
    (result,) = results["results"]
    assert result["unique_id"] == "model.shop.daily_orders" and result["status"] == "success"
    assert {"execution_time", "adapter_response", "compiled_code", "relation_name", "batch_results"} <= result.keys()
    assert sum(p["set"]["count"] for p in result["partitions"]) == 7
    manifest = json.loads((starter / "target/manifest.json").read_text())
    assert {"nodes", "sources", "parent_map", "child_map", "metadata"} <= manifest.keys()
    assert manifest["parent_map"]["model.shop.daily_orders"] == ["seed.shop.orders"]
