"""The DuckDB adapter: what it promises about transactions, errors, sessions and settings."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from partwise.adapters import connect, duckdb
from partwise.adapters.base import Column
from partwise.adapters.duckdb import DuckDB
from partwise.errors import CancelledError, CommitError, WarehouseError
from partwise.nodes import RelationName
from partwise.project.profiles import Target

T = RelationName(None, "main", "t")


@pytest.fixture
def adapter() -> DuckDB:
    return duckdb.connect({"path": ":memory:"})


def test_counts_rows_and_fetches_them(adapter: DuckDB) -> None:
    assert adapter.execute("create table t (a integer, b varchar)") == 0
    assert adapter.execute("insert into t values (1, 'x'), (?, ?)", [2, "y"]) == 2
    assert adapter.execute("delete from t where a = 1") == 1
    assert adapter.fetch("select * from t") == [(2, "y")]
    assert adapter.describe("select a, a, b || 'x' from t") == (
        Column("a", "INTEGER"),
        Column("a", "INTEGER"),
        Column("(b || 'x')", "VARCHAR"),
    )


def test_the_zone_is_utc_and_no_bar_is_drawn_in_every_session(adapter: DuckDB) -> None:
    asked = "select current_setting('TimeZone'), current_setting('enable_progress_bar')"
    assert adapter.fetch(asked) == adapter.session().fetch(asked) == [("UTC", False)]


def test_a_block_is_committed_whole_or_not_at_all(adapter: DuckDB) -> None:
    adapter.execute("create table t (a integer)")
    with adapter.transaction():
        adapter.execute("insert into t values (1)")
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), adapter.transaction():
            adapter.execute("insert into t values (2)")
            raise error
    assert adapter.fetch("select a from t") == [(1,)]


@pytest.mark.parametrize("broken", ["select nope", "selekt 1", "insert into t values ('x')", "select * from nothing"])
def test_an_error_that_was_swallowed_still_rolls_back(adapter: DuckDB, broken: str) -> None:
    """DuckDB answers OK to COMMIT of an aborted transaction, and keeps nothing."""
    adapter.execute("create table t (a integer)")
    with pytest.raises(WarehouseError, match="rolled back"), adapter.transaction():
        adapter.execute("insert into t values (1)")
        with pytest.raises(WarehouseError):
            adapter.execute(broken)
    assert adapter.fetch("select count(*) from t") == [(0,)]
    with adapter.transaction():
        adapter.execute("insert into t values (2)")
    assert adapter.fetch("select a from t") == [(2,)]


def test_a_conflict_is_transient_and_other_errors_are_not(adapter: DuckDB) -> None:
    adapter.execute("create table t (a integer)")
    adapter.execute("insert into t values (1)")
    other = adapter.session()
    with adapter.transaction():
        adapter.execute("update t set a = 2")
        with pytest.raises(WarehouseError) as conflict, other.transaction():
            other.execute("update t set a = 3")
    assert conflict.value.transient
    with pytest.raises(WarehouseError) as wrong:
        adapter.execute("select nope")
    assert not wrong.value.transient and wrong.value.sql == "select nope" and "nope" in wrong.value.message


def test_a_failing_commit_is_told_apart(adapter: DuckDB) -> None:
    adapter.execute("create table t (a integer primary key)")
    other = adapter.session()
    with pytest.raises(CommitError) as failed, adapter.transaction():
        adapter.execute("insert into t values (1)")
        with other.transaction():
            other.execute("insert into t values (1)")
    assert failed.value.sql == "commit"
    assert adapter.fetch("select count(*) from t") == [(1,)]


def test_cancelling_ends_the_statement_and_rolls_back(adapter: DuckDB) -> None:
    adapter.execute("create table t (a bigint)")
    session = adapter.session()
    threading.Timer(0.2, session.cancel).start()
    began = time.monotonic()
    with pytest.raises(CancelledError), session.transaction():
        session.execute("insert into t values (1)")
        session.execute("insert into t select count(*) from range(100000000000)")
    assert time.monotonic() - began < 10
    assert adapter.fetch("select count(*) from t") == [(0,)]
    with pytest.raises(CancelledError):  # and nothing more is started in it
        session.execute("select 1")


def test_closing_rolls_back_and_may_be_repeated(adapter: DuckDB) -> None:
    adapter.execute("create table t (a integer)")
    session = adapter.session()
    opened = session.transaction()
    opened.__enter__()
    session.execute("insert into t values (1)")
    session.close()
    session.close()
    assert adapter.fetch("select count(*) from t") == [(0,)]


def test_relations_of_the_catalog(adapter: DuckDB) -> None:
    assert adapter.relation(T) is None
    adapter.execute('create table t (a integer, "B c" timestamptz)')
    adapter.execute("comment on table t is 'hello'")
    found = adapter.relation(RelationName(None, "MAIN", "T"))
    assert found is not None and (found.kind, found.comment) == ("table", "hello")
    assert found.columns == (Column("a", "INTEGER"), Column("B c", "TIMESTAMP WITH TIME ZONE"))
    adapter.rename(T, RelationName(None, "main", "u"))
    assert adapter.relation(T) is None
    adapter.execute("create view t as select 1 as x")
    assert adapter.relation(T).kind == "view"  # type: ignore[union-attr]
    adapter.drop(T)
    adapter.drop(T)
    assert adapter.relation(T) is None
    adapter.create_schema("my schema")
    adapter.create_schema("my schema")
    assert adapter.fetch("select 1 from duckdb_schemas() where schema_name = 'my schema'") == [(1,)]


def test_a_temporary_table_is_no_relation(adapter: DuckDB) -> None:
    adapter.execute("create temporary table t (a integer)")
    assert adapter.relation(T) is None


# ---------------------------------------------------------------- opening


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="folder of the database file") as error:
        duckdb.connect({"path": str(tmp_path / "nowhere" / "w.db")})
    assert "mkdir" in (error.value.hint or "")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "w.db"
    path.write_text("hello " * 5000)
    with pytest.raises(WarehouseError, match="cannot be opened"):
        duckdb.connect({"path": str(path)})


def test_a_locked_file_names_the_process(tmp_path: Path) -> None:
    path = tmp_path / "w.db"
    code = f"import duckdb, sys; c = duckdb.connect({str(path)!r}); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline()
        for read_only in (False, True):
            with pytest.raises(WarehouseError, match=rf"PID {other.pid}\b") as error:
                duckdb.connect({"path": str(path)}, read_only=read_only)
            assert error.value.transient and str(path) in error.value.message
        assert other.stdin is not None
        other.stdin.close()


def test_reading_only_creates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "w.db"
    reader = duckdb.connect({"path": str(path)}, read_only=True)
    assert reader.fetch("select 1") == [(1,)]
    reader.close()
    assert not path.exists()


def test_reading_only_beside_a_writer_of_this_process(tmp_path: Path) -> None:
    fields = {"path": str(tmp_path / "w.db")}
    writer = duckdb.connect(fields)
    writer.execute("create table t as select 1 as a")
    reader = duckdb.connect(fields, read_only=True)
    assert reader.fetch("select a from t") == [(1,)]
    assert reader.identity == writer.identity
    reader.close()
    writer.close()


def test_settings_options_secrets_and_attached_databases(tmp_path: Path) -> None:
    other = tmp_path / "it's.db"
    side = duckdb.connect({"path": str(other)})
    side.execute("create table x as select 7 as v")
    side.close()
    adapter = duckdb.connect(
        {
            "path": ":memory:",
            "settings": {"threads": 1, "ieee_floating_point_ops": False},
            "config_options": {"default_null_order": "nulls_first"},
            "attach": [{"path": str(other), "alias": "side", "read_only": True}],
            "secrets": [{"name": "web", "type": "http", "bearer_token": "it's"}],
        }
        if has_http_secrets()
        else {
            "path": ":memory:",
            "settings": {"threads": 1, "ieee_floating_point_ops": False},
            "config_options": {"default_null_order": "nulls_first"},
            "attach": [{"path": str(other), "alias": "side", "read_only": True}],
        }
    )
    session = adapter.session()
    assert session.fetch("select v from side.x") == [(7,)]
    asked = "select current_setting('threads'), current_setting('ieee_floating_point_ops')"
    assert session.fetch(asked) == [(1, False)]
    assert session.fetch("select a from (values (1), (null)) as t (a) order by a")[0] == (None,)


def has_http_secrets() -> bool:
    """Whether the type of secret used here is built in, so that no network is needed."""
    return bool(duckdb.connect({}).fetch("select 1 from duckdb_secret_types() where type = 'http'"))


def test_a_wrong_setting_is_an_error_that_names_it() -> None:
    with pytest.raises(WarehouseError, match="no_such_setting"):
        duckdb.connect({"path": ":memory:", "settings": {"no_such_setting": 1}})


def test_connect_takes_a_target() -> None:
    target = Target("dev", "p", "duckdb", "main", 1, {"path": ":memory:"})
    assert connect(target).fetch("select 1") == [(1,)]
    with pytest.raises(WarehouseError, match="snowflake"):
        connect(Target("dev", "p", "snowflake", "main", 1, {}))


def test_importing_the_adapter_does_not_import_the_engine() -> None:
    code = "import sys, partwise.adapters.duckdb, partwise.warehouse.status, partwise.warehouse.results; assert 'duckdb' not in sys.modules"
    folder = str(Path(duckdb.__file__).parents[2])
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": folder})
