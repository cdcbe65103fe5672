"""Runs a small project again and again, killing itself at every statement, and looks at what is left each time.

A process of its own: it imports everything once and forks a child per case, so that a case costs a tenth of a second.
Prints one JSON line per case; `problems` is empty when all is well.

    python crash_driver.py FOLDER SCENARIO --every N    kill before each Nth statement, from the first to past the last
    python crash_driver.py FOLDER SCENARIO --random N   kill N times at a random moment, with three threads
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from partwise.adapters import duckdb
from partwise.partitions import daily
from partwise.project.jinja_env import Engine, World
from partwise.rendering.render import Renderer, find_in
from partwise.warehouse import status
from warehouse import NOW, Warehouse, model, source

DAYS = daily(start="2024-01-01", end="2024-01-05")
NODES = (
    source("raw", "events", expr="d"),
    model("t", "select d, sum(v) as v from {{ source('raw', 'events') }} group by d", DAYS, "d"),
    model("shown", "select d, v from {{ ref('t') }}", materialized="view"),
    model("u", "select d + 0 as d, 2 * v as v from {{ ref('t') }}", DAYS, "d"),  # cannot be shown not to leak: staged
    model("total", "select sum(v) as v from {{ ref('u') }}"),
)
SCENARIOS = ("fresh", "rebuild", "single", "refresh")


def load(w: Warehouse, version: int) -> None:
    w.table("raw.events", {"d": "DATE", "v": "INTEGER"}, [(f"2024-01-0{i}", i * version) for i in range(1, 5)])


def build(w: Warehouse, scenario: str, threads: int = 1) -> Any:
    mode = "single_run" if scenario == "single" else "multi_run"
    refresh = scenario == "refresh"
    steps = [w.step(name, mode=mode, full_refresh=refresh) for name in ("t", "u")]
    return w.run(steps[0], "shown", steps[1], "total", threads=threads)


class Bomb:
    """Kills the process before the statement of a number."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0

    def tick(self) -> None:
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1

    def arm(self, adapter: duckdb.DuckDB) -> duckdb.DuckDB:
        run, session = adapter._run, adapter.session

        def ticking(sql: str, parameters: Any) -> None:
            self.tick()
            run(sql, parameters)

        adapter._run = ticking  # type: ignore[method-assign]
        adapter.session = lambda: self.arm(session())  # type: ignore[method-assign]
        return adapter


def attempt(path: Path, scenario: str, at: int) -> None:
    """The run that is to be killed."""
    adapter = duckdb.connect({"path": str(path)})
    bomb = Bomb(at)
    w = Warehouse(*NODES, adapter=bomb.arm(adapter))
    build(w, scenario)
    bomb.tick()
    os._exit(0)  # it got through: there is no statement of that number


def examine(path: Path, scenario: str, before: int) -> list[str]:
    """What is wrong after the kill, and after the run that follows it. `before` writes had been there."""
    problems: list[str] = []
    w = Warehouse(*NODES, path=path)
    facts = w.facts()
    for name, factor in (("t", 1), ("u", 2)):
        fact = facts.of(w[name].unique_id)
        found = w.adapter.relation(w[name].relation)
        held = {str(d): v for d, v in w.rows(name)} if found is not None else {}
        levels = ()
        if fact.incarnation is not None:
            levels = status.read_attempts(w.adapter, w[name], fact.incarnation).levels
        fresh_life = scenario == "refresh" and before and fact.incarnation != read_before(path, name)
        for key in DAYS.keys(NOW):
            writes = sum(key in level for level in levels)
            version = 2 if fresh_life and writes else writes if before else 2 * writes
            expected = {} if not writes else {key: int(key[-2:]) * factor * version}
            if {k: v for k, v in held.items() if k == key} != expected:
                problems.append(f"{name} {key}: {writes} writes are logged, it holds {held.get(key)}")
            if (fact.materialized is not None and key in fact.materialized) != bool(writes):
                problems.append(f"{name} {key}: materialized is not what is logged")
        if fact.failed:
            problems.append(f"{name}: a killed run counts as failed")
    results = build(w, "rebuild")
    problems += [f"next run: {r.model} {r.status} {r.error}" for r in results.runs if r.status != "success"]
    for name, factor in (("t", 1), ("u", 2), ("shown", 1)):
        if w.rows(name) != [(d, v) for d, v in w.rows(f"select d, {2 if factor == 2 else 1} * v from raw.events")]:
            problems.append(f"next run: {name} holds {w.rows(name)}")
    if w.rows("total") != [(40,)]:
        problems.append(f"next run: total holds {w.rows('total')}")
    if left := w.rows("select table_name from duckdb_tables() where table_name like '%partwise%'"):
        problems.append(f"next run: {left} is left over")
    for name in ("t", "u"):
        fact = w.of(name)
        if len(fact.materialized or ()) != 4 or fact.interrupted:
            problems.append(f"next run: {name} is {fact}")
    return problems


def read_before(path: Path, name: str) -> str:
    text: str = json.loads(path.with_suffix(".json").read_text())[name]
    return text


def in_child(work: Callable[[], None]) -> int:
    """Run something in a fork; the signal that ended it, negative, or its exit code."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(3)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def prepare(base: Path, scenario: str) -> None:
    w = Warehouse(*NODES, path=base)
    if scenario != "fresh":
        load(w, 1)
        build(w, "rebuild")
        base.with_suffix(".json").write_text(json.dumps({name: w.of(name).incarnation for name in ("t", "u")}))
    load(w, 2)
    w.adapter.close()


def case(folder: Path, base: Path, scenario: str, name: str, kill: Callable[[Path], int]) -> bool:
    """One kill and what came of it; False when there was nothing left to kill."""
    path = folder / "case.db"
    for old in folder.glob("case.*"):
        old.unlink()
    shutil.copy(base, path)
    if base.with_suffix(".json").exists():
        shutil.copy(base.with_suffix(".json"), path.with_suffix(".json"))
    ended = kill(path)
    report = folder / "report.json"

    def look() -> None:
        report.write_text(json.dumps(examine(path, scenario, 0 if scenario == "fresh" else 1)))

    code = in_child(look)
    problems = json.loads(report.read_text()) if code == 0 else [f"the examination ended with {code}"]
    if ended not in (0, -signal.SIGKILL):
        problems.append(f"the run ended with {ended}")
    print(json.dumps({"case": name, "killed": ended == -signal.SIGKILL, "problems": problems}), flush=True)
    return ended == -signal.SIGKILL


def at_random(path: Path, scenario: str, delay: float) -> int:
    def work() -> None:
        build(Warehouse(*NODES, path=path), scenario, threads=3)

    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    time.sleep(delay)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def warm_up() -> None:
    """Import and parse everything a run needs, without opening a database: DuckDB's threads would not survive a fork."""
    import duckdb as _engine  # noqa: F401

    engine = Engine(World("test", {}, {}, {"name": "dev"}, ()))
    renderer = Renderer(engine, find_in({node.unique_id: node for node in NODES}), "duckdb")
    for node in NODES[1:]:
        renderer.compose(node)


def main(folder: Path, scenario: str, how: str, number: int) -> None:
    warm_up()
    base = folder / "base.db"
    if in_child(lambda: prepare(base, scenario)) != 0:
        raise SystemExit("the preparation failed")
    if how == "--random":
        chance = random.Random(scenario)
        for _ in range(number):
            delay = chance.uniform(0.02, 0.35)
            case(folder, base, scenario, f"after {delay:.3f} s", partial(at_random, scenario=scenario, delay=delay))
        return
    at, killed = 0, True
    while killed:
        killed = case(folder, base, scenario, f"statement {at}", partial(at_statement, scenario=scenario, at=at))
        at += number


def at_statement(path: Path, scenario: str, at: int) -> int:
    return in_child(lambda: attempt(path, scenario, at))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
