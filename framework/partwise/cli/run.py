"""`plan`, `run`, `seed`: what would be done, and doing it."""

from __future__ import annotations

from typing import Any

import click

from partwise.cli import options
from partwise.cli.messages import log


def _request(session: Any, given: dict[str, Any]) -> Any:
    from partwise.planning.planner import Request

    picked = session.select(options.joined(given.pop("select")), options.joined(given.pop("exclude")))
    for warning in picked.warnings:
        log(f"warning: {warning}")
    return Request(
        selected=picked.selected,
        named=picked.named,
        keys=(*given.pop("partition"), *given.pop("partition_range")),
        missing=given.pop("missing"),
        failed=given.pop("failed"),
        rebuild_all=given.pop("rebuild_all"),
        allow_incomplete=given.pop("allow_incomplete"),
        full_refresh=given.pop("full_refresh"),
        run_mode=given.pop("run_mode"),
        max_partitions_per_run=given.pop("max_partitions_per_run"),
    )


def _show_plan(session: Any, plan: Any, output: str) -> None:
    from partwise.cli.common import say_json, say_lines
    from partwise.planning import report

    nodes = session.nodes
    if output == "json":
        say_json(report.plan_json(plan, nodes, session.now))
        return
    say_lines(report.plan_lines(plan, nodes, session.now))
    runs, partitions = report.count(plan.run_count, "run"), report.count(plan.partition_count, "partition")
    idle = "nothing can run" if plan.blocked else "nothing to do"
    say_lines([f"{runs}, {partitions}, nothing executed" if plan.steps else idle])


@click.command("plan")
@options.project
@options.selection
@options.planning
@options.output
def plan_command(output: str, **given: Any) -> int:
    """Show what would be built, in which runs, and why. Nothing is executed."""
    from partwise.cli.common import open_session

    mine = {k: given.pop(k) for k in list(given) if k in _PLANNING}
    session = open_session(given)
    with session:
        plan = session.plan(_request(session, mine), read_only=True)
        _show_plan(session, plan, output)
    return 1 if plan.blocked_by_name else 0


_PLANNING = (
    "select", "exclude", "partition", "partition_range", "missing", "failed", "rebuild_all", "allow_incomplete",
    "full_refresh", "run_mode", "max_partitions_per_run",
)  # fmt: skip


@click.command("run")
@options.project
@options.selection
@options.planning
@options.output
@click.option("--dry-run", is_flag=True, help="Print the plan, as `plan` does.")
@click.option("--threads", type=click.IntRange(1, 256), help="Models and partitions built at once.")
@click.option("-x", "--fail-fast", is_flag=True, help="Start nothing more after a failure.")
@click.option("--wait", type=click.FloatRange(0), default=0, help="Seconds to wait for another run to end.")
def run_command(output: str, dry_run: bool, threads: int | None, fail_fast: bool, wait: float, **given: Any) -> int:
    """Build models, partition by partition: what is missing or failed, or what you name."""
    from partwise.cli.common import open_session, say_json
    from partwise.cli.progress import Progress

    mine = {k: given.pop(k) for k in list(given) if k in _PLANNING}
    quiet = given["quiet"]
    session = open_session(given)
    session.wait = wait
    session.arguments = {k: v for k, v in mine.items() if v}
    with session:
        request = _request(session, mine)
        plan = session.plan(request, read_only=dry_run)
        if dry_run:
            _show_plan(session, plan, output)
            return 1 if plan.blocked_by_name else 0
        progress = Progress(session, plan, quiet=quiet)
        progress.begin()
        results = session.run(plan, request, threads=threads, fail_fast=fail_fast, on_event=progress.event)
        progress.end(results)
        if output == "json":
            from partwise.artifacts import run_results

            say_json(run_results(session, plan, results))
    if results.interrupted:
        return 2
    return 1 if results.failed or plan.blocked_by_name else 0


@click.command("seed")
@options.project
@options.selection
@options.output
@click.option("-f", "--full-refresh", is_flag=True, help="Load again what has not changed.")
def seed_command(output: str, full_refresh: bool, **given: Any) -> int:
    """Load CSV and Parquet files into the warehouse. Files that have not changed are left alone."""
    from partwise.cli.common import open_session, say_json

    select, exclude = options.joined(given.pop("select")), options.joined(given.pop("exclude"))
    session = open_session(given)
    with session:
        results = session.seed(select, exclude, full_refresh=full_refresh, say=session.say)
    if output == "json":
        say_json(results)
    return 1 if any(row["status"] == "error" for row in results) else 0
