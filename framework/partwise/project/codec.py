"""Nodes and parsed models as plain tuples, for the loading cache, and back."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partwise.mapping import Mapping
    from partwise.nodes import Node
    from partwise.partitions import Definition
    from partwise.project.parsed import Parsed
    from partwise.project.profiles import Target
    from partwise.project.projectfile import ProjectFile
    from partwise.project.references import RefCall

Plain = Any  # None, text, numbers, and tuples, lists and dicts of them: what marshal can write


def bare(value: Any) -> Plain:
    """A value from YAML, TOML or Python as plain values: no line numbers, dates as text."""
    if isinstance(value, dict):
        return {str(key): bare(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [bare(inner) for inner in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return str(value.isoformat() if hasattr(value, "isoformat") else value)


@cache
def definition_of(text: str) -> Definition:
    """The definition of its text; equal texts give the same object."""
    from partwise.project.constructors import definition_from_text

    return definition_from_text(text)


# ---------------------------------------------------------------- mappings


def encode_mapping(mapping: Mapping | None) -> Plain:
    """A mapping as (name, fields)."""
    if mapping is None:
        return None
    fields = [getattr(mapping, name) for name in mapping.__dataclass_fields__]
    return (type(mapping).__name__, tuple(map(_encode_field, fields)))


def _encode_field(value: Any) -> Plain:
    if isinstance(value, timedelta):
        return ("timedelta", value.days, value.seconds, value.microseconds)
    if isinstance(value, tuple):
        return ("tuple", *map(_encode_field, value))
    if value is None or isinstance(value, (str, int)):
        return value
    return ("mapping", encode_mapping(value))


def decode_mapping(plain: Plain) -> Mapping | None:
    """The mapping that `encode_mapping` wrote."""
    if plain is None:
        return None
    from partwise import mapping

    name, fields = plain
    made: Mapping = getattr(mapping, name)(*map(_decode_field, fields))
    return made


def _decode_field(plain: Plain) -> Any:
    if not isinstance(plain, tuple):
        return plain
    kind, *rest = plain
    if kind == "timedelta":
        return timedelta(*rest)
    return tuple(map(_decode_field, rest)) if kind == "tuple" else decode_mapping(rest[0])


# ---------------------------------------------------------------- parsed models


def encode_call(call: RefCall) -> Plain:
    """A reference as a tuple."""
    options = (encode_mapping(call.mapping), call.filter, call.whole, call.stale, call.allow_missing_upstream)
    return (call.kind, call.group, call.name, None if options == (None, (), False, False, False) else options)


def decode_call(plain: Plain) -> RefCall:
    """The reference that `encode_call` wrote."""
    from partwise.project.references import RefCall

    kind, group, name, options = plain
    if options is None:
        return RefCall(kind, group, name)
    return RefCall(kind, group, name, decode_mapping(options[0]), *options[1:])


def encode_parsed(parsed: Parsed) -> Plain:
    """A parsed model as a tuple."""
    return (
        parsed.config,
        tuple((encode_call(call), line) for call, line in parsed.calls),
        parsed.marks,
        parsed.reads_own_past,
        parsed.asks_config,
        parsed.sql,
    )


def decode_parsed(plain: Plain) -> Parsed:
    """The parsed model that `encode_parsed` wrote."""
    from partwise.project.parsed import Parsed

    config, calls, *rest = plain
    return Parsed(config, tuple((decode_call(call), line) for call, line in calls), *rest)


# ---------------------------------------------------------------- nodes

SIMPLE = (
    "unique_id", "name", "resource_type", "path", "materialized", "package", "dialect", "line", "raw_code",
    "reads_own_past", "full_scan", "trust", "on_null", "on_leak", "on_schema_change", "column_timezone",
    "partition_format", "rebuild_last", "retries", "inherited_from", "tags", "description", "source_name",
)  # fmt: skip


def encode_node(node: Node, definition: str | None) -> Plain:
    """A node as a tuple; `definition` is its definition as text."""
    relation, policy = node.relation, node.policy
    return (
        tuple(getattr(node, name) for name in SIMPLE),
        (relation.database, relation.schema, relation.identifier),
        definition,
        dict(node.partition_expr),
        tuple(
            (e.upstream, encode_mapping(e.mapping), e.filter, e.whole, e.stale, e.allow_missing_upstream, e.line)
            for e in node.edges
        ),
        (policy.kind, policy.max_partitions_per_run),
        bare(node.columns),
        bare(node.config),
    )


def decode_node(plain: Plain) -> Node:
    """The node that `encode_node` wrote."""
    from partwise.nodes import BackfillPolicy, Edge, Node, RelationName

    simple, relation, definition, exprs, edges, policy, columns, config = plain
    return Node(
        **dict(zip(SIMPLE, simple, strict=True)),
        relation=RelationName(*relation),
        definition=None if definition is None else definition_of(definition),
        partition_expr=exprs,
        edges=tuple(Edge(e[0], decode_mapping(e[1]), *e[2:]) for e in edges),
        policy=BackfillPolicy(*policy),
        columns=tuple(columns),
        config=config,
    )


# ---------------------------------------------------------------- settings


def plain_settings(settings: ProjectFile) -> dict[str, Plain]:
    """The fields of a project file, but for its folder and its line numbers."""
    names = [name for name in settings.__slots__ if name not in ("root", "lines")]
    return {name: _tuples(getattr(settings, name)) for name in names}


def _tuples(value: Any) -> Plain:
    """A value of plain types in which tuples stay tuples."""
    return tuple(map(bare, value)) if isinstance(value, tuple) else bare(value)


def plain_target(target: Target) -> dict[str, Plain]:
    """The fields of a target."""
    return {name: bare(getattr(target, name)) for name in target.__slots__}
