"""How errors are told to a person, with secrets taken out."""

from __future__ import annotations

import sys
import traceback

import click

from partwise.errors import PartwiseError, ProjectErrors

_scrubbers: list[object] = []


def scrub_with(scrubber: object) -> None:
    """Remember something with a `scrub(text)` method; every message passes through it."""
    _scrubbers.append(scrubber)


def scrubbed(text: str) -> str:
    """A text without the secrets known so far."""
    for scrubber in _scrubbers:
        text = scrubber.scrub(text)  # type: ignore[attr-defined]
    return text


def log(text: str = "") -> None:
    """A line on stderr."""
    click.echo(scrubbed(text), err=True)


def tell(error: BaseException, *, debug: bool = False) -> int:
    """Print an error and return the exit code. Unexpected ones are a defect: they say how to report it."""
    if isinstance(error, ProjectErrors):
        for one in error.errors:
            log(_with_prefix(one))
        if len(error.errors) > 1:
            log(f"{len(error.errors)} problems; nothing was run")
        return error.exit_code
    if isinstance(error, PartwiseError):
        log(_with_prefix(error))
        if debug:
            log("".join(traceback.format_exception(error)))
        return error.exit_code
    if debug:
        log("".join(traceback.format_exception(error)))
    log(f"error: partwise has a defect: {type(error).__name__}: {error}")
    frame = traceback.extract_tb(error.__traceback__)
    if frame:
        log(f"  --> {frame[-1].name}, line {frame[-1].lineno} of {frame[-1].filename.rsplit('partwise/', 1)[-1]}")
    log("hint: nothing was lost; run again with --debug and report what it prints")
    return 2


def _with_prefix(error: PartwiseError) -> str:
    return f"error: {error}"


def stderr_is_terminal() -> bool:
    return sys.stderr.isatty()
