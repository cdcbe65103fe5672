"""Who may write which partitions, and for how long.

DuckDB lets one process open a file for writing, so the file itself is the claim against other processes. Within this
process a claim is an entry in a table guarded by a lock: claims on disjoint partitions of one relation stand side by
side, overlapping ones wait or fail. Rows in `partition_claims` make claims visible; one left behind by a process that
is gone tells of an interrupted run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition

from partwise.errors import WarehouseError
from partwise.partitions import PartitionSet


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to write some partitions of a relation (None: all of it), held by an invocation."""

    relation: str
    partitions: PartitionSet | None
    invocation: str

    def overlaps(self, other: Claim) -> bool:
        """Whether both could write the same partition. Sets of different definitions cannot be told apart."""
        if self.relation != other.relation:
            return False
        if self.partitions is None or other.partitions is None:
            return True
        if self.partitions.definition.id != other.partitions.definition.id:
            return True
        return bool(self.partitions & other.partitions)


class Claims:
    """The claims that stand in this process, on one database."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._standing: list[Claim] = []

    @contextmanager
    def hold(self, claim: Claim, *, wait: float = 0) -> Iterator[None]:
        """Hold a claim for as long as the block runs.

        A rival claim is waited for, at most `wait` seconds. Raises WarehouseError naming the holder when it stays.
        """
        self.take(claim, wait=wait)
        try:
            yield
        finally:
            self.release(claim)

    def take(self, claim: Claim, *, wait: float = 0) -> None:
        """Take a claim; `release` gives it back. See `hold`."""
        until = time.monotonic() + wait
        with self._changed:
            while rivals := [c for c in self._standing if c.invocation != claim.invocation and c.overlaps(claim)]:
                left = until - time.monotonic()
                if left <= 0:
                    raise WarehouseError(
                        f"`{claim.relation}` is being written by another run (invocation {rivals[0].invocation})",
                        hint="wait until it has ended, or use --wait",
                    )
                self._changed.wait(left)
            self._standing.append(claim)

    def release(self, claim: Claim) -> None:
        """Give a claim back. No effect when it does not stand."""
        with self._changed:
            if claim in self._standing:
                self._standing.remove(claim)
                self._changed.notify_all()

    def invocations(self) -> frozenset[str]:
        """The invocations that hold anything."""
        with self._changed:
            return frozenset(claim.invocation for claim in self._standing)


_BY_DATABASE: dict[str, Claims] = {}


def claims_of(database: str) -> Claims:
    """The claims of this process on a database, by its path."""
    return _BY_DATABASE.setdefault(database, Claims())


def holder() -> str:
    """How this process is named to others: `host (PID n)`."""
    host = os.uname().nodename if hasattr(os, "uname") else "localhost"
    return f"{host} (PID {os.getpid()})"
