"""The statements that write to the log and read it back as ranges (DuckDB)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from partwise.warehouse.logrows import Batch
from partwise.warehouse.status_sql import table

_COLUMNS = (
    "relation, incarnation, definition_id, partition_key, dims, window_start, window_end, state, attempt, run_id, "
    "fingerprint, upstream_versions, as_of, recorded_at"
)


def insert_whole(schema: str) -> str:
    """INSERT of the one row of a relation without partitions, with parameters: relation, incarnation, state, attempt,
    run id, fingerprint, upstream versions, as of."""
    return (
        f"insert into {table('partition_log', schema, 'duckdb')} ({_COLUMNS}) "
        "values (?, ?, '', '', null, null, null, ?, ?, ?, ?, ?, ?, now())"
    )


def insert_batch(schema: str, batch: Batch, timed: int | None, constants: Sequence[Any]) -> tuple[str, list[Any]]:
    """INSERT of a batch, and its parameters. `timed` is the dimension whose windows are the rows' windows.

    `constants`: relation, incarnation, definition id, state, run id, fingerprint, as of.
    """
    relation, incarnation, definition_id, state, run_id, fingerprint, as_of = constants
    count = len(batch.axes)
    key = " || '|' || ".join(f"a{i}.k" for i in range(count))
    told = [f"a{i}.d" for i in range(count) if i != timed]
    dims = " || ', ' || ".join(told)
    window = "null, null" if timed is None else f"to_timestamp(a{timed}.lo), to_timestamp(a{timed}.hi)"
    head = [relation, incarnation, definition_id]
    sources: list[str] = []
    parameters: list[Any] = []
    for i, lists in enumerate(batch.axes):
        columns = ["unnest(?::varchar[]) as k"]
        parameters.append(lists.key)
        if i != timed:
            columns.append("unnest(?::varchar[]) as d")
            parameters.append(lists.dims)
        else:
            columns += ["unnest(?::bigint[]) as lo", "unnest(?::bigint[]) as hi"]
            parameters += [lists.lo, lists.hi]
        if len(batch.box) > 1:
            columns.append("unnest(?::integer[]) as box")
            parameters.append(lists.box)
        sources.append(f"(select {', '.join(columns)}) a{i}")
    if len(batch.box) > 1:
        sources.append(
            "(select unnest(?::integer[]) as box, unnest(?::bigint[]) as attempt, unnest(?::varchar[]) as versions) b"
        )
        parameters += [batch.box, batch.attempt, batch.versions]
        attempt, versions, own = "b.attempt", "b.versions", []
        joined = sources[0] + "".join(f" join {source} using (box)" for source in sources[1:])
    else:
        attempt, versions, own = "?", "?", [batch.attempt[0], batch.versions[0]]
        joined = ", ".join(sources)
    bracketed = f"'{{' || {dims} || '}}'" if told else "null"
    ordered = "" if count == 1 else " order by " + ("partition_key" if timed is None else "window_start, partition_key")
    values = f"?, ?, ?, {key} as partition_key, {bracketed}, {window.replace(', ', ' as window_start, ')}"
    sql = (
        f"insert into {table('partition_log', schema, 'duckdb')} ({_COLUMNS}) "
        f"select {values}, ?, {attempt}, ?, ?, {versions}, ?, now() from {joined}{ordered}"
    )
    middle = [state, *own[:1], run_id, fingerprint, *own[1:], as_of]
    return sql, [*head, *middle, *parameters]


_LIVE = """
with live as (
  select unnest(?::varchar[]) as relation, unnest(?::varchar[]) as incarnation, unnest(?::timestamptz[]) as since
)
, log as not materialized (
  select relation, incarnation, definition_id, dims, epoch_us(window_start) // 1000000 as lo,
    epoch_us(window_end) // 1000000 as hi, state, attempt, upstream_versions, epoch_us(as_of) // 1000000 as as_of,
    recorded_at,
    attempt * 4 + case state when 'materialized' then 2 when 'removed' then 3 else 1 end as rank
  from {log}
)
"""

# Windows of one definition never overlap, so a group whose lengths add up to its extent has no gap: only the others
# need to be sorted and cut into islands. Nothing here touches the keys, by far the widest column.
_WRITES = """
, writes as not materialized (
  select relation, incarnation, definition_id, {kind} as kind, dims, lo, hi from log where {which}
)
, extents as materialized (
  select e.* from (
    select relation, incarnation, definition_id, kind, dims, min(lo) as lo, max(hi) as hi, sum(hi - lo) as covered,
      count(*) as n
    from writes group by all
  ) e join live using (relation, incarnation)
)
, islands as (
  select relation, definition_id, kind, dims, min(lo) as lo, max(hi) as hi, count(*) as n from (
    select *, sum(first) over (partition by relation, definition_id, kind, dims order by lo) as island from (
      select w.*, (lag(w.hi) over (
        partition by w.relation, w.definition_id, w.kind, w.dims order by w.lo) is distinct from w.lo
      )::integer as first
      from writes w join extents e on w.relation = e.relation and w.incarnation = e.incarnation
        and w.definition_id = e.definition_id and w.kind = e.kind and w.dims is not distinct from e.dims
        and e.covered <> e.hi - e.lo
    )
  ) group by relation, definition_id, kind, dims, island
)
"""

_RANGES = """
select relation, definition_id, kind, dims, lo, hi, null::bigint as as_of, n from extents
where lo is null or covered = hi - lo
union all
select relation, definition_id, kind, dims, lo, hi, null, n from islands
"""

# Attempts of a partition count 1, 2, 3 ..., so the first writes are the materialized partitions, each of them once.
# Whatever else may be true of a partition is rare, and only then its later rows are looked at.
_SPECIAL = """
, special as materialized (
  select s.* from (
    select relation, incarnation, definition_id, dims, lo, hi, rank, as_of, recorded_at, unnest(case
        when state <> 'materialized' then [state]
        when as_of >= hi + $slack then ['incomplete']
        when upstream_versions like '{"incomplete"%' then ['open', 'incomplete']
        else ['open'] end) as kind
    from log
    where state in ('failed', 'removed')
      or (state = 'materialized' and (as_of < hi + $slack or upstream_versions like '{"incomplete"%'))
  ) s join live using (relation, incarnation)
  where live.since is null or s.recorded_at > live.since
)
, later as materialized (
  select l.relation, l.definition_id, l.dims, l.lo, max(l.rank) as rank
  from log l
  join live using (relation, incarnation)
  join (select distinct relation, definition_id, dims, lo from special) s
    on l.relation = s.relation and l.definition_id = s.definition_id
    and l.dims is not distinct from s.dims and l.lo is not distinct from s.lo
  where l.state in ('materialized', 'removed')
  group by all
)
, standing as (
  select distinct s.relation, s.definition_id, s.kind, s.dims, s.lo, s.hi,
    case when s.kind = 'open' then s.as_of end as as_of
  from special s
  where not exists (
    select 1 from later where later.relation = s.relation and later.definition_id = s.definition_id
      and later.dims is not distinct from s.dims and later.lo is not distinct from s.lo and later.rank > s.rank
  )
)
, stretches as (
  select relation, definition_id, kind, dims, min(lo) as lo, max(hi) as hi, as_of, count(*) as n from (
    select *, sum(first) over (partition by relation, definition_id, kind, dims, as_of order by lo) as island from (
      select *, (lag(hi) over (
        partition by relation, definition_id, kind, dims, as_of order by lo) is distinct from lo
      )::integer as first
      from standing
    )
  ) group by relation, definition_id, kind, dims, as_of, island
)
"""


def read_facts(schema: str, slack: int) -> str:
    """The query for `(relation, definition_id, kind, dims, lo, hi, as_of, n)` of live relations.

    Parameters: lists of relations, of their incarnations, and of the moments after which attempts without a write count
    (NULL: all do). Kinds: materialized, failed, removed, open, incomplete. Windows are UTC seconds; `n` counts the
    partitions of a range. A window counts as open for `slack` seconds after its end.
    """
    head = _LIVE.format(log=table("partition_log", schema, "duckdb"))
    writes = _WRITES.format(kind="'materialized'", which="state = 'materialized' and attempt = 1")
    special = _SPECIAL.replace("$slack", str(slack))
    return f"{head}{writes}{special}{_RANGES}union all select * from stretches"


def read_attempts(schema: str) -> str:
    """Like `read_facts`, for writers: `kind` is the number of a committed write, so a partition is in several.

    Removing a partition counts as a write of it: what comes later has a higher number.
    """
    head = _LIVE.format(log=table("partition_log", schema, "duckdb"))
    return head + _WRITES.format(kind="attempt", which="state in ('materialized', 'removed')") + _RANGES


def read_last(schema: str) -> str:
    """The query for `(relation, incarnation, last row, last write, fingerprint, attempt, partitions)`.

    Fingerprint and attempt are the highest of a relation without partitions.

    Of every relation and incarnation there is, so that it also tells what is no longer live. Parameter: the relations.
    """
    return (
        "select relation, incarnation, max(recorded_at), max(recorded_at) filter (where state = 'materialized'), "
        "arg_max(fingerprint, attempt) filter (where state = 'materialized' and partition_key = ''), "
        "max(attempt) filter (where state = 'materialized' and partition_key = ''), "
        "count(*) filter (where state = 'materialized' and attempt = 1) "
        f"from {table('partition_log', schema, 'duckdb')} where relation in (select unnest(?::varchar[])) "
        "group by relation, incarnation"
    )


def read_errors(schema: str) -> str:
    """The query for `(relation, error)` of the last run that failed. Parameter: the relations."""
    return (
        f"select relation, arg_max(error, recorded_at) from {table('run_log', schema, 'duckdb')} "
        "where status = 'error' and relation in (select unnest(?::varchar[])) group by relation"
    )
