"""The cases of `bug_cases.yml` on planning, failures and status, run through the command line on real DuckDB files."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from bug_cases import bug_case
from partwise.api import Project
from partwise.cli import call
from projects import write_project

SOURCES = """
version: 2
sources:
  - name: raw
    schema: raw
    tables: [{name: x, config: {partition_expr: d}}]
"""
DAILY = "{{{{ config(partitions=daily(start='{start}', end='{end}'), partition_expr='d'{more}) }}}}\n"


class Shop:
    """A project with one source table `raw.x`, and the table it is read from."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        monkeypatch.setenv("HOME", str(root / "home"))
        monkeypatch.chdir(root)

    def write(self, rows: str, **models: str) -> None:
        write_project(self.root, {"models/sources.yml": SOURCES, **{f"models/{k}.sql": v for k, v in models.items()}})
        self.source(rows)

    def source(self, rows: str) -> None:
        self.sql("create schema if not exists raw; create or replace table raw.x as " + rows)

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(self.root / "shop.duckdb")) as connection:
            connection.execute("set TimeZone = 'UTC'")
            return connection.execute(text).fetchall()

    def run(self, *arguments: str) -> int:
        return call(["run", "-q", *arguments])

    def keys(self, model: str, state: str) -> list[str]:
        with Project.load(self.root) as project:
            return list(getattr(project.status(model), state).keys())


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    return Shop(tmp_path, monkeypatch)


def days(start: str, count: int, **more: str) -> str:
    extra = "".join(f", {value} as {name}" for name, value in more.items())
    return f"select (date '{start}' + i::int)::date as d, i::int + 1 as v{extra} from range({count}) r(i)"


def failing(day: str) -> str:
    return f"select d, case when d = date '{day}' then error('broken day') end::int as n, v from {{{{ source('raw', 'x') }}}}"


def test_plan_non_contiguous(shop: Shop):
    case = bug_case("c-plan-non-contiguous")
    model = "{{ config(partitions=static(['A', 'B', 'C']), partition_expr='k', policy=single_run(), full_scan=true) }}\n"
    shop.write("select unnest(['A', 'B', 'C']) as k, 'old' as v", t=model + "select k, v from {{ source('raw', 'x') }}")
    write_project(shop.root, {"models/sources.yml": SOURCES.replace("partition_expr: d", "partition_expr: k")})
    assert shop.run("--all") == 0
    shop.source("select unnest(['A', 'B', 'C']) as k, 'new' as v")
    assert shop.run("--partition", "A", "--partition", "C") == 0
    assert sorted(map(list, shop.sql("select k, v from t"))) == sorted(case["right"]["rows"])


def test_plan_sequential(shop: Shop):
    case = bug_case("c-plan-sequential")
    model = DAILY.format(start="2025-02-01", end="2025-02-08", more=", policy=multi_run(3)") + (
        "select s.d, s.v::int + coalesce((select t.bal from {{ this }} t where t.d = s.d - 1), 0) as bal\n"
        "from {{ source('raw', 'x') }} s"
    )
    shop.write("select d, case when d = date '2025-02-04' then 'x' else v::varchar end as v from (" + days("2025-02-01", 7) + ")", bal=model)
    assert shop.run("--partition-range", "2025-02-01:2025-02-07") == 1
    assert [row[0].day for row in shop.sql("select d from bal order by d")] == [1, 2, 3]
    assert [row[0] for row in shop.sql("select bal from bal order by d")] == [1, 3, 6]
    right = {day: status for day, status in case["right"]["rows"]}
    assert shop.keys("bal", "materialized") == [f"2025-02-0{d}" for d, s in right.items() if s == "success"]
    assert shop.keys("bal", "failed") == [f"2025-02-0{d}" for d, s in right.items() if s == "failed"]
    assert shop.keys("bal", "missing") == [f"2025-02-0{d}" for d in range(4, 8)]


def test_plan_topological(shop: Shop):
    case = bug_case("c-plan-topological")
    config = DAILY.format(start="2024-01-01", end="2024-01-11", more="")
    first, second = (config + f"select d, {v} as v from {{{{ source('raw', 'x') }}}}" for v in (1, 2))
    shop.write(days("2024-01-01", 10), a=first, b=config + "select d, v from {{ ref('a') }}")
    assert shop.run() == 0
    write_project(shop.root, {"models/sources.yml": SOURCES, "models/a.sql": second})
    assert shop.run("--partition-range", "2024-01-01:2024-01-10", "--threads", "4") == 0
    assert shop.sql("select count(*) from b where v = 2") == [tuple(case["right"]["rows"][0])]


def test_status_after_failed_rerun(shop: Shop):
    """The second run is interrupted while its query works; the first run's data counts."""
    config = DAILY.format(start="2024-01-01", end="2024-01-02", more="")
    shop.write(days("2024-01-01", 1), t=config + "select d, v from {{ source('raw', 'x') }}")
    assert shop.run() == 0
    before = shop.sql("select * from t")
    slow = "select d, (select count(*) from range(100000000000))::int as v from {{ source('raw', 'x') }}"
    write_project(shop.root, {"models/sources.yml": SOURCES, "models/t.sql": config + slow})
    partwise = str(Path(sys.executable).with_name("partwise"))
    run = subprocess.Popen([partwise, "run", "--all"], cwd=shop.root, stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None
    while "START" not in run.stderr.readline():
        pass
    time.sleep(0.5)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=30)
    assert run.returncode == 2
    assert shop.sql("select * from t") == before
    assert shop.keys("t", "materialized") == ["2024-01-01"] and shop.keys("t", "missing") == shop.keys("t", "failed") == []
    assert shop.sql("select distinct status from partwise.run_log order by 1") == [("cancelled",), ("success",)]
    with Project.load(shop.root) as project:
        assert not project.plan(missing=True).steps


def test_killed_run(shop: Shop):
    config = DAILY.format(start="2024-04-14", end="2024-04-17", more="")
    slow = "select a.d, count(*)::int as v from {0} a join {0} b on a.d = b.d and a.w <= b.w group by a.d"
    many = "select date '2024-04-14' + (i % 3)::int as d, i // 3 as w from range(3) r(i) union all " + (
        "select date '2024-04-15', i from range(600000) r(i)"
    )
    shop.write(many, t=config + slow.format("{{ source('raw', 'x') }}"))
    partwise = str(Path(sys.executable).with_name("partwise"))
    run = subprocess.Popen([partwise, "run", "--threads", "1"], cwd=shop.root, stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None
    while "START" not in run.stderr.readline():
        pass
    time.sleep(1.5)
    run.kill()
    run.communicate()
    assert shop.sql("select d::varchar, v from t") == [("2024-04-14", 1)]
    assert shop.keys("t", "materialized") == ["2024-04-14"]
    shop.source(days("2024-04-14", 3))
    write_project(shop.root, {"models/sources.yml": SOURCES, "models/t.sql": config + "select d, v from {{ source('raw', 'x') }}"})
    assert shop.run() == 0
    assert [v for _, v in shop.sql("select d, v from t order by d")] == [1, 2, 3]


def test_exit_code(shop: Shop, capsys: pytest.CaptureFixture[str]):
    config = DAILY.format(start="2024-12-01", end="2024-12-04", more="")
    shop.write(days("2024-12-01", 3), t=config + failing("2024-12-02"))
    assert call(["run", "--partition-range", "2024-12-01:2024-12-03"]) == 1
    assert "2 of 3 partitions, 1 failed" in capsys.readouterr().err
    assert shop.keys("t", "materialized") == ["2024-12-01", "2024-12-03"] and shop.keys("t", "failed") == ["2024-12-02"]


def test_retry(shop: Shop):
    config = DAILY.format(start="2024-06-01", end="2024-06-21", more="")
    shop.write(days("2024-06-01", 20), t=config + failing("2024-06-10"))
    assert shop.run() == 1
    assert shop.run("--failed") == 1
    write_project(shop.root, {"models/sources.yml": SOURCES, "models/t.sql": config + "select d, null::int as n, v from {{ source('raw', 'x') }}"})
    assert shop.run("--failed") == 0
    attempts = "select n, count(*) from (select count(*) as n from partwise.partition_log where relation = 'main.t' group by partition_key) group by n"
    assert sorted(shop.sql(attempts)) == [(1, 19), (3, 1)]


def test_single_run_failure(shop: Shop, capsys: pytest.CaptureFixture[str]):
    case = bug_case("c-single-run-failure")
    failed_first, success_after, failed_after = case["right"]["rows"][0]
    config = DAILY.format(start="2023-11-01", end="2023-11-11", more=", policy=single_run(), trust=true")
    shop.write(days("2023-11-01", 10), t=config + failing("2023-11-07"))
    assert call(["run"]) == 1
    said = capsys.readouterr().err
    assert f"{failed_first} partitions" in said and "--run-mode multi" in said
    assert len(shop.keys("t", "failed")) == failed_first
    assert shop.run("--run-mode", "multi") == 1
    assert (len(shop.keys("t", "materialized")), len(shop.keys("t", "failed"))) == (success_after, failed_after)


def test_downstream_of_failure(shop: Shop, capsys: pytest.CaptureFixture[str]):
    case = bug_case("c-downstream-of-failure")
    config = DAILY.format(start="2024-09-01", end="2024-09-04", more="")
    shop.write(days("2024-09-01", 3), a=config + failing("2024-09-02"), b=config + "select d, v from {{ ref('a') }}")
    assert call(["run", "--partition-range", "2024-09-01:2024-09-03"]) == 1
    assert "2 of 3 partitions, 1 skipped" in (said := capsys.readouterr().err) and "2024-09-02" in said
    right = [f"2024-09-0{day}" for day, status in case["right"]["rows"] if status == "success"]
    assert shop.keys("b", "materialized") == right and shop.keys("b", "missing") == ["2024-09-02"]
    with Project.load(shop.root) as project:
        assert [str(run.partitions) for run in project.plan().runs()] == ["day [2024-09-02, 2024-09-03)"] * 2


def test_definition_changed(shop: Shop):
    """A start that moves on: what still exists goes on, what fell out is listed as outside, nothing is refused."""
    sql = "select d, v from {{ source('raw', 'x') }}"
    shop.write(days("2025-05-15", 3), t=DAILY.format(start="2025-05-15", end="2025-05-17", more="") + sql)
    assert shop.run() == 0
    moved = DAILY.format(start="2025-05-16", end="2025-05-18", more="") + sql
    write_project(shop.root, {"models/sources.yml": SOURCES, "models/t.sql": moved})
    assert shop.run() == 0
    assert shop.keys("t", "materialized") == ["2025-05-16", "2025-05-17"]
    assert shop.keys("t", "outside") == ["2025-05-15"]
    assert call(["partitions", "prune", "t"]) == 0
    assert [row[0].day for row in shop.sql("select d from t order by d")] == [16, 17]
    assert shop.keys("t", "outside") == []


def test_empty_but_done(shop: Shop):
    case = bug_case("c-empty-but-done")
    config = "{{ config(partitions=hourly(start='2024-01-01', end='2024-01-02'), partition_expr='d') }}\n"
    shop.write(
        "select timestamp '2024-01-01' + to_hours(i) as d, i + 1 as id from range(2) r(i)",
        h=config + "select d, id from {{ source('raw', 'x') }}",
        full_model="{{ config(materialized='table') }} select id from {{ source('raw', 'x') }}",
    )
    assert shop.run("--partition-range", "2024-01-01-00:00..2024-01-01-00:00") == 0
    assert sorted(map(list, shop.sql("select id from full_model"))) == case["right"]["rows"]
    assert shop.sql("select count(*) from h") == [(1,)]


def test_dynamic_keys(shop: Shop):
    case = bug_case("c-dynamic-keys")
    config = "{{ config(partitions=dynamic('files'), partition_expr='k') }}\n"
    shop.write("select unnest(['k1', 'k2', 'k3']) as k", a=config + "select k from {{ source('raw', 'x') }}", b=config + "select k from {{ ref('a') }}")
    write_project(shop.root, {"models/sources.yml": SOURCES.replace("partition_expr: d", "partition_expr: {files: k}")})
    assert call(["partitions", "add", "files", "k1", "k2", "k3"]) == 0
    assert shop.run() == 0
    assert call(["partitions", "remove", "files", "k2"]) == 0
    assert shop.keys("b", "materialized") == [row[0] for row in case["right"]["rows"]]
    assert shop.keys("b", "outside") == ["k2"]
    assert shop.run() == 0
    assert call(["partitions", "add", "files", "k2"]) == 0
    assert shop.keys("b", "missing") == []


def test_two_threads_of_one_process_never_double_rows(shop: Shop):
    """c-overlapping-runs within a process: one of two invocations waits or fails, the rows are there once."""
    config = DAILY.format(start="2025-02-01", end="2025-02-02", more="")
    for _ in range(5):
        shop.write("select date '2025-02-01' as d, unnest([1, 2]) as v", t=config + "select d, v from {{ source('raw', 'x') }}")
        shop.sql("drop table if exists t")
        projects = [Project.load(shop.root) for _ in range(2)]
        failures: list[BaseException] = []

        def build(project: Project, failures: list[BaseException] = failures) -> None:
            try:
                project.run(all=True)
            except Exception as error:  # the other holds the partition, and is named
                failures.append(error)

        threads = [threading.Thread(target=build, args=(project,)) for project in projects]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for project in projects:
            project.close()
        assert shop.sql("select count(*) from t") == [(2,)], failures
        assert len(failures) <= 1 and all("by another run (invocation " in str(f) for f in failures), failures
