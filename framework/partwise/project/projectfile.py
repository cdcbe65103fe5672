"""The project file: `[tool.partwise]` in pyproject.toml, or partwise.yml, with dbt_project.yml's keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from partwise.errors import PartwiseError, ProjectError, did_you_mean
from partwise.project.codec import bare
from partwise.project.config import INERT, KEYS, LATE, OWN, Layer, Setting, as_list, check_key, key_of

_KEYS = (
    "name", "version", "profile", "model-paths", "seed-paths", "test-paths", "macro-paths", "target-path", "log-path",
    "clean-targets", "vars", "models", "seeds", "sources", "on-run-start", "on-run-end", "partitions", "status-schema",
    "jobs",
)  # fmt: skip
# keys of dbt_project.yml that are read over, with a note for those that change what dbt would do
_READ_OVER = (
    "config-version", "require-dbt-version", "snapshot-paths", "analysis-paths", "docs-paths", "asset-paths",
    "packages-install-path", "query-comment", "quoting", "flags", "dispatch", "snapshots", "data_tests", "tests",
    "unit_tests", "exposures", "metrics", "semantic-models", "saved-queries", "restrict-access", "dbt-cloud",
    "function-paths", "functions",
)  # fmt: skip
_NOTED = ("require-dbt-version", "dispatch", "query-comment", "quoting", "flags")


@dataclass(frozen=True, slots=True)
class Lines:
    """The line of a value in the project file, by its path of keys."""

    file: str
    find: Callable[[tuple[str, ...]], int | None]

    def of(self, *path: str) -> int | None:
        return self.find(path)


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """What the project file says. Paths are relative to `root`."""

    root: Path
    file: str
    name: str
    profile: str
    version: str = ""
    model_paths: tuple[str, ...] = ("models",)
    seed_paths: tuple[str, ...] = ("seeds",)
    test_paths: tuple[str, ...] = ("tests",)
    macro_paths: tuple[str, ...] = ("macros",)
    target_path: str = "target"
    clean_targets: tuple[str, ...] = ("target",)
    status_schema: str = "partwise"
    vars: Mapping[str, Any] = field(default_factory=dict)
    on_run_start: tuple[str, ...] = ()
    on_run_end: tuple[str, ...] = ()
    partitions: Mapping[str, Any] = field(default_factory=dict)
    jobs: Mapping[str, Any] = field(default_factory=dict)
    folders: Mapping[str, Any] = field(default_factory=dict)  # "models" | "seeds" | "sources" -> the tree as written
    lines: Lines = field(default=Lines("", lambda path: None), compare=False)
    notes: tuple[str, ...] = ()

    @property
    def folders_by_kind(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """The folders of models, seeds and macros."""
        return self.model_paths, self.seed_paths, self.macro_paths


def read_project_file(root: Path, name: str) -> ProjectFile:
    """The project file as a value. Raises ProjectError that names the file and line."""
    path = root / name
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ProjectError(f"the project file cannot be read: {error}", file=name) from error
    data, find = _toml(text, name) if name.endswith(".toml") else _yaml(text, name)
    return _checked(root, name, data, Lines(name, find))


def _yaml(text: str, name: str) -> tuple[dict[str, Any], Callable[[tuple[str, ...]], int | None]]:
    from partwise.project.yamltext import YamlMap, load_yaml

    data = load_yaml(text, name)
    if data is None:
        data = YamlMap(1)
    if not isinstance(data, dict):
        raise ProjectError("the project file must hold a mapping", file=name, line=1, hint="start with `name: ...`")

    def find(path: tuple[str, ...]) -> int | None:
        at: Any = data
        line = None
        for key in path:
            lines = getattr(at, "lines", {})
            if not isinstance(at, dict) or key not in lines:
                return line
            line, at = lines[key], at[key]
        return line

    return data, find


def _toml(text: str, name: str) -> tuple[dict[str, Any], Callable[[tuple[str, ...]], int | None]]:
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        at = re.search(r"\(at line (\d+)", message)
        line = int(at[1]) if at else None
        raise ProjectError(f"TOML: {message.partition(' (at')[0]}", file=name, line=line) from error
    tool = document.get("tool", {})
    data = tool.get("partwise", {}) if isinstance(tool, dict) else {}
    if not isinstance(data, dict):
        raise ProjectError("[tool.partwise] must be a table", file=name)
    return bare(data), lambda path: _toml_line(text, path)


def _toml_line(text: str, path: tuple[str, ...]) -> int | None:
    """The line that gives a key of [tool.partwise], found by reading table headers and `key =` lines.

    Keys inside an inline table are found at the line of the table.
    """
    best: tuple[int, int | None] = (0, None)
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[\[?\s*(.+?)\s*\]\]?\s*(#.*)?$", line)
        if header:
            table = _dotted(header[1])
            here = table
        else:
            given = re.match(r"\s*((?:[\w.-]+|\"[^\"]*\"|'[^']*'|\s*\.\s*)+?)\s*=", line)
            if not given:
                continue
            here = table + _dotted(given[1])
        if here[:2] != ("tool", "partwise"):
            continue
        inner = here[2:]
        if inner == path[: len(inner)] and len(inner) > best[0]:
            best = (len(inner), number)
    return best[1]


def _dotted(text: str) -> tuple[str, ...]:
    return tuple(a or b or c for a, b, c in re.findall(r"\"([^\"]*)\"|'([^']*)'|([\w+-]+)", text))


def _checked(root: Path, name: str, data: Mapping[str, Any], lines: Lines) -> ProjectFile:
    given: dict[str, Any] = {}
    notes: list[str] = []
    for written, value in data.items():
        key = written.replace("_", "-") if written.replace("_", "-") in _KEYS else written
        if key in _READ_OVER or written.replace("_", "-") in _READ_OVER:
            if key in _NOTED:
                notes.append(f"{name}: `{written}` has no effect in partwise")
            continue
        if key not in _KEYS:
            hint = did_you_mean(written, _KEYS) or f"there are {', '.join(f'`{k}`' for k in _KEYS)}"
            message = f"unknown key `{written}` in the project file"
            raise ProjectError(message, file=name, line=lines.of(written), hint=hint)
        given[key] = value
    reader = _Fields(name, lines, given)
    project = reader.text("name") or root.name
    if not re.fullmatch(r"[^\W\d]\w*", project):
        hint = "write letters, digits and underscores"
        project_line = lines.of("name")
        if "name" in given:
            raise ProjectError(f"`name` is `{project}`", file=name, line=project_line, hint=hint)
        project = re.sub(r"\W", "_", project) or "project"
        project = project if not project[0].isdigit() else f"_{project}"
    target = reader.text("target-path") or "target"
    return ProjectFile(
        root=root,
        file=name,
        name=project,
        profile=reader.text("profile") or project,
        version=reader.text("version"),
        model_paths=reader.paths("model-paths", "models"),
        seed_paths=reader.paths("seed-paths", "seeds"),
        test_paths=reader.paths("test-paths", "tests"),
        macro_paths=reader.paths("macro-paths", "macros"),
        target_path=target,
        clean_targets=reader.paths("clean-targets", target),
        status_schema=reader.text("status-schema") or "partwise",
        vars=reader.map("vars"),
        on_run_start=reader.texts("on-run-start"),
        on_run_end=reader.texts("on-run-end"),
        partitions=reader.map("partitions"),
        jobs=reader.map("jobs"),
        folders={kind: reader.map(kind) for kind in ("models", "seeds", "sources")},
        lines=lines,
        notes=tuple(notes),
    )


class _Fields:
    """Typed access to the keys of the project file."""

    def __init__(self, file: str, lines: Lines, given: Mapping[str, Any]) -> None:
        self.file = file
        self.lines = lines
        self.given = given

    def _fail(self, key: str, hint: str) -> ProjectError:
        line = self.lines.of(key) or self.lines.of(key.replace("-", "_"))
        return ProjectError(f"`{key}` is {self.given[key]!r}", file=self.file, line=line, hint=hint)

    def text(self, key: str) -> str:
        value = self.given.get(key)
        if value is None:
            return ""
        if isinstance(value, (Mapping, list, bool)):
            raise self._fail(key, "write text")
        return str(value).strip()

    def texts(self, key: str) -> tuple[str, ...]:
        values = as_list(self.given.get(key))
        if not all(isinstance(value, str) for value in values):
            raise self._fail(key, "write text, or a list of texts")
        return tuple(values)

    def paths(self, key: str, default: str) -> tuple[str, ...]:
        if self.given.get(key) is None:
            return (default,)
        return tuple(path.strip().rstrip("/\\") or "." for path in self.texts(key))

    def map(self, key: str) -> Mapping[str, Any]:
        value = self.given.get(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self._fail(key, f"write a mapping under `{key}`")
        return value


# ---------------------------------------------------------------- config by folder


class FolderConfig:
    """The layers that the project file gives to nodes by their place: `models: {shop: {staging: {+tags: [x]}}}`.

    `render` fills in templates of a value. What is wrong with the tree is in `errors` once it has been read.
    """

    def __init__(self, project: ProjectFile, kind: str, render: Callable[[Any, str, int | None], Any]) -> None:
        self._project = project
        self._kind = kind
        self._render = render
        self.errors: list[PartwiseError] = []
        self._nodes: dict[tuple[str, ...], Layer] = {}

    def read(self, known: set[tuple[str, ...]]) -> None:
        """Read the tree. `known` holds the paths (below the project) that hold something: folders and node names."""
        tree = self._project.folders.get(self._kind, {})
        for path, layer in self._walk(tree, (), (self._kind,), known):
            if layer:
                before = self._nodes.get(path, {})
                self._nodes[path] = {**before, **layer}

    def layers(self, fqn: tuple[str, ...]) -> Iterator[Layer]:
        """The layers of a node by its path below the project, outermost first."""
        if not self._nodes:
            return
        for depth in range(len(fqn) + 1):
            layer = self._nodes.get(fqn[:depth])
            if layer:
                yield layer

    def _walk(
        self, tree: Mapping[str, Any], path: tuple[str, ...], written: tuple[str, ...], known: set[tuple[str, ...]]
    ) -> Iterator[tuple[tuple[str, ...], Layer]]:
        layer: dict[str, Setting] = {}
        for name, value in tree.items():
            line = self._project.lines.of(*written, name)
            inner = (*path, name)
            if not path and name == self._project.name and isinstance(value, Mapping):
                yield from self._walk(value, path, (*written, name), known)
            elif not name.startswith("+") and isinstance(value, Mapping) and (inner in known or not _is_key(name)):
                if inner not in known:
                    self._unknown(name, path, line, known)
                    continue
                yield from self._walk(value, inner, (*written, name), known)
            else:
                try:
                    key = check_key(name, self._project.file, line)
                    rendered = value if key in LATE else self._render(value, self._project.file, line)
                    layer[key] = Setting(rendered, self._project.file, line)
                except PartwiseError as error:
                    self.errors.append(error)
        yield path, layer

    def _unknown(self, name: str, path: tuple[str, ...], line: int | None, known: set[tuple[str, ...]]) -> None:
        here = sorted({p[len(path)] for p in known if len(p) > len(path) and p[: len(path)] == path})
        hint = did_you_mean(name, [*here, self._project.name, *KEYS])
        where = "/".join((self._kind, *path))
        message = f"`{name}` under `{where}` is no folder, no name and no config key"
        hint = hint or "write `+key:` for config"
        self.errors.append(ProjectError(message, file=self._project.file, line=line, hint=hint))


def _is_key(name: str) -> bool:
    return key_of(name) in OWN or key_of(name) in INERT


def project_vars(settings: ProjectFile, given: Mapping[str, Any]) -> dict[str, Any]:
    """The variables templates see: those given, then those of the project by name, then those for all."""
    own = settings.vars.get(settings.name)
    scoped = own if isinstance(own, Mapping) else {}
    found: dict[str, Any] = bare({**settings.vars, **scoped, **given})
    return found
