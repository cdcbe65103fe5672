"""Writes the parts of docs/reference.md that follow from the code: commands, constructors, config keys."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import click

from partwise import policy
from partwise.cli import LazyGroup, options
from partwise.cli import cli as root
from partwise.project.calls import DEFINITIONS, MAPPINGS
from partwise.project.configdocs import ABOUT
from partwise.project.constructors import CONSTRUCTORS_RAW

_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
# accepted and kept, and nothing in this version acts on them
KEPT_ONLY = frozenset({"contract", "delay", "full_refresh", "rebuild_last"})
REFUSED = frozenset({"post_hook", "pre_hook"})  # a model that has them cannot be planned


def filled(page: str) -> str:
    """The page with its generated parts made anew."""
    return _PART.sub(lambda part: f"{part[1]}{PARTS[part[2]]()}{part[3]}", page)


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return (
        "\n".join([*lines, *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)])
        + "\n"
    )


# ---------------------------------------------------------------- commands


def _options_of(stack: Callable[[Any], Any]) -> list[click.Option]:
    @click.command()
    @stack
    def command(**given: Any) -> None:
        """Holds the options of a stack."""

    return [param for param in command.params if isinstance(param, click.Option)]


def _spelled(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in sorted(option.opts, key=len))
    if option.is_flag:
        return names
    kind = option.type
    value = (
        "\\|".join(kind.choices) if isinstance(kind, click.Choice) else "N" if isinstance(kind, click.IntRange) else ""
    )
    return f"{names} {value.replace(chr(92) + '|', ' or ')}".rstrip()


def _option_rows(params: list[click.Option]) -> Iterator[tuple[str, str]]:
    for param in params:
        envvar = [param.envvar] if isinstance(param.envvar, str) else param.envvar or []
        text = param.help or ""
        if envvar:
            text += f" Or {', '.join(f'`{name}`' for name in envvar)}."
        if param.show_default and param.default is not None:
            text += f" Default: {param.default}."
        yield _spelled(param), text


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by its full name."""
    context = click.Context(root)
    assert isinstance(root, LazyGroup)
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            for inner in command.list_commands(context):
                found = command.get_command(context, inner)
                assert found is not None
                yield f"{name} {inner}", found
        else:
            yield name, command


_STACKS = {"project": options.project, "selection": options.selection, "keys": options.keys}


def _cli() -> str:
    out = [
        "### Options of all commands but `init`\n",
        _table(("option", ""), _option_rows(_options_of(_STACKS["project"]))),
    ]
    out += ["### Options that choose models\n", _table(("option", ""), _option_rows(_options_of(_STACKS["selection"])))]
    out += ["### Options that choose partitions\n", _table(("option", ""), _option_rows(_options_of(_STACKS["keys"])))]
    shared = {name: {tuple(o.opts) for o in _options_of(stack)} for name, stack in _STACKS.items()}
    for name, command in commands():
        mine = [param for param in command.params if isinstance(param, click.Option)]
        given = {tuple(option.opts) for option in mine}
        arguments = [p.make_metavar(click.Context(command)) for p in command.params if isinstance(p, click.Argument)]
        takes = [name for name, opts in shared.items() if opts <= given]
        words = {"selection": "options that choose models", "keys": "options that choose partitions"}
        also = " and ".join(words[t] for t in takes if t in words)
        out.append(f"### `partwise {' '.join([name, *arguments])}`\n")
        out.append(f"{inspect.cleandoc(command.help or '')}{f' Takes the {also}.' if also else ''}\n")
        taken = {opts for t in takes for opts in shared[t]}
        rest = [option for option in mine if tuple(option.opts) not in taken]
        if rest:
            out.append(_table(("option", ""), _option_rows(rest)))
    return "\n".join(out) + "\n"


# ---------------------------------------------------------------- constructors and settings


def signature(name: str) -> str:
    """A constructor with its arguments, as one writes it."""
    function = CONSTRUCTORS_RAW[name]
    shown = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            shown += ["..."] if name not in ("multi", "dims") else ["NAME=..."]
        elif parameter.kind is not parameter.POSITIONAL_ONLY:
            default = parameter.default
            plain = default is parameter.empty or default is None or default == () or default == ""
            shown.append(parameter.name if plain else f"{parameter.name}={default!r}")
    return f"{name}({', '.join(shown)})"


def _first_line(name: str) -> str:
    return inspect.cleandoc(CONSTRUCTORS_RAW[name].__doc__ or "").split("\n\n")[0].replace("\n", " ")


def _constructors(names: tuple[str, ...]) -> str:
    return _table(("constructor", ""), ((f"`{signature(name)}`", _first_line(name)) for name in names))


def _config() -> str:
    return _table(("key", ""), ((f"`{key}`", f"{about}{_but(key)}") for key, about in ABOUT.items()))


def _but(key: str) -> str:
    if key in KEPT_ONLY:
        return " *Kept, and without effect in this version.*"
    return " *Not there yet: a model that has them is not built.*" if key in REFUSED else ""


PARTS: dict[str, Callable[[], str]] = {
    "cli": _cli,
    "definitions": lambda: _constructors(DEFINITIONS),
    "mappings": lambda: _constructors(MAPPINGS),
    "policies": lambda: _constructors(tuple(n for n in vars(policy) if n in ("single_run", "multi_run"))),
    "config": _config,
}
