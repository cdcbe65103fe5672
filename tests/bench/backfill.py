"""A year of days from 20 million rows, in one query and day by day, against the DELETE and INSERT written by hand.

Both sides replace the same rows of a table that is already full, in a DuckDB file of their own, from the first statement
of the run to its last; connecting, loading the project and planning are measured apart.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import duckdb
from _harness import call, compare, figure

from partwise.api import Project
from partwise.warehouse.worker import Worker

ROWS = int(os.environ.get("BENCH_ROWS", "20000000"))
NOW = datetime(2025, 1, 1, tzinfo=UTC)
MODELS = {
    "totals": "select cast(ts as date) as day, customer % 100 as bucket, count(*) as n, sum(amount) as amount\n"
    "from {{ source('raw', 'events') }}\ngroup by 1, 2",
    "copy": "select ts, customer, amount from {{ source('raw', 'events') }}",
}
EXPR = {"totals": "day", "copy": "ts"}
SOURCES = """
version: 2
sources:
  - {name: raw, schema: raw, tables: [{name: events, config: {partition_expr: ts}}]}
"""
PROFILES = "bench: {target: dev, outputs: {dev: {type: duckdb, path: bench.duckdb, schema: main, threads: 1}}}\n"


def make_project(root: Path) -> None:
    (root / "models").mkdir(parents=True)
    (root / "partwise.yml").write_text("name: bench\n")
    (root / "profiles.yml").write_text(PROFILES)
    (root / "models/sources.yml").write_text(SOURCES)
    for name, sql in MODELS.items():
        config = f"{{{{ config(partitions=daily(start='2023-01-01', end='2024-01-01'), partition_expr='{EXPR[name]}', trust=true) }}}}\n"
        (root / f"models/{name}.sql").write_text(config + sql + "\n")


def make_rows(database: Path) -> None:
    with duckdb.connect(str(database)) as connection:
        connection.execute("create schema raw")
        connection.execute(
            "create table raw.events as select timestamp '2023-01-01' + to_microseconds(i * (365 * 86400000000 // ?)) as ts, "
            "(i * 7919) % 100000 as customer, (i % 1000) / 10.0 as amount from range(?) r(i)",
            [ROWS, ROWS],
        )


def by_hand(connection: duckdb.DuckDBPyConnection, name: str, low: str, high: str) -> None:
    """What a careful person would write: replace one stretch of a table in one transaction."""
    kind = "date" if EXPR[name] == "day" else "timestamp"
    own = f"{EXPR[name]} >= {kind} '{low}' and {EXPR[name]} < {kind} '{high}'"
    read = f"(select * from raw.events where ts >= timestamp '{low}' and ts < timestamp '{high}')"
    query = MODELS[name].replace("{{ source('raw', 'events') }}", read)
    for statement in ("begin", f"delete from {name} where {own}", f"insert into {name} {query}", "commit"):
        connection.execute(statement)


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="partwise-bench-"))
    try:
        make_project(folder)
        make_rows(folder / "bench.duckdb")
        with Project.load(folder, now=NOW) as project:
            for name in MODELS:
                if project.run(select=name, all=True, run_mode="single").failed:
                    sys.exit(f"building {name} failed")
        shutil.copy(folder / "bench.duckdb", folder / "hand.duckdb")
        hand = duckdb.connect(str(folder / "hand.duckdb"))
        hand.execute("set TimeZone = 'UTC'; set threads = 2")
        with Project.load(folder, now=NOW) as project:
            for name in MODELS:
                _single(project, hand, name)
            for name in ("copy", "totals"):
                _one_by_one(project, hand, name)
        hand.close()
    finally:
        shutil.rmtree(folder)


def _single(project: Project, hand: duckdb.DuckDBPyConnection, name: str) -> None:
    started = time.perf_counter()
    plan = project.plan(select=name, all=True, run_mode="single")
    planned = time.perf_counter() - started
    label = f"single run, 365 days of {ROWS / 1e6:g} M rows, {name}"
    before: list[float] = []
    writes: list[float] = []
    _time_writes(writes)

    def ours() -> float:
        writes.clear()
        result = project.run(plan)
        if result.failed:
            sys.exit(f"running {name} failed")
        before.append(result.seconds - sum(writes))
        return sum(writes)

    compare(label, ours, call(lambda: by_hand(hand, name, "2023-01-01", "2024-01-01"), wall=True), 1.02)
    figure(f"  planning and what surrounds the run, {name}", planned + min(before), 0.35)


def _time_writes(into: list[float]) -> None:
    """Note how long each write takes, from its first statement to its COMMIT."""
    plain = getattr(Worker._write, "plain", Worker._write)

    def timed(self: Worker, *given: object) -> object:
        started = time.perf_counter()
        try:
            return plain(self, *given)  # type: ignore[arg-type]
        finally:
            into.append(time.perf_counter() - started)

    timed.plain = plain  # type: ignore[attr-defined]
    Worker._write = timed  # type: ignore[method-assign, assignment]


def _one_by_one(project: Project, hand: duckdb.DuckDBPyConnection, name: str) -> None:
    days = [f"2023-03-{day:02}" for day in range(1, 32)]
    plan = project.plan(select=name, partition_range=f"{days[0]}:{days[-1]}", run_mode="multi")

    def manual() -> None:
        for day in range(1, 32):
            by_hand(hand, name, f"2023-03-{day:02}", f"2023-03-{day + 1:02}" if day < 31 else "2023-04-01")

    def ours() -> object:
        return project.run(plan)

    extra = _difference(ours, manual) / len(days)
    figure(f"one more partition over DELETE and INSERT by hand, {name}", extra, 0.005)


def _difference(ours: Callable[[], object], theirs: Callable[[], object]) -> float:
    """Median of the wall seconds that one takes more than the other, turn by turn."""
    ours(), theirs()
    mine, hand = call(ours, wall=True), call(theirs, wall=True)
    return sorted(mine() - hand() for _ in range(5))[2]


if __name__ == "__main__":
    main()
