"""The tables partwise keeps about what it has built, and the statements that create them.

They live in a schema of the same database as the data (`partwise` unless configured), so that a row of data and the
fact about it are committed together. Rows are only ever added to the logs. All columns exist from the first version;
NULL means unknown. Later versions only add columns.
"""

from __future__ import annotations

from collections.abc import Mapping

from partwise.rendering import literals

SCHEMA_VERSION = 1

TABLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "partition_log": (
        ("relation", "text"),  # schema.name, without the database
        ("incarnation", "text"),  # the life of the table that was written to; in its comment as well
        ("definition_id", "text"),  # '' for what has no partitions
        ("partition_key", "text"),  # '' for what has no partitions
        ("dims", "text"),  # JSON of the dimensions that the window does not tell
        ("window_start", "instant"),
        ("window_end", "instant"),
        ("state", "text"),  # materialized | failed | cancelled | removed
        ("attempt", "int"),  # 1 + the highest committed so far
        ("run_id", "text"),
        ("fingerprint", "text"),
        ("upstream_versions", "text"),  # JSON; {"incomplete": true} when upstream partitions were not there
        ("as_of", "instant"),  # what the run took for now
        ("recorded_at", "instant"),
    ),
    "run_log": (
        ("run_id", "text"),
        ("invocation_id", "text"),
        ("relation", "text"),
        ("model", "text"),
        ("incarnation", "text"),
        ("mode", "text"),
        ("partitions", "text"),  # the set as text
        ("partition_count", "int"),
        ("status", "text"),  # success | partial | error | skipped | cancelled
        ("started_at", "instant"),
        ("seconds", "real"),
        ("row_count", "int"),
        ("sql_hash", "text"),
        ("query_id", "text"),
        ("error", "text"),
        ("git_commit", "text"),
        ("user_name", "text"),
        ("recorded_at", "instant"),
    ),
    "invocation_log": (
        ("invocation_id", "text"),
        ("event", "text"),  # start | finish
        ("arguments", "text"),  # JSON
        ("requested", "text"),  # JSON: model -> set as text
        ("user_name", "text"),
        ("host", "text"),
        ("version", "text"),
        ("status", "text"),
        ("recorded_at", "instant"),
    ),
    "model_log": (
        ("relation", "text"),
        ("model", "text"),
        ("materialized", "text"),
        ("definition_id", "text"),
        ("definition", "text"),  # JSON: what the id hashes, per dimension
        ("bounds", "text"),  # JSON: start, end, keys
        ("partition_expr", "text"),  # JSON: dimension -> SQL
        ("invocation_id", "text"),
        ("recorded_at", "instant"),
    ),
    "partition_claims": (
        ("relation", "text"),
        ("claim_id", "text"),
        ("invocation_id", "text"),
        ("partitions", "text"),
        ("holder", "text"),
        ("claimed_at", "instant"),
        ("expires_at", "instant"),
    ),
    "dynamic_partitions": (
        ("scope", "text"),  # the target schema, '' when shared
        ("name", "text"),
        ("partition_key", "text"),
        ("position", "int"),
        ("added_at", "instant"),
    ),
    "meta": (("name", "text"), ("value", "text")),
}

_TYPES = {
    "duckdb": {"text": "VARCHAR", "instant": "TIMESTAMPTZ", "int": "BIGINT", "real": "DOUBLE"},
    "snowflake": {"text": "VARCHAR", "instant": "TIMESTAMP_LTZ", "int": "NUMBER(38, 0)", "real": "DOUBLE"},
}

MARK = r"\[partwise ([0-9a-f]+)( adopted)?\]"
"""How a table's comment carries its incarnation; `adopted` when partwise did not create the table."""

# An attempt that failed has the number of the write it was to be, so at one number the write comes after it.
_RANK = "attempt * 4 + case state when 'materialized' then 2 when 'removed' then 3 else 1 end"


def ddl(schema: str = "partwise", dialect: str = "duckdb") -> tuple[str, ...]:
    """The statements that create everything, for an administrator or for partwise itself. Safe to repeat."""
    return (
        f"create schema if not exists {literals.identifier(schema, dialect)}",
        *(create_table(name, schema, dialect) for name in TABLES),
        create_view(schema, dialect),
        set_version(schema, dialect),
    )


def grants(schema: str = "partwise", role: str = "<role>") -> tuple[str, ...]:
    """What a role needs that runs partwise on Snowflake, and what one needs that only reads the status."""
    return (
        f"grant usage on schema {schema} to role {role}",
        f"grant select, insert, delete on all tables in schema {schema} to role {role}",
        f"grant select on view {schema}.partition_status to role {role}",
    )


def table(name: str, schema: str, dialect: str) -> str:
    """The full name of one of the tables."""
    return f"{literals.identifier(schema, dialect)}.{literals.identifier(name, dialect)}"


def create_table(name: str, schema: str, dialect: str) -> str:
    """CREATE of one of the tables; no effect when it is there."""
    types = _TYPES[dialect]
    columns = ", ".join(f"{column} {types[kind]}" for column, kind in TABLES[name])
    return f"create table if not exists {table(name, schema, dialect)} ({columns})"


def set_version(schema: str, dialect: str) -> str:
    """Note the version of the tables, once."""
    meta = table("meta", schema, dialect)
    return (
        f"insert into {meta} (name, value) select 'schema_version', '{SCHEMA_VERSION}' "
        f"where not exists (select 1 from {meta} where name = 'schema_version')"
    )


def create_view(schema: str, dialect: str) -> str:
    """`partition_status`: one row per relation and partition, with the last committed write and the last attempt.

    Only the live incarnation of each relation counts, the one that its comment names, and what failed before there was
    a table.
    """
    log, runs = table("partition_log", schema, dialect), table("run_log", schema, dialect)
    last = _arg_max("{}", f"case when state <> 'cancelled' then {_RANK} end", dialect)
    written = "case when state in ('materialized', 'removed') then {} end"
    top = f"max({written.format(_RANK)})"
    return f"""create or replace view {table("partition_status", schema, dialect)} as
with live as ({_live(dialect)}),
latest as (
  select l.relation, l.definition_id, l.partition_key, l.dims, l.window_start, l.window_end,
    {_arg_max("state", written.format(_RANK), dialect)} as written_state,
    max(case when state = 'materialized' then attempt end) as attempts,
    {_arg_max("recorded_at", written.format(_RANK), dialect)} as written_at,
    {_arg_max("run_id", written.format(_RANK), dialect)} as written_by,
    {_arg_max("fingerprint", written.format(_RANK), dialect)} as fingerprint,
    {_arg_max("as_of", written.format(_RANK), dialect)} as as_of,
    {last.format("state")} as last_state,
    {last.format("recorded_at")} as last_attempt_at,
    {last.format("run_id")} as last_run_id,
    {top} as top
  from {log} l left join live on lower(live.relation) = lower(l.relation)
  where l.incarnation in ('', live.incarnation)
  group by l.relation, l.definition_id, l.partition_key, l.dims, l.window_start, l.window_end
)
select s.relation, s.definition_id, s.partition_key, s.dims, s.window_start, s.window_end,
  coalesce(s.written_state = 'materialized', false) as materialized,
  coalesce(s.last_state = 'failed', false) as failed,
  s.attempts, s.written_at, s.written_by, s.fingerprint, s.as_of,
  s.last_state, s.last_attempt_at, s.last_run_id,
  case when s.last_state = 'failed' then r.error end as error
from latest s left join {runs} r on r.run_id = s.last_run_id and s.last_state = 'failed'"""


def _arg_max(value: str, by: str, dialect: str) -> str:
    return f"{'max_by' if dialect == 'snowflake' else 'arg_max'}({value}, {by})"


def _live(dialect: str) -> str:
    """The relations of this database that carry an incarnation in their comment."""
    if dialect == "snowflake":
        pattern = literals.text(MARK, dialect)
        return (
            "select lower(table_schema) || '.' || lower(table_name) as relation, "
            f"regexp_substr(comment, {pattern}, 1, 1, 'e', 1) as incarnation "
            "from information_schema.tables where comment like '%[partwise %'"
        )
    parts = [
        f"select schema_name || '.' || {kind}_name as relation, regexp_extract(comment, '{MARK}', 1) as incarnation "
        f"from duckdb_{kind}s() where comment like '%[partwise %' and database_name = current_database()"
        for kind in ("table", "view")
    ]
    return " union all ".join(parts)
