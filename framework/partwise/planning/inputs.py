"""What a model reads of the relations that hold data, looking through views and ephemeral models.

Views hold no data, so a need passes through them: from the reader to the view by the one mapping, from the view to its
own input by the next. The hops of an `Input` are that chain.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass
from datetime import datetime

from partwise import mapping as maps
from partwise.mapping import Mapping, Needed
from partwise.nodes import Edge, Node
from partwise.partitions import Definition, PartitionSet

_THROUGH = ("view", "ephemeral")


@dataclass(frozen=True, slots=True)
class Hop:
    """One mapping on the way, and the definition it leads to."""

    mapping: Mapping
    definition: Definition


@dataclass(frozen=True, slots=True)
class Input:
    """One upstream that holds data, and how its partitions follow from those of the reader.

    No hops: it is not stored by partition, or the reader has none and reads it as it stands. `through` names the views
    between, nearest first.
    """

    upstream: str
    hops: tuple[Hop, ...] = ()
    through: tuple[str, ...] = ()
    allow_missing: bool = False
    line: int | None = None

    def needed(self, wanted: PartitionSet | None, now: datetime) -> Needed | None:
        """The partitions that `wanted` reads; None when the upstream is read as a whole and has no partitions.

        A reader without partitions (`wanted` None) needs all that exist.
        """
        if not self.hops:
            return None
        if wanted is None:
            last = self.hops[-1].definition
            return Needed(last.existing(now), last.empty())
        need = Needed(wanted, wanted.definition.empty())
        for hop in self.hops:
            # what a view's definition does not hold may still be read through it
            need = maps.upstream(hop.mapping, need.existing | need.nonexistent, of=hop.definition, now=now)
        return need

    def touched(self, changed: PartitionSet, reader: Definition, now: datetime) -> PartitionSet:
        """The partitions of the reader, existing at `now`, that read any of `changed`."""
        if not self.hops:
            return reader.existing(now)
        targets = [hop.definition for hop in self.hops[:-1]]
        for hop, of in zip(reversed(self.hops), [*reversed(targets), reader], strict=True):
            changed = maps.downstream(hop.mapping, changed, of=of, now=now)
        return changed


def inputs(node: Node, nodes: MappingOf[str, Node]) -> tuple[Input, ...]:
    """Everything a model reads that holds data: models, seeds and sources, in the order of its refs."""
    return tuple(_inputs(node.definition, node, nodes, (), ()))


def _inputs(
    reader: Definition | None,
    node: Node,
    nodes: MappingOf[str, Node],
    hops: tuple[Hop, ...],
    through: tuple[str, ...],
) -> Iterator[Input]:
    for edge in node.edges:
        up = nodes.get(edge.upstream)
        if up is None or up.unique_id in through:
            continue
        chain = (*hops, *hop_to(reader, edge, up))
        if up.materialized in _THROUGH:
            inherits = up.materialized == "ephemeral" and up.definition is None
            inner = reader if inherits else up.definition
            yield from _inputs(inner, up, nodes, hops if inherits else chain, (*through, up.unique_id))
        else:
            yield Input(up.unique_id, chain, through, edge.allow_missing_upstream, edge.line)


def hop_to(reader: Definition | None, edge: Edge, up: Node) -> tuple[Hop, ...]:
    """The step from a reader to one input, () to one without partitions. Raises PartitionError without a mapping."""
    if up.definition is None:
        return ()
    if reader is None or edge.whole:
        return (Hop(maps.all(), up.definition),)
    return (Hop(edge.mapping or maps.infer(up.definition, reader), up.definition),)
