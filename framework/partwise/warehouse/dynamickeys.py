"""The key lists of dynamic definitions, kept in the warehouse: per target schema, or shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from partwise.adapters.base import Adapter
from partwise.nodes import Node
from partwise.partitions.axes import DynamicAxis, check_key
from partwise.warehouse.status_sql import table

SHARED = ""  # the scope of shared lists


def dynamic_scopes(nodes: Mapping[str, Node], schema: str) -> dict[str, str]:
    """Name of each dynamic list the project uses -> its scope: the target schema, or SHARED."""
    found: dict[str, str] = {}
    for node in nodes.values():
        for axis in node.definition.axes if node.definition is not None else ():
            if isinstance(axis, DynamicAxis):
                found[axis.source] = SHARED if axis.shared else schema
    return found


def read_keys(adapter: Adapter, scopes: Mapping[str, str], log_schema: str) -> dict[str, tuple[str, ...]]:
    """The keys of each list, in the order in which they were added. The table must exist."""
    keys: dict[str, list[str]] = {name: [] for name in scopes}
    rows = adapter.fetch(
        f"select scope, name, partition_key from {table('dynamic_partitions', log_schema, adapter.dialect)} "
        "order by position, partition_key"
    )
    for scope, name, key in rows:
        if scopes.get(name) == scope:
            keys[name].append(key)
    return {name: tuple(dict.fromkeys(found)) for name, found in keys.items()}


def with_keys(nodes: Mapping[str, Node], keys: Mapping[str, Sequence[str]]) -> dict[str, Node]:
    """The nodes, with the keys of their dynamic dimensions."""
    return {
        uid: replace(node, definition=node.definition.with_keys(keys))
        if node.definition is not None and node.definition.dynamic_names
        else node
        for uid, node in nodes.items()
    }


def add_keys(adapter: Adapter, name: str, scope: str, keys: Sequence[str], log_schema: str) -> int:
    """Add the keys that are not there yet, at the end; returns how many. Raises PartitionError for what is no key."""
    for key in keys:
        check_key(key)
    there = read_keys(adapter, {name: scope}, log_schema)[name]
    new = [key for key in dict.fromkeys(keys) if key not in set(there)]
    if new:
        target = table("dynamic_partitions", log_schema, adapter.dialect)
        with adapter.transaction():
            adapter.execute(
                f"insert into {target} (scope, name, partition_key, position, added_at) "
                "select ?, ?, unnest(?), (select coalesce(max(position), 0) from "
                f"{target} where scope = ? and name = ?) + unnest(range(1, len(?) + 1)), now()",
                [scope, name, new, scope, name, new],
            )
    return len(new)


def remove_keys(adapter: Adapter, name: str, scope: str, keys: Sequence[str], log_schema: str) -> int:
    """Remove keys. Returns how many there were. Rows built for them are not touched."""
    there = set(read_keys(adapter, {name: scope}, log_schema)[name])
    gone = [key for key in dict.fromkeys(keys) if key in there]
    if gone:
        with adapter.transaction():
            adapter.execute(
                f"delete from {table('dynamic_partitions', log_schema, adapter.dialect)} "
                "where scope = ? and name = ? and partition_key in (select unnest(?))",
                [scope, name, gone],
            )
    return len(gone)
