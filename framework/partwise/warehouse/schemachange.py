"""What to do when a query gives other columns than its table has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from partwise.adapters.base import Column
from partwise.errors import RenderError
from partwise.nodes import Node

# Casts among these fail with an error where they would lose something.
_WHOLE = tuple(f"{u}{size}" for u in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"))
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")


@dataclass(frozen=True, slots=True)
class Changes:
    """Columns to add to a table, to drop from it, and to give another type, before the run writes to it."""

    add: tuple[Column, ...] = ()
    drop: tuple[str, ...] = ()
    retype: tuple[Column, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.add or self.drop or self.retype)


def compare(node: Node, table: Sequence[Column], query: Sequence[Column]) -> Changes:
    """The changes that make a table fit its query, as `on_schema_change` allows.

    Columns are matched by name, without case, so their order does not matter. Raises RenderError naming the columns
    when the policy is `fail`, and for a type whose values would be changed silently on their way into the table.
    """
    have = {column.name.lower(): column for column in table}
    give = {column.name.lower(): column for column in query}
    new = [column for name, column in give.items() if name not in have]
    gone = [column.name for name, column in have.items() if name not in give]
    policy = node.on_schema_change
    if policy == "fail" and (new or gone):
        raise _refused(node, new, gone)
    retype = []
    for name, column in give.items():
        if name not in have or fits(column.type, have[name].type):
            continue
        if policy == "sync_all_columns" and fits(have[name].type, column.type):
            retype.append(Column(have[name].name, column.type))
            continue
        raise RenderError(
            f"the column `{column.name}` of `{node.name}` has changed its type: the table holds {have[name].type}, "
            f"the query gives {column.type}",
            file=node.path,
            line=node.line,
            model=node.name,
            hint=f"cast it in the query, or rebuild the table: `partwise run --select {node.name} --full-refresh`",
        )
    drop = tuple(gone) if policy == "sync_all_columns" else ()
    return Changes(tuple(new), drop, tuple(retype))


def _refused(node: Node, new: Sequence[Column], gone: Sequence[str]) -> RenderError:
    parts = []
    if new:
        parts.append(f"the table lacks {', '.join(f'`{c.name}`' for c in new)}")
    if gone:
        parts.append(f"the query no longer gives {', '.join(f'`{name}`' for name in gone)}")
    return RenderError(
        f"the columns of `{node.name}` have changed: {' and '.join(parts)}",
        file=node.path,
        line=node.line,
        model=node.name,
        hint="set on_schema_change to `append_new_columns` or `sync_all_columns`, or run it with --full-refresh",
    )


def fits(given: str, held: str) -> bool:
    """Whether every value of one type can be put into a column of another without being changed silently.

    A cast that would fail with an error fits: it cannot lose anything unseen.

    >>> fits("INTEGER", "BIGINT"), fits("BIGINT", "INTEGER"), fits("DOUBLE", "BIGINT"), fits("VARCHAR", "DOUBLE")
    (True, True, False, False)
    """
    given, held = given.upper().strip('"'), held.upper().strip('"')
    if given in (held, "NULL") or held == "VARCHAR":
        return True
    if given in _WHOLE:
        return held in _WHOLE or held == "DOUBLE" or _DECIMAL.fullmatch(held) is not None
    if mine := _DECIMAL.fullmatch(given):
        theirs = _DECIMAL.fullmatch(held)
        return theirs is not None and int(theirs[2]) >= int(mine[2])
    if given == "DATE":
        return held.startswith("TIMESTAMP") and "ZONE" not in held
    if given.startswith("TIMESTAMP") and held.startswith("TIMESTAMP"):
        return ("ZONE" in given) == ("ZONE" in held) and _precision(given) <= _precision(held)
    if given.startswith(("STRUCT", "MAP", "UNION")) or given.endswith("]"):
        return True  # the engine matches what is inside by name, and complains
    return (given, held) in (("FLOAT", "DOUBLE"), ("VARCHAR", "JSON"))


def _precision(name: str) -> int:
    return {"TIMESTAMP_S": 0, "TIMESTAMP_MS": 3, "TIMESTAMP_NS": 9}.get(name, 6)
