"""Ctrl-C at any moment of a run: it ends soon with exit 2, and data and status agree."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from projects import write_project

MODELS = {
    "models/sources.yml": "sources:\n  - {name: main, tables: [{name: raw, config: {partition_expr: d}}]}\n",
    "models/a.sql": "{{ config(partitions=daily(start='2024-01-01', end='2024-07-19'), partition_expr='d') }}\n"
    "select d, v from {{ source('main', 'raw') }}",
    "models/b.sql": "{{ config(partitions=daily(start='2024-01-01', end='2024-07-19'), partition_expr='d') }}\n"
    "select d, count(*) as n from {{ ref('a') }} group by d",
}


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.3, 0.7])
def test_one_ctrl_c(seconds: float, tmp_path: Path):
    write_project(tmp_path, MODELS)
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("create table raw as select date '2024-01-01' + (i // 50)::int as d, i as v from range(10000) r(i)")
    partwise = str(Path(sys.executable).with_name("partwise"))
    run = subprocess.Popen([partwise, "run", "--all", "--threads", "4"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None and "Running with" in run.stderr.readline()
    time.sleep(seconds)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=30)
    assert "Traceback" not in said and "defect" not in said
    assert run.returncode in (0, 2), said  # 0 where it had ended before
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        built = "select partition_key from partwise.partition_status where relation = 'main.{}' and materialized"
        held = "select distinct d::varchar from {}"
        try:
            for name in "ab":
                log = set(connection.execute(built.format(name)).fetchall())
                assert log == set(connection.execute(held.format(name)).fetchall())
        except duckdb.CatalogException:
            pass  # stopped before anything was made
