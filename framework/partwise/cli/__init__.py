"""The command line: options in, one call, report out.

`--help` and `--version` import click and nothing else: each command lives in a module that is imported when it runs.
Data goes to stdout, everything else to stderr. Exit 0: good, also when there was nothing to do; 1: something failed, or
was blocked by name; 2: usage, configuration, or interrupted.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import click

from partwise import __version__

COMMANDS = {  # name -> module, and what `--help` says of it
    "init": ("project", "Write a small working project into a folder."),
    "debug": ("project", "Show the project, the profile, and whether the warehouse answers."),
    "ls": ("project", "List models, seeds and sources."),
    "parse": ("project", "Load the project and write target/manifest.json."),
    "clean": ("project", "Delete the target folder."),
    "compile": ("query", "Write the SQL that would run, one file per run."),
    "show": ("query", "Print rows of a model or of a query."),
    "plan": ("run", "Show what would be built, in which runs, and why."),
    "run": ("run", "Build models, partition by partition."),
    "seed": ("run", "Load CSV and Parquet files into the warehouse."),
    "status": ("status", "Draw what is built, missing, failed and stale."),
    "explain": ("status", "Say why a partition is missing, stale or blocked, and what it reads."),
    "partitions": ("status", "List the partitions of a model; add and remove dynamic keys; prune."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = {"list": "ls"}.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"partwise.cli.{COMMANDS[name][0]}")
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from partwise.errors import did_you_mean

            hint = did_you_mean(args[0], list(COMMANDS)) if args else None
            raise click.UsageError(f"{error.message.rstrip('.')}; {hint}" if hint else error.message, ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, "--version", "-V", prog_name="partwise", message="%(prog)s %(version)s")
def cli() -> None:
    """Build warehouse tables from SQL models, partition by partition."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit. Nothing a person can do wrong shows a traceback."""
    sys.exit(call(list(sys.argv[1:] if arguments is None else arguments)))


def call(arguments: list[str]) -> int:
    """Run the command line and return its exit code."""
    try:
        result = cli.main(arguments, prog_name="partwise", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        return 2
    except click.ClickException as error:
        error.show()
        return 2
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        return 2
    except BrokenPipeError:  # the reader went away, as in `partwise ls | head`
        _silence_stdout()
        return 0
    except Exception as error:
        if _came_from_interrupt(error):
            click.echo("interrupted", err=True)
            return 2
        from partwise.cli.messages import tell

        return tell(error, debug="--debug" in arguments or "-d" in arguments)


def _came_from_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C is behind an error: pressed while a class is being made, Python reports a RuntimeError."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, KeyboardInterrupt):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _silence_stdout() -> None:
    """Point stdout to nowhere, so that the interpreter's last flush does not fail."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
