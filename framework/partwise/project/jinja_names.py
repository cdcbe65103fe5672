"""Names and filters of templates that do not depend on the model."""

from __future__ import annotations

import datetime as _datetime
import re
from collections.abc import Callable
from typing import Any

from jinja2 import StrictUndefined

from partwise.errors import RenderError
from partwise.project.calls import DEFINITIONS, MAPPINGS, POLICIES, MappingNamespace, delayed_mapping, noted
from partwise.project.world import World


def constants(world: World) -> dict[str, Any]:
    """The names, in a new dict."""
    return {
        **{name: noted(name) for name in (*DEFINITIONS, *POLICIES)},
        **{name: delayed_mapping(name) for name in MAPPINGS},
        "mapping": MappingNamespace(),
        "target": world.target,
        "project_name": world.project_name,
        "run_started_at": world.run_started_at,
        "invocation_id": world.invocation_id,
        "execute": world.execute,
        "exceptions": _Exceptions(world),
        "modules": _MODULES,
        "print": lambda message: _log(world, message),
        "tojson": _tojson,
        "fromjson": _fromjson,
        **{name: StrictUndefined(f"'{name}' is undefined", name=name) for name in NOT_THERE},
    }


class _Exceptions:
    """`exceptions` in templates."""

    def __init__(self, world: World) -> None:
        self._world = world

    def raise_compiler_error(self, message: Any = "") -> Any:
        raise RenderError(str(message))

    def warn(self, message: Any = "") -> str:
        return _log(self._world, f"warning: {message}")


def _log(world: World, message: Any) -> str:
    world.log(str(message), True)
    return ""


class _Namespace:
    """A few names under one, e.g. `modules.datetime`; never a module itself, which would lead out of the sandbox."""

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)


_MODULES = _Namespace(
    datetime=_Namespace(
        **{n: getattr(_datetime, n) for n in ("date", "datetime", "time", "timedelta", "timezone", "UTC")}
    ),
    re=_Namespace(**{n: getattr(re, n) for n in ("compile", "escape", "findall", "match", "search", "split", "sub")}),
)
NOT_THERE = {
    "run_query": "partwise renders without asking the warehouse; say it in SQL",
    "statement": "partwise renders without asking the warehouse; say it in SQL",
    "adapter": "partwise has no `adapter` in templates",
    "graph": "partwise has no `graph` in templates",
}


def _tojson(value: Any, default: Any = None) -> Any:
    import json

    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        return default


def _fromjson(text: str, default: Any = None) -> Any:
    import json

    try:
        return json.loads(text)
    except ValueError:
        return default


def as_number(value: Any) -> int | float:
    """The filter `as_number`: text to a whole number, or else a decimal one. Raises RenderError for other text."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    for kind in (int, float):
        try:
            return kind(str(value).strip())
        except ValueError:
            continue
    raise RenderError(f"`{value}` is not a number")


def as_bool(value: Any) -> bool:
    """The filter `as_bool`: `true` or `false` in any case, or 1 and 0. Raises RenderError for other text."""
    found = {"true": True, "1": True, "false": False, "0": False}.get(str(value).strip().lower())
    if found is None:
        raise RenderError(f"`{value}` is neither true nor false")
    return found


def as_native(value: Any) -> Any:
    """The filter `as_native`: text as a Python literal where it is one, else the text itself."""
    import ast

    if not isinstance(value, str):
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False, "null": None}.get(value.strip().lower(), value)


FILTERS: dict[str, Callable[..., Any]] = {
    "as_number": as_number,
    "as_bool": as_bool,
    "as_native": as_native,
    "as_text": lambda value: value if isinstance(value, str) else str(value),
    "tojson": _tojson,
    "fromjson": _fromjson,
}
