"""Loading a project from its files."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol

from partwise.errors import PartwiseError, ProjectError, ProjectErrors, did_you_mean
from partwise.project import Project
from partwise.project.codec import bare, plain_settings, plain_target
from partwise.project.config import Layer, checked, merge
from partwise.project.draft import Around, Draft
from partwise.project.locate import Opening
from partwise.project.naming import Naming
from partwise.project.parsed import Parsed
from partwise.project.profiles import open_profile, search_path
from partwise.project.projectfile import FolderConfig, ProjectFile, project_vars, read_project_file
from partwise.project.properties import Entry, Properties, read_properties
from partwise.project.resolve import Resolver
from partwise.project.scan import Signature, read_text, scan, signature
from partwise.project.selection import Item
from partwise.project.static import static_parse
from partwise.project.world import MacroFile, World, macro_heads

if TYPE_CHECKING:
    from partwise.project.jinja_env import Engine

MODEL_FILES = (".sql",)
PROPERTY_FILES = (".yml", ".yaml")
SEED_FILES = (".csv", ".parquet")


@dataclass(frozen=True, slots=True)
class Scanned:
    """The files of a project, by what they are for."""

    models: list[Signature]
    seeds: list[Signature]
    macros: list[Signature]

    def property_files(self) -> list[str]:
        """All property files, in order of path."""
        every = (*self.models, *self.seeds, *self.macros)
        return sorted({file[0] for file in every if file[0].endswith(PROPERTY_FILES)})


def scan_all(root: str, folders: tuple[Sequence[str], Sequence[str], Sequence[str]], target_path: str) -> Scanned:
    """The files below the model, seed and macro folders. The target folder is no part of the project."""
    import os

    skip = os.path.normpath(os.path.join(root, target_path))
    models, seeds, macros = folders
    return Scanned(
        scan(root, models, MODEL_FILES + PROPERTY_FILES, skip),
        scan(root, seeds, SEED_FILES + PROPERTY_FILES, skip),
        scan(root, macros, MODEL_FILES + PROPERTY_FILES, skip),
    )


class Known(Protocol):
    """What an earlier load of the same project file, profile and macros has found out."""

    def parsed(self, file: Signature, outer: Layer, dialect: str) -> Parsed | None:
        """The model of a file that has not changed, when what is said around it gives the same."""
        ...


class Loader:
    """One load. Everything that is wrong is collected in `errors` and raised at once at the end."""

    def __init__(self, opening: Opening, known: Known | None = None) -> None:
        self.opening = opening
        self.known = known
        self.errors: list[PartwiseError] = []
        settings = self.settings = read_project_file(Path(opening.root), opening.file)
        self.scanned_at = time.time_ns()  # only ever compared with the times of files
        searched = search_path(settings.root, opening.profiles_dir, opening.environ)
        self.profile_signatures = [(str(path), signature(str(path))) for path in searched]
        self.profile = open_profile(opening, settings.profile)
        self.target = self.profile.target
        self.scanned = scan_all(opening.root, settings.folders_by_kind, settings.target_path)
        self.drafts: list[Draft] = []
        self.dialects: dict[str, str] = {}  # path -> the dialect a model was parsed in
        self.world = World(
            project_name=settings.name,
            vars=project_vars(settings, opening.vars),
            environ=opening.environ,
            target=self.target.public,
            macros=tuple(self._macro_files()),
        )
        names = frozenset(name for file in self.world.macros for name, _ in macro_heads(file.text))
        naming = Naming(self.target.schema, lambda: self.engine, names)
        self.resolver = Resolver(Around(settings.name, self.target.dialect, settings.partitions), naming)

    @cached_property
    def engine(self) -> Engine:
        """The Jinja engine; a project of plain templates never needs it."""
        from partwise.project.jinja_env import Engine

        return Engine(self.world)

    def load(self) -> Project:
        """The project. Raises ProjectErrors."""
        if self.world.macros and not self.known:
            self.errors += self.engine.check_macros()
        properties = [p for p in map(self.read_properties, self.scanned.property_files()) if p is not None]
        models, seeds = self._entries(properties, "models"), self._entries(properties, "seeds")
        self.drafts = self._models(models) + self._seeds(seeds) + self._sources(properties)
        self._check_entries("model", models)
        self._check_entries("seed", seeds)
        nodes = self.resolver.resolve(self.drafts)
        raise_all(self.errors + self.resolver.errors)
        return Project(
            self.opening,
            name=self.settings.name,
            target_path=self.settings.target_path,
            items=[item_of(draft) for draft in self.resolver.drafts.values()],
            parents={uid: tuple(dict.fromkeys(e.upstream for e in node.edges)) for uid, node in nodes.items()},
            nodes=nodes,
            notes=self.settings.notes,
            kept=self.kept,
        )

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What a cache keeps of the project file and the target, as plain values; no target that holds a secret."""
        return {
            "settings": plain_settings(self.settings),
            "vars": bare(self.world.vars),
            "target": plain_target(self.target) if self.profile.is_public else None,
        }

    # ------------------------------------------------------------ files

    def _text(self, path: str) -> str | None:
        try:
            return read_text(self.opening.root, path)
        except UnicodeDecodeError as error:
            message = f"the file is not UTF-8 text (byte {error.start})"
            self.errors.append(ProjectError(message, file=path, hint="save it as UTF-8"))
        except OSError as error:
            self.errors.append(ProjectError(f"the file cannot be read: {error.strerror}", file=path))
        return None

    def _macro_files(self) -> Iterator[MacroFile]:
        for path, *_ in self.scanned.macros:
            text = self._text(path) if path.endswith(MODEL_FILES) else None
            if text is not None:
                yield MacroFile(path, text)

    def read_properties(self, path: str) -> Properties | None:
        """One property file; what is wrong with it goes to `errors`."""
        text = self._text(path)
        if text is None:
            return None
        found = read_properties(text, path, self.value)
        self.errors += found.errors
        return found

    def value(self, value: Any, file: str, line: int | None) -> Any:
        """A YAML or TOML value with its templates filled in, at any depth."""
        if isinstance(value, str):
            if "{{" not in value and "{%" not in value:
                return value
            from partwise.project import jinja_env, jinja_values

            names = jinja_env.Scope(self.engine, model_file=file).names()
            return jinja_values.value(self.engine.environment, value, file, line, names)
        if isinstance(value, dict):
            return {k: self.value(v, file, line) for k, v in value.items()}
        if isinstance(value, list):
            return [self.value(item, file, line) for item in value]
        return value

    def _entries(self, properties: list[Properties], kind: str) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        for found in properties:
            for entry in found.models if kind == "models" else found.seeds:
                other = entries.setdefault(entry.name, entry)
                if other is not entry:
                    message = f"`{entry.name}` is described twice, first in {other.file}:{other.line}"
                    hint = "keep one of the two entries"
                    self.errors.append(ProjectError(message, file=entry.file, line=entry.line, hint=hint))
        return entries

    def _places(self, kind: str, name: str) -> str:
        """The files that would make a model or seed of a name: `seeds/x.csv, seeds/x.parquet`."""
        folders = self.settings.model_paths if kind == "model" else self.settings.seed_paths
        endings = MODEL_FILES if kind == "model" else SEED_FILES
        return ", ".join(f"{folder}/{name}{ending}" for folder in folders for ending in endings)

    def _check_entries(self, kind: str, entries: Mapping[str, Entry]) -> None:
        names = {d.name for d in self.drafts if d.resource_type == kind}
        for name, entry in entries.items():
            if name not in names:
                hint = did_you_mean(name, sorted(names)) or f"there is no {self._places(kind, name)}"
                message = f"this describes the {kind} `{name}`, which does not exist"
                self.errors.append(ProjectError(message, file=entry.file, line=entry.line, hint=hint))

    # ------------------------------------------------------------ drafts

    def _folders(self, kind: str, fqns: list[tuple[str, ...]]) -> FolderConfig:
        config = FolderConfig(self.settings, kind, self.value)
        config.read({fqn[1:depth] for fqn in fqns for depth in range(2, len(fqn) + 1)})
        self.errors += config.errors
        return config

    def _models(self, entries: Mapping[str, Entry]) -> list[Draft]:
        files = [file for file in self.scanned.models if file[0].endswith(MODEL_FILES)]
        drafts = []
        for file, draft in zip(files, self._file_drafts("model", [f[0] for f in files], entries), strict=True):
            text = self._text(file[0])
            if text is not None:
                draft.text = text
                draft.parsed = self._parse(draft, file)
                drafts.append(draft)
        return drafts

    def _seeds(self, entries: Mapping[str, Entry]) -> list[Draft]:
        return self._file_drafts("seed", [f[0] for f in self.scanned.seeds if f[0].endswith(SEED_FILES)], entries)

    def _file_drafts(self, kind: str, paths: list[str], entries: Mapping[str, Entry]) -> list[Draft]:
        """Drafts of files, each with what folders and property files say about it."""
        bases = self.settings.model_paths if kind == "model" else self.settings.seed_paths
        fqns = [(self.settings.name, *_inner(path, bases), _stem(path)) for path in paths]
        folders = self._folders(f"{kind}s", fqns)
        drafts = []
        for path, fqn in zip(paths, fqns, strict=True):
            entry = entries.get(fqn[-1])
            layers: list[Layer] = list(folders.layers(fqn[1:]))
            if entry is not None and entry.layer:
                layers.append(entry.layer)
            uid = f"{kind}.{self.settings.name}.{fqn[-1]}"
            drafts.append(Draft(uid, fqn[-1], kind, path, fqn, None, layers, entry=entry))
        return drafts

    def _parse(self, draft: Draft, file: Signature) -> Parsed | None:
        outer = merge(draft.layers)
        settled, _ = checked({key: outer[key] for key in ("enabled", "dialect") if key in outer})
        if settled.get("enabled") is False:
            return Parsed()  # what is switched off from outside need not even be valid
        dialect = self.dialects[draft.path] = settled.get("dialect") or self.target.dialect
        try:
            if not draft.text.strip():
                hint = "write a select, or remove the file"
                raise ProjectError("the model is empty", file=draft.path, line=1, hint=hint)
            found = self.known.parsed(file, outer, dialect) if self.known else None
            found = found or static_parse(draft.text, draft.path, dialect)
            if found is not None:
                return found
            from partwise.project.parsing import parse_model

            return parse_model(self.engine, draft.text, draft.path, outer, dialect)
        except PartwiseError as error:
            error.model = draft.name
            self.errors.append(error)
            return None

    def _sources(self, properties: list[Properties]) -> list[Draft]:
        package = self.settings.name
        bases = (*self.settings.model_paths, *self.settings.seed_paths, *self.settings.macro_paths)
        entries = [entry for found in properties for entry in found.sources]
        fqns = [(package, *_inner(entry.file, bases), entry.source, entry.name) for entry in entries]
        folders = self._folders("sources", fqns)
        drafts = []
        for entry, fqn in zip(entries, fqns, strict=True):
            layers = [*folders.layers(fqn[1:]), *(layer for layer in entry.layers if layer)]
            uid = f"source.{package}.{entry.source}.{entry.name}"
            drafts.append(Draft(uid, entry.name, "source", entry.file, fqn, entry.line, layers, entry=entry))
        return drafts


def item_of(draft: Draft) -> Item:
    """What selection needs to know of a resolved draft."""
    return Item(
        draft.unique_id,
        draft.name,
        draft.resource_type,
        draft.fqn[0],
        draft.path,
        draft.fqn,
        tuple(draft.config.get("tags") or ()),
        draft.materialized,
        getattr(draft.entry, "source", None),
        draft.partitions,
        draft.inherited_from,
        () if draft.definition is None else tuple((axis.kind, axis.name) for axis in draft.definition.axes),
        tuple(draft.exprs.items()),
    )


def _inner(path: str, bases: Sequence[str]) -> tuple[str, ...]:
    """The folders of a file below the base folder that holds it."""
    for base in bases:
        prefix = base.strip("/").removeprefix("./") + "/"
        if path.startswith(prefix):
            return PurePosixPath(path[len(prefix) :]).parts[:-1]
    return PurePosixPath(path).parts[:-1]


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def raise_all(errors: Sequence[PartwiseError]) -> None:
    """Raise what was found, sorted by file and line, each once; nothing when there is none."""
    if not errors:
        return
    unique = {str(error): error for error in errors}
    ordered = sorted(unique.values(), key=lambda e: (e.file or "", e.line or 0))
    raise ProjectErrors(ordered)


# ---------------------------------------------------------------- parts that are read when asked for


def macro_files(settings: ProjectFile) -> tuple[MacroFile, ...]:
    """The macro files of a project that has loaded."""
    root = str(settings.root)
    found = scan_all(root, ((), (), settings.macro_paths), settings.target_path).macros
    return tuple(MacroFile(file[0], read_text(root, file[0])) for file in found if file[0].endswith(MODEL_FILES))


def read_all_properties(project: Project) -> list[Properties]:
    """The property files of a project that has loaded."""
    loader = Loader(project.opening)
    return [p for p in map(loader.read_properties, loader.scanned.property_files()) if p is not None]
