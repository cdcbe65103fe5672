"""What carrying out a plan gave, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from partwise.errors import PartwiseError
from partwise.partitions import PartitionSet
from partwise.planning.plan import Run

RunStatus = Literal["success", "partial", "error", "skipped", "cancelled"]


@dataclass(frozen=True, slots=True)
class RunResult:
    """How one run ended. `run` is as planned.

    `written` are the partitions committed, `skipped` those taken out because an upstream partition failed (for a run
    without partitions both are None and `status` tells). `partial`: some were written and some skipped. `rows` counts
    what was inserted, `leaks` the rows the query gave outside its partitions, `nulls` the rows of inputs that belong to
    no partition, by relation.
    """

    run: Run
    status: RunStatus
    run_id: str
    written: PartitionSet | None = None
    skipped: PartitionSet | None = None
    because: str = ""  # why partitions were skipped
    rows: int | None = None
    seconds: float = 0.0
    started_at: datetime | None = None
    error: PartwiseError | None = None
    tries: int = 1
    leaks: int = 0
    nulls: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    sql_hash: str = ""

    @property
    def model(self) -> str:
        return self.run.model

    @property
    def partitions(self) -> int:
        """How many partitions were written; a table counts as one."""
        if self.status not in ("success", "partial"):
            return 0
        return 1 if self.written is None else len(self.written)


@dataclass(frozen=True, slots=True)
class RunResults:
    """All runs in the order they ended, and whether somebody stopped them."""

    invocation_id: str
    runs: tuple[RunResult, ...] = ()
    interrupted: bool = False
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether anything failed or had to be left out."""
        return any(run.status in ("error", "partial", "skipped") for run in self.runs)

    def count(self, status: RunStatus) -> int:
        return sum(run.status == status for run in self.runs)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, for whoever shows progress: a run started or ended, or a warning came up."""

    kind: Literal["start", "finish", "warning"]
    run: Run | None = None
    result: RunResult | None = None
    text: str = ""
