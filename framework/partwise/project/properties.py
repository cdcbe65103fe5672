"""Property files: what `models/**/*.yml` say about models, seeds and sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from partwise.errors import PartwiseError, ProjectError, did_you_mean
from partwise.project.config import KEYS, LATE, Layer, Setting, check_key, key_of

_TOP = (
    "version", "models", "seeds", "sources", "unit_tests", "data_tests", "exposures", "macros", "snapshots", "analyses",
    "metrics", "semantic_models", "groups", "saved_queries", "functions", "anchors", "jobs",
)  # fmt: skip
# keys of an entry that are no config
_NODE = (
    "name", "description", "config", "columns", "data_tests", "tests", "docs", "latest_version", "versions",
    "constraints", "deprecation_date", "access", "group", "time_spine", "unit_tests",
)  # fmt: skip
_SOURCE = (
    "name", "description", "config", "tables", "schema", "database", "loader", "quoting", "loaded_at_field",
    "loaded_at_query", "freshness", "overrides", "data_tests", "tests",
)  # fmt: skip
_TABLE = (
    "name", "description", "config", "columns", "identifier", "quoting", "loader", "loaded_at_field", "loaded_at_query",
    "freshness", "external", "data_tests", "tests",
)  # fmt: skip
_COLUMN = (
    "name", "description", "data_type", "constraints", "data_tests", "tests", "meta", "tags", "quote", "policy_tags",
    "granularity", "config", "docs",
)  # fmt: skip

Render = Callable[[Any, str, int | None], Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """What property files say about one model or seed. `tests` keeps the data tests of it as written."""

    name: str
    file: str
    line: int
    layer: Layer = field(default_factory=dict)
    description: str = ""
    columns: tuple[Mapping[str, Any], ...] = ()
    tests: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """One table of a source. `layers` are the source's own config, then the table's."""

    source: str
    name: str
    file: str
    line: int
    schema: str
    database: str | None
    identifier: str
    layers: tuple[Layer, ...] = ()
    description: str = ""
    columns: tuple[Mapping[str, Any], ...] = ()
    tests: tuple[Any, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Properties:
    """Everything one property file says, and what is wrong with it."""

    file: str
    models: list[Entry] = field(default_factory=list)
    seeds: list[Entry] = field(default_factory=list)
    sources: list[SourceEntry] = field(default_factory=list)
    others: dict[str, list[Any]] = field(default_factory=dict)  # unit_tests, data_tests, exposures ... as written
    errors: list[PartwiseError] = field(default_factory=list)


def read_properties(text: str, file: str, render: Render) -> Properties:
    """The entries of one file. Whatever is wrong is in `errors`; the rest is still there."""
    from partwise.project.yamltext import load_yaml

    found = Properties(file)
    try:
        document = load_yaml(text, file)
    except PartwiseError as error:
        found.errors.append(error)
        return found
    if document is None:
        return found
    if not isinstance(document, dict):
        hint = "start with `models:`, `seeds:` or `sources:`"
        found.errors.append(ProjectError("a property file holds a mapping", file=file, line=1, hint=hint))
        return found
    _Reader(found, render).read(document)
    return found


class _Reader:
    def __init__(self, found: Properties, render: Render) -> None:
        self.found = found
        self.file = found.file
        self.render = render

    def fail(self, message: str, line: int | None, hint: str | None = None) -> None:
        self.found.errors.append(ProjectError(message, file=self.file, line=line, hint=hint))

    def read(self, document: Any) -> None:
        for key, value in document.items():
            line = document.lines[key]
            if key not in _TOP:
                hint = did_you_mean(key, _TOP) or f"there are {', '.join(f'`{k}`' for k in _TOP[1:9])}"
                self.fail(f"unknown key `{key}`", line, hint)
            elif key in ("version", "anchors") or value is None:
                continue
            elif not isinstance(value, list):
                self.fail(f"`{key}` takes a list", line, f"write `{key}:` and below it `- name: ...`")
            elif key == "models":
                self.found.models += self.entries(value, "model")
            elif key == "seeds":
                self.found.seeds += self.entries(value, "seed")
            elif key == "sources":
                for entry in value:
                    self.found.sources += self.source(entry, value.line)  # type: ignore[attr-defined]
            else:
                self.found.others.setdefault(key, []).extend(value)

    def entries(self, values: Any, kind: str) -> Iterator[Entry]:
        for value, line in zip(values, values.lines, strict=True):
            name = self.name(value, line, kind)
            if name is None:
                continue
            layer, _ = self.layer(value, _NODE, kind)
            yield Entry(
                name=name,
                file=self.file,
                line=value.lines.get("name", line),
                layer=layer,
                description=str(value.get("description") or ""),
                columns=tuple(self.columns(value)),
                tests=tuple(self.listed(value, "data_tests") + self.listed(value, "tests")),
            )

    def name(self, value: Any, line: int, kind: str) -> str | None:
        name = value.get("name") if isinstance(value, dict) else None
        if not isinstance(name, str) or not name.strip():
            self.fail(f"a {kind} without a name", line, "write `- name: ...`")
            return None
        return name

    def listed(self, value: Any, key: str) -> list[Any]:
        found = value.get(key)
        if found is None:
            return []
        if not isinstance(found, list):
            self.fail(f"`{key}` takes a list", value.lines.get(key))
            return []
        return list(found)

    def layer(self, value: Any, known: tuple[str, ...], kind: str) -> tuple[dict[str, Setting], dict[str, Any]]:
        """The config of an entry (keys beside `config:` count too, those inside win), and its other keys."""
        layer: dict[str, Setting] = {}
        rest: dict[str, Any] = {}
        for key, inner in value.items():
            line = value.lines[key]
            if key in known:
                rest[key] = inner
            elif key_of(key) in KEYS:
                layer[key_of(key)] = self.setting(key_of(key), inner, line)
            else:
                hint = did_you_mean(key, (*known, *KEYS)) or "config goes under `config:`"
                self.fail(f"unknown key `{key}` of the {kind} `{value['name']}`", line, hint)
        given = value.get("config")
        if given is not None and not isinstance(given, dict):
            self.fail("`config` takes a mapping", value.lines.get("config"))
        elif given is not None:
            for key, inner in given.items():
                line = given.lines.get(key)  # type: ignore[attr-defined]
                try:
                    own = check_key(key, self.file, line)
                    layer[own] = self.setting(own, inner, line)
                except PartwiseError as error:
                    self.found.errors.append(error)
        return layer, rest

    def setting(self, key: str, value: Any, line: int | None) -> Setting:
        try:
            return Setting(value if key in LATE else self.render(value, self.file, line), self.file, line)
        except PartwiseError as error:
            self.found.errors.append(error)
            return Setting(None, self.file, line)

    def text(self, value: Any, key: str) -> str | None:
        found = value.get(key)
        if found is None:
            return None
        try:
            return str(self.render(found, self.file, value.lines.get(key)))
        except PartwiseError as error:
            self.found.errors.append(error)
            return None

    def columns(self, value: Any) -> Iterator[Mapping[str, Any]]:
        columns = self.listed(value, "columns")
        lines = getattr(value.get("columns"), "lines", [])
        for column, line in zip(columns, lines, strict=False):
            name = self.name(column, line, "column")
            if name is None:
                continue
            for key in column:
                if key not in _COLUMN:
                    hint = did_you_mean(key, _COLUMN)
                    self.fail(f"unknown key `{key}` of the column `{name}`", column.lines[key], hint)
            yield dict(column)

    def source(self, value: Any, line: int) -> Iterator[SourceEntry]:
        name = self.name(value, getattr(value, "line", line), "source")
        if name is None:
            return
        layer, rest = self.layer(value, _SOURCE, "source")
        tables = value.get("tables")
        if tables is None:
            return
        if not isinstance(tables, list):
            self.fail("`tables` takes a list", value.lines.get("tables"))
            return
        database, schema = self.text(value, "database"), self.text(value, "schema")
        for table, at in zip(tables, tables.lines, strict=True):  # type: ignore[attr-defined]
            table_name = self.name(table, at, "table")
            if table_name is None:
                continue
            own, more = self.layer(table, _TABLE, "table")
            extra = {k: v for k, v in {**rest, **more}.items() if k in ("freshness", "loaded_at_field", "loader")}
            yield SourceEntry(
                source=name,
                name=table_name,
                file=self.file,
                line=table.lines.get("name", at),
                schema=schema or name,
                database=database,
                identifier=self.text(table, "identifier") or table_name,
                layers=(layer, own),
                description=str(table.get("description") or ""),
                columns=tuple(self.columns(table)),
                tests=tuple(self.listed(table, "data_tests") + self.listed(table, "tests")),
                extra=extra,
            )
