"""From parsed files to nodes: settled config, relation names, references looked up, partitions and mappings checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from partwise.errors import PartwiseError, ProjectError, did_you_mean
from partwise.nodes import Edge, Node
from partwise.project.codec import bare
from partwise.project.config import Layer, Setting, checked, merge
from partwise.project.draft import Around, Draft
from partwise.project.graph import cycles, topological
from partwise.project.inherit import Partitioner
from partwise.project.naming import Naming
from partwise.project.parsed import plain
from partwise.project.properties import SourceEntry
from partwise.project.references import RefCall


class Resolver:
    """Resolves drafts; whatever is wrong is in `errors`, and the nodes it concerns are left out of later checks."""

    def __init__(self, around: Around, naming: Naming) -> None:
        self.around = around
        self.naming = naming
        self.errors: list[PartwiseError] = []
        self.drafts: dict[str, Draft] = {}
        self.names: dict[str, Draft] = {}  # what ref() finds
        self.disabled: dict[str, Draft] = {}

    def resolve(self, drafts: Iterable[Draft]) -> dict[str, Node]:
        """All nodes by unique id, in the order of the drafts."""
        for draft in drafts:
            self._settle(draft)
        self._check_relations()
        for draft in self.drafts.values():
            self._link(draft)
        self._check_cycles()
        partitioner = Partitioner(self.around, self.drafts, self.fail)
        for uid in topological({uid: _parents(draft) for uid, draft in self.drafts.items()}):
            partitioner.settle(self.drafts[uid])
        return {} if self.errors else {uid: self.node(draft) for uid, draft in self.drafts.items()}

    def fail(self, error: PartwiseError, draft: Draft | None = None) -> None:
        self.errors.append(error)
        if draft is not None:
            draft.broken = True

    # ------------------------------------------------------------ config and names

    def _settle(self, draft: Draft) -> None:
        said: list[Layer] = []
        if draft.parsed is not None:
            said = [{key: Setting(value, draft.path, line)} for key, value, line in draft.parsed.config]
        else:
            draft.broken = draft.resource_type == "model"
        draft.layer = merge([*draft.layers, *said]) if said or len(draft.layers) != 1 else draft.layers[0]
        draft.config, errors = checked(draft.layer)
        for error in errors:
            error.model = draft.name
            self.fail(error, draft)
        if draft.config.get("enabled") is False:
            self.disabled[draft.name if draft.resource_type != "source" else draft.unique_id] = draft
            return
        if self._taken(draft):
            return
        self.drafts[draft.unique_id] = draft
        try:
            draft.relation = self.naming.relation(draft)
        except PartwiseError as error:
            error.model = draft.name
            self.fail(error, draft)
        draft.materialized = self._materialization(draft)

    def _taken(self, draft: Draft) -> bool:
        key = draft.unique_id if draft.resource_type == "source" else draft.name.lower()
        other = self.names.get(key)
        if other is None:
            self.names[key] = draft
            return False
        where = f"{other.path}" if other.line is None else f"{other.path}:{other.line}"
        same = other.name == draft.name
        message = (
            f"`{draft.name}` is there twice: the other one is {where}"
            if same
            else f"`{draft.name}` and `{other.name}` ({where}) differ only in upper and lower case"
        )
        hint = "names are shared by models and seeds of all folders: rename one, or switch one off with enabled: false"
        self.fail(ProjectError(message, file=draft.path, line=draft.line, model=draft.name, hint=hint), draft)
        return True

    def _materialization(self, draft: Draft) -> str:
        if draft.resource_type != "model":
            return draft.resource_type
        given = draft.config.get("materialized")
        partitioned = draft.config.get("partitions") is not None
        if given is None:
            return "partitioned" if partitioned else "view"
        if given == "seed":
            hint = "seeds are CSV and Parquet files in the seed folder"
            self.fail(ProjectError("a model cannot be a seed", **draft.place("materialized"), hint=hint), draft)
        elif given == "partitioned" and not partitioned:
            hint = "write partitions=daily(start='2024-01-01')"
            message = f"`{draft.name}` is materialized as partitioned and has no partitions"
            self.fail(ProjectError(message, **draft.place("materialized"), hint=hint), draft)
        elif given == "table" and partitioned:
            hint = "write materialized='partitioned', or leave `partitions` out"
            message = f"`{draft.name}` is a table with partitions"
            self.fail(ProjectError(message, **draft.place("materialized"), hint=hint), draft)
        return str(given)

    def _check_relations(self) -> None:
        seen: dict[tuple[str, str], Draft] = {}
        sources = {d.relation.key.lower(): d for d in self.drafts.values() if d.resource_type == "source"}
        for draft in self.drafts.values():
            if draft.resource_type == "source" or draft.materialized == "ephemeral" or not draft.relation.identifier:
                continue
            relation = draft.relation
            read = sources.get(relation.key.lower())
            if read is not None and (read.relation.database or None) in (None, relation.database or None):
                message = f"`{draft.name}` would write the relation `{relation.key}`, which is a source ({read.path})"
                hint = "give the model another `alias` or `schema`, so that the source's own rows are safe"
                self.fail(ProjectError(message, **draft.place("alias"), hint=hint), draft)
            key = ((relation.database or "").lower(), relation.key.lower())
            other = seen.setdefault(key, draft)
            if other is not draft:
                message = f"`{draft.name}` and `{other.name}` ({other.path}) are both the relation `{relation.key}`"
                hint = "give one of them another `alias` or `schema`"
                self.fail(ProjectError(message, **draft.place("alias"), hint=hint), draft)

    # ------------------------------------------------------------ references

    def _link(self, draft: Draft) -> None:
        if draft.parsed is None:
            return
        edges: list[Edge] = []
        marks: list[list[int]] = []
        seen: dict[Edge, list[int]] = {}
        for (call, line), number in zip(draft.parsed.calls, draft.parsed.marks, strict=True):
            try:
                target = self.find(call)
            except PartwiseError as error:
                error.file, error.line, error.model = draft.path, line, draft.name
                self.fail(error, draft)
                continue
            if target is draft:
                message = f"`{draft.name}` refers to itself"
                hint = "a model reads its own past with {{ this }}"
                self.fail(ProjectError(message, file=draft.path, line=line, model=draft.name, hint=hint), draft)
                continue
            edge = Edge(
                target.unique_id, call.mapping, call.filter, call.whole, call.stale, call.allow_missing_upstream
            )
            if edge in seen:
                seen[edge].append(number)
                continue
            seen[edge] = [number]
            marks.append(seen[edge])
            edges.append(replace(edge, line=line))
        draft.edges, draft.marks = tuple(edges), tuple(map(tuple, marks))

    def find(self, call: RefCall) -> Draft:
        """The node that a reference names. Raises ProjectError, with the nearest name, when there is none."""
        package = self.around.package
        if call.kind == "source":
            uid = f"source.{package}.{call.group}.{call.name}"
            found = self.names.get(uid)
            if found is not None:
                return found
            raise self._no_source(call, uid)
        if call.group is not None and call.group != package:
            hint = f"this project is `{package}`; packages are not there yet"
            raise ProjectError(f"{call.text} names the package `{call.group}`", hint=hint)
        found = self.names.get(call.name.lower())
        if found is not None and found.name == call.name:
            return found
        if call.name in self.disabled:
            hint = f"switch it on in {self.disabled[call.name].path}, or do not read it"
            raise ProjectError(f"the model `{call.name}` is disabled", hint=hint)
        raise ProjectError(f"there is no model or seed `{call.name}`", hint=self._near(call.name))

    def _near(self, name: str) -> str:
        models = {d.name: d for d in self.names.values() if d.resource_type != "source"}
        for draft in self.names.values():
            if draft.resource_type == "source" and draft.name == name and isinstance(draft.entry, SourceEntry):
                return f"it is a source: write source('{draft.entry.source}', '{name}')"
        folded = self.names.get(name.lower())
        if folded is not None:
            return f"did you mean `{folded.name}`? Upper and lower case count"
        return did_you_mean(name, list(models)) or f"a file such as models/{name}.sql or seeds/{name}.csv makes one"

    def _no_source(self, call: RefCall, uid: str) -> ProjectError:
        if uid in self.disabled:
            return ProjectError(f"the source `{call.group}.{call.name}` is disabled")
        tables: dict[str, list[str]] = {}
        for draft in self.names.values():
            if isinstance(draft.entry, SourceEntry):
                tables.setdefault(draft.entry.source, []).append(draft.name)
        if call.group in tables:
            near = did_you_mean(call.name, tables[call.group])
            hint = near or f"it has {', '.join(f'`{t}`' for t in tables[call.group])}"
            return ProjectError(f"the source `{call.group}` has no table `{call.name}`", hint=hint)
        near = did_you_mean(str(call.group), list(tables))
        hint = near or "declare it under `sources:` in a file such as models/sources.yml"
        return ProjectError(f"there is no source `{call.group}`", hint=hint)

    def _check_cycles(self) -> None:
        for cycle in cycles({uid: _parents(draft) for uid, draft in self.drafts.items()}):
            ring = [self.drafts[uid] for uid in cycle]
            first = ring[0]
            arrows = " -> ".join(f"{draft.name} ({draft.path})" for draft in [*ring, first])
            line = next((edge.line for edge in first.edges if edge.upstream == cycle[1 % len(cycle)]), None)
            message = f"models read each other in a circle: {arrows}"
            hint = "break the circle; a model reads its own past with {{ this }}"
            self.fail(ProjectError(message, file=first.path, line=line, model=first.name, hint=hint))
            for draft in ring:
                draft.broken = True

    # ------------------------------------------------------------ nodes

    def node(self, draft: Draft) -> Node:
        """The finished value."""
        config = draft.config
        entry = draft.entry
        shown = {key: plain(value, key) for key, value in config.items()}
        shown["materialized"] = draft.materialized
        return Node(
            unique_id=draft.unique_id,
            name=draft.name,
            resource_type=draft.resource_type,  # type: ignore[arg-type]
            path=draft.path,
            relation=draft.relation,
            materialized=draft.materialized,  # type: ignore[arg-type]
            package=self.around.package,
            dialect=draft.dialect(self.around),
            line=draft.line,
            raw_code=draft.text,
            definition=draft.definition,
            partition_expr=draft.exprs,
            edges=draft.edges,
            reads_own_past=draft.parsed is not None and draft.parsed.reads_own_past,
            policy=draft.policy,
            full_scan=bool(config.get("full_scan")),
            trust=bool(config.get("trust")),
            on_null=config.get("on_null") or "warn",
            on_leak=config.get("on_leak") or "warn",
            on_schema_change=config.get("on_schema_change") or "fail",
            column_timezone=config.get("column_timezone"),
            partition_format=config.get("partition_format"),
            rebuild_last=config.get("rebuild_last") or 0,
            retries=2 if config.get("retries") is None else config["retries"],
            inherited_from=draft.inherited_from,
            tags=tuple(config.get("tags") or ()),
            description=(entry.description if entry is not None else "") or config.get("description") or "",
            columns=tuple(bare(entry.columns)) if entry is not None else (),
            config=shown,
            source_name=entry.source if isinstance(entry, SourceEntry) else None,
        )


def _parents(draft: Draft) -> tuple[str, ...]:
    return tuple(dict.fromkeys(edge.upstream for edge in draft.edges))
