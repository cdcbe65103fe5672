"""Golden SQL: `tests/golden/*.sql` holds a model on top and the statements of one run below.

The comment in front says the rest in YAML: the target, the partitions and their expression, the set to build (`run`),
the inputs with their columns, and which statements to show. `pytest --rewrite-golden` writes the lower halves anew:
read the diff. Statements for DuckDB are also executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from partwise.adapters.base import Column
from partwise.nodes import Node, RelationName
from partwise.partitions import Definition
from partwise.project import constructors
from partwise.rendering import literals, sql
from partwise.rendering.prepare import fetch_types, own_past_columns
from partwise.rendering.rendered import Rendered
from rendering import Project, model, source

FOLDER = Path(__file__).parent / "golden"
BELOW = "-- ---------------------------------------------------------------- runs as\n"


def definition(text: str | None) -> Definition | None:
    return None if text is None else constructors.definition_from_text(text)


class Case:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.above, _, self.below = path.read_text(encoding="utf-8").partition(BELOW)
        head, self.code = re.fullmatch(r"/\*\n(.*?)\*/\n(.*)", self.above, re.DOTALL).groups()  # type: ignore[union-attr]
        self.given: dict[str, Any] = yaml.safe_load(head)
        self.target = self.given["target"]
        self.schema = self.given.get("schema", "mart")

    def node(self) -> Node:
        given = self.given
        more = {key: given[key] for key in ("column_timezone", "partition_format", "full_scan") if key in given}
        return model(
            given["model"],
            self.code,
            definition(given.get("partitions")),
            given.get("partition_expr"),
            dialect=given.get("dialect", self.target),
            relation=RelationName(None, self.schema, given["model"]),
            reads_own_past="this" in self.code,
            **more,
        )

    def inputs(self) -> list[Node]:
        made = []
        for name, given in self.given.get("inputs", {}).items():
            of, expr = definition(given.get("partitions")), given.get("partition_expr")
            more = {key: given[key] for key in ("column_timezone", "partition_format") if key in given}
            more["dialect"] = given.get("dialect", self.target)
            if "sql" in given:
                made.append(model(name, given["sql"], of, expr, materialized="ephemeral", **more))
            elif "." in name:
                group, _, table = name.partition(".")
                made.append(source(group, table, expr, definition=of, **more))
            else:
                kind = {} if of else {"materialized": "seed", "resource_type": "seed"}
                made.append(model(name, "", of, expr, relation=RelationName(None, self.schema, name), **kind, **more))
        return made

    def project(self) -> Project:
        return Project(*self.inputs(), self.node(), dialect=self.target)

    def describe(self, made: Project) -> Callable[[str], Sequence[Column]]:
        """DuckDB answers for itself; for Snowflake the case says what it would answer."""
        if self.target == "duckdb":
            for name, given in self.given.get("inputs", {}).items():
                if "columns" in given:
                    made.table(name if "." in name else f"{self.schema}.{name}", given["columns"])
            made.connection.execute(f"create schema if not exists {self.schema}")
            return made.describe
        columns = [Column(name, kind) for name, kind in self.given["output"].items()]
        types: dict[str, str] = {}
        for name, given in self.given.get("inputs", {}).items():
            relation = name if "." in name else f"{self.schema}.{name}"
            for column, kind in given.get("columns", {}).items():
                types[f"select {column} from {relation}"] = kind

        def describe(query: str) -> Sequence[Column]:
            probes = re.findall(r"\((select \w+ from [\w.]+)\) as p\d", query)
            if probes:
                return [Column("x", types.get(probe) or given_output(probe)) for probe in probes]
            return [Column("x", types[query])] if query in types else columns

        def given_output(probe: str) -> str:  # the model's own table
            return next(column.type for column in columns if f" {column.name.lower()} " in probe)

        return describe

    def statements(self) -> list[str]:
        made, given = self.project(), self.given
        describe, name = self.describe(made), given["model"]
        wanted = made.set_of(name, str(given["run"]))
        past = None
        if made[name].reads_own_past and self.target == "duckdb":
            past = own_past_columns(made.renderer, made[name], wanted, describe)
            made.connection.execute(sql.create_table(made[name].relation, past, "duckdb")[0])
        composed = made.renderer.compose(made[name], wanted)
        rendered = made.render(name, wanted, types=fetch_types(composed, describe))
        columns = describe(composed.describe_sql)
        lines = [f"-- warning: {warning}" for warning in rendered.warnings]
        shown = given.get("show", ["write"])
        if "create" in shown:
            lines += sql.create_table(rendered.node.relation, columns, self.target, comment="partwise:7f3a")
        if "nulls" in shown:
            lines += [sql.count_nulls(read, self.target) for read in rendered.filtered]
        lines += self.writes(rendered, [column.name for column in columns], shown)
        leaks = "no row can leave" if rendered.is_leak_proof else "rows may leave"
        lines.append(f"-- {leaks} its partition" if rendered.is_leak_proof else f"-- {leaks} their partition")
        if self.target == "duckdb":
            self.run(made, lines, [column for column in columns if "create" not in shown and past is None], rendered)
        return lines

    def writes(self, rendered: Rendered, columns: list[str], shown: list[str]) -> list[str]:
        if "stage" in shown:
            stage = "pw_stage_1"
            staged = [sql.stage(rendered, stage, columns), sql.count_leaks(rendered, stage)]
            return [*staged, *sql.publish(rendered, stage, columns)]
        return list(sql.write(rendered, columns)) if "write" in shown else []

    def run(self, made: Project, lines: list[str], columns: list[Column], rendered: Rendered) -> None:
        if columns:
            made.connection.execute(sql.create_table(rendered.node.relation, columns, "duckdb")[0])
        for line in lines:
            if not line.startswith("--"):
                made.connection.execute(line)

    def text(self) -> str:
        lines = (line if line.startswith("--") else line.rstrip() + ";" for line in self.statements())
        return "\n".join(lines) + "\n"


CASES = sorted(FOLDER.glob("*.sql"))


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_golden(path, request):
    case = Case(path)
    text = case.text()
    if request.config.getoption("--rewrite-golden"):
        path.write_text(case.above + BELOW + text, encoding="utf-8")
    else:
        assert text == case.below


def test_both_targets_are_covered():
    targets = [Case(path).target for path in CASES]
    assert targets.count("duckdb") >= 8 and targets.count("snowflake") >= 5


def test_names_are_quoted_only_where_needed():
    assert literals.relation(RelationName("db", "Shop", "order"), "duckdb") == 'db.Shop."order"'
    assert literals.relation(RelationName("db", "shop", "order"), "snowflake") == 'db.shop."ORDER"'
    assert literals.column("d", "duckdb") == "d" and literals.column("d", "snowflake") == '"d"'
    assert literals.column("D", "snowflake") == "D" and literals.column("a b", "duckdb") == '"a b"'
