"""What `ls` shows. Nodes are not made for it: a list of thousands of models is for looking at names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from partwise.project import Project
from partwise.project.selection import Item


def list_lines(project: Project, nodes: Sequence[str]) -> list[str]:
    """A line for each node: its name, and what it is."""
    items = {item.unique_id: item for item in project.items}
    names = [_name(items[uid]) for uid in nodes]
    wide = max(map(len, names), default=0)
    return [f"{name:<{wide}}  {_shown(items[uid], items)}" for name, uid in zip(names, nodes, strict=True)]


def list_rows(project: Project, nodes: Iterable[str]) -> list[dict[str, Any]]:
    """The same as data for JSON."""
    items = {item.unique_id: item for item in project.items}
    rows: list[dict[str, Any]] = []
    for uid in nodes:
        item = items[uid]
        kinds = [kind for kind, _ in item.dimensions]
        rows.append(
            {
                "unique_id": uid,
                "name": _name(item),
                "resource_type": item.resource_type,
                "materialized": item.materialized,
                "path": item.path,
                "tags": list(item.tags),
                "partitions": "multi" if len(kinds) > 1 else kinds[0] if kinds else None,
                "dimensions": [name for _, name in item.dimensions],
                "partition_expr": dict(item.partition_expr),
                "inherited_from": item.inherited_from,
                "depends_on": sorted(project.graph.parents[uid]),
                "shown": _shown(item, items),
            }
        )
    return rows


def _name(item: Item) -> str:
    return item.name if item.source_name is None else f"{item.source_name}.{item.name}"


def _shown(item: Item, items: Mapping[str, Item]) -> str:
    shown = item.materialized if item.resource_type == "model" else item.resource_type
    if item.dimensions:
        shown += ", " + " x ".join(f"{kind} {name}" for kind, name in item.dimensions)
    if item.inherited_from:
        shown += f", partitions of {items[item.inherited_from].name}"
    return shown
