"""Config keys: which there are, what they hold, and how layers of them combine.

A layer is what one place says (a folder in the project file, a YAML entry, a call of `config()`). Later layers win,
except that tags, hooks and meta add up, as in dbt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from partwise.errors import PartitionError, PartwiseError, ProjectError, did_you_mean

MATERIALIZATIONS = ("partitioned", "table", "view", "ephemeral", "seed")
_LATER = {
    "incremental": "use `partitioned`, which replaces exactly the partitions it builds",
    "external": "use `partitioned` or `table`",
    "microbatch": "use `partitioned` with hourly, daily, monthly or yearly partitions",
    "materialized_view": "use `view` or `table`",
    "dynamic_table": "use `view` or `table`",
    "snapshot": "snapshots are not there yet",
    "table_function": "use `view`",
}
# key -> what it holds. `any` is for keys whose shape is checked where they are used.
OWN: dict[str, str] = {
    "partitions": "any",
    "partition_expr": "any",
    "materialized": "text",
    "policy": "any",
    "full_scan": "bool",
    "trust": "bool",
    "on_null": "warn|error|skip",
    "on_leak": "warn|error|filter",
    "on_schema_change": "fail|append_new_columns|sync_all_columns",
    "column_timezone": "text",
    "partition_format": "text",
    "rebuild_last": "count",
    "retries": "count",
    "tags": "texts",
    "schema": "text",
    "alias": "text",
    "database": "text",
    "enabled": "bool",
    "meta": "map",
    "description": "text",
    "dialect": "text",
    "pre_hook": "hooks",
    "post_hook": "hooks",
    "column_types": "map",
    "delimiter": "text",
    "full_refresh": "bool",
    "contract": "any",
    "delay": "any",
}
# dbt's own keys that partwise keeps (for `config.x:` and the manifest) and does not act upon.
INERT = frozenset(
    {
        "access", "auto_refresh", "auto_liquid_cluster", "automatic_clustering", "backup", "batch_size", "begin",
        "bind", "catalog", "catalog_name", "change_tracking", "cluster_by", "concurrent_batches", "copy_grants",
        "copy_tags", "data_retention_time_in_days", "docs", "event_time", "external_volume", "freshness", "grants",
        "group", "incremental_predicates", "incremental_strategy", "indexes", "initialize", "location", "lookback",
        "merge_exclude_columns", "merge_update_columns", "on_configuration_change", "on_error", "options",
        "overwrite_columns", "packages", "partition_by", "partitioned_by", "persist_docs", "predicates", "query_tag",
        "quote_columns", "quoting", "refresh_mode", "row_access_policy", "secure",
        "snowflake_initialization_warehouse", "snowflake_warehouse", "sql_header", "static_analysis", "table_format",
        "table_tag", "target_lag", "tblproperties", "tmp_relation_type", "transient", "unique_key", "unlogged",
    }
)  # fmt: skip
KEYS = (*OWN, *sorted(INERT))
# templates in these are filled in when they are used, not while the project loads
LATE = frozenset({"pre_hook", "post_hook", "sql_header", "description"})
# per key: an ordinary word people write for it
_SYNONYMS = {
    "partition": "partitions",
    "partitioned_by": "partitions",
    "partition_column": "partition_expr",
    "partition_key": "partition_expr",
    "materialization": "materialized",
    "backfill_policy": "policy",
    "timezone": "column_timezone",
    "tag": "tags",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and the place that gave it."""

    value: Any
    file: str
    line: int | None = None


Layer = Mapping[str, Setting]


def key_of(written: str) -> str:
    """The name of a key as written: `+pre-hook` is `pre_hook`."""
    return written.removeprefix("+").replace("-", "_")


def check_key(written: str, file: str, line: int | None, model: str | None = None) -> str:
    """The key's own name. Raises ProjectError with the nearest name when there is none."""
    key = key_of(written)
    if key in OWN or key in INERT:
        return key
    near = _SYNONYMS.get(key)
    hint = f"did you mean `{near}`?" if near else did_you_mean(key, KEYS) or "the reference lists all keys"
    raise ProjectError(f"unknown config key `{written}`", file=file, line=line, model=model, hint=hint)


def merge(layers: Iterable[Layer]) -> dict[str, Setting]:
    """All layers as one, later ones winning; tags, hooks and meta add up."""
    merged: dict[str, Setting] = {}
    for layer in layers:
        for key, setting in layer.items():
            before = merged.get(key)
            if before is not None and key in _ADDING:
                merged[key] = Setting(_ADDING[key](before.value, setting.value), setting.file, setting.line)
            else:
                merged[key] = setting
    return merged


def as_list(value: Any) -> list[Any]:
    """The entries of a value that may be one entry or a list."""
    if value is None:
        return []
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    return [value]


def _add_lists(before: Any, after: Any) -> list[Any]:
    return [*as_list(before), *as_list(after)]


def _add_unique(before: Any, after: Any) -> list[Any]:
    return list(dict.fromkeys(_add_lists(before, after)))


def _add_maps(before: Any, after: Any) -> Any:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return {**before, **after}
    return after


_ADDING = {
    "tags": _add_unique,
    "meta": _add_maps,
    "pre_hook": _add_lists,
    "post_hook": _add_lists,
    "column_types": _add_maps,
}


# ---------------------------------------------------------------- values

_BOOLS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def checked(layer: Layer) -> tuple[dict[str, Any], list[PartwiseError]]:
    """The values of a merged layer in their proper types, and what is wrong with the others."""
    values: dict[str, Any] = {}
    errors: list[PartwiseError] = []
    for key, setting in layer.items():
        try:
            values[key] = _checked(key, setting.value)
        except PartwiseError as error:
            if error.file is None:
                error.file, error.line = setting.file, setting.line
            errors.append(error)
    return values, errors


def _checked(key: str, value: Any) -> Any:
    kind = OWN.get(key, "any")
    if kind == "any":
        return value
    if key == "materialized":
        return _materialized(value)
    if key == "dialect":
        return _dialect(value)
    if kind in _CHECKS:
        return _CHECKS[kind](key, value)
    choices = kind.split("|")
    if value not in choices:
        hint = did_you_mean(str(value), choices) or f"write one of {', '.join(f'`{c}`' for c in choices)}"
        if key == "on_schema_change" and value == "ignore":
            hint = "`ignore` would lose columns silently: write `fail`, `append_new_columns` or `sync_all_columns`"
        raise ProjectError(f"`{key}` is `{value}`", hint=hint)
    return value


def _text(key: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise ProjectError(f"`{key}` is {value!r}, not text", hint="put it in quotes")


def _bool(key: str, value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    found = _BOOLS.get(str(value).strip().lower())
    if found is None:
        raise ProjectError(f"`{key}` is `{value}`", hint="write true or false")
    return found


def _count(key: str, value: Any) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not text.isdecimal():
        raise ProjectError(f"`{key}` is `{value}`", hint="write a whole number from 0")
    return int(text)


def _texts(key: str, value: Any) -> list[str]:
    entries = as_list(value)
    if not all(isinstance(entry, (str, int)) for entry in entries):
        raise ProjectError(f"`{key}` is {value!r}", hint="write text, or a list of texts")
    return list(dict.fromkeys(str(entry) for entry in entries))


def _hooks(key: str, value: Any) -> list[str]:
    hooks = [h.get("sql") if isinstance(h, Mapping) else h for h in as_list(value)]
    if not all(isinstance(hook, str) for hook in hooks):
        raise ProjectError(f"`{key}` is {value!r}", hint="write a statement, or a list of statements")
    return [str(hook) for hook in hooks]


def _map(key: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ProjectError(f"`{key}` is {value!r}", hint=f"write {key}: {{name: value}}")
    return dict(value)


_CHECKS = {"text": _text, "bool": _bool, "count": _count, "texts": _texts, "hooks": _hooks, "map": _map}


def _materialized(value: Any) -> str:
    if value in MATERIALIZATIONS:
        return str(value)
    if value in _LATER:
        raise ProjectError(f"materialized `{value}` is not there yet", hint=_LATER[value])
    choices = ", ".join(f"`{c}`" for c in MATERIALIZATIONS if c != "seed")
    hint = did_you_mean(str(value), MATERIALIZATIONS) or f"write one of {choices}"
    raise ProjectError(f"`materialized` is `{value}`", hint=hint)


DIALECTS = (
    "athena", "bigquery", "clickhouse", "databricks", "duckdb", "mysql", "postgres", "presto", "redshift", "snowflake",
    "spark", "sqlite", "trino", "tsql",
)  # fmt: skip


def _dialect(value: Any) -> str | None:
    if value is None or value in DIALECTS:
        return None if value is None else str(value)
    hint = did_you_mean(str(value), DIALECTS) or f"write one of {', '.join(f'`{d}`' for d in DIALECTS)}"
    raise ProjectError(f"`dialect` is `{value}`", hint=hint)


# ---------------------------------------------------------------- partition expressions


def partition_exprs(value: Any, dims: Sequence[str] | None, kind: str = "") -> dict[str, str]:
    """`partition_expr` by dimension.

    `dims` are the names of the definition's dimensions in order (None: no definition; text alone then gets the name
    `''`). Raises PartitionError unless it covers them exactly.
    """
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        if dims is None:
            return {"": value.strip()}
        if len(dims) == 1:
            return {dims[0]: value.strip()}
        raise PartitionError(
            f"`partition_expr` is one text, and the partitions have {len(dims)} dimensions", hint=_per_dimension(dims)
        )
    if not isinstance(value, Mapping) or not all(isinstance(v, str) and v.strip() for v in value.values()):
        raise PartitionError(f"`partition_expr` is {value!r}", hint="write text, or {dimension: text}")
    given = {str(name): text.strip() for name, text in value.items()}
    if dims is None:
        return given
    if len(dims) == 1 and len(given) == 1 and next(iter(given)) in (dims[0], kind):
        return {dims[0]: next(iter(given.values()))}
    for name in given:
        if name not in dims:
            hint = did_you_mean(name, dims) or f"the dimensions are {', '.join(f'`{d}`' for d in dims)}"
            raise PartitionError(f"`partition_expr` names `{name}`, which is no dimension", hint=hint)
    missing = [name for name in dims if name not in given]
    if missing:
        raise PartitionError(
            f"`partition_expr` leaves out {', '.join(f'`{m}`' for m in missing)}", hint=_per_dimension(dims)
        )
    return {name: given[name] for name in dims}


def _per_dimension(dims: Sequence[str]) -> str:
    inner = ", ".join(f"'{name}': '...'" for name in dims)
    return f"write partition_expr={{{inner}}}"
