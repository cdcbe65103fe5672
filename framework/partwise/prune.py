"""Deleting what is built and no longer in the definition: only ever asked for by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partwise.planning.report import count, set_text

if TYPE_CHECKING:
    from partwise.nodes import Node
    from partwise.planning.facts import Facts
    from partwise.session import Session


def prune(session: Session, node: Node, facts: Facts, *, dry_run: bool) -> str:
    """Delete the rows of the partitions outside the definition, with their facts. Returns what was done, as a line."""
    outside = facts.of(node.unique_id).outside
    if not outside:
        return f"{node.name}: nothing lies outside its definition"
    shown = f"{count(len(outside), 'partition')} outside the definition: {set_text(outside)}"
    if dry_run:
        return f"{node.name}: would delete {shown}"
    from partwise.inline import partition_condition
    from partwise.warehouse.write import remove

    condition = partition_condition(session, node, outside)
    rows = remove(session.adapter(), node, outside, condition, session.schema, session.now)
    return f"{node.name}: deleted {count(rows, 'row')} of {shown}"
