"""The Python interface to a project: load it, plan, run, ask for the status.

    from partwise import Project

    project = Project.load(".", target="dev")
    plan = project.plan(select="+daily_delays", partition_range="2013-11-01:2013-11-05")
    results = project.run(plan)
    project.status("daily_delays").missing
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from partwise import looking
from partwise.compiling import render_model
from partwise.session import Session

if TYPE_CHECKING:
    from partwise.nodes import Node
    from partwise.partitions import PartitionSet
    from partwise.planning.plan import Plan
    from partwise.planning.planner import Request
    from partwise.warehouse.results import Event, RunResults

Texts = str | Sequence[str] | None


@dataclass(frozen=True, slots=True)
class Status:
    """The partitions of one model by state, at the moment it was asked for."""

    materialized: PartitionSet
    failed: PartitionSet
    missing: PartitionSet
    stale: PartitionSet
    open: PartitionSet
    outside: PartitionSet


class Project:
    """A project and its warehouse. Use as a context manager, or call `close()`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._requests: dict[int, Request] = {}

    @classmethod
    def load(
        cls,
        path: str | Path = ".",
        *,
        target: str | None = None,
        profile: str | None = None,
        profiles_dir: str | Path | None = None,
        vars: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        now: datetime | None = None,
    ) -> Project:
        """Load the project in a folder or above it. Raises ProjectError(s) for all that is wrong with it.

        `now` stands for the current time in everything the project does (default: the clock, now).
        """
        session = Session.open(
            path,
            target=target,
            profile=profile,
            profiles_dir=profiles_dir,
            variables=vars,
            environ=os.environ if environ is None else environ,
            now=now or datetime.now(UTC),
        )
        return cls(session)

    def __enter__(self) -> Project:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; safe to repeat. The next call opens another."""
        self._session.close()

    @property
    def name(self) -> str:
        return self._session.project.name

    @property
    def models(self) -> Mapping[str, Node]:
        """The models by name, in building order."""
        nodes = self._session.nodes
        ordered = (nodes[uid] for uid in self._session.order)
        return {node.name: node for node in ordered if node.resource_type == "model"}

    def plan(
        self,
        select: str | None = None,
        exclude: str | None = None,
        *,
        partition: Texts = None,
        partition_range: Texts = None,
        missing: bool = False,
        failed: bool = False,
        all: bool = False,
        allow_incomplete: bool = False,
        full_refresh: bool = False,
        run_mode: Literal["auto", "single", "multi"] | None = None,
        max_partitions_per_run: int | None = None,
    ) -> Plan:
        """What would be built; arguments as the options of `partwise plan`. Raises PlanError."""
        request = self._session.request(
            select,
            exclude,
            keys=(*_texts(partition), *_texts(partition_range)),
            missing=missing,
            failed=failed,
            rebuild_all=all,
            allow_incomplete=allow_incomplete,
            full_refresh=full_refresh,
            run_mode=run_mode,
            max_partitions_per_run=max_partitions_per_run,
        )
        made = self._session.plan(request)
        self._requests[id(made)] = request
        return made

    def run(
        self,
        plan: Plan | None = None,
        *,
        threads: int | None = None,
        fail_fast: bool = False,
        on_event: Callable[[Event], None] = lambda event: None,
        **asked: Any,
    ) -> RunResults:
        """Carry out a plan, or make one from `select=` and the other arguments of `plan()` and carry it out.

        What fails is in the results, not raised.
        """
        made = self.plan(**asked) if plan is None else plan
        request = self._requests.get(id(made)) or self._session.request()
        return self._session.run(made, request, threads=threads, fail_fast=fail_fast, on_event=on_event)

    def seed(self, select: str | None = None, *, full_refresh: bool = False) -> list[dict[str, Any]]:
        """Load the seeds; one row per seed with its name, status, rows and error."""
        return self._session.seed(select, None, full_refresh=full_refresh, say=lambda text: None)

    def status(self, model: str) -> Status:
        """The sets of a partitioned model. Raises PlanError for one without partitions."""
        node = looking.partitioned(self._session, model)
        facts = self._session.facts()
        sets = looking.sets(self._session, node.unique_id, facts)
        return Status(**{name: sets[name] for name in Status.__slots__})

    def render(self, model: str, partition: Texts = None, partition_range: Texts = None) -> str:
        """The SQL that would build some partitions of a model in one run, or a model without partitions."""
        return render_model(self._session, model, (*_texts(partition), *_texts(partition_range)))


def _texts(given: Texts) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)
