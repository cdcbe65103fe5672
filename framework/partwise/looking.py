"""Questions about a project and what is built of it: sets by state, keys, reasons, rows. Nothing is changed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from partwise.errors import PlanError
from partwise.session import BUILT

if TYPE_CHECKING:
    from partwise.nodes import Node
    from partwise.partitions import PartitionSet
    from partwise.planning.facts import Facts
    from partwise.session import Session


def models_of(session: Session, select: str | None, exclude: str | None) -> list[str]:
    """The models of a selection that hold data or are views."""
    return [uid for uid in session.select(select, exclude).models if session.project.nodes[uid].materialized in BUILT]


def partitioned(session: Session, name: str) -> Node:
    """The partitioned model of a name. Raises PlanError when it has no partitions."""
    node = session.model(name)
    if node.definition is None or not node.is_partitioned:
        raise PlanError(f"`{name}` has no partitions: it is a {node.materialized}", file=node.path)
    return node


def sets(session: Session, uid: str, facts: Facts) -> dict[str, PartitionSet]:
    """The sets of a partitioned model: existing, materialized, failed, missing, stale, open, outside."""
    from partwise.planning.report import derived

    node, fact = session.nodes[uid], facts.of(uid)
    assert node.definition is not None
    return {**derived(node.definition, fact, session.now), "outside": fact.outside or node.definition.empty()}


def sets_json(session: Session, uid: str, facts: Facts) -> dict[str, Any] | None:
    from partwise.planning.report import set_json

    if not session.nodes[uid].is_partitioned:
        return None
    return {name: set_json(part) for name, part in sets(session, uid, facts).items()}


def sets_lines(session: Session, uid: str, facts: Facts) -> Iterator[str]:
    from partwise.planning.report import set_text

    if not session.nodes[uid].is_partitioned:
        return
    yield f"{session.nodes[uid].name}:"
    for name, part in sets(session, uid, facts).items():
        if part:
            yield f"  {name:<12} {len(part):>8,}  {set_text(part)}"


def keys_of(session: Session, name: str, state: str | None) -> Iterator[str]:
    """The keys of a model that exist, or those in one state."""
    node = partitioned(session, name)
    if state is None:
        if session.has_database():
            session.adapter(read_only=True)
            session.learn_keys()
            node = session.nodes[node.unique_id]
        assert node.definition is not None
        return node.definition.keys(session.now)
    facts = session.facts(read_only=True)
    return sets(session, node.unique_id, facts)[state].keys()


def explain(session: Session, name: str, key: str | None) -> list[str]:
    """Why a partition is what it is, and what it reads."""
    from partwise.planning.inputs import inputs
    from partwise.planning.report import explain_lines, explain_whole

    facts = session.facts(read_only=True)
    node = session.model(name)
    reads = inputs(node, session.nodes)
    if key is None or node.definition is None or not node.is_partitioned:
        if key is not None:
            partitioned(session, name)
        lines = list(explain_whole(node, session.nodes, reads, facts, session.now))
        if node.is_partitioned:
            verdict = session.verdicts()[node.unique_id]
            lines.append(f"  one query over many partitions: {verdict.kind}, {verdict}")
        return lines
    one = node.definition.parse_key(key)
    return list(explain_lines(node, key, one, session.nodes, reads, facts, session.now))


def rows(
    session: Session, name: str | None, inline: str | None, keys: Sequence[str], limit: int
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Rows of a relation, of some of its partitions, or of a query: column names and values."""
    from partwise.inline import inline_sql, partition_condition
    from partwise.rendering import literals

    if not session.has_database():
        path = session.target.fields["path"]
        raise PlanError(f"there is no database at {path} yet", hint="run `partwise seed` first")
    adapter = session.adapter(read_only=True)
    session.learn_keys()
    if inline is not None:
        sql = inline_sql(session, inline)
    else:
        node = session.model(str(name))
        sql = f"select * from {literals.relation(node.relation, session.target.dialect)}"
        if keys:
            wanted = partitioned(session, str(name)).definition
            assert wanted is not None
            chosen = wanted.union_of([wanted.subset(text, session.now) for text in keys])
            sql += f" where {partition_condition(session, node, chosen)}"
    body = f"select * from ({sql}\n) as q" + (f" limit {limit}" if limit else "")
    columns = [column.name for column in adapter.describe(body)]
    return columns, adapter.fetch(body)
