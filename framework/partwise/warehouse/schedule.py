"""Which run may start next: order by the partitions each run reads, not by whole models.

A run starts once nothing it reads is still to be built in this invocation. Of what failed, only the partitions that
read it are taken out of later runs. Later steps go first, so data becomes complete day by day.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from partwise.nodes import Node
from partwise.partitions import Definition, PartitionSet
from partwise.planning.inputs import Input
from partwise.planning.plan import Plan, Run, Step

_LOOK_AHEAD = 8  # runs of one step looked at beyond the first; made in order, the first is usually ready first


@dataclass(frozen=True, slots=True)
class Job:
    """A run that may start now. `partitions` is what is left of it; None with `skipped` None is a whole relation.

    `skipped`: partitions taken out, and `because` why. `all_skipped`: nothing is left to run.
    """

    run: Run
    step: Step
    partitions: PartitionSet | None
    skipped: PartitionSet | None = None
    because: str = ""
    all_skipped: bool = False


@dataclass(slots=True)
class _Waiting:
    run: Run
    needs: tuple[tuple[int, Input, PartitionSet | None], ...]  # step index, input, partitions (None: all of it)


@dataclass(slots=True)
class _State:
    """One step under way. `pending` is what has not ended; `bad` what failed or was skipped; None for whole relations.

    `started` counts the runs that have not ended, `written` whether any succeeded.
    """

    step: Step
    runs: Iterator[Run]
    pending: PartitionSet | None
    bad: PartitionSet | None
    waiting: deque[_Waiting] = field(default_factory=deque)
    exhausted: bool = False
    started: int = 0
    written: bool = False
    failed: bool = False
    released: bool = True  # False while a full refresh fills its table: nobody may read it yet
    broken: str = ""  # why nothing of the step can run any more

    @property
    def ended(self) -> bool:
        return self.exhausted and not self.waiting and not self.started and self.released


class Schedule:
    """The runs of a plan, handed out as they become ready. Not shared between threads."""

    def __init__(self, plan: Plan, nodes: Mapping[str, Node], now: datetime) -> None:
        self.nodes = nodes
        self.now = now
        self.index = {step.model: i for i, step in enumerate(plan.steps)}
        self.states: list[_State] = []
        first = 1
        for step in plan.steps:
            none = None if step.partitions is None else step.partitions.definition.empty()
            state = _State(step, step.runs(first), step.partitions, none, released=not step.full_refresh)
            self.states.append(state)
            first += step.run_count
        self.readers: dict[int, set[int]] = {}
        for i, state in enumerate(self.states):
            for name in _reads(state.step):
                if name in self.index:
                    self.readers.setdefault(self.index[name], set()).add(i)
        self.candidates = set(range(len(self.states)))

    # ------------------------------------------------------------ handing out

    def next(self) -> Job | None:
        """A run that may start, or None when none may (until another ends)."""
        for i in sorted(self.candidates, reverse=True):
            job = self._next_of(i)
            if job is not None:
                self.states[i].started += 1
                return job
            self.candidates.discard(i)
        return None

    def _next_of(self, i: int) -> Job | None:
        state = self.states[i]
        if state.step.in_order and state.started:
            return None
        at = 0
        while at <= (0 if state.step.in_order else _LOOK_AHEAD):
            if at == len(state.waiting) and not self._fetch(state):
                return None
            waiting = state.waiting[at]
            if state.broken or self._is_ready(state, waiting):
                del state.waiting[at]
                return self._job(state, waiting)
            at += 1
        return None

    def _fetch(self, state: _State) -> bool:
        run = next(state.runs, None)
        if run is None:
            state.exhausted = True
            return False
        needs = []
        for read in state.step.inputs:
            at = self.index.get(read.upstream)
            if at is not None:
                need = read.needed(run.partitions, self.now)
                found = None if need is None else need.existing | need.nonexistent
                needs.append((at, read, found))
        state.waiting.append(_Waiting(run, tuple(needs)))
        return True

    def _is_view(self, state: _State) -> bool:
        return self.nodes[state.step.model].materialized == "view"

    def _is_ready(self, state: _State, waiting: _Waiting) -> bool:
        for at, read, need in waiting.needs:
            up = self.states[at]
            if up.ended:
                continue
            if self._is_view(state):  # holds no data: it needs the relations only
                if not (up.written and up.released):
                    return False
            elif need is None or up.pending is None or not up.released or need & up.pending:
                return False
            if not self._views_there(read):
                return False
        return all(self._views_there(read) for read in state.step.inputs if read.through)

    def _views_there(self, read: Input) -> bool:
        return all(self.states[self.index[view]].ended for view in read.through if view in self.index)

    def _job(self, state: _State, waiting: _Waiting) -> Job:
        run, step = waiting.run, state.step
        if state.broken:
            return Job(run, step, None, run.partitions, state.broken, all_skipped=True)
        skipped = None if run.partitions is None else run.partitions.definition.empty()
        because = ""
        for read in step.inputs:
            for view in read.through:
                if view in self.index and self.states[self.index[view]].failed:
                    return Job(run, step, None, run.partitions, f"{self._name(view)} failed", all_skipped=True)
        for at, read, need in waiting.needs:
            up = self.states[at]
            if not up.failed or (self._is_view(state) and up.written):
                continue
            if run.partitions is None or need is None or up.bad is None:
                return Job(run, step, None, run.partitions, f"{self._name(read.upstream)} failed", all_skipped=True)
            hit = self._hit(run.partitions, read, need & up.bad)
            if hit:
                assert skipped is not None
                skipped = skipped | hit
                bad = need & up.bad
                because = because or _told(self._name(read.upstream), bad)
        if not skipped:
            return Job(run, step, run.partitions)
        assert run.partitions is not None
        left = run.partitions - skipped
        return Job(run, step, left, skipped, because, all_skipped=not left)

    def _hit(self, wanted: PartitionSet, read: Input, bad: PartitionSet) -> PartitionSet:
        """The partitions of a run that read any of some upstream partitions."""
        definition: Definition = wanted.definition
        if not bad:
            return definition.empty()
        hit = read.touched(bad, definition, self.now) & wanted
        for one in (wanted - definition.existing(self.now)).split(1):  # open windows that were named by hand
            need = read.needed(one, self.now)
            if need is not None and (need.existing | need.nonexistent) & bad:
                hit = hit | one
        return hit

    def _name(self, model: str) -> str:
        return self.nodes[model].name

    # ------------------------------------------------------------ taking back

    def finish(self, job: Job, written: PartitionSet | None, *, failed: bool) -> None:
        """A job has ended. `written` of it succeeded (None for a whole relation, where `failed` tells)."""
        i = self.index[job.run.model]
        state = self.states[i]
        state.started -= 1
        if job.run.partitions is not None:
            assert state.pending is not None and state.bad is not None
            done = written if written is not None else job.run.partitions.definition.empty()
            lost = job.run.partitions - done
            state.pending = state.pending - job.run.partitions
            state.bad = state.bad | lost
            state.written = state.written or bool(done)
            failed = failed or bool(lost)
        else:
            state.written = state.written or not failed
        state.failed = state.failed or failed
        if not state.started and not state.waiting:
            self._fetch(state)  # so that `ended` is known before those that wait for it are looked at
        if failed and state.step.in_order:
            name = job.run.partitions.first_key() if job.run.partitions is not None else self._name(job.run.model)
            state.broken = f"{self._name(job.run.model)} {name} failed, and each run reads the ones before"
        self._wake(i)

    def abandon(self, model: str, why: str) -> PartitionSet | None:
        """Nothing more of a model can run: its other runs are dropped. Returns what they would have written."""
        i = self.index[model]
        state = self.states[i]
        state.waiting.clear()
        state.runs = iter(())
        state.exhausted = state.failed = True
        rest = state.pending
        if state.pending is not None and state.bad is not None:
            state.bad = state.bad | state.pending
            state.pending = state.pending.definition.empty()
        state.broken = why
        self._wake(i)
        return rest

    def filled(self, model: str) -> bool:
        """Whether all runs of a full refresh have ended, so that it can be published."""
        state = self.states[self.index[model]]
        if state.released or state.started or state.waiting:
            return False
        return state.exhausted or not self._fetch(state)

    def release(self, model: str, *, published: bool) -> None:
        """A full refresh has been published, or given up: what was filled is not there then."""
        i = self.index[model]
        state = self.states[i]
        state.released = True
        if not published:
            state.failed, state.written = True, False
            state.bad = state.step.partitions
        self._wake(i)

    def failed(self, model: str) -> bool:
        """Whether anything of a model failed or was skipped."""
        return self.states[self.index[model]].failed

    def bad(self, model: str) -> PartitionSet | None:
        """The partitions of a model that failed or were skipped."""
        return self.states[self.index[model]].bad

    def _wake(self, i: int) -> None:
        self.candidates.add(i)
        self.candidates |= self.readers.get(i, set())

    def stop(self) -> None:
        """Hand out nothing more."""
        self.candidates.clear()
        self.readers.clear()
        for state in self.states:
            state.waiting.clear()
            state.runs = iter(())
            state.exhausted = True


def _reads(step: Step) -> Iterator[str]:
    for read in step.inputs:
        yield read.upstream
        yield from read.through


def _told(upstream: str, bad: PartitionSet) -> str:
    more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
    return f"{upstream} {bad.first_key()}{more} failed"
