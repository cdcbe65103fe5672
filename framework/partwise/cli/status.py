"""`status`, `explain`, `partitions`: what is there, and why not."""

from __future__ import annotations

import sys
from typing import Any

import click

from partwise.cli import options
from partwise.cli.messages import log


@click.command("status")
@options.project
@options.selection
@options.output
@click.option("--partitions", "each", is_flag=True, help="List the sets by state instead of counts alone.")
def status_command(output: str, each: bool, **given: Any) -> int:
    """Draw what is built, missing, failed and stale. Reads the warehouse, changes nothing."""
    from partwise import looking
    from partwise.cli.common import open_session, say_json, say_lines
    from partwise.planning import report

    select, exclude = options.joined(given.pop("select")), options.joined(given.pop("exclude"))
    session = open_session(given)
    with session:
        models = looking.models_of(session, select, exclude)
        facts = session.facts(read_only=True)
        rows = [report.status_row(session.nodes[m], facts.of(m), session.now) for m in models]
        if output == "json":
            for row in rows:
                row["partitions"] = looking.sets_json(session, row["model"], facts)
            say_json(rows)
            return 0
        say_lines(report.status_lines(rows, session.nodes))
        if each:
            for model in models:
                say_lines(looking.sets_lines(session, model, facts))
    if not rows:
        log("nothing selected")
    return 0


@click.command("explain")
@options.project
@options.output
@click.argument("model")
@click.argument("key", required=False)
def explain_command(model: str, key: str | None, output: str, **given: Any) -> int:
    """Say why partition KEY of MODEL is missing, stale or blocked, and what it reads."""
    from partwise import looking
    from partwise.cli.common import open_session, say_json, say_lines

    session = open_session(given)
    with session:
        lines = looking.explain(session, model, key)
    if output == "json":
        say_json({"model": model, "key": key, "lines": lines})
    else:
        say_lines(lines)
    return 0


@click.group("partitions")
def partitions_command() -> None:
    """List the partitions of a model; add and remove dynamic keys; prune what is outside the definition."""


@partitions_command.command("list")
@options.project
@options.output
@click.argument("model")
@click.option(
    "--state",
    type=click.Choice(["materialized", "failed", "missing", "stale", "open", "outside"]),
    help="List these only.",
)
def list_command(model: str, state: str | None, output: str, **given: Any) -> int:
    """List the keys of MODEL that exist, or those in one state."""
    from partwise import looking
    from partwise.cli.common import open_session, say_json, say_lines

    session = open_session(given)
    with session:
        keys = looking.keys_of(session, model, state)
        if output == "json":
            say_json(list(keys))
        else:
            say_lines(keys)
    return 0


@partitions_command.command("add")
@options.project
@options.output
@click.argument("name")
@click.argument("keys", nargs=-1, required=True)
def add_command(name: str, keys: tuple[str, ...], output: str, **given: Any) -> int:
    """Add KEYS to the dynamic definition NAME; `-` reads one key per line from standard input."""
    from partwise.cli.common import open_session

    wanted = _keys_given(keys)
    session = open_session(given)
    with session:
        added, there = session.add_keys(name, wanted)
    _say(session, output, f"{name}: {added} added, {there} already there", added=added, there=there)
    return 0


@partitions_command.command("remove")
@options.project
@options.output
@click.argument("name")
@click.argument("keys", nargs=-1, required=True)
def remove_command(name: str, keys: tuple[str, ...], output: str, **given: Any) -> int:
    """Remove KEYS from the dynamic definition NAME. Rows built for them stay until `partitions prune`."""
    from partwise.cli.common import open_session

    wanted = _keys_given(keys)
    session = open_session(given)
    with session:
        removed = session.remove_keys(name, wanted)
    text = f"{name}: {removed} removed; their rows stay until `partwise partitions prune`"
    _say(session, output, text, removed=removed)
    return 0


@partitions_command.command("prune")
@options.project
@options.output
@click.argument("model")
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
def prune_command(model: str, dry_run: bool, output: str, **given: Any) -> int:
    """Delete the rows of MODEL that lie outside its definition."""
    from partwise.cli.common import open_session

    session = open_session(given)
    with session:
        done = session.prune(model, dry_run=dry_run)
    _say(session, output, done, model=model, dry_run=dry_run)
    return 0


def _say(session: Any, output: str, text: str, **values: Any) -> None:
    """What was done: as a line on stderr, and as JSON on stdout where that was asked for."""
    from partwise.cli.common import say_json

    session.say(text)
    if output == "json":
        say_json({**values, "message": text})


def _keys_given(keys: tuple[str, ...]) -> list[str]:
    wanted: list[str] = []
    for key in keys:
        if key == "-":
            wanted += [line.rstrip("\n") for line in sys.stdin if line.strip()]
        else:
            wanted.append(key)
    return list(dict.fromkeys(wanted))
