"""Options shared by commands, under dbt's names."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click

Command = Callable[..., Any]


def _stack(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def apply(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


project = _stack(
    click.option("--project-dir", envvar="PARTWISE_PROJECT_DIR", help="The project's folder (default: here or above)."),
    click.option("--profiles-dir", help="Folder that holds profiles.yml."),
    click.option("--profile", envvar=["PARTWISE_PROFILE", "DBT_PROFILE"], help="Profile to use."),
    click.option("-t", "--target", envvar=["PARTWISE_TARGET", "DBT_TARGET"], help="Target of the profile to use."),
    click.option("--vars", "variables", help="Variables as YAML: '{start: 2024-01-01}'."),
    click.option("--now", "now_text", help="The current time, e.g. 2024-03-01T00:00Z (default: the clock)."),
    click.option("-d", "--debug", is_flag=True, help="Show tracebacks and Jinja's log()."),
    click.option("-q", "--quiet", is_flag=True, help="Say only what failed."),
)

output = click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format of stdout."
)

selection = _stack(
    click.option("-s", "--select", "-m", "--models", "select", multiple=True, help="Models to work on."),
    click.option("--exclude", multiple=True, help="Models to leave out (same grammar)."),
    click.argument("more", nargs=-1, metavar="[MODELS]...", callback=lambda ctx, param, value: _more(ctx, value)),
)

keys = _stack(
    click.option("--partition", "partition", multiple=True, help="A key, or DIM=KEY,KEY. Repeatable."),
    click.option(
        "--partition-range",
        "partition_range",
        multiple=True,
        help="First and last key, both included: A:B, A..B, or DIM=A:B. Repeatable.",
    ),
)

planning = _stack(
    keys,
    click.option("--missing", is_flag=True, help="Partitions that exist and were never written."),
    click.option("--failed", is_flag=True, help="Partitions whose last attempt failed."),
    click.option("--all", "rebuild_all", is_flag=True, help="Everything that exists, built or not."),
    click.option("--allow-incomplete", is_flag=True, help="Build although upstream partitions are not there."),
    click.option("-f", "--full-refresh", is_flag=True, help="Rebuild whole tables from nothing, then swap."),
    click.option("--run-mode", type=click.Choice(["auto", "single", "multi"]), help="One query or many."),
    click.option("--max-partitions-per-run", type=int, help="Cut every set into runs of at most this many."),
)


def _more(ctx: click.Context, value: tuple[str, ...]) -> None:
    """`--select a b`, as dbt takes it: what follows the first name is selected as well."""
    if value and not ctx.params.get("select"):
        raise click.UsageError(f"unexpected argument `{value[0]}`; name models with --select", ctx)
    if value:
        ctx.params["select"] = (*ctx.params["select"], *value)


def parse_now(text: str | None) -> datetime:
    """The `--now` of a command, or the clock. Raises click.UsageError when the text is no time."""
    if text is None:
        return datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        message = f"`{text}` is not a time; write it like 2024-03-01T00:00Z"
        raise click.BadParameter(message, param_hint="--now") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def joined(parts: tuple[str, ...]) -> str | None:
    """Several `--select a --select 'b c'` as one text; None when there is none."""
    return " ".join(parts) if parts else None
