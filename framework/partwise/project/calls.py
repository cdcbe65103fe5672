"""Constructor calls in templates, noted as text.

`config(partitions=daily(start='2024-01-01'))` hands on the text `daily(start='2024-01-01')`: loading a project needs no
definition for that, and `constructors.py` makes it from the text when it does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from partwise.errors import RenderError

DEFINITIONS = (
    "hourly", "daily", "weekly", "monthly", "quarterly", "yearly", "cron", "static", "dynamic", "multi",
)  # fmt: skip
POLICIES = ("single_run", "multi_run")
MAPPINGS = ("identity", "all", "last", "window", "static_map", "keys", "dims")


class CallText(str):
    """The text of a constructor call; nested in another call it is written without quotes."""

    __slots__ = ()


def call_text(name: str, args: Sequence[Any], given: Mapping[str, Any]) -> CallText:
    """The call as text.

    >>> call_text("multi", (), {"d": call_text("daily", ("2024-01-01",), {}), "r": call_text("static", (["a"],), {})})
    "multi(d=daily('2024-01-01'), r=static(['a']))"
    """
    parts = [_argument(name, value) for value in args]
    parts += [f"{key}={_argument(name, value)}" for key, value in given.items()]
    return CallText(f"{name}({', '.join(parts)})")


def _argument(name: str, value: Any) -> str:
    if isinstance(value, CallText):
        return str(value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return repr(str(value)) if isinstance(value, str) else repr(value)
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_argument(name, item) for item in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if value else "()"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_argument(name, k)}: {_argument(name, v)}" for k, v in value.items()) + "}"
    if hasattr(value, "isoformat"):
        return repr(value.isoformat())
    raise RenderError(f"{name}() is given a {type(value).__name__}", hint="write text, numbers, lists or definitions")


def noted(name: str) -> Callable[..., CallText]:
    """The constructor as templates see it."""

    def call(*args: Any, **given: Any) -> CallText:
        return call_text(name, args, given)

    call.__name__ = name
    return call


def delayed_mapping(name: str) -> Callable[..., Any]:
    """A mapping constructor as templates see it; its module is loaded when it is called."""

    def call(*args: Any, **given: Any) -> Any:
        from partwise.project.constructors import MAPPINGS as real

        return real[name](*args, **given)

    call.__name__ = name
    return call


class MappingNamespace:
    """`mapping.all()` in templates, as in Python."""

    def __init__(self) -> None:
        for name in MAPPINGS:
            setattr(self, name, delayed_mapping(name))
