"""A project as one value: nodes, graph, macros and settings, loaded from files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from partwise.errors import ProjectError, did_you_mean
from partwise.project.graph import Graph
from partwise.project.locate import Opening, find_project

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from partwise.nodes import Node
    from partwise.project.jinja_env import Engine, MacroFile
    from partwise.project.profiles import Profile, Target
    from partwise.project.projectfile import ProjectFile
    from partwise.project.properties import Properties
    from partwise.project.references import RefCall
    from partwise.project.secrets import Secrets
    from partwise.project.selection import Item


class Project:
    """Everything that a project's files say. Nothing here changes while it is in use.

    `nodes` maps unique ids to nodes, models in order of path, then seeds, then sources. `items` holds what selection
    and lists need of each, in the same order. `notes` are for people to see once. What most commands do not need
    (`settings`, `profile`, `macros`, `properties`) is read when it is asked for.
    """

    def __init__(
        self,
        opening: Opening,
        *,
        name: str,
        target_path: str,
        items: Iterable[Item],
        parents: Mapping[str, tuple[str, ...]],
        nodes: Mapping[str, Node],
        order: Sequence[str] | None = None,
        notes: Sequence[str] = (),
        kept: Mapping[str, Any] | None = None,
    ) -> None:
        self.opening = opening
        self.name = name
        self.items = tuple(items)
        self.graph = Graph(parents, order)
        self.nodes = nodes
        self.notes = tuple(notes)
        self._target_path = target_path
        # fields of the project file, the variables, and the fields of a target that holds no secret, from the cache
        self._kept: Mapping[str, Any] = kept or {}

    def __repr__(self) -> str:
        return f"Project({self.name!r}, {self.opening.root!r}, {len(self.items)} nodes)"

    @cached_property
    def root(self) -> Path:
        """The folder of the project file."""
        from pathlib import Path

        return Path(self.opening.root)

    @property
    def target_path(self) -> Path:
        """The folder for compiled SQL, artifacts and the cache."""
        return self.root / self._target_path

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment it was loaded with."""
        return self.opening.environ

    @cached_property
    def settings(self) -> ProjectFile:
        """The project file."""
        from partwise.project.projectfile import ProjectFile, read_project_file

        if "settings" in self._kept:
            return ProjectFile(root=self.root, **self._kept["settings"])
        return read_project_file(self.root, self.opening.file)

    @cached_property
    def profile(self) -> Profile:
        """What profiles.yml says, secrets included."""
        from partwise.project.profiles import open_profile

        return open_profile(self.opening, self.settings.profile)

    @cached_property
    def target(self) -> Target:
        """The target in use, its secrets included."""
        if self._kept.get("target") is None:
            return self.profile.target
        from partwise.project.profiles import Target

        return Target(**self._kept["target"])

    @cached_property
    def secrets(self) -> Secrets:
        """What must be scrubbed from every output: `project.secrets.scrub(text)`."""
        if self._kept.get("target") is None:
            return self.profile.secrets
        from partwise.project.secrets import Secrets

        return Secrets(self.environ)  # a target is kept in the cache only when it holds no secret

    @cached_property
    def vars(self) -> Mapping[str, Any]:
        """The variables templates see."""
        if "vars" in self._kept:
            found: Mapping[str, Any] = self._kept["vars"]
            return found
        from partwise.project.projectfile import project_vars

        return project_vars(self.settings, self.opening.vars)

    @cached_property
    def macros(self) -> tuple[MacroFile, ...]:
        """The project's macro files."""
        from partwise.project.loading import macro_files

        return macro_files(self.settings)

    @cached_property
    def properties(self) -> tuple[Properties, ...]:
        """All property files, with their line numbers."""
        from partwise.project.loading import read_all_properties

        return tuple(read_all_properties(self))

    @property
    def others(self) -> dict[str, list[tuple[str, Any]]]:
        """Entries of property files that are not read here (`unit_tests`, `exposures` ...), each with its file."""
        found: dict[str, list[tuple[str, Any]]] = {}
        for file in self.properties:
            for kind, values in file.others.items():
                found.setdefault(kind, []).extend((file.file, value) for value in values)
        return found

    @property
    def tests(self) -> dict[str, tuple[Any, ...]]:
        """Data tests of models, seeds and source tables as written, by unique id; those of columns are in `columns`."""
        found: dict[str, tuple[Any, ...]] = {}
        for file in self.properties:
            for kind, entries in (("model", file.models), ("seed", file.seeds)):
                found.update({f"{kind}.{self.name}.{entry.name}": entry.tests for entry in entries if entry.tests})
            for table in file.sources:
                if table.tests:
                    found[f"source.{self.name}.{table.source}.{table.name}"] = table.tests
        return found

    @cached_property
    def _refs(self) -> dict[tuple[str, str, str], str]:
        """(kind, source or '', name) -> unique id."""
        found: dict[tuple[str, str, str], str] = {}
        for item in self.items:
            kind = "source" if item.resource_type == "source" else "ref"
            found[kind, item.source_name or "", item.name] = item.unique_id
        return found

    def find(self, call: RefCall) -> Node:
        """The node that a reference in a template names. Raises ProjectError when there is none."""
        group = call.group or "" if call.kind == "source" else ""
        uid = self._refs.get((call.kind, group, call.name))
        if uid is None:
            hint = "references must be the same for every partition, so that the graph is known"
            raise ProjectError(f"{call.text} names nothing in this project", hint=hint)
        return self.nodes[uid]

    def model(self, name: str) -> Node:
        """The model or seed of a name. Raises ProjectError with the nearest name."""
        uid = self._refs.get(("ref", "", name))
        if uid is not None:
            return self.nodes[uid]
        names = [item.name for item in self.items if item.resource_type != "source"]
        raise ProjectError(f"there is no model `{name}`", hint=did_you_mean(name, names) or "`partwise ls` lists them")

    def engine(
        self,
        *,
        run_started_at: datetime | None = None,
        invocation_id: str | None = None,
        log: Callable[[str, bool], None] | None = None,
    ) -> Engine:
        """A Jinja engine for a run: `execute` is true, everything else as while loading."""
        from partwise.project.jinja_env import Engine, World

        given = {"run_started_at": run_started_at, "invocation_id": invocation_id, "log": log}
        world = World(
            project_name=self.name,
            vars=self.vars,
            environ=self.environ,
            target=self.target.public,
            macros=self.macros,
            execute=True,
            **{name: value for name, value in given.items() if value is not None},  # type: ignore[arg-type]
        )
        return Engine(world)


def load_project(
    project_dir: str | Path | None = None,
    *,
    profiles_dir: str | Path | None = None,
    profile: str | None = None,
    target: str | None = None,
    vars: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    use_cache: bool = True,
) -> Project:
    """The project in a folder or its nearest parent.

    `vars` win over those of the project file. What was read is kept in the target folder and used again while no file
    changes. Raises ProjectError for the project file and the profile, and ProjectErrors with everything that is wrong
    with models, in the order of files and lines.
    """
    root, file = find_project(os.fspath(project_dir) if project_dir is not None else os.getcwd())
    opening = Opening(
        root,
        file,
        profiles_dir=None if profiles_dir is None else os.fspath(profiles_dir),
        profile=profile,
        target=target,
        vars=vars,
        environ=environ,
    )
    if not use_cache:
        from partwise.project.loading import Loader

        return Loader(opening).load()
    from partwise.project.cache import cached_or_loaded

    return cached_or_loaded(opening)
