"""One invocation: a project, a moment, and a connection to its warehouse, opened when it is first needed.

The command line and the Python interface are two thin layers over this. Everything that decides lives in the pure
modules; a session fetches the values they need and hands them on.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.errors import PartwiseError, PlanError, ProjectError, did_you_mean
from partwise.project import Project, load_project

if TYPE_CHECKING:
    from partwise.adapters.base import Adapter, Column
    from partwise.nodes import Node, RelationName
    from partwise.partitions import PartitionSet
    from partwise.planning.facts import Facts
    from partwise.planning.plan import Plan
    from partwise.planning.planner import Analysis, Request
    from partwise.project.profiles import Target
    from partwise.project.references import RefCall
    from partwise.project.secrets import Secrets
    from partwise.proving.verdicts import Verdicts
    from partwise.rendering.prepare import Prepared
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

    def _can_ask(self) -> bool:
        """Whether rendering can have types and keys from the warehouse; without, bounds are a guess, and it says so."""
        return self.target.type == "duckdb" and self.has_database()

    def _learn_keys(self) -> None:
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
        self._learn_keys()
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

    def compile(
        self, select: str | None, exclude: str | None, keys: Sequence[str], run_mode: str | None
    ) -> list[dict[str, Any]]:
        """Write the SQL of each run below target/compiled and return path, model and text of each.

        Without keys a partitioned model is compiled for the last partition that exists.
        """
        written = []
        for uid, partitions in self._to_compile(select, exclude, keys, run_mode):
            node = self.nodes[uid]
            prepared = self.prepare(node, partitions)
            rendered = prepared.render(partitions, self.now)
            for note in dict.fromkeys((*rendered.notes, *rendered.warnings)):
                self.say(f"note: {node.name}: {note}")
            path = self._compiled_path(node, partitions)
            path.parent.mkdir(parents=True, exist_ok=True)
            text = str.__str__(rendered.query(prepared.names or None)) + "\n"
            path.write_text(text, encoding="utf-8")
            row = {"model": uid, "path": relative(path), "sql": text.rstrip("\n"), "partitions": str(partitions)}
            written.append(row)
        return written

    def _to_compile(
        self, select: str | None, exclude: str | None, keys: Sequence[str], run_mode: str | None
    ) -> Iterator[tuple[str, PartitionSet | None]]:
        picked = self.select(select, exclude)
        asks = self._can_ask()
        if asks:
            self.adapter(read_only=True)
            self._learn_keys()
        if keys:
            from partwise.planning.facts import Facts
            from partwise.planning.planner import Request, plan

            request = Request(
                picked.selected, picked.named, tuple(keys), run_mode=run_mode, allow_incomplete=True  # type: ignore[arg-type]
            )
            facts = self.facts(read_only=True) if asks else Facts()
            made = plan(self.nodes, self.order, request, facts, self.now, self.analysis(request.selected))
            for run in made.runs():
                yield run.model, run.partitions
            return
        for uid in picked.models:
            node = self.nodes[uid]
            if node.materialized not in BUILT:
                continue
            if not node.is_partitioned or node.definition is None:
                yield uid, None
                continue
            from partwise.mapping import last_partition

            last = last_partition(node.definition.existing(self.now))
            yield uid, next(iter(last.pieces(1)), last)

    def prepare(self, node: Node, partitions: PartitionSet | None) -> Prepared:
        """A model ready to be rendered, with types from the warehouse where it has them."""
        from partwise.errors import WarehouseError
        from partwise.rendering.prepare import prepare

        if not self._can_ask():
            return prepare(self.renderer(), node, partitions, None)
        adapter = self.adapter(read_only=True)
        exists = adapter.relation(node.relation) is not None
        try:
            return prepare(self.renderer(), node, partitions, adapter.describe, table_exists=exists)
        except WarehouseError:  # an input is not there yet
            return prepare(self.renderer(), node, partitions, None, table_exists=exists)

    def render(self, name: str, keys: Sequence[str]) -> str:
        """The SQL of one run over the partitions that `keys` name."""
        if self._can_ask():
            self.adapter(read_only=True)
            self._learn_keys()
        node = self.model(name)
        partitions: PartitionSet | None = None
        if node.is_partitioned and node.definition is not None:
            if not keys:
                raise PlanError(f"`{name}` is partitioned: say which partition", file=node.path)
            definition = node.definition
            partitions = definition.union_of([definition.subset(text, self.now) for text in keys])
        prepared = self.prepare(node, partitions)
        return str.__str__(prepared.render(partitions, self.now).query(prepared.names or None))

    def _compiled_path(self, node: Node, partitions: PartitionSet | None) -> Path:
        base = self.project.target_path / "compiled" / self.project.name / node.path
        if partitions is None:
            return base
        return base.with_suffix("") / f"{node.name}_{file_name(partitions)}.sql"

    # ------------------------------------------------------------ looking

    def listing(self, select: str | None, exclude: str | None, kinds: Sequence[str]) -> tuple[str, ...]:
        """The nodes that `ls` shows, in building order."""
        return self.select(select, exclude, kinds=kinds or ("model", "seed", "source")).models

    def models_of(self, select: str | None, exclude: str | None) -> list[str]:
        """The models of a selection that hold data or are views."""
        return [uid for uid in self.select(select, exclude).models if self.project.nodes[uid].materialized in BUILT]

    def sets(self, uid: str, facts: Facts) -> dict[str, PartitionSet]:
        """The sets of a partitioned model: existing, materialized, failed, missing, stale, open, outside."""
        from partwise.planning.report import derived

        node, fact = self.nodes[uid], facts.of(uid)
        assert node.definition is not None
        return {**derived(node.definition, fact, self.now), "outside": fact.outside or node.definition.empty()}

    def sets_json(self, uid: str, facts: Facts) -> dict[str, Any] | None:
        from partwise.planning.report import set_json

        if not self.nodes[uid].is_partitioned:
            return None
        return {name: set_json(part) for name, part in self.sets(uid, facts).items()}

    def sets_lines(self, uid: str, facts: Facts) -> Iterator[str]:
        from partwise.planning.report import set_text

        if not self.nodes[uid].is_partitioned:
            return
        yield f"{self.nodes[uid].name}:"
        for name, part in self.sets(uid, facts).items():
            if part:
                yield f"  {name:<12} {len(part):>8,}  {set_text(part)}"

    def keys_of(self, name: str, state: str | None) -> Iterator[str]:
        """The keys of a model that exist, or those in one state."""
        node = self.partitioned(name)
        if state is None:
            if self.has_database():
                self.adapter(read_only=True)
                self._learn_keys()
                node = self.nodes[node.unique_id]
            assert node.definition is not None
            return node.definition.keys(self.now)
        facts = self.facts(read_only=True)
        return self.sets(node.unique_id, facts)[state].keys()

    def partitioned(self, name: str) -> Node:
        """The partitioned model of a name. Raises PlanError when it has no partitions."""
        node = self.model(name)
        if node.definition is None or not node.is_partitioned:
            raise PlanError(f"`{name}` has no partitions: it is a {node.materialized}", file=node.path)
        return node

    def explain(self, name: str, key: str | None) -> list[str]:
        """Why a partition is what it is, and what it reads."""
        from partwise.planning.inputs import inputs
        from partwise.planning.report import explain_lines, explain_whole

        facts = self.facts(read_only=True)
        node = self.model(name)
        reads = inputs(node, self.nodes)
        if key is None or node.definition is None or not node.is_partitioned:
            if key is not None:
                self.partitioned(name)
            lines = list(explain_whole(node, self.nodes, reads, facts, self.now))
            if node.is_partitioned:
                verdict = self.verdicts()[node.unique_id]
                lines.append(f"  one query over many partitions: {verdict.kind}, {verdict}")
            return lines
        one = node.definition.parse_key(key)
        return list(explain_lines(node, key, one, self.nodes, reads, facts, self.now))

    def rows(
        self, name: str | None, inline: str | None, keys: Sequence[str], limit: int
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Rows of a relation, of some of its partitions, or of a query: column names and values."""
        from partwise.inline import inline_sql, partition_condition
        from partwise.rendering import literals

        if not self.has_database():
            path = self.target.fields["path"]
            raise PlanError(f"there is no database at {path} yet", hint="run `partwise seed` first")
        adapter = self.adapter(read_only=True)
        self._learn_keys()
        if inline is not None:
            sql = inline_sql(self, inline)
        else:
            node = self.model(str(name))
            sql = f"select * from {literals.relation(node.relation, self.target.dialect)}"
            if keys:
                wanted = self.partitioned(str(name)).definition
                assert wanted is not None
                chosen = wanted.union_of([wanted.subset(text, self.now) for text in keys])
                sql += f" where {partition_condition(self, node, chosen)}"
        body = f"select * from ({sql}\n) as q" + (f" limit {limit}" if limit else "")
        columns = [column.name for column in adapter.describe(body)]
        return columns, adapter.fetch(body)

    # ------------------------------------------------------------ changing

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
        from partwise.prune import prune

        facts = self.facts(read_only=dry_run)
        return prune(self, self.partitioned(name), facts, dry_run=dry_run)

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


def relative(path: Path) -> str:
    """A path for people: from the current folder when it lies below it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


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


def file_name(partitions: PartitionSet) -> str:
    """A name for a file about a set, unlike that of any other set of the model."""
    import hashlib

    first, last, n = partitions.first_key(), "", len(partitions)
    if n > 1:
        *_, last = partitions.split(max(1, n - 1))[-1].keys()
    plain = _UNSAFE.sub("_", f"{first}__{last}" if last else first)
    exact = plain == (f"{first}__{last}" if last else first) and len(plain) < 80
    contiguous = n == 1 or (len(partitions.boxes()) == 1 and ")" in str(partitions) and str(partitions).count("[") == 1)
    if exact and contiguous:
        return plain
    return f"{plain[:80]}_{hashlib.sha256(str(partitions).encode()).hexdigest()[:8]}"
