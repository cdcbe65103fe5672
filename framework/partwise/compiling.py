"""The SQL that a run would send, as text: for `compile`, and for `Project.render`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.errors import PlanError
from partwise.session import BUILT

if TYPE_CHECKING:
    from partwise.nodes import Node
    from partwise.partitions import PartitionSet
    from partwise.rendering.prepare import Prepared
    from partwise.session import Session

_UNSAFE = re.compile(r"[^A-Za-z0-9_.=-]")


def compile_models(
    session: Session, select: str | None, exclude: str | None, keys: Sequence[str], run_mode: str | None
) -> list[dict[str, Any]]:
    """Write the SQL of each run below target/compiled and return path, model and text of each.

    Without keys a partitioned model is compiled for the last partition that exists.
    """
    written = []
    for uid, partitions in _to_compile(session, select, exclude, keys, run_mode):
        node = session.nodes[uid]
        prepared = prepare_for(session, node, partitions)
        rendered = prepared.render(partitions, session.now)
        for note in dict.fromkeys((*rendered.notes, *rendered.warnings)):
            session.say(f"note: {node.name}: {note}")
        path = _compiled_path(session, node, partitions)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = str.__str__(rendered.query(prepared.names or None)) + "\n"
        path.write_text(text, encoding="utf-8")
        row = {"model": uid, "path": relative(path), "sql": text.rstrip("\n"), "partitions": str(partitions)}
        written.append(row)
    return written


def render_model(session: Session, name: str, keys: Sequence[str]) -> str:
    """The SQL of one run over the partitions that `keys` name."""
    if session.can_ask():
        session.adapter(read_only=True)
        session.learn_keys()
    node = session.model(name)
    partitions: PartitionSet | None = None
    if node.is_partitioned and node.definition is not None:
        if not keys:
            raise PlanError(f"`{name}` is partitioned: say which partition", file=node.path)
        definition = node.definition
        partitions = definition.union_of([definition.subset(text, session.now) for text in keys])
    prepared = prepare_for(session, node, partitions)
    return str.__str__(prepared.render(partitions, session.now).query(prepared.names or None))


def prepare_for(session: Session, node: Node, partitions: PartitionSet | None) -> Prepared:
    """A model ready to be rendered, with types from the warehouse where it has them."""
    from partwise.errors import WarehouseError
    from partwise.rendering.prepare import prepare

    if not session.can_ask():
        return prepare(session.renderer(), node, partitions, None)
    adapter = session.adapter(read_only=True)
    exists = adapter.relation(node.relation) is not None
    try:
        return prepare(session.renderer(), node, partitions, adapter.describe, table_exists=exists)
    except WarehouseError:  # an input is not there yet
        return prepare(session.renderer(), node, partitions, None, table_exists=exists)


def _to_compile(
    session: Session, select: str | None, exclude: str | None, keys: Sequence[str], run_mode: str | None
) -> Iterator[tuple[str, PartitionSet | None]]:
    picked = session.select(select, exclude)
    asks = session.can_ask()
    if asks:
        session.adapter(read_only=True)
        session.learn_keys()
    if keys:
        from partwise.planning.facts import Facts
        from partwise.planning.planner import Request, plan

        request = Request(
            picked.selected, picked.named, tuple(keys), run_mode=run_mode, allow_incomplete=True  # type: ignore[arg-type]
        )
        facts = session.facts(read_only=True) if asks else Facts()
        made = plan(session.nodes, session.order, request, facts, session.now, session.analysis(request.selected))
        for run in made.runs():
            yield run.model, run.partitions
        return
    for uid in picked.models:
        node = session.nodes[uid]
        if node.materialized not in BUILT:
            continue
        if not node.is_partitioned or node.definition is None:
            yield uid, None
            continue
        from partwise.mapping import last_partition

        last = last_partition(node.definition.existing(session.now))
        yield uid, next(iter(last.pieces(1)), last)


def _compiled_path(session: Session, node: Node, partitions: PartitionSet | None) -> Path:
    base = session.project.target_path / "compiled" / session.project.name / node.path
    if partitions is None:
        return base
    return base.with_suffix("") / f"{node.name}_{file_name(partitions)}.sql"


def relative(path: Path) -> str:
    """A path for people: from the current folder when it lies below it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def file_name(partitions: PartitionSet) -> str:
    """A name for a file about a set, unlike that of any other set of the model."""
    first, last, n = partitions.first_key(), "", len(partitions)
    if n > 1:
        *_, last = partitions.split(max(1, n - 1))[-1].keys()
    plain = _UNSAFE.sub("_", f"{first}__{last}" if last else first)
    exact = plain == (f"{first}__{last}" if last else first) and len(plain) < 80
    contiguous = n == 1 or (len(partitions.boxes()) == 1 and ")" in str(partitions) and str(partitions).count("[") == 1)
    if exact and contiguous:
        return plain
    return f"{plain[:80]}_{hashlib.sha256(str(partitions).encode()).hexdigest()[:8]}"
