"""The order of runs, as laws: nothing starts before what it reads, and a failure takes out exactly what reads it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from partwise import mapping
from partwise.partitions import Definition, PartitionSet, daily, hourly, multi, static
from partwise.planning.inputs import Hop, Input
from partwise.planning.plan import Plan, Step
from partwise.warehouse.schedule import Job, Schedule
from rendering import model
from warehouse import keys

NOW = datetime(2025, 1, 1, tzinfo=UTC)
ZONE = "America/New_York"
DEFINITIONS: Sequence[Definition] = (
    daily(start="2024-11-01", end="2024-11-05", timezone=ZONE),
    hourly(start="2024-11-02-12:00", end="2024-11-03-12:00", timezone=ZONE),
    multi(date=daily(start="2024-11-01", end="2024-11-05", timezone=ZONE), region=static(["us", "eu"])),
)


@st.composite
def plans(draw: st.DrawFn) -> list[Step]:
    """Up to five models over each other; a model reads any of those before it."""
    steps: list[Step] = []
    for number in range(draw(st.integers(1, 5))):
        definition = draw(st.sampled_from(DEFINITIONS))
        pieces = definition.existing(NOW).split(1)
        wanted = definition.union_of(draw(st.lists(st.sampled_from(pieces), min_size=1)))
        reads = []
        for up in draw(st.sets(st.sampled_from(range(number)), max_size=2)) if number else ():
            of = steps[up].partitions
            assert of is not None
            reads.append(Input(f"m{up}", (Hop(mapping.infer(of.definition, definition), of.definition),)))
        most = draw(st.sampled_from([None, 1, 1, 3]))
        mode = "multi_run" if most == 1 else "single_run"
        reasons = (("requested", wanted),)
        steps.append(Step(f"m{number}", wanted, (wanted,), most, mode, "", reasons, tuple(reads)))  # type: ignore[arg-type]
    return steps


def needs(step: Step, partitions: PartitionSet) -> list[tuple[str, PartitionSet]]:
    found = []
    for read in step.inputs:
        need = read.needed(partitions, NOW)
        assert need is not None
        found.append((read.upstream, need.existing))
    return found


@settings(max_examples=80, deadline=None)
@given(plans(), st.data())
def test_order_and_what_a_failure_takes_out(steps: list[Step], data: st.DataObject) -> None:
    nodes = {step.model: model(step.model, "", step.partitions.definition, "x") for step in steps if step.partitions}
    schedule = Schedule(Plan(tuple(steps)), nodes, NOW)
    by_name = {step.model: step for step in steps}
    wanted = {step.model: set(keys(step.partitions)) for step in steps}
    good: dict[str, set[str]] = {name: set() for name in wanted}
    failed: dict[str, set[str]] = {name: set() for name in wanted}
    skipped: dict[str, set[str]] = {name: set() for name in wanted}
    running: list[Job] = []
    while True:
        job = schedule.next() if len(running) < 3 else None
        if job is not None:
            name = job.run.model
            assert job.run.partitions is not None
            for upstream, need in needs(by_name[name], job.run.partitions):
                ended = good[upstream] | failed[upstream] | skipped[upstream]
                assert set(keys(need)) & wanted[upstream] <= ended, "it started before what it reads had ended"
            skipped[name] |= set(keys(job.skipped))
            if job.all_skipped:
                schedule.finish(job, None, failed=True)
            else:
                running.append(job)
            continue
        if not running:
            break
        job = running.pop(data.draw(st.integers(0, len(running) - 1)))
        fails = data.draw(st.booleans())
        (failed if fails else good)[job.run.model].update(keys(job.partitions))
        schedule.finish(job, None if fails else job.partitions, failed=fails)
    for step in steps:
        name, definition = step.model, step.partitions.definition  # type: ignore[union-attr]
        assert good[name] | failed[name] | skipped[name] == wanted[name], "every partition is accounted for"
        assert not good[name] & skipped[name] and not failed[name] & skipped[name]
        for key in wanted[name]:
            one = definition.parse_key(key)
            hit = any(set(keys(need)) & (failed[up] | skipped[up]) for up, need in needs(step, one))
            assert (key in skipped[name]) == hit, "skipped exactly when it reads what failed or was skipped"
        assert schedule.failed(name) == bool(failed[name] | skipped[name])
