"""Definitions, policies and mappings as they are written in templates, YAML and text.

`daily(start='2024-01-01')` means the same in `config()`, as text in YAML, and as `{daily: {start: 2024-01-01}}`. Text
is read with `ast`: names, literals and calls of the constructors only; nothing is evaluated.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from collections.abc import Mapping as MappingOf
from functools import cache
from typing import Any

from partwise import mapping as mappings
from partwise import partitions
from partwise.errors import PartitionError, did_you_mean
from partwise.mapping import Mapping
from partwise.partitions import Definition, SimpleDefinition
from partwise.policy import BackfillPolicy, multi_run, single_run
from partwise.project import calls as names

_WORDS: dict[str, Any] = {"true": True, "false": False, "none": None, "null": None}


_DEFINITIONS: dict[str, Callable[..., Any]] = {
    name: getattr(partitions, name) for name in names.DEFINITIONS
}
_POLICIES: dict[str, Callable[..., Any]] = {"single_run": single_run, "multi_run": multi_run}
_MAPPINGS: dict[str, Callable[..., Any]] = {
    name: getattr(mappings, name) for name in names.MAPPINGS
}


def _checked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The constructor, with wrong arguments told in words instead of a TypeError."""

    def call(*args: Any, **given: Any) -> Any:
        known = arguments(name)
        for argument in given:
            if known and argument not in known:
                hint = did_you_mean(argument, known) or f"it takes {', '.join(f'`{k}`' for k in known)}"
                raise PartitionError(f"{name}() has no argument `{argument}`", hint=hint)
        try:
            return function(*args, **given)
        except TypeError as error:
            raise PartitionError(f"{name}(): {_plain(str(error))}", hint=_EXAMPLES.get(name)) from error

    call.__name__ = name
    return call


_EXAMPLES = {
    "static": "write static(['US', 'EU'])",
    "dynamic": "write dynamic('releases')",
    "cron": "write cron('0 9 * * 1-5', start='2024-01-01')",
    "multi": "write multi(date=daily(start='2024-01-01'), region=static(['US', 'EU']))",
    **{n: f"write {n}(start='2024-01-01')" for n in ("hourly", "daily", "weekly", "monthly", "quarterly", "yearly")},
}


def _plain(text: str) -> str:
    """Python's words about a call, without the function's name in front."""
    return text.partition("() ")[2] or text


@cache
def arguments(name: str) -> tuple[str, ...]:
    """The argument names a constructor takes; empty when it takes any."""
    function = CONSTRUCTORS_RAW[name]
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[:count]
    if name in ("multi", "dims"):
        return ()
    if code.co_flags & 0x08:  # takes **given: the calendar constructors of months
        names = (*names, *partitions._COMMON)
    return tuple(names)


CONSTRUCTORS_RAW: dict[str, Callable[..., Any]] = {**_DEFINITIONS, **_POLICIES, **_MAPPINGS}
DEFINITIONS = {name: _checked(name, function) for name, function in _DEFINITIONS.items()}
POLICIES = {name: _checked(name, function) for name, function in _POLICIES.items()}
MAPPINGS = {name: _checked(name, function) for name, function in _MAPPINGS.items()}


# ---------------------------------------------------------------- text


def definition_from_text(text: str) -> Definition:
    """The definition that a constructor call names. Raises PartitionError when it is anything else."""
    value = _read(text, DEFINITIONS)
    if not isinstance(value, Definition):
        raise PartitionError(f"`{text}` is no partition definition", hint="write daily(start='2024-01-01')")
    return value


def mapping_from_text(text: str) -> Mapping:
    """The mapping that a constructor call names. Raises PartitionError when it is anything else."""
    value = _read(text, MAPPINGS)
    if not isinstance(value, Mapping):
        raise PartitionError(f"`{text}` is no mapping", hint=mappings.WAYS)
    return value


def policy_from_text(text: str) -> BackfillPolicy:
    """`auto`, `single_run`, `multi_run`, or a call of the latter two. Raises PartitionError for anything else."""
    word = text.strip()
    if word == "auto":
        return BackfillPolicy()
    value: Any = POLICIES[word]() if word in POLICIES else _read(word, POLICIES)
    if not isinstance(value, BackfillPolicy):
        raise PartitionError(f"`{text}` is no backfill policy", hint="write auto, single_run() or multi_run(7)")
    return value


def _read(text: str, calls: MappingOf[str, Callable[..., Any]]) -> Any:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        name = next(iter(calls))
        raise PartitionError(f"`{text}` cannot be read", hint=f"write a call such as {name}(...)") from error
    return evaluate(tree.body, calls)


def evaluate(node: ast.expr, calls: MappingOf[str, Callable[..., Any]]) -> Any:
    """The value of literals and calls of `calls`. Raises PartitionError for any other expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, bool, type(None))):
        return node.value
    if isinstance(node, ast.Name) and node.id in _WORDS:
        return _WORDS[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = evaluate(node.operand, calls)
        if isinstance(value, (int, float)):
            return -value
    if isinstance(node, (ast.List, ast.Tuple)):
        items = [evaluate(item, calls) for item in node.elts]
        return items if isinstance(node, ast.List) else tuple(items)
    if isinstance(node, ast.Dict) and None not in node.keys:
        pairs = zip(node.keys, node.values, strict=True)
        return {evaluate(k, calls): evaluate(v, calls) for k, v in pairs if k is not None}
    if isinstance(node, ast.Call):
        return _evaluate_call(node, calls)
    raise PartitionError(f"`{ast.unparse(node)}` cannot be used here", hint="only constants and constructor calls can")


def _evaluate_call(node: ast.Call, calls: MappingOf[str, Callable[..., Any]]) -> Any:
    name = ast.unparse(node.func).removeprefix("mapping.")
    if name not in calls:
        hint = did_you_mean(name, tuple(calls)) or f"there are {', '.join(f'`{c}`' for c in calls)}"
        raise PartitionError(f"there is no `{name}()`", hint=hint)
    if any(isinstance(arg, ast.Starred) for arg in node.args) or any(k.arg is None for k in node.keywords):
        raise PartitionError(f"`{ast.unparse(node)}` cannot be used here", hint="write the arguments out")
    args = [evaluate(arg, calls) for arg in node.args]
    return calls[name](*args, **{k.arg: evaluate(k.value, calls) for k in node.keywords if k.arg})


# ---------------------------------------------------------------- YAML


def definition_from(value: Any, named: MappingOf[str, str | Definition]) -> Definition:
    """The definition that a config value means: a definition, a name of the project's, text of a call, or a mapping."""
    if isinstance(value, Definition):
        return value
    if isinstance(value, str):
        text = value.strip()
        if text in named:
            found = named[text]
            return found if isinstance(found, Definition) else definition_from(found, {})
        if text.isidentifier():
            known = (*named, *DEFINITIONS)
            ways = "name one of [tool.partwise.partitions], or write daily(start='2024-01-01')"
            hint = did_you_mean(text, known) or ways
            raise PartitionError(f"there is no partition definition `{text}`", hint=hint)
        return definition_from_text(text)
    if isinstance(value, MappingOf):
        return _definition_from_mapping(value, named)
    raise PartitionError(f"`{value}` is no partition definition", hint="write daily(start='2024-01-01')")


def _definition_from_mapping(value: MappingOf[str, Any], named: MappingOf[str, str | Definition]) -> Definition:
    if len(value) != 1:
        hint = "write {daily: {start: 2024-01-01}}; several dimensions are {multi: {date: ..., region: ...}}"
        raise PartitionError(f"a partition definition is one kind, not {len(value)}", hint=hint)
    kind, given = next(iter(value.items()))
    if kind not in DEFINITIONS:
        hint = did_you_mean(str(kind), tuple(DEFINITIONS)) or f"there are {', '.join(f'`{c}`' for c in DEFINITIONS)}"
        raise PartitionError(f"there is no partition definition `{kind}`", hint=hint)
    build = DEFINITIONS[kind]
    if kind == "multi":
        if not isinstance(given, MappingOf):
            raise PartitionError("multi takes a definition per dimension", hint=_EXAMPLES["multi"])
        parts = {str(name): definition_from(part, named) for name, part in given.items()}
        made: Definition = build(parts)
        return made
    if isinstance(given, MappingOf):
        made = build(**{str(k): _argument(str(k), v) for k, v in given.items()})
    elif kind == "static" and isinstance(given, Sequence):
        made = build(_texts(given) if not isinstance(given, str) else given)
    elif kind in ("dynamic", "cron") and isinstance(given, str):
        made = build(given)
    elif isinstance(given, str) and kind != "static":
        made = build(start=given)
    else:
        raise PartitionError(f"{kind} is given {given!r}", hint=f"{_EXAMPLES[kind]} or the same as a mapping")
    return made


_NUMBERS = ("minute_offset", "hour_offset", "end_offset", "day_offset")


def _argument(name: str, value: Any) -> Any:
    """A YAML scalar as the constructor wants it: text as written, but numbers and switches by name."""
    if name in _NUMBERS and isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return value
    if name == "shared" and isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower(), value)
    if name == "exclude" or name == "keys":
        return _texts(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
    return value


def _texts(values: Sequence[Any]) -> list[Any]:
    for value in values:
        if value is None:
            raise PartitionError("a list of keys holds an empty entry", hint="put the key in quotes")
    return [value if isinstance(value, str) else str(value) for value in values]


def policy_from(value: Any) -> BackfillPolicy:
    """The policy that a config value means: a policy, text, or a mapping such as `{multi_run: 7}`."""
    if isinstance(value, BackfillPolicy):
        return value
    if isinstance(value, str):
        return policy_from_text(value)
    if isinstance(value, MappingOf) and len(value) == 1:
        kind, given = next(iter(value.items()))
        if kind in POLICIES:
            made: BackfillPolicy = POLICIES[kind](**given) if isinstance(given, MappingOf) else POLICIES[kind](given)
            return made
    raise PartitionError(f"`{value}` is no backfill policy", hint="write auto, single_run() or multi_run(7)")


# ---------------------------------------------------------------- back to text


def definition_text(definition: Definition) -> str:
    """The constructor call that makes a definition; dynamic keys are left out.

    >>> definition_text(partitions.daily(start="2024-01-01", timezone="Asia/Tokyo"))
    "daily(start='2024-01-01', timezone='Asia/Tokyo')"
    """
    if isinstance(definition, SimpleDefinition):
        return _axis_text(definition.axes[0])
    inner = ", ".join(f"{axis.name}={_axis_text(axis)}" for axis in definition.axes)
    return f"multi({inner})"


def policy_text(policy: BackfillPolicy) -> str:
    """The constructor call that makes a policy.

    >>> policy_text(multi_run(7))
    'multi_run(7)'
    """
    if policy.kind == "auto":
        return "auto"
    limit = policy.max_partitions_per_run
    return f"{policy.kind}({'' if limit is None else limit})"


def mapping_text(mapping: Mapping) -> str:
    """The constructor call that makes a mapping.

    >>> mapping_text(mappings.dims(day=("day", mappings.window(start_offset=-6)), region="area"))
    "dims(day=('day', window(start_offset=-6)), region='area')"
    """
    if isinstance(mapping, mappings.TimeWindow):
        given = [f"{n}={v}" for n in ("start_offset", "end_offset") if (v := getattr(mapping, n))]
        given += [f"shift={mapping.shift}"] if mapping.shift else []
        return f"window({', '.join(given)})"
    if isinstance(mapping, mappings.StaticMap):
        pairs: dict[str, list[str]] = {}
        for up, down in mapping.pairs:
            pairs.setdefault(up, []).append(down)
        return f"static_map({ {up: downs[0] if len(downs) == 1 else downs for up, downs in pairs.items()} })"
    if isinstance(mapping, mappings.Keys):
        return f"keys({list(mapping.keys)!r})"
    if isinstance(mapping, mappings.Dims):
        inner = [
            f"{up}={down!r}" if how is None else f"{up}=({down!r}, {mapping_text(how)})"
            for up, down, how in mapping.by_upstream
        ]
        return f"dims({', '.join(inner)})"
    return f"{type(mapping).__name__.lower()}()"


def _axis_text(axis: Any) -> str:
    if axis.kind == "static":
        return f"static({list(axis.keys)!r})"
    if axis.kind == "dynamic":
        extra = ", shared=True" if axis.shared else ""
        discover = f", discover={axis.discover!r}" if axis.discover else ""
        return f"dynamic({axis.source!r}{extra}{discover})"
    monthly = axis.kind in ("monthly", "quarterly", "yearly")
    given = [f"{axis.cron!r}"] if axis.cron else []
    for name, value, default in (
        ("start", axis.start, None),
        ("end", axis.end, None),
        ("timezone", axis.timezone, "UTC"),
        ("minute_offset", axis.minute, 0),
        ("hour_offset", axis.hour, 0),
        ("day_offset", axis.day, 1 if monthly else 0),
        ("end_offset", axis.end_offset, 0),
        ("format", axis.format, ""),
        ("exclude", axis.exclude and list(axis.exclude), ()),
    ):
        if value != default and value is not None:
            given.append(f"{name}={_moment(value)!r}")
    return f"{axis.kind}({', '.join(given)})"


def _moment(value: Any) -> Any:
    if isinstance(value, list):
        return [_moment(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else value
