"""One invocation: a project, a moment, and a connection to its warehouse, opened when it is first needed.

The command line and the Python interface are two thin layers over this. Everything that decides lives in the pure
modules; a session fetches the values they need and hands them on.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.errors import PartwiseError, PlanError, ProjectError, did_you_mean
from partwise.project import Project, load_project

if TYPE_CHECKING:
    from partwise.adapters.base import Adapter, Column
    from partwise.nodes import Node, RelationName
    from partwise.planning.facts import Facts
    from partwise.planning.plan import Plan
    from partwise.planning.planner import Analysis, Request
    from partwise.project.profiles import Target
    from partwise.project.references import RefCall
    from partwise.project.secrets import Secrets
    from partwise.proving.verdicts import Verdicts
    from partwise.rendering.render import Renderer
    from partwise.warehouse.results import Event, RunResults

Say = Callable[[str], None]
_UNSAFE = re.compile(r"[^A-Za-z0-9_.=-]")
BUILT = ("partitioned", "table", "view")


@dataclass(frozen=True, slots=True)
class Picked:
    """A selection of models, in building order, and what a person should know about it."""

    models: tuple[str, ...]
    named: frozenset[str]
    warnings: tuple[str, ...] = ()

    @property
    def selected(self) -> frozenset[str]:
        return frozenset(self.models)


class Session:
    """Use as a context manager: leaving it closes the connection."""

    def __init__(self, project: Project, now: datetime, *, say: Say = lambda text: None, debug: bool = False) -> None:
        self.project = project
        self.now = now
        self.say = say
        self.debug = debug
        self.wait = 0.0  # seconds to wait for whoever holds the database or the partitions
        self.arguments: Mapping[str, Any] = {}  # what was asked for, as the log keeps it
        self.invocation_id = uuid.uuid4().hex
        self._adapter: Adapter | None = None
        self._nodes: Mapping[str, Node] | None = None
        self._renderer: Renderer | None = None

    @classmethod
    def open(
        cls,
        project_dir: str | Path | None = None,
        *,
        profiles_dir: str | Path | None = None,
        profile: str | None = None,
        target: str | None = None,
        variables: str | Mapping[str, Any] | None = None,
        environ: Mapping[str, str],
        now: datetime,
        say: Say = lambda text: None,
        debug: bool = False,
    ) -> Session:
        """Load a project; `variables` are a mapping or YAML text. Raises ProjectError(s) for all that is wrong."""
        project = load_project(
            project_dir,
            profiles_dir=profiles_dir,
            profile=profile,
            target=target,
            vars=read_variables(variables),
            environ=environ,
        )
        for note in project.notes:
            say(f"note: {note}")
        return cls(project, now, say=say, debug=debug)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; safe to repeat."""
        if self._adapter is not None:
            self._adapter.close()
            self._adapter = None

    # ------------------------------------------------------------ the project

    @property
    def root(self) -> Path:
        return self.project.root

    @property
    def target(self) -> Target:
        return self.project.target

    @property
    def secrets(self) -> Secrets:
        return self.project.secrets

    @property
    def schema(self) -> str:
        """The schema of partwise's own tables."""
        return self.project.settings.status_schema

    @property
    def nodes(self) -> Mapping[str, Node]:
        """All nodes; once the warehouse was asked, with the keys of dynamic definitions."""
        return self.project.nodes if self._nodes is None else self._nodes

    @property
    def order(self) -> tuple[str, ...]:
        """All unique ids, upstream first."""
        return self.project.graph.order

    def select(
        self, select: str | None, exclude: str | None = None, *, kinds: Sequence[str] = ("model",)
    ) -> Picked:
        """The nodes of a selection in dbt's grammar. Raises PlanError when it is empty."""
        from partwise.project.selection import select as pick

        found = pick(
            self.project.items,
            self.project.graph,
            [select] if select else [],
            [exclude] if exclude else [],
            config=lambda uid: self.project.nodes[uid].config,
            resource_types=kinds,
        )
        if not found.nodes and (select or exclude):
            asked = [f"--select {select}" if select else "", f"--exclude {exclude}" if exclude else ""]
            shown = " ".join(part for part in asked if part)
            raise PlanError(
                f"the selection is empty: `{shown}` leaves no {' or '.join(kinds)}",
                hint="`partwise ls` lists what there is",
            )
        warnings = [f"`{term}` matches nothing" for term in found.unmatched]
        return Picked(found.nodes, found.named, tuple(warnings))

    def model(self, name: str) -> Node:
        """The model, seed or view of a name. Raises ProjectError naming a near one."""
        return self.nodes[self.project.model(name).unique_id]

    # ------------------------------------------------------------ the warehouse

    def adapter(self, *, read_only: bool = False) -> Adapter:
        """The connection; opened once. Raises WarehouseError when it cannot be had."""
        if self._adapter is None:
            if not read_only:
                self.project.target_path.mkdir(parents=True, exist_ok=True)
            self._adapter = self._connected(read_only)
        return self._adapter

    def _connected(self, read_only: bool) -> Adapter:
        """A connection; a database that somebody else holds is tried again until `wait` is over."""
        from partwise.adapters import connect
        from partwise.errors import WarehouseError

        until = time.monotonic() + self.wait
        while True:
            try:
                return connect(self.target, read_only=read_only)
            except WarehouseError as error:
                if not error.transient or time.monotonic() >= until:
                    raise
            time.sleep(0.2)

    def has_database(self) -> bool:
        """Whether there is a database to ask. A DuckDB file is made by the first run, not by looking at it."""
        path = self.target.fields.get("path", "")
        return self.target.type != "duckdb" or ":" in path[2:] or path == ":memory:" or Path(path).exists()

    def can_ask(self) -> bool:
        """Whether rendering can have types and keys from the warehouse; without, bounds are a guess, and it says so."""
        return self.target.type == "duckdb" and self.has_database()

    def learn_keys(self) -> None:
        """Give dynamic definitions the keys that the warehouse holds."""
        if self._nodes is not None:
            return
        from partwise.warehouse.dynamickeys import dynamic_scopes, read_keys, with_keys
        from partwise.warehouse.status import read_catalog

        nodes = self.project.nodes
        scopes = dynamic_scopes(nodes, self.target.schema)
        if not scopes:
            self._nodes = nodes
            return
        catalog = read_catalog(self.adapter(), self.schema)
        there = catalog.has("dynamic_partitions")
        self._nodes = with_keys(nodes, read_keys(self.adapter(), scopes, self.schema) if there else {})

    def facts(self, *, read_only: bool = False) -> Facts:
        """What the warehouse says about all models. Changes nothing."""
        from partwise.planning.facts import Facts
        from partwise.warehouse.status import read_facts

        if not self.has_database():
            return Facts()
        adapter = self.adapter(read_only=read_only)
        self.learn_keys()
        return read_facts(adapter, self.nodes, schema=self.schema)

    def ping(self) -> str:
        """One query to the warehouse, as a line for a person."""
        if not self.has_database():
            return f"{self.target.fields['path']} does not exist yet; the first seed or run makes it"
        self.adapter(read_only=True).fetch("select 1")
        where = self.target.fields.get("path") or self.target.fields.get("account")
        return f"connected to {where}"

    # ------------------------------------------------------------ planning

    def request(self, select: str | None = None, exclude: str | None = None, **asked: Any) -> Request:
        """A request over a selection; keywords are those of `planner.Request`."""
        from partwise.planning.planner import Request

        picked = self.select(select, exclude)
        for warning in picked.warnings:
            self.say(f"warning: {warning}")
        return Request(selected=picked.selected, named=picked.named, **asked)

    def plan(self, request: Request, *, read_only: bool = False) -> Plan:
        """The plan of a request. Raises PlanError when it makes no sense."""
        from partwise.planning.planner import plan

        self._refuse_hooks(request.selected)
        facts = self.facts(read_only=read_only)
        return plan(self.nodes, self.order, request, facts, self.now, self.analysis(request.selected))

    def _refuse_hooks(self, models: frozenset[str]) -> None:
        """Raise PlanError for hooks: SQL that somebody counts on must not be passed over."""
        settings = self.project.settings
        if settings.on_run_start or settings.on_run_end:
            message = "on-run-start and on-run-end are not there yet"
            raise PlanError(message, file=settings.file, hint="run them yourself")
        for uid in self.order:
            node = self.nodes[uid]
            if uid in models and (node.config.get("pre_hook") or node.config.get("post_hook")):
                message = f"`{node.name}` has hooks, which are not there yet"
                raise PlanError(message, file=node.path, hint="run them yourself")

    def analysis(self, models: frozenset[str]) -> Analysis:
        """What is known of the models' SQL before anything runs."""
        from partwise.planning.fingerprint import fingerprint
        from partwise.planning.planner import Analysis

        prints, leaky = {}, set()
        for uid in models:
            node = self.nodes[uid]
            if node.materialized in ("table", "view"):
                prints[uid] = fingerprint(node, self.project.macros, self.project.vars)
            elif node.is_partitioned and node.policy.kind == "single_run" and not node.trust:
                try:
                    if not self.renderer().compose(node, None).passes:
                        leaky.add(uid)
                except PartwiseError:
                    leaky.add(uid)  # running it will say what is wrong, with its line
        return Analysis(frozenset(leaky), prints)

    def verdicts(self) -> Verdicts:
        """Whether one query over many partitions equals many, for each model, worked out when asked for."""
        from partwise.proving.verdicts import Verdicts

        if not self.has_database():
            return Verdicts(self.nodes, self.renderer())

        def look(name: RelationName) -> Sequence[Column] | None:
            found = self.adapter(read_only=True).relation(name)
            return None if found is None else found.columns

        def describe(query: str) -> Sequence[Column]:
            return self.adapter(read_only=True).describe(query)

        return Verdicts(self.nodes, self.renderer(), describe, look)

    def _lookup(self, owner: Node, call: RefCall) -> Node | None:
        try:
            return self.nodes[self.project.find(call).unique_id]
        except ProjectError:  # in a comment or a string it does not matter, elsewhere the renderer says so
            return None

    def renderer(self) -> Renderer:
        """Renders the project's models for the target; kept."""
        if self._renderer is None:
            from partwise.rendering.render import Renderer

            def log(message: str, info: bool) -> None:
                if info or self.debug:
                    self.say(message)

            engine = self.project.engine(run_started_at=self.now, invocation_id=self.invocation_id, log=log)
            self._renderer = Renderer(engine, self._lookup, self.target.dialect)
        return self._renderer

    # ------------------------------------------------------------ doing

    def run(
        self,
        plan: Plan,
        request: Request,
        *,
        threads: int | None = None,
        fail_fast: bool = False,
        on_event: Callable[[Event], None] = lambda event: None,
    ) -> RunResults:
        """Carry out a plan. Failures are in the results, not raised."""
        from partwise.artifacts import write_artifacts
        from partwise.rendering.texts import RenderedTexts
        from partwise.warehouse.runner import Options, execute

        options = Options(
            now=self.now,
            invocation_id=self.invocation_id,
            threads=threads or self.target.threads,
            fail_fast=fail_fast,
            schema=self.schema,
            wait=self.wait,
            fingerprints=self.analysis(request.selected).fingerprints,
            arguments=dict(self.arguments),
            user=self.project.environ.get("USER") or self.project.environ.get("USERNAME"),
            git_commit=git_commit(self.root),
        )
        texts = RenderedTexts(self.renderer(), self.now)
        results = execute(plan, self.nodes, self.adapter(), texts, options, on_event=on_event)
        write_artifacts(self, plan, results)
        return results


    # ------------------------------------------------------------ changing

    def listing(self, select: str | None, exclude: str | None, kinds: Sequence[str]) -> tuple[str, ...]:
        """The nodes that `ls` shows, in building order."""
        return self.select(select, exclude, kinds=kinds or ("model", "seed", "source")).models

    def seed(
        self, select: str | None, exclude: str | None, *, full_refresh: bool, say: Say
    ) -> list[dict[str, Any]]:
        """Load seeds; returns a row per seed: name, status, rows, seconds, error."""
        from partwise.warehouse.seeds import load_seeds

        picked = self.select(select, exclude, kinds=("seed",))
        nodes = [self.nodes[uid] for uid in picked.models]
        return load_seeds(self, nodes, full_refresh=full_refresh, say=say)

    def _scope(self, name: str) -> str:
        from partwise.warehouse.dynamickeys import dynamic_scopes

        scopes = dynamic_scopes(self.project.nodes, self.target.schema)
        if name not in scopes:
            known = list(scopes)
            hint = did_you_mean(name, known) or (f"there are {', '.join(known)}" if known else "no model has one")
            raise ProjectError(f"no model uses the dynamic definition `{name}`", hint=hint)
        return scopes[name]

    def add_keys(self, name: str, keys: Sequence[str]) -> tuple[int, int]:
        """Add keys to a dynamic list; returns how many were new, and how many were there."""
        from partwise.warehouse.dynamickeys import add_keys
        from partwise.warehouse.status import ensure

        scope = self._scope(name)
        ensure(self.adapter(), self.schema)
        added = add_keys(self.adapter(), name, scope, keys, self.schema)
        return added, len(keys) - added

    def remove_keys(self, name: str, keys: Sequence[str]) -> int:
        """Remove keys from a dynamic list; returns how many were there."""
        from partwise.warehouse.dynamickeys import read_keys, remove_keys
        from partwise.warehouse.status import ensure

        scope = self._scope(name)
        ensure(self.adapter(), self.schema)
        there = read_keys(self.adapter(), {name: scope}, self.schema)[name]
        for key in keys:
            if key not in there:
                raise PlanError(f"`{key}` is not a key of `{name}`", hint=did_you_mean(key, there))
        return remove_keys(self.adapter(), name, scope, keys, self.schema)

    def prune(self, name: str, *, dry_run: bool) -> str:
        """Delete the rows of a model that lie outside its definition; returns what was done."""
        from partwise.looking import partitioned
        from partwise.prune import prune

        facts = self.facts(read_only=dry_run)
        return prune(self, partitioned(self, name), facts, dry_run=dry_run)

    def ddl(self) -> str:
        """The statements that create partwise's own tables, for an administrator."""
        from partwise.warehouse.status_sql import ddl, grants

        statements = [*ddl(self.schema, self.target.dialect)]
        if self.target.type == "snowflake":
            statements += grants(self.schema)
        return ";\n\n".join(statements) + ";"

    def write_manifest(self) -> tuple[Path, dict[str, Any]]:
        """Write target/manifest.json."""
        from partwise.artifacts import write_json
        from partwise.manifest import manifest

        made = manifest(self.project, generated_at=self.now, invocation_id=self.invocation_id)
        return write_json(self, "manifest.json", made), made

    def clean_targets(self) -> list[Path]:
        """The folders that `clean` empties; never one outside the project or the project itself."""
        root = self.root.resolve()
        folders = [(root / path).resolve() for path in self.project.settings.clean_targets]
        return [folder for folder in folders if folder != root and folder.is_relative_to(root)]


def read_variables(given: str | Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Variables from a mapping or from YAML text. Raises ProjectError when the text is no mapping."""
    if not isinstance(given, str):
        return given or {}
    import yaml

    try:
        value = yaml.safe_load(given) if given.strip() else {}
    except yaml.YAMLError as error:
        raise ProjectError(f"--vars is not YAML: {str(error).splitlines()[0]}", hint="write '{name: value}'") from None
    if not isinstance(value, dict):
        raise ProjectError(f"--vars is `{given}`, not a mapping", hint="write '{name: value}'")
    return value





def git_commit(root: Path) -> str | None:
    """The commit checked out in a folder or above it, from git's own files; None when there is none to be read."""
    for folder in (root, *root.parents):
        head = folder / ".git" / "HEAD"
        if head.is_file():
            text = head.read_text(encoding="utf-8").strip()
            ref = folder / ".git" / text.removeprefix("ref: ")
            if not text.startswith("ref: "):
                return text
            return ref.read_text(encoding="utf-8").strip() if ref.is_file() else None
    return None
