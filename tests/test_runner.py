"""Carrying out plans: what is written, in which order, what a failure takes out, and what stays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.errors import WarehouseError
from partwise.partitions import daily, hourly, multi, static
from partwise.planning.plan import Mode
from partwise.warehouse import write
from partwise.warehouse.claims import Claim, claims_of
from partwise.warehouse.results import Event
from warehouse import NOW, Events, Warehouse, keys, model, source

DAYS = daily(start="2024-01-01", end="2024-01-08")
HOURS = hourly(start="2024-01-01", end="2024-01-04")
RAW = source("raw", "events", expr="d")
COPY = "select * from {{ source('raw', 'events') }}"
TOTALS = "select d, sum(v) as v from {{ source('raw', 'events') }} group by d"


def week() -> list[tuple[str, int]]:
    return [(f"2024-01-0{i}", i) for i in range(1, 8)]


@pytest.fixture
def w() -> Warehouse:
    made = Warehouse(
        RAW, model("t", TOTALS, DAYS, "d"), model("u", "select d, 2 * v as v from {{ ref('t') }}", DAYS, "d")
    )
    made.table("raw.events", {"d": "DATE", "v": "INTEGER"}, week())
    return made


def values(w: Warehouse, table: str) -> dict[str, int]:
    return {str(d): v for d, v in w.rows(table)}


ALL = {f"2024-01-0{i}": i for i in range(1, 8)}


def test_builds_and_builds_again(w: Warehouse) -> None:
    for attempt in (1, 2, 3):
        results = w.run("t", "u")
        assert [r.status for r in results.runs] == ["success"] * 14
        assert values(w, "t") == ALL
        assert values(w, "u") == {d: 2 * v for d, v in ALL.items()}
        logged = w.rows("select distinct max(attempt) from partwise.partition_log group by relation, partition_key")
        assert logged == [(attempt,)]
    assert keys(w.of("t").materialized) == list(DAYS.keys(NOW))


def test_single_run_writes_all_in_one(w: Warehouse) -> None:
    results = w.run(w.step("t", mode="single_run"))
    assert [(r.status, r.rows, r.partitions) for r in results.runs] == [("success", 7, 7)]
    assert values(w, "t") == ALL
    assert len(w.of("t").materialized or ()) == 7


def test_rebuilding_one_partition_touches_no_other(w: Warehouse) -> None:
    w.run("t")
    w.adapter.execute("update t set v = v + 1000 where d <> date '2024-01-03'")  # so that a rewrite would show
    w.adapter.execute("update raw.events set v = 33 where d = date '2024-01-03'")
    before = w.rows("select rowid, * from t where d <> date '2024-01-03'")
    w.run(w.step("t", "2024-01-03"))
    assert w.rows("select rowid, * from t where d <> date '2024-01-03'") == before
    assert w.rows("select v from t where d = date '2024-01-03'") == [(33,)]


def test_a_failing_model_leaves_the_old_rows_and_is_recorded(w: Warehouse) -> None:
    w.run("t")
    w.define(
        model("t", "select d, sum(error(v::varchar)) as v\nfrom {{ source('raw', 'events') }} group by d", DAYS, "d")
    )
    w.define(
        replace(
            w["t"],
            raw_code="select d,\n case when d = date '2024-01-03' then error('broken day') else sum(v) end as v from {{ source('raw', 'events') }} group by d",
        )
    )
    results = w.run("t", "u")
    by_model = {"t": [], "u": []}
    for r in results.runs:
        by_model[r.model.rpartition(".")[2]].append(r.status)
    assert sorted(by_model["t"]) == ["error"] + ["success"] * 6
    assert sorted(by_model["u"]) == ["skipped"] + ["success"] * 6
    assert results.failed
    assert values(w, "t") == ALL
    facts = w.of("t")
    assert keys(facts.failed) == ["2024-01-03"]
    assert len(facts.materialized or ()) == 7
    assert "broken day" in (facts.last_error or "")
    error = next(r for r in results.runs if r.status == "error")
    assert error.error is not None and error.error.file == "models/t.sql"
    assert keys(error.run.partitions) == ["2024-01-03"]
    skipped = next(r for r in results.runs if r.status == "skipped")
    assert "t 2024-01-03 failed" in skipped.because
    row = w.rows(
        "select materialized, failed, error from partwise.partition_status where relation = 'main.t' and failed"
    )
    assert [r[:2] for r in row] == [(True, True)] and "broken day" in row[0][2]


def test_success_after_failure_clears_it(w: Warehouse) -> None:
    good = w["t"]
    w.define(replace(good, raw_code="select d, error('no') as v from {{ source('raw', 'events') }}"))
    w.run("t")
    assert keys(w.of("t").failed) == list(DAYS.keys(NOW)) and not w.of("t").materialized
    w.define(good)
    w.run("t")
    assert not w.of("t").failed and len(w.of("t").materialized or ()) == 7


def test_a_model_that_cannot_be_read_gives_one_result(w: Warehouse) -> None:
    w.define(model("t", "select d, nope as v from {{ source('raw', 'events') }}", DAYS, "d"))
    results = w.run("t", "u")
    assert [r.status for r in results.runs if r.model.endswith(".t")] == ["error"]
    error = results.runs[0].error
    assert error is not None and "nope" in error.message and (error.file, error.line) == ("models/t.sql", 1)
    assert len(keys(w.of("t").failed)) == 7
    assert {r.status for r in results.runs if r.model.endswith(".u")} == {"skipped"}


def test_a_single_run_loses_only_what_reads_the_failure(w: Warehouse) -> None:
    w.define(
        model("t", "select d, case when d = date '2024-01-03' then error('bad')::int else v end as v from "
              "{{ source('raw', 'events') }}", DAYS, "d")
    )  # fmt: skip
    results = w.run("t", w.step("u", mode="single_run"))
    last = results.runs[-1]
    assert (last.status, last.partitions) == ("partial", 6)
    assert keys(last.skipped) == ["2024-01-03"] and last.because == "t 2024-01-03 failed"
    assert len(values(w, "u")) == 6
    assert len(w.of("u").materialized or ()) == 6 and not w.of("u").failed


def test_a_run_starts_when_what_it_reads_is_done() -> None:
    hours = "select * from {{ source('raw', 'events') }}"
    days = "select ts::date as d, count(*) as n from {{ ref('h') }} group by 1"
    w = Warehouse(
        source("raw", "events", expr="ts"), model("h", hours, HOURS, "ts"),
        model("t", days, daily(start="2024-01-01", end="2024-01-04"), "d"),
    )  # fmt: skip
    w.table("raw.events", {"ts": "TIMESTAMP"}, [(f"2024-01-0{d} {h:02}:30:00",) for d in (1, 2, 3) for h in range(24)])
    results = w.run("h", "t")
    order = [(r.model.rpartition(".")[2], str(r.run.partitions)) for r in results.runs]
    assert [i for i, (name, _) in enumerate(order) if name == "t"] == [24, 49, 74]
    assert [n for _, n in w.rows("t")] == [24, 24, 24]


@pytest.mark.parametrize("threads", [1, 4])
def test_several_threads_write_several_models(threads: int) -> None:
    nodes = [model(f"m{i}", TOTALS.replace("sum(v)", f"sum(v) + {i}"), DAYS, "d") for i in range(4)]
    nodes += [model(f"n{i}", f"select d, v + 100 as v from {{{{ ref('m{i}') }}}}", DAYS, "d") for i in range(4)]
    w = Warehouse(RAW, *nodes)
    w.table("raw.events", {"d": "DATE", "v": "INTEGER"}, week())
    for _ in range(2):
        results = w.run(*(n.name for n in nodes), threads=threads)
        assert {r.status for r in results.runs} == {"success"} and len(results.runs) == 56
    for i in range(4):
        assert values(w, f"n{i}") == {d: v + i + 100 for d, v in ALL.items()}
        assert len(w.of(f"n{i}").materialized or ()) == 7


def test_fail_fast_starts_nothing_more(w: Warehouse) -> None:
    w.define(model("t", "select d, error('bad') as v from {{ source('raw', 'events') }}", DAYS, "d"))
    results = w.run("t", "u", fail_fast=True)
    assert [r.status for r in results.runs] == ["error"] and results.failed


def test_tables_and_views_are_built_after_what_they_read(w: Warehouse) -> None:
    w.define(
        model("v", "select * from {{ ref('t') }}", materialized="view"),
        model("total", "select sum(v) as v, count(*) as n from {{ ref('v') }}"),
    )
    for _ in range(2):
        results = w.run("t", "v", "total")
        assert {r.status for r in results.runs} == {"success"}
        assert w.rows("total") == [(28, 7)]
        assert w.of("total").built and w.of("v").built
    w.define(model("total", "select error('bad') as v from {{ ref('v') }}"))
    assert w.run("total").runs[0].status == "error"
    assert w.rows("total") == [(28, 7)]
    assert w.of("total").last_failed and w.of("total").built
    w.define(model("total", "select 1 as v", materialized="view"))
    assert w.run("total").runs[0].status == "success"
    assert w.rows("total") == [(1,)] and not w.of("total").last_failed


def test_whole_tables_count_attempts_over_their_lives(w: Warehouse) -> None:
    w.define(model("total", "select sum(v) as v from {{ ref('t') }}"))
    for _ in range(3):
        w.run("t", "total")
    log = "select attempt, count(distinct incarnation) from partwise.partition_log where relation = 'main.total' group by 1"
    assert w.rows(log) == [(1, 1), (2, 1), (3, 1)]


def test_statements_of_a_run(w: Warehouse) -> None:
    seen: list[str] = []
    w.adapter = Counting(w.adapter, seen)  # type: ignore[assignment]
    w.run(w.step("t", "2024-01-01:2024-01-02"))
    assert transactions(seen)[-2:] == [["begin", "insert", "insert", "commit"]] * 2
    seen.clear()
    w.run(w.step("t", "2024-01-01:2024-01-02"))
    assert transactions(seen) == [["begin", "delete", "insert", "insert", "commit"]] * 2


class Counting:
    """An adapter that notes what goes through its sessions."""

    def __init__(self, inner: object, seen: list[str], note: bool = False) -> None:
        self.inner, self.seen, self.note = inner, seen, note

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def session(self) -> object:
        session = self.inner.session()  # type: ignore[attr-defined]
        execute = session.execute

        def noted(sql: str, parameters: object = None) -> int:
            self.seen.append(sql)
            return int(execute(sql, parameters))

        session.execute = noted
        return session


def transactions(seen: list[str]) -> list[list[str]]:
    found: list[list[str]] = []
    for sql in seen:
        word = sql.split()[0]
        if word == "begin":
            found.append([])
        if found and "comment" not in word and "create" not in word:
            found[-1].append(word)
    return [t for t in found if "insert" in t]


def test_rows_outside_are_counted_and_left_out(w: Warehouse) -> None:
    leaky = model("t", "select d + 1 as d, v from {{ source('raw', 'events') }}", DAYS, "d")
    w.define(leaky)
    results = w.run(w.step("t", "2024-01-03"))
    assert [(r.status, r.leaks, r.rows) for r in results.runs] == [("success", 1, 0)]
    assert any("1 row outside" in text for text in results.warnings)
    w.define(replace(leaky, on_leak="error"))
    failed = w.run(w.step("t", "2024-01-03")).runs[0]
    assert failed.status == "error" and failed.error is not None and "1 row that lies" in failed.error.message
    w.define(replace(leaky, on_leak="filter"))
    assert w.run(w.step("t", "2024-01-03")).runs[0].leaks == 0
    assert w.rows("select table_name from duckdb_tables() where table_name like 'partwise_stage%'") == []


@pytest.mark.parametrize(
    ("policy", "status", "told"), [("warn", "success", True), ("skip", "success", False), ("error", "error", True)]
)
def test_null_partition_values_are_counted(w: Warehouse, policy: str, status: str, told: bool) -> None:
    w.adapter.execute("insert into raw.events values (null, 1), (null, 2)")
    w.define(replace(w["t"], on_null=policy))
    results = w.run("t")
    assert {r.status for r in results.runs} == {status}
    if status == "success":
        assert bool(results.warnings) == told and len(results.warnings) <= 1
        assert values(w, "t") == ALL
    else:
        assert "2 rows of `raw.events`" in str(results.runs[0].error)


def test_events_tell_what_happens(w: Warehouse) -> None:
    events = Events()
    w.run(w.step("t", "2024-01-01:2024-01-02"), on_event=events)
    assert [e.kind for e in events.seen] == ["start", "finish"] * 2


def test_ctrl_c_rolls_back_and_returns(w: Warehouse) -> None:
    w.run(w.step("t", "2024-01-01:2024-01-02"))
    before = w.rows("t")
    w.define(
        replace(
            w["t"],
            raw_code="select d, (select count(*) from range(100000000000))::int + v as v from {{ source('raw', 'events') }}",
        )
    )

    def press(event: object) -> None:
        if getattr(event, "kind", "") == "start":
            threading.Timer(0.2, _interrupt_main).start()

    results = w.run("t", on_event=press)
    assert results.interrupted and [r.status for r in results.runs] == ["cancelled"]
    assert w.rows("t") == before
    facts = w.of("t")
    assert not facts.failed and len(facts.materialized or ()) == 2 and not facts.interrupted
    assert w.rows("select distinct status from partwise.invocation_log where event = 'finish'") == [
        ("interrupted",),
        ("success",),
    ]


def _interrupt_main() -> None:
    import os
    import signal

    os.kill(os.getpid(), signal.SIGINT)


def test_full_refresh_swaps_at_the_end(w: Warehouse) -> None:
    w.run("t", "u")
    before = w.of("t").incarnation
    w.adapter.execute("update raw.events set v = v * 10")
    results = w.run(w.step("t", full_refresh=True), "u")
    assert {r.status for r in results.runs} == {"success"}
    assert values(w, "t") == {d: 10 * v for d, v in ALL.items()}
    assert values(w, "u") == {d: 20 * v for d, v in ALL.items()}
    assert w.of("t").incarnation != before and len(w.of("t").materialized or ()) == 7
    assert w.rows("select table_name from duckdb_tables() where table_name like 't\\_%' escape '\\'") == []


def test_full_refresh_that_fails_keeps_the_old_table(w: Warehouse) -> None:
    w.run("t")
    w.define(
        model(
            "t",
            "select d, case when d = date '2024-01-05' then error('bad')::int else -v end as v from {{ source('raw', 'events') }}",
            DAYS,
            "d",
        )
    )
    results = w.run(w.step("t", full_refresh=True), "u")
    assert values(w, "t") == ALL
    facts = w.of("t")
    assert len(facts.materialized or ()) == 7 and keys(facts.failed) == ["2024-01-05"]
    assert any("not published" in text for text in results.warnings)
    assert {r.status for r in results.runs if r.model.endswith(".u")} == {"skipped"}
    assert w.rows("select table_name from duckdb_tables() where table_name like 't\\_%' escape '\\'") == []


@pytest.mark.parametrize("how", ["fail fast", "interrupt"])
def test_a_full_refresh_that_is_stopped_leaves_nothing_behind(w: Warehouse, how: str) -> None:
    w.run("t")
    bad = "select d, case when d = date '2024-01-02' then error('bad')::int else -v end as v from {{ source('raw', 'events') }}"
    w.define(model("t", bad, DAYS, "d"))

    def stop(event: Event) -> None:
        if how == "interrupt" and event.kind == "finish":
            raise KeyboardInterrupt

    results = w.run(w.step("t", full_refresh=True), fail_fast=True, on_event=stop)
    assert results.interrupted == (how == "interrupt")
    assert values(w, "t") == ALL and len(w.of("t").materialized or ()) == 7
    assert w.rows("select table_name from duckdb_tables() where table_name like '%partwise%'") == []


@pytest.mark.parametrize("more", ["", "{% if partition.key == 'x' %} + 1{% endif %}"])  # the second differs by run
def test_own_past_is_built_in_order(more: str) -> None:
    total = "v + coalesce((select max(total) from {{ this }}), 0)" + more
    code = f"select d, {total} as total from {{{{ source('raw', 'events') }}}}"
    w = Warehouse(RAW, model("t", code, DAYS, "d"))
    w.table("raw.events", {"d": "DATE", "v": "INTEGER"}, week())
    for _ in range(2):
        results = w.run("t", threads=4)
        assert {r.status for r in results.runs} == {"success"}, results.runs[0].error
        assert values(w, "t") == {f"2024-01-0{i}": i * (i + 1) // 2 for i in range(1, 8)}
    w.run(w.step("t", full_refresh=True), threads=4)
    assert values(w, "t") == {f"2024-01-0{i}": i * (i + 1) // 2 for i in range(1, 8)}


def test_own_past_stops_at_a_failure() -> None:
    code = (
        "select d, case when d = date '2024-01-03' then error('bad')::int else v end + "
        "coalesce((select max(total) from {{ this }}), 0) as total from {{ source('raw', 'events') }}"
    )
    w = Warehouse(RAW, model("t", code, DAYS, "d"))
    w.table("raw.events", {"d": "DATE", "v": "INTEGER"}, week())
    assert [r.status for r in w.run("t").runs] == ["success", "success", "error", *["skipped"] * 4]


def test_an_open_window_counts_as_missing_once_closed(w: Warehouse) -> None:
    during = datetime(2024, 1, 4, 12, tzinfo=UTC)
    w.run(w.step("t", "2024-01-03:2024-01-04"), now=during)
    facts = w.of("t")
    assert keys(facts.materialized) == ["2024-01-03", "2024-01-04"]
    assert keys(facts.open_built) == ["2024-01-04"]
    w.run(w.step("t", "2024-01-04"))
    assert not w.of("t").open_built


def test_built_incomplete_is_remembered_until_rebuilt(w: Warehouse) -> None:
    step = w.step("t")
    w.run(replace(step, incomplete=DAYS.subset("2024-01-02:2024-01-03")))
    assert keys(w.of("t").incomplete) == ["2024-01-02", "2024-01-03"]
    w.run(w.step("t", "2024-01-02"))
    assert keys(w.of("t").incomplete) == ["2024-01-03"]


def test_two_dimensions() -> None:
    definition = multi(date=DAYS, region=static(["us", "eu", "o'br"]))
    code = "select * from {{ source('raw', 'sales') }}"
    exprs = {"date": "d", "region": "r"}
    w = Warehouse(source("raw", "sales", expr=exprs), model("t", code, definition, exprs))
    rows = [(f"2024-01-0{i}", r, i) for i in range(1, 8) for r in ("us", "eu", "o'br")]
    w.table("raw.sales", {"d": "DATE", "r": "VARCHAR", "v": "INTEGER"}, rows)
    w.run(w.step("t", mode="single_run"))
    assert len(w.rows("t")) == 21 and len(w.of("t").materialized or ()) == 21
    w.adapter.execute("update raw.sales set v = -1")
    w.run(w.step("t", "2024-01-02|us"))
    assert [(str(d), r) for d, r, v in w.rows("t") if v == -1] == [("2024-01-02", "us")]
    wanted = definition.box(date="2024-01-05/2024-01-07", region={"eu", "o'br"})
    w.run(w.step("t", wanted, mode="single_run"))
    assert len([1 for *_, v in w.rows("t") if v == -1]) == 5
    counted = "select attempt, count(*) from partwise.partition_log group by 1"
    assert w.rows(counted) == [(1, 21), (2, 5)]
    assert w.of("t").materialized == definition.existing(NOW)


# ---------------------------------------------------------------- when the warehouse itself misbehaves


class Faulty(Counting):
    """An adapter whose sessions fail at the statements that `fault` picks: it raises, or returns an error to raise
    after the statement has run."""

    def __init__(self, inner: object, fault: Callable[[str], WarehouseError | None]) -> None:
        super().__init__(inner, [])
        self.fault = fault

    def session(self) -> object:
        session = self.inner.session()  # type: ignore[attr-defined]
        execute = session.execute

        def faulty(sql: str, parameters: object = None) -> int:
            after = self.fault(sql)
            count = int(execute(sql, parameters))
            if after is not None:
                raise after
            return count

        session.execute = faulty
        return session


def failing(
    word: str, times: int, *, after: bool = False, transient: bool = True
) -> Callable[[str], WarehouseError | None]:
    """A fault in the first `times` statements that begin with `word`, before or after they take effect."""
    left = [times]

    def fault(sql: str) -> WarehouseError | None:
        if sql.startswith(word) and left[0]:
            left[0] -= 1
            error = WarehouseError(f"{word} went wrong", transient=transient)
            if after:
                return error
            raise error
        return None

    return fault


@pytest.mark.parametrize("word", ["begin", "insert into main.t", "insert into partwise.partition_log", "commit"])
@pytest.mark.parametrize(("times", "status"), [(1, "success"), (2, "success"), (3, "error")])
def test_transient_errors_repeat_the_whole_transaction(w: Warehouse, word: str, times: int, status: str) -> None:
    plain = w.adapter
    w.run(w.step("t", "2024-01-07"))
    plain.execute("delete from t")
    plain.execute("delete from partwise.partition_log")
    w.adapter = Faulty(plain, failing(word, times))  # type: ignore[assignment]
    [result] = w.run(w.step("t", "2024-01-01")).runs
    assert result.status == status
    if status == "success":
        assert result.tries == times + 1
        assert plain.fetch("select v from t") == [(1,)]
        assert plain.fetch("select run_id, attempt from partwise.partition_log") == [(result.run_id, 1)]
        assert result.run_id.endswith(f".1.{times + 1}")
    else:
        assert plain.fetch("select v from t") == []
        assert plain.fetch("select state from partwise.partition_log") == [("failed",)]


def test_permanent_errors_are_not_repeated(w: Warehouse) -> None:
    w.adapter = Faulty(w.adapter, failing("insert into main.t", 1, transient=False))  # type: ignore[assignment]
    [result] = w.run(w.step("t", "2024-01-01")).runs
    assert result.status == "error" and result.tries == 1


def test_a_commit_whose_answer_was_lost_is_looked_up(w: Warehouse) -> None:
    """The exception says it failed, the log says it did not: the log is right, and nothing is run twice."""
    plain = w.adapter
    w.run(w.step("t", "2024-01-07"))
    w.adapter = Faulty(plain, failing("commit", 1, after=True, transient=False))  # type: ignore[assignment]
    results = w.run(w.step("t", "2024-01-01:2024-01-02"))
    assert [r.status for r in results.runs] == ["success"] * 2 and results.runs[0].tries == 1
    assert plain.fetch("select count(*) from t") == [(3,)]
    assert plain.fetch("select partition_key, attempt from partwise.partition_log order by 1") == [
        ("2024-01-01", 1),
        ("2024-01-02", 1),
        ("2024-01-07", 1),
    ]


@pytest.mark.parametrize("word", ["begin", "create table", "comment on table", "commit"])
@pytest.mark.parametrize("after", [False, True])
def test_making_a_table_is_tried_again_too(w: Warehouse, word: str, after: bool) -> None:
    plain = w.adapter
    w.adapter = Faulty(plain, failing(word, 1, after=after))  # type: ignore[assignment]
    assert {r.status for r in w.run("t").runs} == {"success"}
    w.adapter = plain
    assert values(w, "t") == ALL and len(w.of("t").materialized or ()) == 7


def test_a_session_that_cannot_be_had_is_raised(w: Warehouse) -> None:
    def refuse() -> object:
        raise WarehouseError("no more sessions")

    w.adapter.session = refuse  # type: ignore[method-assign,assignment]
    with pytest.raises(WarehouseError, match="no more sessions"):
        w.run("t")
    assert w.rows("select count(*) from partwise.partition_claims") == [(0,)]


def test_a_rival_claim_is_named_or_waited_for(w: Warehouse) -> None:
    claims = claims_of(w.adapter.identity)
    other = Claim("main.t", DAYS.subset("2024-01-03"), "other-run")
    with claims.hold(other):
        with pytest.raises(WarehouseError, match="other-run"):
            w.run("t")
        assert w.run(w.step("t", "2024-01-04")).runs[0].status == "success", "disjoint partitions run side by side"
        threading.Timer(0.2, claims.release, [other]).start()
        assert {r.status for r in w.run("t", wait=10).runs} == {"success"}
    assert not claims.invocations()


def test_removing_deletes_rows_and_facts_together(w: Warehouse) -> None:
    w.run("t")
    gone = DAYS.subset("2024-01-01:2024-01-03")
    rows = write.remove(w.adapter, w["t"], gone, "d < date '2024-01-04'", "partwise", NOW)
    assert rows == 3 and len(w.rows("t")) == 4
    assert keys(w.of("t").materialized) == [f"2024-01-0{i}" for i in range(4, 8)]
    w.run(w.step("t", "2024-01-02"))
    assert values(w, "t")["2024-01-02"] == 2 and len(w.of("t").materialized or ()) == 5


# ---------------------------------------------------------------- the strongest test


@settings(max_examples=8, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 7), st.integers(0, 3), st.sampled_from(["single_run", "multi_run"]), st.integers(1, 3),
            st.sets(st.integers(1, 7), max_size=2), st.integers(1, 3), st.booleans(),
        ),
        max_size=4,
    )
)  # fmt: skip
def test_whatever_happened_before_a_last_run_gives_a_full_rebuild(
    history: list[tuple[int, int, Mode, int, set[int], int, bool]],
) -> None:
    """Windows, modes, chunks, failures, threads and new input in any order; then all is built once more."""
    bad = "select d, case when day(d) in (select n from raw.bad) then error('bad')::int else v end as v from {{ source('raw', 'events') }}"
    made = Warehouse(
        RAW,
        model("t", bad, DAYS, "d"),
        model("u", "select d, v + 1 as v from {{ ref('t') }}", DAYS, "d"),
        model("x", "select d + 0 as d, sum(v) as v from {{ ref('u') }} group by 1", DAYS, "d"),
        model("total", "select count(*) as n, sum(v) as v from {{ ref('x') }}"),
    )
    made.table("raw.bad", {"n": "INTEGER"})
    made.table("raw.events", {"d": "DATE", "v": "INTEGER"}, week())
    for first, more, mode, most, failing_days, threads, changed in history:
        made.table("raw.bad", {"n": "INTEGER"}, [(n,) for n in failing_days])
        if changed:
            made.adapter.execute("update raw.events set v = v + 10")
        chosen = f"2024-01-0{first}:2024-01-0{min(7, first + more)}"
        steps = [made.step(name, chosen, mode=mode, most=most) for name in ("t", "u", "x")]
        made.run(*steps, "total", threads=threads)
        for name in ("t", "u", "x"):  # at every moment what is logged is what is held
            held = (
                {str(d) for (d,) in made.rows(f"select distinct d from {name}")}
                if made.adapter.relation(made[name].relation)
                else set()
            )
            assert held == set(keys(made.of(name).materialized))
    made.table("raw.bad", {"n": "INTEGER"})
    assert not made.run("t", "u", "x", "total").failed
    right = {str(d): v + 1 for d, v in made.rows("raw.events")}
    assert values(made, "x") == right
    assert made.rows("total") == [(7, sum(right.values()))]
    assert all(len(made.of(name).materialized or ()) == 7 and not made.of(name).failed for name in ("t", "u", "x"))
