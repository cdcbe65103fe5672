"""What the warehouse says about models, as values. `status.py` reads them, `planner.py` decides by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from partwise.partitions import PartitionSet


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The live facts about one relation.

    The sets are None for a model without partitions; `built` and `last_failed` then say the same of its one partition.
    `failed`: the last attempt failed (a committed write may be there as well). `open_built`: the last write was made
    before the window had ended. `incomplete`: built while upstream partitions were not there. `outside`: written, and
    no longer in the definition, or under another definition id (`other_definitions`: id -> how many partitions).
    """

    exists: bool = False  # the relation is there and its incarnation is the one the log speaks of
    incarnation: str | None = None
    materialized: PartitionSet | None = None
    failed: PartitionSet | None = None
    open_built: PartitionSet | None = None
    incomplete: PartitionSet | None = None
    outside: PartitionSet | None = None
    other_definitions: Mapping[str, int] = field(default_factory=dict)
    built: bool = False
    last_failed: bool = False
    fingerprint: str | None = None  # of the last committed write of a model without partitions
    last_written: datetime | None = None
    last_error: str | None = None
    interrupted: tuple[str, ...] = ()  # run ids that began and neither committed nor failed
    message: str | None = None  # why earlier facts do not count: the relation is gone, or is not ours


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about every model, by unique id; a model that was never built may be absent."""

    models: Mapping[str, ModelFacts] = field(default_factory=dict)

    def of(self, unique_id: str) -> ModelFacts:
        return self.models.get(unique_id, _NOTHING)


_NOTHING = ModelFacts()
