"""One thread of a run: it makes a model ready, renders and writes one job at a time, and answers with results."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING

from partwise.adapters.base import Adapter
from partwise.errors import CancelledError, CommitError, PartwiseError, RenderError, WarehouseError
from partwise.nodes import Node
from partwise.planning.plan import Step
from partwise.rendering.rendered import FilteredInput, Rendered
from partwise.rendering.sql import count_nulls
from partwise.rendering.texts import ModelText
from partwise.warehouse import write
from partwise.warehouse.results import RunResult
from partwise.warehouse.schedule import Job
from partwise.warehouse.write import Target, Try, Written

if TYPE_CHECKING:
    from partwise.warehouse.runner import Execution

_PAUSE = 0.05  # seconds before a conflicting transaction is tried again, doubled each time


@dataclass(slots=True)
class Model:
    """What the runs of one model share. Made ready by the first of them, under `lock`."""

    node: Node
    step: Step
    lock: Lock = field(default_factory=Lock)
    text: ModelText | None = None
    target: Target | None = None
    nulls: Mapping[str, int] = field(default_factory=dict)
    error: PartwiseError | None = None  # why it cannot be made ready: no run of it can succeed


@dataclass(slots=True)
class Done:
    job: Job
    result: RunResult
    broken: PartwiseError | None = None  # the model could not be made ready


class Worker:
    """One thread: takes jobs, answers with results."""

    def __init__(self, execution: Execution, session: Adapter) -> None:
        self.execution = execution
        self.session = session
        self.log = execution.log

    def work(self, jobs: SimpleQueue[Job | None], done: SimpleQueue[Done | None]) -> None:
        """Run jobs until told to stop."""
        while (job := jobs.get()) is not None:
            done.put(self._do(job))

    def _do(self, job: Job) -> Done:
        model = self.execution.models[job.run.model]
        began, started = time.monotonic(), datetime.now(UTC)
        base = RunResult(job.run, "error", self.execution.run_id(job, 1), started_at=started, skipped=job.skipped)
        try:
            with model.lock:
                if model.error is None:
                    self._make_ready(model, job)
            if model.error is not None:
                return Done(job, replace(base, error=model.error, seconds=time.monotonic() - began), model.error)
            result = self._run(model, job, base)
        except CancelledError as error:
            result = replace(base, status="cancelled", error=error)
        except PartwiseError as error:
            result = replace(base, error=self._hinted(job, error))
        except Exception as error:  # a mistake of ours must not leave the other threads waiting
            unexpected = WarehouseError(f"{type(error).__name__}: {error}", model=model.node.name)
            unexpected.__cause__ = error
            result = replace(base, error=unexpected)
        return Done(job, replace(result, seconds=time.monotonic() - began))

    def _hinted(self, job: Job, error: PartwiseError) -> PartwiseError:
        if error.hint is None and job.run.mode == "single_run" and job.run.size > 1:
            error.hint = "`--run-mode multi` builds one partition at a time and shows which of them fails"
        return error

    # ------------------------------------------------------------ making a model ready

    def _make_ready(self, model: Model, job: Job) -> None:
        """Find the columns, create or change the table: once per model. An error is kept, for all its runs."""
        if model.text is not None:
            return
        node = model.node
        for tries in range(node.retries + 1):
            try:
                self._open(model, job)
            except CancelledError:
                raise
            except PartwiseError as error:
                again = isinstance(error, CommitError) or (isinstance(error, WarehouseError) and error.transient)
                if again and tries < node.retries:  # what has been made by then is found in the catalog
                    time.sleep(_PAUSE * 2**tries)
                    continue
                error.model = error.model or node.name
                error.file = error.file or node.path
                model.error = error
            return

    def _open(self, model: Model, job: Job) -> None:
        node, refresh = model.node, job.step.full_refresh
        texts, options = self.execution.texts, self.execution.options
        there = self.execution.catalog.find(node.relation)
        exists = there is not None and there.kind == "table" and not refresh
        text = texts.open(node, table_exists=exists)
        columns = text.columns(job.partitions, self.session.describe)
        if node.is_partitioned:
            fingerprint = options.fingerprints.get(node.unique_id)
            target = write.prepare(self.session, node, columns, self.log, full_refresh=refresh, fingerprint=fingerprint)
            if target.is_refresh:
                text = texts.open(node, table_exists=False, target=target.relation)
            model.target = target
        model.text = text

    # ------------------------------------------------------------ one run

    def _run(self, model: Model, job: Job, base: RunResult) -> RunResult:
        assert model.text is not None
        rendered = model.text.render(job.partitions, self.session.describe)
        nulls = self._count_nulls(model.node, rendered)
        tries = 0
        while True:
            tries += 1
            run_id = self.execution.run_id(job, tries)
            try:
                written = self._write(model, job, rendered, run_id, tries > 1)
                break
            except CommitError as error:
                if self._committed(run_id):
                    written = Written(rows=0, warnings=(f"the answer to COMMIT was lost, it had worked: {error}",))
                    break
                if tries > model.node.retries:
                    raise
            except WarehouseError as error:
                if not error.transient or tries > model.node.retries:
                    raise
            time.sleep(_PAUSE * 2 ** (tries - 1))
        warnings = [*rendered.warnings, *written.warnings, *_null_warnings(model.node, nulls)]
        return replace(
            base,
            status="partial" if job.skipped else "success",
            run_id=run_id,
            written=job.partitions,
            because=job.because,
            rows=None if model.node.materialized == "view" else written.rows,
            tries=tries,
            leaks=written.leaks,
            nulls={name: n for name, n in nulls.items() if n},
            warnings=tuple(warnings),
            sql_hash=write.sql_hash(rendered),
        )

    def _write(self, model: Model, job: Job, rendered: Rendered, run_id: str, is_retry: bool) -> Written:
        if model.target is None:
            fingerprint = self.execution.options.fingerprints.get(model.node.unique_id)
            return write.write_whole(self.session, rendered, self.execution.catalog, run_id, self.log, fingerprint)
        assert job.partitions is not None
        parts = model.target.attempts.parts(job.partitions, job.step.incomplete)
        return write.write_partitions(self.session, Try(model.target, rendered, parts, run_id, is_retry), self.log)

    def _committed(self, run_id: str) -> bool:
        """Look, in a session of its own, whether a COMMIT whose answer was lost took effect."""
        session = self.session.session()
        try:
            return write.committed(session, run_id, self.log)
        finally:
            session.close()

    # ------------------------------------------------------------ rows that belong to no partition

    def _count_nulls(self, node: Node, rendered: Rendered) -> dict[str, int]:
        """Rows of each filtered input whose partition column is NULL; each input is counted once per invocation.

        Raises RenderError when the model or the input says `on_null: error`.
        """
        counts: dict[str, int] = {}
        for read in rendered.filtered:
            policy = _null_policy(node, read)
            if policy == "skip" or self._lets_no_null_in(read.upstream):
                continue
            key = (read.relation.key, read.exprs)
            with self.execution.null_lock:
                if key not in self.execution.null_counts:
                    found = self.session.fetch(count_nulls(read, self.session.dialect))
                    self.execution.null_counts[key] = int(found[0][0])
                counts[read.relation.key] = self.execution.null_counts[key]
            if counts[read.relation.key] and policy == "error":
                raise RenderError(
                    f"{counts[read.relation.key]} rows of `{read.relation.key}` have NULL in {_listed(read.exprs)}, so "
                    f"no partition of `{node.name}` gets them",
                    file=node.path,
                    line=node.line,
                    model=node.name,
                    hint="fill the column, or set on_null to `warn` or `skip`",
                )
        return counts

    def _lets_no_null_in(self, node: Node) -> bool:
        """Whether a guard of ours stands before all rows: a partitioned model, or a view that passes its column on."""
        if node.is_partitioned:
            return True
        inherited = self.execution.nodes.get(node.inherited_from or "")
        return node.materialized == "view" and inherited is not None and self._lets_no_null_in(inherited)


def _null_policy(node: Node, read: FilteredInput) -> str:
    """What the input says, else what the reader says; `warn` is what both say unless told otherwise."""
    return read.upstream.on_null if read.upstream.on_null != "warn" else node.on_null


def _null_warnings(node: Node, nulls: Mapping[str, int]) -> list[str]:
    return [
        f"{n} {'row' if n == 1 else 'rows'} of `{name}` have NULL in the partition column and belong to no partition"
        for name, n in nulls.items()
        if n
    ]


def _listed(exprs: tuple[str, ...]) -> str:
    return ", ".join(f"`{expr}`" for expr in exprs)
