"""Seeds: files read by the warehouse, logged like tables, left alone when nothing changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from partwise.adapters import duckdb
from partwise.adapters.duckdb import DuckDB
from partwise.errors import ProjectError
from partwise.nodes import Node
from partwise.warehouse import status
from partwise.warehouse.seeds import load_seeds
from warehouse import model


@dataclass
class Session:
    """What loading needs of a session."""

    root: Path
    warehouse: DuckDB = field(default_factory=lambda: duckdb.connect({}))
    schema: str = "partwise"
    now: datetime = datetime(2024, 1, 1, tzinfo=UTC)
    invocation_id: str = "inv"

    def adapter(self) -> DuckDB:
        return self.warehouse


def seed(name: str, path: str, **config: Any) -> Node:
    return model(
        name, resource_type="seed", materialized="seed", unique_id=f"seed.test.{name}", path=path, config=config
    )


def load(session: Session, *nodes: Node, full_refresh: bool = False) -> list[str]:
    said: list[str] = []
    rows = load_seeds(session, nodes, full_refresh=full_refresh, say=said.append)  # type: ignore[arg-type]
    assert len(said) == len(nodes)
    return [row["status"] for row in rows]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    (tmp_path / "dim.csv").write_text("code,n\n7,1\n8,2\n")
    return Session(tmp_path)


def test_loads_once_and_again_when_the_file_or_its_settings_change(session: Session) -> None:
    dim = seed("dim", "dim.csv")
    assert load(session, dim) == ["success"]
    assert session.warehouse.fetch("select * from dim") == [(7, 1), (8, 2)]
    first = status.read_facts(session.warehouse, {"d": dim}).of("d")
    assert first.exists and first.built
    assert load(session, dim) == ["unchanged"]
    assert load(session, dim, full_refresh=True) == ["success"]
    as_text = seed("dim", "dim.csv", column_types={"code": "varchar"})
    assert load(session, as_text) == ["success"]
    assert session.warehouse.fetch("select * from dim") == [("7", 1), ("8", 2)]
    (session.root / "dim.csv").write_text("code,n\n9,3\n")
    assert load(session, as_text) == ["success"]
    assert session.warehouse.fetch("select * from dim") == [("9", 3)]
    assert status.read_facts(session.warehouse, {"d": dim}).of("d").incarnation != first.incarnation


def test_a_dropped_seed_is_loaded_again(session: Session) -> None:
    dim = seed("dim", "dim.csv")
    load(session, dim)
    session.warehouse.execute("drop table dim")
    assert load(session, dim) == ["success"]


def test_parquet_and_column_types(session: Session) -> None:
    path = session.root / "it's.parquet"
    session.warehouse.execute(
        f"copy (select 1 as a, '2' as b) to '{str(path).replace(chr(39), chr(39) * 2)}' (format parquet)"
    )
    assert load(session, seed("p", "it's.parquet", column_types={"b": "integer"})) == ["success"]
    assert session.warehouse.fetch("select * from p") == [(1, 2)]


def test_a_delimiter_of_its_own(session: Session) -> None:
    (session.root / "semi.csv").write_text("a;b\n1,5;x\n")
    assert load(session, seed("points", "semi.csv", delimiter=";", column_types={"a": "varchar"})) == ["success"]
    assert session.warehouse.fetch("select * from points") == [("1,5", "x")]


def test_a_broken_file_keeps_the_old_rows_and_is_recorded(session: Session) -> None:
    dim = seed("dim", "dim.csv", column_types={"code": "integer", "n": "integer"})
    load(session, dim, seed("other", "dim.csv"))
    (session.root / "dim.csv").write_text("code,n\nx,y\n")
    rows = load_seeds(session, [dim, seed("other", "dim.csv")], say=lambda text: None)  # type: ignore[arg-type]
    assert [row["status"] for row in rows] == ["error", "success"]
    assert "`dim` cannot be loaded" in rows[0]["error"] and "dim.csv" in rows[0]["error"]
    assert session.warehouse.fetch("select * from dim") == [(7, 1), (8, 2)]
    facts = status.read_facts(session.warehouse, {"d": dim}).of("d")
    assert facts.last_failed and facts.built
    (session.root / "dim.csv").write_text("code,n\n7,1\n8,2\n")
    assert load(session, dim) == ["success"], "the failure stands until it is loaded again"
    assert not status.read_facts(session.warehouse, {"d": dim}).of("d").last_failed


def test_a_file_that_is_not_there_is_named_before_anything_is_loaded(session: Session) -> None:
    with pytest.raises(ProjectError, match=r"nowhere\.csv"):
        load(session, seed("dim", "dim.csv"), seed("gone", "nowhere.csv"))
    assert session.warehouse.fetch("select * from duckdb_tables()") == []
