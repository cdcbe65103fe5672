"""What every command does first: open the project, and know the time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

import click

from partwise.cli.messages import log, scrub_with, scrubbed
from partwise.cli.options import joined, parse_now
from partwise.session import Session


def open_session(given: dict[str, Any]) -> Session:
    """The session of a command, from the options of `options.project`, which are taken out of `given`."""
    quiet = given.pop("quiet")
    session = Session.open(
        given.pop("project_dir"),
        profiles_dir=given.pop("profiles_dir"),
        profile=given.pop("profile"),
        target=given.pop("target"),
        variables=given.pop("variables"),
        environ=os.environ,
        now=parse_now(given.pop("now_text")),
        say=(lambda text: None) if quiet else log,
        debug=given.pop("debug"),
    )
    scrub_with(session.secrets)
    return session


def say_json(value: Any) -> None:
    """A value on stdout as JSON."""
    click.echo(scrubbed(json.dumps(value, indent=2, ensure_ascii=False, default=str)))


def say_lines(lines: Iterable[str]) -> None:
    """Lines on stdout."""
    told = list(lines)
    if told:
        click.echo(scrubbed("\n".join(told)))  # at once: a call for each of thousands of lines is slow


def selected(session: Session, given: dict[str, Any]) -> Any:
    """The selection of a command, from the options of `options.selection`."""
    return session.select(joined(given.pop("select")), joined(given.pop("exclude")))
