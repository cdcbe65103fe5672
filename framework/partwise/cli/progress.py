"""What `run` says while it works: dbt's lines, and a bar when a person is watching."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from partwise.cli.messages import log, stderr_is_terminal
from partwise.planning.report import count, set_text, trouble_lines, window_text

if TYPE_CHECKING:
    from partwise.planning.plan import Plan, Step
    from partwise.session import Session
    from partwise.warehouse.results import Event, RunResult, RunResults

WIDTH = 100
_BEST = {"success": 0, "partial": 2, "skipped": 1, "cancelled": 3, "error": 4}


class Progress:
    """Turns events into lines on stderr: one when a model starts, one when it has ended, and each failure at once."""

    def __init__(self, session: Session, plan: Plan, *, quiet: bool = False) -> None:
        self.session = session
        self.plan = plan
        self.quiet = quiet
        self.steps = {step.model: step for step in plan.steps}
        self.numbers: dict[str, int] = {}  # in the order in which models start
        self.left = {step.model: step.run_count for step in plan.steps}
        self.began: dict[str, float] = {}
        self.ended: dict[str, list[RunResult]] = {}
        self._bar: Any = None
        self._task: Any = None

    def say(self, text: str) -> None:
        if not self.quiet:
            self.line(text)

    def line(self, text: str) -> None:
        """A line with the time, above the bar where there is one."""
        stamped = f"{datetime.now(UTC):%H:%M:%S}  {text}" if text else ""
        if self._bar is not None:
            from partwise.cli.messages import scrubbed

            self._bar.console.print(scrubbed(stamped), markup=False, highlight=False, soft_wrap=True)
        else:
            log(stamped)

    def begin(self) -> None:
        from partwise import __version__

        session, nodes = self.session, self.session.nodes
        self.say(f"Running with partwise={__version__}, target={session.target.name} ({session.target.type})")
        for text in trouble_lines(self.plan, nodes):
            (self.line if self.plan.blocked_by_name else self.say)(text)
        if not self.plan.steps:
            if not self.plan.blocked:
                self.say("Nothing to do: everything that exists is built")
            return
        runs = count(self.plan.run_count, "run")
        self.say(f"{runs} over {count(self.plan.partition_count, 'partition')} in {count(len(self.steps), 'model')}")
        self.say("")
        if stderr_is_terminal() and not self.quiet and self.plan.run_count > 1:
            self._open_bar()

    def _open_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("runs", total=self.plan.run_count)
        self._bar.start()

    def event(self, event: Event) -> None:
        """Called from the thread that carries out the plan, one event at a time."""
        if event.kind == "warning":
            self.line(f"warning: {event.text}")
        elif event.kind == "start" and event.run is not None and event.run.model not in self.began:
            self.began[event.run.model] = time.monotonic()
            self._start(event.run.model)
        elif event.kind == "finish" and event.result is not None:
            self._finish(event.result)

    def _what(self, step: Step) -> str:
        node = self.session.nodes[step.model]
        return f"sql {node.materialized} model {node.relation.key}"

    def _start(self, model: str) -> None:
        step = self.steps[model]
        self.numbers[model] = len(self.numbers) + 1
        of = f"{self.numbers[model]} of {len(self.steps)}"
        if step.partitions is None:
            self._dots(f"{of} START {self._what(step)}", "[RUN]")
            return
        how = "single run" if step.run_count == 1 else count(step.run_count, "run")
        self._dots(f"{of} START {self._what(step)}, {window_text(step.partitions)}, {how}", "[RUN]")

    def _finish(self, result: RunResult) -> None:
        model = result.model
        self.ended.setdefault(model, []).append(result)
        self.left[model] -= 1
        if self._bar is not None:
            self._bar.advance(self._task)
        if result.error is not None and result.status != "cancelled":
            where = "" if result.run.partitions is None else f" {set_text(result.run.partitions)}"
            self.line(f"ERROR in {self.session.nodes[model].name}{where}")
            for text in str(result.error).splitlines():
                self.line(f"  {text}")
            if result.run.size > 1 and result.run.mode == "single_run":
                self.line(
                    f"  the run covered {count(result.run.size, 'partition')}, none of which changed; "
                    "`--run-mode multi` builds them one by one"
                )
        if self.left[model] == 0:
            self._summary(model)

    def _summary(self, model: str, *, stopped: bool = False) -> None:
        step, results = self.steps[model], self.ended[model]
        of = f"{self.numbers.setdefault(model, len(self.numbers) + 1)} of {len(self.steps)}"
        seconds = time.monotonic() - self.began.get(model, time.monotonic())
        rows = sum(r.rows or 0 for r in results)
        worst = max(results, key=lambda r: _BEST[r.status]).status
        built = sum(r.partitions for r in results)
        if worst == "success" and not stopped:
            shown = f"SUCCESS {rows}" if step.partitions is not None or rows else "SUCCESS"
            self._dots(f"{of} OK created {self._what(step)}", f"[{shown} in {seconds:.2f}s]")
            return
        because = next((r.because for r in results if r.because), "")
        skipped = sum(len(r.skipped) if r.skipped is not None else r.run.size for r in results if r.status == "skipped")
        skipped += sum(len(r.skipped) for r in results if r.status == "partial" and r.skipped is not None)
        failed = sum(r.run.size for r in results if r.status == "error")
        text = f"{built} of {count(step.size, 'partition')}" if step.partitions is not None else self._what(step)
        parts = [text, *([f"{failed} failed"] if failed else []), *([f"{skipped} skipped"] if skipped else [])]
        name = self.session.nodes[model].relation.key
        worst = "cancelled" if stopped and worst == "success" else worst
        label = {"error": "ERROR creating", "cancelled": "CANCELLED"}.get(worst, "PARTIAL" if built else "SKIP")
        tail = f": {because}" if because else ""
        self._dots(f"{of} {label} {name}, {', '.join(parts)}{tail}", f"[{label.split()[0]} in {seconds:.2f}s]")

    def _dots(self, text: str, tail: str) -> None:
        self.say(f"{text} {'.' * max(2, WIDTH - len(text) - len(tail) - 2)} {tail}")

    def end(self, results: RunResults) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        for model, left in self.left.items():
            if left and self.ended.get(model):
                self._summary(model, stopped=True)
        if not self.plan.steps:
            return
        ok, errors = results.count("success"), results.count("error")
        skipped, partial = results.count("skipped"), results.count("partial")
        if results.interrupted:
            self.line("Interrupted: what was committed stays, the rest was rolled back; run again to go on")
        elif errors or partial or skipped:
            self.line(f"Completed with {count(errors, 'error')}, {partial} partial, {skipped} skipped")
        else:
            self.say("Completed successfully")
        total = len(results.runs)
        self.say(f"Done. PASS={ok} WARN={len(results.warnings)} ERROR={errors} SKIP={skipped + partial} TOTAL={total}")
