"""DuckDB: one process owns the file, so a session here is a cursor on one connection of this process.

Importing this module is cheap; `duckdb` itself is imported when a connection is opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from partwise.adapters.base import Column, Relation
from partwise.errors import CancelledError, CommitError, WarehouseError
from partwise.nodes import RelationName
from partwise.rendering import literals

if TYPE_CHECKING:
    import duckdb

# TimeZone: casts and date_trunc on TIMESTAMPTZ use it, so the machine's own zone must not leak in.
# The progress bar is drawn on stdout, even into a pipe, where it would destroy `--output json`.
_SETTINGS: Mapping[str, Any] = {"TimeZone": "UTC", "enable_progress_bar": False}
_HOLDER = re.compile(r"lock is held in (?P<program>.*?) ?\(PID (?P<pid>\d+)\)")
_OTHER_CONFIGURATION = "different configuration than existing connections"


def connect(fields: Mapping[str, Any], *, read_only: bool = False) -> DuckDB:
    """Open the database that the fields of a profile name, and prepare it as they say.

    `read_only` lets several processes read side by side; a file that is not there then reads as an empty database, and
    nothing is created. Raises WarehouseError when the file is locked (naming the process), its folder is missing, or a
    setting, extension, secret or attached database cannot be had.
    """
    path = str(fields.get("path") or ":memory:")
    on_disk = path != ":memory:" and "://" not in path and not path.startswith(("md:", "motherduck:"))
    if on_disk:
        _check_folder(path)
        if read_only and not Path(path).exists():
            path, read_only = ":memory:", False
    config = {str(k): v for k, v in (fields.get("config_options") or {}).items()}
    root = _open(path, config, read_only and path != ":memory:")
    identity = path if path != ":memory:" else f":memory: {id(root)}"
    adapter = DuckDB(root, identity, local={})
    try:
        adapter._prepare(fields)
    except BaseException:
        adapter.close()
        raise
    return adapter


def _check_folder(path: str) -> None:
    folder = Path(path).parent
    if not folder.is_dir():
        raise WarehouseError(
            f"the folder of the database file `{path}` is not there",
            hint=f"create it (`mkdir -p {folder}`), or change `path` in profiles.yml",
        )


def _open(path: str, config: dict[str, Any], read_only: bool) -> duckdb.DuckDBPyConnection:
    import duckdb

    try:
        return duckdb.connect(path, read_only=read_only, config=config)
    except duckdb.ConnectionException as error:
        if read_only and _OTHER_CONFIGURATION in str(error):  # this very process has it open for writing
            return _open(path, config, False)
        raise WarehouseError(f"the database `{path}` cannot be opened: {error}") from error
    except duckdb.Error as error:
        holder = _HOLDER.search(str(error))
        if holder is not None:
            program = Path(holder["program"]).name or "another program"
            raise WarehouseError(
                f"the database file `{path}` is in use by another process: {program} (PID {holder['pid']})",
                hint="wait until it has ended, or end it; DuckDB lets one process write, or several read, at a time",
                transient=True,
            ) from error
        raise WarehouseError(f"the database `{path}` cannot be opened: {error}") from error


class DuckDB:
    """A session with a DuckDB database. See `adapters.base.Adapter` for what each method promises."""

    dialect = "duckdb"

    def __init__(self, connection: duckdb.DuckDBPyConnection, identity: str, local: dict[str, Any]) -> None:
        self.identity = identity
        self._connection = connection
        self._local = local  # settings that hold for one session only, so that each new one needs them
        self._stopped = Event()
        self._in_transaction = False
        self._failed = False  # an error inside the open transaction: nothing but ROLLBACK may follow

    # ------------------------------------------------------------ statements

    def execute(self, sql: str, parameters: Sequence[Any] | None = None) -> int:
        self._run(sql, parameters)
        row = self._connection.fetchone() if self._connection.description else None
        return row[0] if row and len(row) == 1 and isinstance(row[0], int) else 0

    def fetch(self, sql: str, parameters: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        self._run(sql, parameters)
        return self._connection.fetchall()

    def fetch_with_names(self, sql: str, limit: int | None = None) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Column names and rows, at most `limit` of them."""
        self._run(sql, None)
        names = [str(column[0]) for column in self._connection.description or ()]
        rows = self._connection.fetchall() if limit is None else self._connection.fetchmany(limit)
        return names, rows

    def describe(self, sql: str) -> tuple[Column, ...]:
        return tuple(Column(row[0], row[1]) for row in self.fetch(f"describe {sql}"))

    def _run(self, sql: str, parameters: Sequence[Any] | None) -> None:
        import duckdb

        if self._stopped.is_set():
            raise CancelledError("cancelled")
        try:
            self._connection.execute(sql, parameters)
        except duckdb.Error as error:
            self._failed = True
            raise _translated(error, sql, self._stopped.is_set()) from error
        except BaseException:
            self._failed = True
            raise

    @contextmanager
    def transaction(self) -> Iterator[None]:
        try:
            self.execute("begin")
        except BaseException:  # it may have begun all the same
            self._rollback()
            raise
        self._in_transaction, self._failed = True, False
        try:
            yield
            if self._failed:  # COMMIT of an aborted transaction answers OK and keeps nothing
                raise WarehouseError("a statement of the transaction failed, so it was rolled back")
        except BaseException:
            self._rollback()
            raise
        try:
            self.execute("commit")
        except CancelledError:  # stopped just before it was sent
            self._rollback()
            raise
        except WarehouseError as error:
            self._rollback()
            raise CommitError(error.message, transient=error.transient, sql="commit") from error
        except BaseException:
            self._rollback()
            raise
        finally:
            self._in_transaction = False

    def _rollback(self) -> None:
        with suppress(Exception):  # none is open when the engine has ended it itself
            self._connection.rollback()
        self._in_transaction = False

    # ------------------------------------------------------------ catalog

    def relation(self, name: RelationName) -> Relation | None:
        wanted = [name.schema, name.identifier]
        where = "database_name = current_database()"
        if name.database:
            where = "lower(database_name) = lower(?)"
            wanted.insert(0, name.database)
        where += " and lower(schema_name) = lower(?) and lower({}) = lower(?)"
        found = self.fetch(
            f"select 'table', comment from duckdb_tables() where {where.format('table_name')} and not temporary "
            f"union all select 'view', comment from duckdb_views() where {where.format('view_name')} and not temporary",
            [*wanted, *wanted],
        )
        if not found:
            return None
        kind, comment = found[0]
        columns = self.fetch(
            f"select column_name, data_type from duckdb_columns() where {where.format('table_name')} "
            "order by column_index",
            wanted,
        )
        return Relation(name, kind, tuple(Column(*row) for row in columns), comment or "")

    def create_schema(self, name: str) -> None:
        there = "database_name = current_database() and lower(schema_name) = lower(?)"
        if not self.fetch(f"select 1 from duckdb_schemas() where {there}", [name]):
            self.execute(f"create schema if not exists {literals.identifier(name, 'duckdb')}")

    def rename(self, old: RelationName, new: RelationName) -> None:
        target = literals.identifier(new.identifier, "duckdb")
        self.execute(f"alter table {literals.relation(old, 'duckdb')} rename to {target}")

    def drop(self, name: RelationName) -> None:
        found = self.relation(name)
        if found is not None:
            self.execute(f"drop {found.kind} if exists {literals.relation(name, 'duckdb')}")

    # ------------------------------------------------------------ sessions

    def session(self) -> DuckDB:
        made = DuckDB(self._connection.cursor(), self.identity, self._local)
        made._apply(self._local)
        return made

    def cancel(self) -> None:
        self._stopped.set()
        with suppress(Exception):
            self._connection.interrupt()

    def close(self) -> None:
        if self._in_transaction:
            self._rollback()
        with suppress(Exception):
            self._connection.close()

    def __enter__(self) -> DuckDB:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------ what a profile asks for

    def _prepare(self, fields: Mapping[str, Any]) -> None:
        for extension in fields.get("extensions") or ():
            self._load(extension)
        for secret in fields.get("secrets") or ():
            self.execute(_secret(secret))
        for database in fields.get("attach") or ():
            self.execute(_attach(database))
        for name, value in {**_SETTINGS, **(fields.get("settings") or {})}.items():
            self._set(str(name), value)

    def _set(self, name: str, value: Any) -> None:
        try:
            self.execute(f"set global {_setting(name, value)}")
        except WarehouseError as error:
            if "global" not in error.message.lower():
                raise
            self._local[name] = value
            self._apply({name: value})

    def _apply(self, settings: Mapping[str, Any]) -> None:
        for name, value in settings.items():
            self.execute(f"set {_setting(name, value)}")

    def _load(self, extension: Any) -> None:
        """Load an extension; install it first only when it is not there (that needs a network)."""
        given = {"name": extension} if isinstance(extension, str) else extension
        name, repository = str(given.get("name")), str(given.get("repo") or given.get("repository") or "")
        try:
            self.execute(f"load {literals.identifier(name, 'duckdb')}")
        except WarehouseError:
            source = f" from {literals.identifier(repository, 'duckdb')}" if repository else ""
            self.execute(f"install {literals.identifier(name, 'duckdb')}{source}")
            self.execute(f"load {literals.identifier(name, 'duckdb')}")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "map {" + ", ".join(f"{_value(str(k))}: {_value(v)}" for k, v in value.items()) + "}"
    return literals.text(str(value), "duckdb")


def _setting(name: str, value: Any) -> str:
    return f"{literals.identifier(name, 'duckdb')} = {_value(value)}"


def _secret(given: Mapping[str, Any]) -> str:
    fields = dict(given)
    name = fields.pop("name", None)
    scope = fields.pop("scope", None)
    persistent = "persistent " if fields.pop("persistent", False) else ""
    parts = [f"{literals.identifier(str(k), 'duckdb')} {_value(v)}" for k, v in fields.items()]
    if scope is not None:
        parts.append(f"scope {_value(scope)}")
    called = f" {literals.identifier(str(name), 'duckdb')}" if name else ""
    return f"create or replace {persistent}secret{called} ({', '.join(parts)})"


def _attach(given: Any) -> str:
    fields: dict[str, Any] = {"path": given} if isinstance(given, str) else dict(given)
    path, alias = str(fields.pop("path", "")), fields.pop("alias", None)
    options = []
    if fields.pop("read_only", False):
        options.append("read_only")
    if kind := fields.pop("type", None):
        options.append(f"type {literals.identifier(str(kind), 'duckdb')}")
    options += [f"{k} {_value(v)}" for k, v in (fields.pop("options", None) or {}).items()]
    named = f" as {literals.identifier(str(alias), 'duckdb')}" if alias else ""
    how = f" ({', '.join(options)})" if options else ""
    return f"attach if not exists {literals.text(path, 'duckdb')}{named}{how}"


def _translated(error: duckdb.Error, sql: str, stopped: bool) -> WarehouseError:
    """The engine's error in our own class. Only a conflict with another transaction is worth another try."""
    import duckdb

    if isinstance(error, duckdb.InterruptException) or stopped:
        return CancelledError("cancelled", sql=sql)
    conflict = isinstance(error, duckdb.TransactionException) and "aborted" not in str(error)
    return WarehouseError(str(error), transient=conflict, sql=sql)
