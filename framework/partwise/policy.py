"""Backfill policies: how the partitions of one model are cut into runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from partwise.errors import PartitionError

PolicyKind = Literal["auto", "single_run", "multi_run"]


@dataclass(frozen=True, slots=True)
class BackfillPolicy:
    """How the partitions of one model are cut into runs.

    `max_partitions_per_run` None means no limit for single_run and 1 for multi_run.
    """

    kind: PolicyKind = "auto"
    max_partitions_per_run: int | None = None


def single_run(max_partitions_per_run: int | None = None) -> BackfillPolicy:
    """One run over all partitions wanted, or over at most so many."""
    return BackfillPolicy("single_run", _maximum(max_partitions_per_run))


def multi_run(max_partitions_per_run: int = 1) -> BackfillPolicy:
    """A run per partition, or per at most so many."""
    return BackfillPolicy("multi_run", _maximum(max_partitions_per_run))


def _maximum(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise PartitionError(f"`max_partitions_per_run` is `{value}`", hint="write a whole number from 1")
    return None if value is None else int(value)
