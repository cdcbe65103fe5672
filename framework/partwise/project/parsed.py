"""What a model's text says, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partwise.project.references import RefCall


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a model's text says: config settings (key, value, line) in order, and references with their lines.

    `sql` is the text with marks in place of references (see `sqltext`); it is kept only where the node may inherit its
    partitions from an input.
    """

    config: tuple[tuple[str, Any, int | None], ...] = ()
    calls: tuple[tuple[RefCall, int | None], ...] = ()
    marks: tuple[int, ...] = ()  # number of each call's mark in `sql`; -1 when it is only there on other paths
    reads_own_past: bool = False
    asks_config: bool = False  # depends on what YAML and folders say
    sql: str = ""


def plain(value: Any, key: str = "") -> Any:
    """A config value as text, numbers, lists and dicts of exactly these types. Raises ProjectError for others."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, (list, tuple)):
        return [plain(item, key) for item in value]
    if isinstance(value, dict):
        return {str(k): plain(v, key) for k, v in value.items()}
    if hasattr(value, "isoformat"):
        return value.isoformat()
    from partwise.errors import ProjectError

    raise ProjectError(f"`{key}` is a {type(value).__name__}", hint="write text, a number, a list or a mapping")


def finished(
    config: list[tuple[str, Any, int | None]],
    calls: list[tuple[RefCall, int | None]],
    own: set[int],
    sql: str,
    dialect: str,
    asks_config: bool = False,
) -> Parsed:
    """The value, from everything that was called: what stands in comments and strings of `sql` does not count.

    `own` are the numbers in `calls` that stand for the model's own table.
    """
    from partwise.project.sqltext import all_marks, live_marks

    written, live = all_marks(sql), live_marks(sql, dialect) if calls else set()
    used = [n for n in range(len(calls)) if (n in live or n not in written) and n not in own]
    has_partitions = any(key == "partitions" for key, _, _ in config)
    return Parsed(
        config=tuple(config),
        calls=tuple(calls[n] for n in used),
        marks=tuple(used),
        reads_own_past=not own.isdisjoint(live),
        asks_config=asks_config,
        sql="" if has_partitions or not used else sql,
    )
