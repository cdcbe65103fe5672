"""`manifest.json`: the project with dbt's keys (manifest v12), for tools made for dbt, plus partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from partwise import __version__
from partwise.mapping import infer
from partwise.project.constructors import definition_text, mapping_text, policy_text
from partwise.project.world import macro_heads
from partwise.rendering import literals

if TYPE_CHECKING:
    from partwise.nodes import Edge, Node
    from partwise.project import Project
    from partwise.project.selection import Item

SCHEMA = "https://schemas.getdbt.com/dbt/manifest/v12.json"
# keys that dbt's readers expect and that partwise has nothing for
_EMPTY = (
    "docs", "exposures", "metrics", "groups", "selectors", "disabled", "group_map", "saved_queries",
    "semantic_models", "unit_tests", "functions",
)  # fmt: skip


def manifest(project: Project, *, generated_at: datetime, invocation_id: str) -> dict[str, Any]:
    """The manifest as plain data for JSON. It holds no secrets, and no paths of this machine."""
    sources = [item for item in project.items if item.resource_type == "source"]
    others = [item for item in project.items if item.resource_type != "source"]
    return {
        "metadata": {
            "dbt_schema_version": SCHEMA,
            "partwise_version": __version__,
            "generated_at": generated_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "invocation_id": invocation_id,
            "env": {},
            "project_name": project.name,
            "adapter_type": project.target.type,
        },
        "nodes": {item.unique_id: _node(project, item) for item in others},
        "sources": {item.unique_id: _source(project, item) for item in sources},
        "macros": dict(_macros(project)),
        **{key: {} for key in _EMPTY},
        "parent_map": {item.unique_id: list(project.graph.parents[item.unique_id]) for item in project.items},
        "child_map": {item.unique_id: list(project.graph.children[item.unique_id]) for item in project.items},
    }


def _common(project: Project, item: Item, node: Node) -> dict[str, Any]:
    relation = node.relation
    return {
        "database": relation.database or project.target.database,
        "schema": relation.schema,
        "name": node.name,
        "resource_type": node.resource_type,
        "package_name": node.package,
        "path": "/".join((*item.fqn[1:-1], node.path.rpartition("/")[2])),
        "original_file_path": node.path,
        "unique_id": node.unique_id,
        "fqn": list(item.fqn),
        "relation_name": None if node.materialized == "ephemeral" else literals.relation(relation, project.target.type),
        "description": node.description,
        "columns": {str(column["name"]): _column(column) for column in node.columns},
        "meta": node.config.get("meta", {}),
        "tags": list(node.tags),
        "config": {**node.config, "materialized": node.materialized, "tags": list(node.tags)},
        "partitions": None if node.definition is None else definition_text(node.definition),
        "partition_definition_id": None if node.definition is None else node.definition.id,
        "partition_dimensions": [] if node.definition is None else list(node.definition.dims),
        "partition_expr": dict(node.partition_expr),
    }


def _node(project: Project, item: Item) -> dict[str, Any]:
    node = project.nodes[item.unique_id]
    parents = [project.nodes[uid] for uid in project.graph.parents[item.unique_id]]
    return {
        **_common(project, item, node),
        "alias": node.relation.identifier,
        "checksum": {"name": "sha256", "checksum": sha256(node.raw_code.encode()).hexdigest()},
        "language": "sql",
        "raw_code": node.raw_code,
        "refs": [{"name": p.name, "package": None, "version": None} for p in parents if p.resource_type != "source"],
        "sources": [[p.source_name, p.name] for p in parents if p.resource_type == "source"],
        "depends_on": {"macros": [], "nodes": list(project.graph.parents[item.unique_id])},
        "inherited_from": node.inherited_from,
        "reads_own_past": node.reads_own_past,
        "policy": policy_text(node.policy),
        "mappings": [_mapping(node, edge, project.nodes[edge.upstream]) for edge in node.edges],
    }


def _source(project: Project, item: Item) -> dict[str, Any]:
    node = project.nodes[item.unique_id]
    return {
        **_common(project, item, node),
        "source_name": node.source_name,
        "source_description": "",
        "loader": "",
        "identifier": node.relation.identifier,
    }


def _column(column: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": column["name"],
        "description": column.get("description") or "",
        "data_type": column.get("data_type"),
        "meta": column.get("meta") or {},
        "tags": column.get("tags") or [],
        "constraints": column.get("constraints") or [],
    }


def _mapping(node: Node, edge: Edge, upstream: Node) -> dict[str, Any]:
    """How one input is read. `mapping` is the one in force, null where there is nothing to map."""
    mapping = edge.mapping
    inferred = mapping is None and not edge.whole and None not in (node.definition, upstream.definition)
    if inferred:
        mapping = infer(upstream.definition, node.definition)
    return {
        "upstream": edge.upstream,
        "mapping": None if mapping is None else mapping_text(mapping),
        "inferred": inferred,
        "filter": dict(edge.filter),
        "whole": edge.whole,
        "stale": edge.stale,
        "line": edge.line,
    }


def _macros(project: Project) -> Iterable[tuple[str, dict[str, Any]]]:
    for file in project.macros:
        for name, _ in macro_heads(file.text):
            uid = f"macro.{project.name}.{name}"
            yield (
                uid,
                {
                    "name": name,
                    "resource_type": "macro",
                    "package_name": project.name,
                    "path": file.path,
                    "original_file_path": file.path,
                    "unique_id": uid,
                    "macro_sql": file.text,
                    "depends_on": {"macros": []},
                },
            )
