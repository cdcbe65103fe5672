"""Plans, facts and results as text and as JSON-ready values. Pure: nothing here prints or asks the warehouse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from partwise.nodes import Node
from partwise.partitions import Definition, PartitionSet
from partwise.partitions.axes import Slice, TimeAxis
from partwise.partitions.zones import to_datetime
from partwise.planning.facts import Facts, ModelFacts
from partwise.planning.inputs import Input
from partwise.planning.plan import Plan, Run, Step

STRIP_WIDTH = 48
RUNS_SHOWN = 12  # of one step; the rest is counted
BOXES_SHOWN = 4
LEGEND = "# built   + partly   . missing   ! failed   ~ to rebuild"


def count(n: int, noun: str) -> str:
    """`1 partition`, `31 partitions`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


# ---------------------------------------------------------------- sets


def set_text(partitions: PartitionSet) -> str:
    """A set as people read it; a long list of boxes is cut and counted."""
    text = str(partitions)
    boxes = text.split("; ")
    if len(boxes) > BOXES_SHOWN:
        return "; ".join(boxes[:BOXES_SHOWN]) + f"; and {len(boxes) - BOXES_SHOWN} more boxes"
    return text if len(text) <= 400 else text[:380].rsplit(",", 1)[0] + ", ..."


def window_text(partitions: PartitionSet) -> str:
    """`31 partitions, [2024-01-01 00:00, 2024-02-01 00:00) UTC`: what a range was resolved to."""
    text = count(len(partitions), "partition")
    axis = partitions.definition.time_axis
    if axis is None or not partitions:
        return text
    spans = partitions.spans(axis.name)
    low, high = spans[0][0], spans[-1][1]
    zone = axis.grid.zone
    shown = [to_datetime(t + zone.offset(t)).strftime("%Y-%m-%d %H:%M") for t in (low, high)]
    gaps = f" in {len(spans)} stretches" if len(spans) > 1 else ""
    return f"{text}, [{shown[0]}, {shown[1]}) {axis.timezone}{gaps}"


def set_json(partitions: PartitionSet) -> dict[str, Any]:
    """A set as boxes: per dimension keys, or half-open stretches of time in UTC."""
    axes = partitions.definition.dims
    boxes: list[dict[str, Any]] = []
    for box in partitions.boxes():
        shown: dict[str, Any] = {}
        for name, parts in box.dims.items():
            axis = axes[name]
            if isinstance(axis, TimeAxis):
                shown[name] = [
                    {"first": axis.key(s.lo), "start": utc(s.lo), "end": utc(s.hi)}  # type: ignore[union-attr]
                    for s in parts
                ]
            else:
                shown[name] = list(parts)
        boxes.append(shown)
    return {"count": len(partitions), "text": str(partitions), "boxes": boxes}


def utc(instant: int) -> str:
    return to_datetime(instant).strftime("%Y-%m-%dT%H:%M:%SZ")


# ---------------------------------------------------------------- plan


def plan_lines(plan: Plan, nodes: Mapping[str, Node], now: datetime) -> Iterator[str]:
    """The plan as a person reads it, without the closing count."""
    first = 1
    width = len(str(plan.run_count))
    for step in plan.steps:
        yield from _step_lines(step, nodes, now, first, width)
        first += step.run_count
    yield from trouble_lines(plan, nodes)


def trouble_lines(plan: Plan, nodes: Mapping[str, Node]) -> Iterator[str]:
    """What will not be built, and why."""
    for model, why in plan.left_out:
        yield f"left out: {nodes[model].name}: {why}"
    blocked: dict[str, list[str]] = {}
    for item in plan.blocked:
        size = "" if item.partitions is None else f" ({count(len(item.partitions), 'partition')})"
        blocked.setdefault(item.model, []).append(f"blocked{size}: {item.example}")
    for lines in blocked.values():
        yield from lines
    for note in plan.notes:
        yield f"note: {note}"


def _step_lines(step: Step, nodes: Mapping[str, Node], now: datetime, first: int, width: int) -> Iterator[str]:
    node = nodes[step.model]
    if step.partitions is None:
        yield f"{node.name}  {node.materialized}"
        yield f"  {first:>{width}}  whole  {step.reasons[0][0]}{_reads_text(step.inputs, None, nodes, now)}"
        return
    most = step.max_partitions_per_run
    limit = f", at most {count(most, 'partition')} per run" if most is not None else ""
    yield f"{node.name}  {step.mode}{limit} ({step.why_mode}): {window_text(step.partitions)}"
    hidden = max(0, step.run_count - RUNS_SHOWN)
    for i, run in enumerate(step.runs(first)):
        if i < RUNS_SHOWN - 1 or not hidden:
            assert run.partitions is not None
            reads = _reads_text(step.inputs, run.partitions, nodes, now)
            yield f"  {run.id:>{width}}  {set_text(run.partitions)}  {run.reason}{reads}"
        else:
            yield f"  {'':>{width}}  ... {count(hidden + 1, 'more run')}, up to run {first + step.run_count - 1}"
            return


def _reads_text(
    inputs: tuple[Input, ...], wanted: PartitionSet | None, nodes: Mapping[str, Node], now: datetime
) -> str:
    shown = []
    for read in inputs:
        up = nodes[read.upstream]
        need = read.needed(wanted, now)
        via = f" (through {', '.join(nodes[v].name for v in read.through)})" if read.through else ""
        what = "" if need is None else f" {set_text(need.existing) if need.existing else 'nothing'}"
        shown.append(f"{up.name}{what}{via}")
    return f"  reads {', '.join(dict.fromkeys(shown))}" if shown else ""


def plan_json(plan: Plan, nodes: Mapping[str, Node], now: datetime) -> dict[str, Any]:
    """The same as `plan_lines`, whole: every run with what it reads."""
    runs: list[dict[str, Any]] = []
    for step, run in _runs(plan):
        reads = []
        for read in step.inputs:
            need = read.needed(run.partitions, now)
            reads.append(
                {
                    "upstream": read.upstream,
                    "partitions": None if need is None else set_json(need.existing),
                    "nonexistent": None if need is None or not need.nonexistent else set_json(need.nonexistent),
                    "through": list(read.through),
                }
            )
        runs.append(
            {
                "id": run.id,
                "model": run.model,
                "mode": run.mode,
                "reason": run.reason,
                "partitions": None if run.partitions is None else set_json(run.partitions),
                "reads": reads,
            }
        )
    return {
        "runs": runs,
        "run_count": plan.run_count,
        "partition_count": plan.partition_count,
        "blocked": [
            {
                "model": item.model,
                "partitions": None if item.partitions is None else set_json(item.partitions),
                "upstream": item.upstream,
                "waits_for": None if item.waits_for is None else set_json(item.waits_for),
                "text": item.example,
            }
            for item in plan.blocked
        ],
        "left_out": [{"model": model, "why": why} for model, why in plan.left_out],
        "notes": list(plan.notes),
    }


def _runs(plan: Plan) -> Iterator[tuple[Step, Run]]:
    first = 1
    for step in plan.steps:
        for run in step.runs(first):
            yield step, run
        first += step.run_count


# ---------------------------------------------------------------- status


def status_row(node: Node, facts: ModelFacts, now: datetime) -> dict[str, Any]:
    """Counts of one model, its strip, and what a person should know beside."""
    row: dict[str, Any] = {
        "model": node.unique_id,
        "name": node.name,
        "materialized_as": node.materialized,
        "message": facts.message,
        "interrupted": list(facts.interrupted),
    }
    if node.definition is None or not node.is_partitioned:
        state = "failed" if facts.last_failed else "materialized" if facts.exists and facts.built else "missing"
        return {**row, "state": state, "strip": {"materialized": "#", "missing": ".", "failed": "!"}[state]}
    parts = derived(node.definition, facts, now)
    return {
        **row,
        "kind": node.definition.kind,
        "dimensions": list(node.definition.dims),
        "existing": len(parts["existing"]),
        "materialized": len(parts["materialized"]),
        "failed": len(parts["failed"]),
        "missing": len(parts["missing"]),
        "stale": len(parts["stale"]),
        "open": len(parts["open"]),
        "outside": len(facts.outside or ()) + sum(facts.other_definitions.values()),
        "strip": strip(node.definition, parts, now),
    }


def derived(definition: Definition, facts: ModelFacts, now: datetime) -> dict[str, PartitionSet]:
    """The sets of a status: those recorded, and those that follow from them at `now`."""
    existing, nothing = definition.existing(now), definition.empty()
    live = facts.exists
    materialized = (facts.materialized or nothing) if live else nothing
    reopened = (facts.open_built or nothing) & existing if live else nothing
    there = materialized - reopened
    return {
        "existing": existing,
        "materialized": there & existing,
        "failed": facts.failed or nothing,  # also while there is no table: the attempt to make it failed
        "missing": existing - there,
        "stale": ((facts.incomplete or nothing) & existing & there) if live else nothing,
        "open": materialized - existing,
    }


def strip(definition: Definition, parts: Mapping[str, PartitionSet], now: datetime) -> str:
    """One character per stretch of consecutive partitions, at most STRIP_WIDTH of them."""
    axis = definition.time_axis or definition.axes[0]
    drawn = []
    for piece in _stretches(axis.name, parts["existing"]):
        whole = parts["existing"].restrict(axis.name, piece)
        there = parts["materialized"].restrict(axis.name, piece)
        if parts["failed"].restrict(axis.name, piece):
            drawn.append("!")
        elif not there:
            drawn.append(".")
        elif parts["stale"].restrict(axis.name, piece):
            drawn.append("~")
        else:
            drawn.append("#" if there == whole else "+")
    return "".join(drawn)


def _stretches(dim: str, existing: PartitionSet) -> Iterator[Slice]:
    axis = existing.definition.dims[dim]
    rest: Any = existing.project(dim)
    total = axis.count(rest) if isinstance(axis, TimeAxis) else len(rest)
    drawn = min(total, STRIP_WIDTH)
    for i in range(drawn):
        size = total * (i + 1) // drawn - total * i // drawn
        head, rest = axis.take(rest, size)
        yield head


def status_lines(rows: list[dict[str, Any]], nodes: Mapping[str, Node]) -> Iterator[str]:
    """A strip and the counts of every model."""
    wide = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        if "existing" not in row:
            yield f"{row['name']:<{wide}}  {row['strip']:<{STRIP_WIDTH}}  {row['materialized_as']}, {row['state']}"
        else:
            counts = [f"{row['materialized']:,} of {count(row['existing'], 'partition')}"]
            counts += [f"{row[k]:,} {k}" for k in ("missing", "failed", "stale", "open", "outside") if row[k]]
            yield f"{row['name']:<{wide}}  {row['strip']:<{STRIP_WIDTH}}  {', '.join(counts)}"
        if row["message"]:
            yield f"{'':<{wide}}  {row['message']}"
        if row["interrupted"] and (row.get("missing") or row.get("failed") or row.get("state") == "missing"):
            yield f"{'':<{wide}}  interrupted: {count(len(row['interrupted']), 'run')} ended without a result"
    if rows:
        yield LEGEND


# ---------------------------------------------------------------- explain


def explain_lines(
    node: Node,
    key: str,
    one: PartitionSet,
    nodes: Mapping[str, Node],
    inputs: tuple[Input, ...],
    facts: Facts,
    now: datetime,
) -> Iterator[str]:
    """Why a partition is missing, failed, stale or blocked, and what it reads."""
    definition, mine = node.definition, facts.of(node.unique_id)
    assert definition is not None
    parts = derived(definition, mine, now)
    yield f"{node.name} {key}: {', '.join(states(one, parts)) or 'outside the definition'}"
    axis = definition.time_axis
    if axis is not None:
        lo, hi = one.spans(axis.name)[0]
        yield f"  window [{utc(lo)}, {utc(hi)})"
    if one & parts["failed"] and mine.last_error:
        yield "  last error: " + mine.last_error.replace("\n", "\n    ")
    if mine.message:
        yield f"  {mine.message}"
    for read in inputs:
        yield f"  reads {_explain_read(read, one, nodes, facts, now)}"


def states(one: PartitionSet, parts: Mapping[str, PartitionSet]) -> list[str]:
    """The names of the derived sets that hold a partition, most telling first."""
    names = [name for name in ("failed", "materialized", "missing", "stale", "open") if one & parts[name]]
    if not one & parts["existing"] and "open" not in names:
        names.append("not ended yet")
    return names


def _explain_read(read: Input, one: PartitionSet, nodes: Mapping[str, Node], facts: Facts, now: datetime) -> str:
    up = nodes[read.upstream]
    need = read.needed(one, now)
    via = f" through {', '.join(nodes[v].name for v in read.through)}" if read.through else ""
    if need is None:
        state = "a source" if up.resource_type == "source" else "built" if facts.of(up.unique_id).built else "not built"
        return f"{up.name}{via}: {state}"
    text = f"{up.name}{via} {set_text(need.existing) if need.existing else 'nothing that exists'}"
    if up.definition is not None and up.is_partitioned:
        there = derived(up.definition, facts.of(up.unique_id), now)
        absent = need.existing - (there["materialized"] | there["open"])
        if absent:
            first = absent.first_key()
            text += f": {len(absent)} of {len(need.existing)} not there, the first is {first}"
        else:
            text += f": all {len(need.existing)} there"
    if need.nonexistent:
        text += f"; {count(len(need.nonexistent), 'partition')} more have not ended, or lie outside its definition"
    return text


def explain_whole(
    node: Node, nodes: Mapping[str, Node], inputs: tuple[Input, ...], facts: Facts, now: datetime
) -> Iterator[str]:
    """The state of a model as a whole, and what it reads."""
    mine = facts.of(node.unique_id)
    row = status_row(node, mine, now)
    if "existing" in row:
        counts = [f"{row[k]:,} {k}" for k in ("missing", "failed", "stale", "open", "outside") if row[k]]
        built = f"{row['materialized']:,} of {count(row['existing'], 'partition')}"
        yield f"{node.name}: {', '.join([built, *counts])}"
    else:
        yield f"{node.name}: {node.materialized}, {row['state']}"
    if mine.last_error:
        yield f"  last error: {mine.last_error}"
    if mine.message:
        yield f"  {mine.message}"
    for read in inputs:
        via = f" through {', '.join(nodes[v].name for v in read.through)}" if read.through else ""
        up = nodes[read.upstream]
        shape = up.resource_type if up.definition is None else f"{up.definition.kind} partitions"
        yield f"  reads {up.name}{via}: {shape}"
