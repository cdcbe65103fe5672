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

    For staleness, all of it about the last committed write of the partitions in `materialized`: `attempts[n - 1]` holds
    those whose write was number n or later; `versions` and `codes` cut `materialized` by the upstream versions that the
    write noted and by the fingerprint of its code ('' where nothing was noted); `early` holds, by the `as_of` of the
    write in UTC seconds, those written before their window had ended, or ended `rebuild_last` windows ago. `attempt`
    and `version` say the same of a relation without partitions.
    """

    exists: bool = False  # the relation is there and its incarnation is the one the log speaks of
    incarnation: str | None = None
    materialized: PartitionSet | None = None
    failed: PartitionSet | None = None
    open_built: PartitionSet | None = None
    incomplete: PartitionSet | None = None
    outside: PartitionSet | None = None
    attempts: tuple[PartitionSet, ...] = ()
    versions: Mapping[str, PartitionSet] = field(default_factory=dict)
    codes: Mapping[str, PartitionSet] = field(default_factory=dict)
    early: Mapping[int, PartitionSet] = field(default_factory=dict)
    attempt: int | None = None
    version: str | None = None
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
