"""A project of a few models on a real DuckDB, planned and run: for tests of status, runner and writing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from partwise.adapters import duckdb
from partwise.adapters.base import Adapter
from partwise.nodes import Edge, Node
from partwise.partitions import PartitionSet
from partwise.planning.facts import Facts, ModelFacts
from partwise.planning.inputs import inputs
from partwise.planning.plan import Mode, Plan, Reason, Step
from partwise.project.jinja_env import Engine, World
from partwise.rendering.render import Renderer, find_in
from partwise.rendering.texts import RenderedTexts
from partwise.warehouse import runner, status
from partwise.warehouse.results import Event, RunResults
from rendering import model, source

NOW = datetime(2024, 2, 1, tzinfo=UTC)
_REF = re.compile(r"ref\('(\w+)'|source\('(\w+)',\s*'(\w+)'")

__all__ = ["NOW", "Warehouse", "model", "source"]


class Warehouse:
    """Nodes and a database. Steps are made here by hand, so that tests do not depend on the planner."""

    def __init__(self, *nodes: Node, path: Path | str = ":memory:", adapter: Adapter | None = None) -> None:
        self.nodes: dict[str, Node] = {}
        self.adapter: Adapter = adapter or duckdb.connect({"path": str(path)})
        self.define(*nodes)

    def define(self, *nodes: Node) -> None:
        """Add models, or replace those of the same name; refs become edges."""
        given = {**self.nodes, **{node.unique_id: node for node in nodes}}
        names = {n.name if n.resource_type != "source" else f"{n.source_name}.{n.name}": n for n in given.values()}
        self.nodes = {}
        for uid, node in given.items():
            edges = []
            for ref, group, table in _REF.findall(node.raw_code):
                edges.append(Edge(names[ref or f"{group}.{table}"].unique_id))
            own_past = bool(re.search(r"\bthis\b", node.raw_code))
            self.nodes[uid] = replace(node, edges=tuple(edges), reads_own_past=own_past)

    def __getitem__(self, name: str) -> Node:
        return self.nodes[f"model.test.{name}"]

    def step(
        self,
        name: str,
        wanted: PartitionSet | str | None = None,
        *,
        mode: Mode = "multi_run",
        most: int | None = 1,
        **more: Any,
    ) -> Step:
        """What is to be built of a model: a set, its text, or (None) all that exists."""
        node = self[name]
        if node.definition is None or not node.is_partitioned:
            whole: Reason = "requested"
            return Step(node.unique_id, None, (), None, "whole", "", ((whole, None),), inputs(node, self.nodes), **more)
        if wanted is None:
            wanted = node.definition.existing(NOW)
        if isinstance(wanted, str):
            wanted = node.definition.subset(wanted, max(NOW, datetime(2027, 1, 1, tzinfo=UTC)))
        if mode == "single_run":
            most = None if most == 1 else most
        return Step(
            model=node.unique_id,
            partitions=wanted,
            pieces=(wanted,),
            max_partitions_per_run=most,
            mode=mode,
            why_mode="",
            reasons=(("requested", wanted),),
            inputs=inputs(node, self.nodes),
            in_order=more.pop("in_order", node.reads_own_past),
            **more,
        )

    def run(self, *steps: Step | str, now: datetime = NOW, **more: Any) -> RunResults:
        """Carry out steps; a name stands for all that exists of a model."""
        plan = Plan(tuple(self.step(s) if isinstance(s, str) else s for s in steps))
        texts = RenderedTexts(Renderer(self._engine(), find_in(self.nodes), "duckdb"), now)
        on_event = more.pop("on_event", None)
        options = runner.Options(now=now, **more)
        return runner.execute(plan, self.nodes, self.adapter, texts, options, on_event=on_event)

    def _engine(self) -> Engine:
        return Engine(World("test", {}, {}, {"name": "dev"}, ()))

    def facts(self) -> Facts:
        return status.read_facts(self.adapter, self.nodes)

    def of(self, name: str) -> ModelFacts:
        return self.facts().of(self[name].unique_id)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a query, or of a whole table, sorted."""
        return sorted(self.adapter.fetch(sql if " " in sql else f"select * from {sql}"), key=repr)

    def table(self, name: str, columns: Mapping[str, str], rows: Any = ()) -> None:
        """Make a table anew with some rows."""
        schema = name.rpartition(".")[0]
        if schema:
            self.adapter.create_schema(schema)
        listed = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        self.adapter.execute(f"create or replace table {name} ({listed})")
        for row in rows:
            marks = ", ".join("?" for _ in row)
            self.adapter.execute(f"insert into {name} values ({marks})", list(row))


def keys(partitions: PartitionSet | None) -> list[str]:
    """The keys of a set; None is an empty list."""
    return [] if partitions is None else list(partitions.keys())


class Events:
    """Collects what a run tells."""

    def __init__(self) -> None:
        self.seen: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.seen.append(event)
