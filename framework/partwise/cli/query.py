"""`compile`, `show`: SQL as it would run, and rows."""

from __future__ import annotations

from typing import Any

import click

from partwise.cli import options
from partwise.cli.messages import log


@click.command("compile")
@options.project
@options.selection
@options.keys
@options.output
@click.option("--run-mode", type=click.Choice(["auto", "single", "multi"]), help="One query or many.")
def compile_command(output: str, run_mode: str | None, **given: Any) -> int:
    """Write the SQL that would run into target/compiled, one file per run; print it for a single run."""
    from partwise.cli.common import open_session, say_json, say_lines
    from partwise.compiling import compile_models

    mine = {k: given.pop(k) for k in ("select", "exclude", "partition", "partition_range")}
    session = open_session(given)
    with session:
        files = compile_models(
            session,
            options.joined(mine["select"]),
            options.joined(mine["exclude"]),
            (*mine["partition"], *mine["partition_range"]),
            run_mode,
        )
    if output == "json":
        say_json(files)
    elif len(files) == 1:
        say_lines([files[0]["sql"]])
    for row in files[:12]:
        session.say(f"wrote {row['path']}")
    if len(files) > 12:
        session.say(f"and {len(files) - 12} more files")
    if not files:
        log("nothing selected")
    return 0


@click.command("show")
@options.project
@options.keys
@click.option("-s", "--select", "select", help="A model, seed or source.")
@click.option("--inline", help="A query, with Jinja.")
@click.option("--limit", type=click.IntRange(0), default=5, show_default=True, help="Rows to print; 0 means all.")
@click.option(
    "--output", type=click.Choice(["text", "json", "csv"]), default="text", show_default=True, help="Format of stdout."
)
def show_command(select: str | None, inline: str | None, limit: int, output: str, **given: Any) -> int:
    """Print rows of a relation, of some of its partitions, or of a query."""
    from partwise.cli.common import open_session, say_json, say_lines
    from partwise.looking import rows as look_at

    if (select is None) == (inline is None):
        raise click.UsageError("give either --select or --inline")
    texts = (*given.pop("partition"), *given.pop("partition_range"))
    session = open_session(given)
    with session:
        names, rows = look_at(session, select, inline, texts, limit)
    if output == "json":
        say_json([dict(zip(names, row, strict=True)) for row in rows])
    elif output == "csv":
        import csv
        import io

        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)
        say_lines([buffer.getvalue().rstrip("\n")])
    else:
        say_lines(_table(names, rows))
    return 0


def _table(names: list[str], rows: list[tuple[Any, ...]]) -> list[str]:
    cells = [["" if value is None else str(value) for value in row] for row in rows]
    widths = [max(len(name), *(len(row[i]) for row in cells)) if cells else len(name) for i, name in enumerate(names)]
    head = "  ".join(f"{name:<{w}}" for name, w in zip(names, widths, strict=True)).rstrip()
    line = "  ".join("-" * w for w in widths)
    return [head, line, *("  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in cells)]
