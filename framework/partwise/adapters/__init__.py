"""The code that speaks to a warehouse: one protocol, one module per engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partwise.errors import WarehouseError

if TYPE_CHECKING:
    from partwise.adapters.base import Adapter
    from partwise.project.profiles import Target


def connect(target: Target, *, read_only: bool = False) -> Adapter:
    """A session with the warehouse of a target. Raises WarehouseError when it cannot be had."""
    if target.type == "duckdb":
        from partwise.adapters import duckdb

        return duckdb.connect(target.fields, read_only=read_only)
    raise WarehouseError(
        f"target `{target.name}` is of type {target.type}, which this version cannot run on",
        hint="use a target of type duckdb; `partwise compile` shows the SQL",
    )
