"""Queries that are not models: `show --inline`, and conditions on partitions of a table that stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partwise.nodes import Node
    from partwise.partitions import PartitionSet
    from partwise.session import Session


def inline_sql(session: Session, text: str) -> str:
    """The SQL of a query with Jinja, in which refs are relations as they stand."""
    from partwise.project.jinja_env import Scope
    from partwise.project.references import ref_call, source_call
    from partwise.rendering import literals

    dialect, project = session.target.dialect, session.project
    engine = session.renderer().engine

    class InlineScope(Scope):
        def _relation(self, call: Any) -> str:
            return literals.relation(project.find(call).relation, dialect)

        def ref(self, *args: Any, **options: Any) -> str:
            return self._relation(ref_call(args, options))

        def source(self, *args: Any, **options: Any) -> str:
            return self._relation(source_call(args, options))

    made = engine.render_text(text, "--inline", InlineScope(engine, model_file="--inline"))
    return made.strip().rstrip(";")


def partition_condition(session: Session, node: Node, partitions: PartitionSet) -> str:
    """The condition that holds for the rows of some partitions of a model's own table."""
    from partwise.rendering import literals
    from partwise.rendering.exprs import parse_expr
    from partwise.rendering.predicates import PartitionExpr, set_filter
    from partwise.rendering.sqltypes import SqlType

    dialect = session.target.dialect
    relation = literals.relation(node.relation, dialect)
    made: dict[str, PartitionExpr] = {}
    for dim, expr in node.partition_expr.items():
        written = parse_expr(expr, node.dialect).write(dialect)
        kind = SqlType.of(session.adapter().describe(f"select {written} from {relation}")[0].type)
        made[dim] = PartitionExpr(written, kind, node.column_timezone, node.partition_format)
    return set_filter(partitions, made, dialect)
