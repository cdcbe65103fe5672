"""The cases in `tests/prover_corpus`, and the tables they read."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from partwise.errors import PartwiseError
from partwise.nodes import Node
from partwise.partitions import Definition, daily, hourly, monthly, multi, static, weekly
from partwise.proving.prove import Verdict, prove
from partwise.rendering.prepare import prepare
from rendering import NOW, Project, model, source

FOLDER = Path(__file__).parent / "prover_corpus"
START = "2023-11-01"
REGIONS = static(["eu", "us", "br"])
READERS: dict[str, tuple[Definition, Any]] = {
    "daily": (daily(START), "day"),
    "weekly": (weekly(START), "day"),
    "sundays": (weekly(START, week_start="sunday"), "day"),
    "monthly": (monthly(START), "day"),
    "new york": (daily(START, timezone="America/New_York"), "day"),
    "regions": (REGIONS, "region"),
    "day and region": (multi(day=daily(START), region=REGIONS), {"day": "day", "region": "region"}),
}
TABLES: dict[str, dict[str, str]] = {
    "main.orders": {
        "order_id": "INTEGER",
        "customer_id": "INTEGER",
        "day": "DATE",
        "amount": "INTEGER",
        "status": "VARCHAR",
        "region": "VARCHAR",
        "shipped": "DATE",
        "updated_at": "TIMESTAMP",
    },
    "main.payments": {"order_id": "INTEGER", "customer_id": "INTEGER", "paid_on": "DATE", "amount": "INTEGER"},
    "main.events": {"ts": "TIMESTAMP", "event_id": "INTEGER", "user_id": "INTEGER", "kind": "VARCHAR"},
    "main.sales": {"day": "DATE", "region": "VARCHAR", "customer_id": "INTEGER", "amount": "INTEGER"},
    "main.prices": {"month": "DATE", "price": "INTEGER"},
    "raw.clicks": {"ts": "TIMESTAMP", "user_id": "INTEGER"},
    "raw.pings": {"at_tz": "TIMESTAMPTZ", "value": "INTEGER"},
    "main.customers": {"customer_id": "INTEGER", "name": "VARCHAR", "country": "VARCHAR", "since": "DATE"},
    "main.calendar": {"day": "DATE"},
}
DAYS = ["2024-01-30", "2024-01-31", "2024-02-01", "2024-02-02", "2024-02-04", "2024-02-05", "2024-02-06", "2024-03-01"]
TIMES = ["00:00:00", "23:59:59.999", "04:59:59", "05:00:00", "12:00:00"]


@dataclass(frozen=True)
class Case:
    verdict: str
    common: bool
    why: str
    sql: str
    reader: str
    dialect: str
    file: str
    line: int
    expr: str = ""

    @property
    def id(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def expected(self) -> str:
        return "unknown" if self.verdict == "gap" else self.verdict


_HEAD = re.compile(r"-- (proven|gap|unknown|refuted)( common)?: (.*)")


def cases() -> list[Case]:
    """All cases, in the order of the files."""
    found: list[Case] = []
    for path in sorted(FOLDER.glob("*.sql")):
        found += _cases_of(path)
    return found


def _cases_of(path: Path) -> list[Case]:
    found: list[Case] = []
    reader, dialect = "daily", "duckdb"
    lines = path.read_text().splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("-- reader: "):
            reader = line.removeprefix("-- reader: ")
        elif line.startswith("-- dialect: "):
            dialect = line.removeprefix("-- dialect: ")
        head = _HEAD.match(line)
        at += 1
        if head is None:
            continue
        first, body, expr = at, [], ""
        while at < len(lines) and lines[at].strip():
            if lines[at].startswith("-- expr: "):
                expr = lines[at].removeprefix("-- expr: ")
            else:
                body.append(lines[at])
            at += 1
        sql = "\n".join(body)
        found.append(Case(head[1], bool(head[2]), head[3], sql, reader, dialect, path.name, first, expr))
    return found


def nodes(dialect: str) -> list[Node]:
    """The inputs. Their properties list the types of their columns, as there is no Snowflake to ask."""

    def listed(table: str) -> dict[str, Any]:
        columns = tuple({"name": name, "data_type": kind} for name, kind in TABLES[table].items())
        return {"columns": columns if dialect == "snowflake" else (), "dialect": dialect}

    return [
        model("orders", "", daily(START), "day", **listed("main.orders")),
        model("payments", "", daily(START), "paid_on", **listed("main.payments")),
        model("events", "", hourly(START), "ts", column_timezone="UTC", **listed("main.events")),
        model(
            "sales",
            "",
            multi(day=daily(START), region=REGIONS),
            {"day": "day", "region": "region"},
            **listed("main.sales"),
        ),
        model("prices", "", monthly(START), "month", **listed("main.prices")),
        source("raw", "clicks", "cast(ts as date)", column_timezone="UTC", **listed("raw.clicks")),
        source("raw", "pings", "at_tz", **listed("raw.pings")),
        model("customers", "", materialized="seed", resource_type="seed", **listed("main.customers")),
        model("calendar", "", materialized="seed", resource_type="seed", **listed("main.calendar")),
    ]


class Bench:
    """The inputs with random rows, on which cases are judged and run."""

    def __init__(self, dialect: str, seed: int = 0, rows: int = 40) -> None:
        self.project = Project(*nodes(dialect), dialect=dialect, zone="Asia/Tokyo")
        self.random = random.Random(seed)
        for name, columns in TABLES.items():
            self._fill(name, columns, 12 if name == "main.customers" else rows)

    def _fill(self, name: str, columns: dict[str, str], rows: int) -> None:
        con, pick = self.project.connection, self.random.choice
        schema = name.partition(".")[0]
        con.execute(f"create schema if not exists {schema}")
        con.execute(f"create table {name} ({', '.join(f'{c} {t}' for c, t in columns.items())})")
        kinds = {
            "DATE": lambda: pick([*DAYS, None]),
            "INTEGER": lambda: pick([1, 1, 2, 3, 5, None]),
            "VARCHAR": lambda: pick(["a", "paid", "eu", "us", None]),
            "TIMESTAMP": lambda: f"{pick(DAYS)} {pick(TIMES)}",
            "TIMESTAMPTZ": lambda: f"{pick(DAYS)} {pick(TIMES)}+00",
        }
        made = [tuple(kinds[kind]() for kind in columns.values()) for _ in range(rows)]
        if name == "main.calendar":
            made = [(day,) for day in DAYS]
        written = ", ".join("(" + ", ".join("NULL" if v is None else repr(v) for v in row) + ")" for row in made)
        con.execute(f"insert into {name} values {written}")

    def node(self, case: Case) -> Node:
        definition, expr = READERS[case.reader]
        zone = {} if case.reader == "new york" else {"column_timezone": "UTC"}
        declared = ({"name": "day", "data_type": "DATE"},) if case.dialect == "snowflake" else ()
        path = f"tests/prover_corpus/{case.file}"
        return model(
            "m", case.sql, definition, case.expr or expr, full_scan=True, dialect=case.dialect, columns=declared, path=path, **zone
        )

    def prepared(self, case: Case) -> Any:
        node = self.node(case)
        self.project.nodes["model.test.m"] = node
        from partwise.rendering.render import find_in

        self.project.renderer.lookup = find_in(self.project.nodes)
        describe = self.project.describe if case.dialect == "duckdb" else None
        try:
            return prepare(self.project.renderer, node, None, describe)
        except PartwiseError:
            # a function that is not there, a pivot: judged all the same
            return prepare(self.project.renderer, node, None, None)

    def verdict(self, case: Case) -> Verdict:
        ready = self.prepared(case)
        return prove(ready.composed, ready.types, {name: tuple(columns) for name, columns in TABLES.items()})

    def both(self, case: Case) -> tuple[Counter[Any], Counter[Any]] | None:
        """The rows of one query over some partitions, and of one query for each; None when DuckDB refuses it."""
        ready = self.prepared(case)
        definition = ready.composed.node.definition
        wanted = definition.union_of([definition.subset(key, NOW) for key in self._keys(definition)])
        try:
            one = Counter(map(str, self.project.rows(ready.render(wanted, NOW).query())))
            many: Counter[Any] = Counter()
            for part in wanted.split(1):
                many.update(map(str, self.project.rows(ready.render(part, NOW).query())))
        except (duckdb.Error, PartwiseError):
            return None
        return one, many

    def _keys(self, definition: Definition) -> list[str]:
        from datetime import UTC, datetime

        axis = definition.time_axis
        regions = self.random.sample(["eu", "us", "br"], 2)
        if axis is None:
            return ["eu", "us", "br"]
        days = self.random.sample(DAYS, 4)
        if len(definition.dims) == 2:
            return [f"{day}|{region}" for day in days for region in regions] + [f"{DAYS[0]}|br"]
        return [definition.key_at(datetime.fromisoformat(day + "T12:00:00").replace(tzinfo=UTC)) for day in days]


@cache
def bench(dialect: str, seed: int = 0) -> Bench:
    return Bench(dialect, seed)
