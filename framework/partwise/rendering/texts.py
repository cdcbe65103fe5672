"""The SQL of the models in an invocation: prepared once per model, filled in for each run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from threading import RLock
from typing import Protocol

from partwise.adapters.base import Column
from partwise.nodes import Node, RelationName
from partwise.partitions import PartitionSet
from partwise.rendering.prepare import Prepared, prepare
from partwise.rendering.render import Renderer
from partwise.rendering.rendered import Rendered

Describe = Callable[[str], Sequence[Column]]


class ModelText(Protocol):
    """The SQL of one model whose inputs are there."""

    def columns(self, partitions: PartitionSet | None, describe: Describe) -> tuple[Column, ...]:
        """The columns its query gives. Raises RenderError or WarehouseError."""
        ...

    def render(self, partitions: PartitionSet | None, describe: Describe) -> Rendered:
        """The SELECT of one run, once the table is there. Raises RenderError."""
        ...


class Texts(Protocol):
    """Gives the SQL of models."""

    def open(self, node: Node, *, table_exists: bool, target: RelationName | None = None) -> ModelText:
        """The text of a model; `target` is where it is written for now, when that is not its own relation."""
        ...


class RenderedTexts:
    """Texts from the project's templates. Safe to use from several threads: one renders at a time."""

    def __init__(self, renderer: Renderer, now: datetime) -> None:
        self.renderer = renderer
        self.now = now
        self.lock = RLock()

    def open(self, node: Node, *, table_exists: bool, target: RelationName | None = None) -> ModelText:
        if target is not None and node.reads_own_past:
            node = replace(node, relation=target)
        return _Open(self, node, table_exists)


@dataclass(slots=True)
class _Open:
    texts: RenderedTexts
    node: Node
    table_exists: bool  # when the invocation began: the first backfill of a model is one, whichever run of it
    prepared: Prepared | None = None
    reads_table: bool = False  # it reads itself, and a stand-in was needed while the table was not there

    def columns(self, partitions: PartitionSet | None, describe: Describe) -> tuple[Column, ...]:
        with self.texts.lock:
            ready = self._prepare(partitions, describe)
            ready.render(partitions, self.texts.now)  # bounds that cannot be written are refused before a table is made
            return ready.columns

    def render(self, partitions: PartitionSet | None, describe: Describe) -> Rendered:
        with self.texts.lock:
            return self._prepare(partitions, describe, made=True).render(partitions, self.texts.now)

    def _prepare(self, partitions: PartitionSet | None, describe: Describe, *, made: bool = False) -> Prepared:
        """`made`: the table is there by now, even if it was not when the invocation began."""
        with self.texts.lock:
            ready = self.prepared
            if ready is not None and ready.composed.is_reusable and not (made and ready.for_missing_table):
                return ready
            exists = self.table_exists or (made and self.reads_table)
            ready = prepare(self.texts.renderer, self.node, partitions, describe, table_exists=exists)
            self.prepared = ready
            self.reads_table = self.reads_table or ready.for_missing_table
            return ready
