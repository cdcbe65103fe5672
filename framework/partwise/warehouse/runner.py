"""Carries out a plan: several threads, each with a session of its own, run what is ready.

The main thread decides what starts, tells the caller what happens, and writes history. A worker renders one run, writes
it, and answers with a result; nothing it meets ends the others.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from queue import SimpleQueue
from threading import Lock, Thread, current_thread, main_thread
from typing import Any

from partwise.adapters.base import Adapter
from partwise.nodes import Node
from partwise.planning.plan import Plan
from partwise.rendering.texts import Texts
from partwise.warehouse import history, status, write
from partwise.warehouse.claims import Claim, Claims, claims_of
from partwise.warehouse.history import Invocation
from partwise.warehouse.results import Event, RunResult, RunResults
from partwise.warehouse.schedule import Job, Schedule
from partwise.warehouse.worker import Done, Model, Worker
from partwise.warehouse.write import Log

_BATCH = 500  # run_log rows are kept until there are so many, or the invocation ends


@dataclass(frozen=True, slots=True)
class Options:
    """How a plan is carried out. `fingerprints` are stored with what is written; `wait` is for rivals, in seconds."""

    now: datetime
    invocation_id: str = ""
    threads: int = 1
    fail_fast: bool = False
    wait: float = 0
    schema: str = "partwise"
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    user: str | None = None
    git_commit: str | None = None


def execute(
    plan: Plan,
    nodes: Mapping[str, Node],
    adapter: Adapter,
    texts: Texts,
    options: Options,
    *,
    on_event: Callable[[Event], None] | None = None,
) -> RunResults:
    """Carry out a plan and say how every run ended.

    Nothing a model does raises: its error is in its result, its partitions are marked failed, and what does not read
    them goes on. Ctrl-C stops the statements that run, rolls them back and returns with `interrupted`. Raises
    WarehouseError when the warehouse itself cannot be used, or another run holds what this one would write.
    """
    name = options.invocation_id or new_invocation_id(options.now)
    invocation = Invocation(name, options.arguments, options.user, options.git_commit)
    if not plan.steps:
        return RunResults(invocation.id)
    return Execution(
        plan=plan,
        nodes=nodes,
        adapter=adapter,
        texts=texts,
        options=options,
        log=Log(options.schema, options.now),
        on_event=on_event or (lambda event: None),
        invocation=invocation,
    ).carry_out()


@contextmanager
def on_interrupt(act: Callable[[], None]) -> Iterator[None]:
    """Call `act` at the first Ctrl-C instead of raising wherever the program happens to be; the second one raises.

    Without effect in a thread other than the main one, and where Ctrl-C is ignored.
    """
    before = signal.getsignal(signal.SIGINT) if current_thread() is main_thread() else signal.SIG_IGN
    if before in (signal.SIG_IGN, None):
        yield
        return
    pressed = False

    def handle(number: int, frame: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        act()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def new_invocation_id(now: datetime) -> str:
    """An id that sorts by time: `20240115T060000-1a2b3c4d`."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%S}-{os.urandom(4).hex()}"


@dataclass(slots=True)
class Execution:
    """One plan being carried out: the main thread's state, and what its workers share."""

    plan: Plan
    nodes: Mapping[str, Node]
    adapter: Adapter
    texts: Texts
    options: Options
    log: Log
    on_event: Callable[[Event], None]
    invocation: Invocation
    schedule: Schedule = field(init=False)
    models: dict[str, Model] = field(init=False)
    catalog: status.Catalog = field(init=False)
    results: list[RunResult] = field(default_factory=list)
    unlogged: list[RunResult] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)
    abandoned: set[str] = field(default_factory=set)
    null_counts: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict)
    null_lock: Lock = field(default_factory=Lock)

    # ------------------------------------------------------------ the main thread

    def carry_out(self) -> RunResults:
        began = time.monotonic()
        self.schedule = Schedule(self.plan, self.nodes, self.log.as_of)
        self.models = {step.model: Model(self.nodes[step.model], step) for step in self.plan.steps}
        claims = claims_of(self.adapter.identity)
        interrupted = False
        with ExitStack() as stack:
            for claim in self._claims():
                stack.enter_context(claims.hold(claim, wait=self.options.wait))
            self.catalog = status.ensure(self.adapter, self.log.schema)
            relations = [self.nodes[step.model].relation for step in self.plan.steps]
            write.drop_leftovers(self.adapter, self.catalog, relations)
            self._begin(claims)
            try:
                interrupted = self._run()
            finally:
                self._finish(interrupted)
        self._warn_of_leaks()
        return RunResults(
            self.invocation.id, tuple(self.results), interrupted, time.monotonic() - began, tuple(self.warnings)
        )

    def _warn_of_leaks(self) -> None:
        """One warning per model for the rows of all its runs that were left out."""
        leaks: dict[str, int] = {}
        for result in self.results:
            if result.leaks and self.nodes[result.model].on_leak == "warn":
                leaks[result.model] = leaks.get(result.model, 0) + result.leaks
        for model, count in leaks.items():
            rows = "1 row" if count == 1 else f"{count} rows"
            text = f"`{self.nodes[model].name}` gave {rows} outside the partitions of its runs, which were left out"
            self.warnings[text] = None
            self.on_event(Event("warning", text=text))

    def _claims(self) -> list[Claim]:
        """One claim per model, in the order of names, so that two invocations cannot wait for each other."""
        made = []
        for step in self.plan.steps:
            whole = step.partitions is None or step.full_refresh
            relation = self.nodes[step.model].relation.key
            made.append(Claim(relation, None if whole else step.partitions, self.invocation.id))
        return sorted(made, key=lambda claim: claim.relation)

    def _begin(self, claims: Claims) -> None:
        wanted = [(self.nodes[step.model], step.partitions) for step in self.plan.steps]
        history.begin(self.adapter, self.invocation, wanted, alive=claims.invocations(), schema=self.log.schema)

    def _finish(self, interrupted: bool) -> None:
        self._flush()
        for model in self.models.values():  # a full refresh that was stopped
            self._give_up(model)
        failed = any(result.status in ("error", "skipped", "partial") for result in self.results)
        ending = "interrupted" if interrupted else "failed" if failed else "success"
        history.finish(self.adapter, self.invocation, ending, schema=self.log.schema)

    def _run(self) -> bool:
        """Hand out runs until all have ended. Returns whether somebody pressed Ctrl-C."""
        threads = max(1, min(self.options.threads, self.plan.run_count))
        workers = [Worker(self, self.adapter.session()) for _ in range(threads)]
        jobs: SimpleQueue[Job | None] = SimpleQueue()
        done: SimpleQueue[Done | None] = SimpleQueue()  # None: somebody pressed Ctrl-C
        pool = [Thread(target=worker.work, args=(jobs, done), daemon=True) for worker in workers]
        for thread in pool:
            thread.start()
        active, interrupted = 0, False
        try:
            with on_interrupt(lambda: done.put(None)):
                while True:
                    try:
                        while not interrupted and active < len(workers) and (job := self.schedule.next()) is not None:
                            if job.all_skipped:
                                self._take(Done(job, self._skipped(job)))
                                continue
                            active += 1
                            jobs.put(job)
                            self.on_event(Event("start", job.run))
                        if not active:
                            return interrupted
                        ended = done.get()
                        if ended is not None:
                            active -= 1
                            self._take(ended)
                            continue
                    except KeyboardInterrupt:  # from whoever shows the progress, or pressed again
                        if interrupted:
                            raise
                    interrupted = True
                    self.schedule.stop()
                    for worker in workers:
                        worker.session.cancel()
        finally:
            for _ in pool:
                jobs.put(None)
            for thread in pool:
                thread.join(timeout=5)
            for worker in workers:
                worker.session.close()

    def _skipped(self, job: Job) -> RunResult:
        skipped = job.run.partitions
        return RunResult(job.run, "skipped", self.run_id(job, 1), skipped=skipped, because=job.because)

    def run_id(self, job: Job, tries: int) -> str:
        """The id of one try: each is an attempt of its own."""
        again = f".{tries}" if tries > 1 else ""
        return f"{self.invocation.id}.{job.run.id}{again}"

    def _take(self, ended: Done) -> None:
        """Account for a job that has ended."""
        job, result = ended.job, ended.result
        if ended.broken is not None and job.run.model in self.abandoned:  # several threads met the same error
            self.schedule.finish(job, None, failed=True)
            return
        failed = result.status in ("error", "skipped", "cancelled")
        self.schedule.finish(job, result.written, failed=failed)
        if ended.broken is not None:
            result = self._abandon(job, result)
        if result.status in ("skipped", "cancelled", "error"):
            self._note(job, result)
        self.results.append(result)
        if result.status != "error":  # that one has been logged by `_note`
            self.unlogged.append(result)
        for warning in result.warnings:
            if warning not in self.warnings:
                self.warnings[warning] = None
                self.on_event(Event("warning", job.run, text=warning))
        self.on_event(Event("finish", job.run, result))
        if len(self.unlogged) >= _BATCH:
            self._flush()
        if result.status == "error" and self.options.fail_fast:
            self.schedule.stop()
        elif job.step.full_refresh and self.schedule.filled(job.run.model):
            self._publish(job)

    def _abandon(self, job: Job, result: RunResult) -> RunResult:
        """One result for a model of which no run can succeed, in place of one for each of its runs."""
        self.abandoned.add(job.run.model)
        rest = self.schedule.abandon(job.run.model, f"{self.nodes[job.run.model].name} failed")
        if rest is None or job.run.partitions is None:
            return result
        whole = replace(job.run, partitions=job.run.partitions | rest)
        return replace(result, run=whole)

    def _note(self, job: Job, result: RunResult) -> None:
        """Mark what a run did not build: failed or cancelled. What was skipped was not attempted."""
        if result.status == "skipped":
            return
        state = "failed" if result.status == "error" else "cancelled"
        model = self.models[job.run.model]
        with self.adapter.transaction():
            self._mark(model, result, state)
            if state == "failed":
                history.log_runs(self.adapter, self.invocation, [result], self.nodes, schema=self.log.schema)

    def _mark(self, model: Model, result: RunResult, state: str) -> None:
        node, target = model.node, model.target
        found = self.catalog.find(node.relation)
        incarnation = found.incarnation if found is not None else None
        partitions = result.run.partitions
        if partitions is None:
            write.mark_whole(self.adapter, node, incarnation, result.run_id, state, self.log)
            return
        if result.skipped:
            partitions = partitions - result.skipped
        if target is not None and not target.is_refresh:
            incarnation, attempts = target.incarnation, target.attempts
        elif incarnation is not None:  # not made ready, or a full refresh that fills another table
            attempts = status.read_attempts(self.adapter, node, incarnation, self.log.schema)
        else:
            attempts = status.Attempts()
        parts = attempts.parts(partitions)
        write.mark_partitions(self.adapter, node, incarnation, parts, result.run_id, state, self.log)

    def _publish(self, job: Job) -> None:
        """Swap in what a full refresh has filled, unless some of it failed."""
        model = self.models[job.run.model]
        name, target = model.node.name, model.target
        if not self.schedule.failed(job.run.model):
            if target is not None and target.is_refresh:
                write.publish_refresh(self.adapter, target)
                model.target = None
            self.schedule.release(job.run.model, published=True)
            return
        if target is not None and target.is_refresh:
            self._give_up(model)
            warning = f"the full refresh of `{name}` was not published, because some of it failed: the old table stays"
            self.warnings[warning] = None
            self.on_event(Event("warning", job.run, text=warning))
            self.schedule.release(job.run.model, published=False)
        else:
            self.schedule.release(job.run.model, published=True)

    def _give_up(self, model: Model) -> None:
        """Drop what a full refresh has filled so far, if it is still to be published."""
        if model.target is not None and model.target.is_refresh:
            write.drop_refresh(self.adapter, model.target)
            model.target = None

    def _flush(self) -> None:
        batch, self.unlogged = self.unlogged, []
        history.log_runs(self.adapter, self.invocation, batch, self.nodes, schema=self.log.schema)
