"""The plan as data: what will be built, in which runs, and what will not, and why.

`planner.py` makes these values, `report.py` prints them, `runner.py` carries them out. All three read the same list.
A plan holds one step per model and makes its runs on demand: a decade of hours is one step, not 87,600 runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from partwise.partitions import PartitionSet
from partwise.planning.inputs import Input

Reason = Literal["missing", "failed", "stale", "requested", "upstream"]
Mode = Literal["single_run", "multi_run", "whole"]


@dataclass(frozen=True, slots=True)
class Read:
    """An upstream and what is read of it; `partitions` None: the relation as a whole."""

    upstream: str  # unique id
    partitions: PartitionSet | None


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of one model over one set; `partitions` None for what has none (table, view)."""

    id: int  # position in the plan, from 1
    model: str  # unique id
    partitions: PartitionSet | None
    mode: Mode
    reason: Reason
    full_refresh: bool = False

    @property
    def size(self) -> int:
        """How many partitions it writes; a whole table is one."""
        return 1 if self.partitions is None else len(self.partitions)


@dataclass(frozen=True, slots=True)
class Blocked:
    """Partitions that are wanted and cannot run: `waits_for` of the upstream is neither there nor in this plan."""

    model: str
    partitions: PartitionSet | None
    upstream: str
    waits_for: PartitionSet | None
    example: str  # `daily_delays 2013-11-03 waits for 18 of 24 hours of departures`


@dataclass(frozen=True, slots=True)
class Step:
    """All that is to be built of one model: one set, cut into runs of at most `max_partitions_per_run`."""

    model: str
    partitions: PartitionSet | None
    pieces: tuple[PartitionSet, ...]  # cut first by gaps; together they are `partitions`
    max_partitions_per_run: int | None
    mode: Mode
    why_mode: str
    reasons: tuple[tuple[Reason, PartitionSet | None], ...]
    inputs: tuple[Input, ...]
    in_order: bool = False  # each run needs the one before (own past)
    full_refresh: bool = False
    open: PartitionSet | None = None  # windows that have not ended, built because they were named
    incomplete: PartitionSet | None = None  # built although upstream partitions are not there

    @property
    def size(self) -> int:
        return 1 if self.partitions is None else len(self.partitions)

    def runs(self, first_id: int = 1) -> Iterator[Run]:
        """The runs in order, numbered from `first_id`."""
        if self.partitions is None:
            yield Run(first_id, self.model, None, self.mode, self.reasons[0][0], self.full_refresh)
            return
        for piece in self.pieces:
            cuts = [piece] if self.max_partitions_per_run is None else piece.split(self.max_partitions_per_run)
            for cut in cuts:
                yield Run(first_id, self.model, cut, self.mode, self.reason_of(cut), self.full_refresh)
                first_id += 1

    def reason_of(self, partitions: PartitionSet) -> Reason:
        """Why a part of the step is built: the first of its reasons that touches it."""
        for reason, of in self.reasons:
            if of is None or of & partitions:
                return reason
        return "requested"

    @property
    def run_count(self) -> int:
        """How many runs there are, without making them."""
        if self.partitions is None:
            return 1
        most = self.max_partitions_per_run
        return len(self.pieces) if most is None else sum(-(-len(piece) // most) for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in an order in which they can run, and everything a person should know about what is not in them."""

    steps: tuple[Step, ...]
    blocked: tuple[Blocked, ...] = ()
    blocked_by_name: bool = False  # some of the blocked were named by hand: exit 1
    left_out: tuple[tuple[str, str], ...] = ()  # (model, why)
    notes: tuple[str, ...] = ()
    stale_by_code: tuple[tuple[str, int], ...] = ()

    def runs(self) -> Iterator[Run]:
        """All runs in order, numbered from 1."""
        first = 1
        for step in self.steps:
            yield from step.runs(first)
            first += step.run_count

    @property
    def run_count(self) -> int:
        return sum(step.run_count for step in self.steps)

    @property
    def partition_count(self) -> int:
        return sum(step.size for step in self.steps)
