"""One model's file, parsed: what it says in `config()`, and which relations it reads.

A model is rendered once with words in place of its references (`sqltext.mark`). References that end up in a SQL comment
or string are no dependency. `is_incremental()` is true; a model that asks for it is rendered once more with false, and
what either reads counts. `partition` gives a day in the year 2000: references that only some other partition would
reach are not seen, and rendering them later is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as MappingOf
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from partwise.errors import RenderError, did_you_mean
from partwise.project.config import Layer, Setting, check_key, merge
from partwise.project.jinja_env import Engine, Scope
from partwise.project.parsed import Parsed, finished, plain
from partwise.project.references import RefCall, ref_call, source_call
from partwise.project.sqltext import mark


def parse_model(engine: Engine, text: str, path: str, outer: Layer, dialect: str) -> Parsed:
    """Parse a model's text. `outer` is what folders and YAML say. Raises PartwiseError that names the line."""
    template = engine.compile(text, path)
    scope = ParseScope(engine, path, outer, incremental=True)
    sql = engine.render(template, scope)
    parsed = scope.parsed(sql, dialect)
    if scope.asked_incremental:
        other = ParseScope(engine, path, outer, incremental=False)
        first = other.parsed(engine.render(template, other), dialect)
        more = tuple(call for call in first.calls if call not in parsed.calls)
        parsed = replace(
            parsed,
            calls=parsed.calls + more,
            marks=parsed.marks + (-1,) * len(more),
            reads_own_past=parsed.reads_own_past or first.reads_own_past,
        )
    return parsed


class ParseScope(Scope):
    """Notes what a template calls."""

    def __init__(self, engine: Engine, path: str, outer: Layer, *, incremental: bool) -> None:
        super().__init__(engine, model_file=path)
        self.outer = outer
        self.incremental = incremental
        self.settings: list[tuple[str, Any, int | None]] = []
        self.calls: list[tuple[RefCall, int | None]] = []
        self.own: set[int] = set()
        self.asked_incremental = False
        self.asks_config = False

    def line(self) -> int | None:
        site = self.engine.site(self.model_file)
        return site.line if site is not None and site.file == self.model_file else None

    def ref(self, *args: Any, **options: Any) -> Any:
        return self._marked(ref_call(args, options))

    def source(self, *args: Any, **options: Any) -> Any:
        return self._marked(source_call(args, options))

    def _marked(self, call: RefCall) -> _Marked:
        self.calls.append((call, self.line()))
        return _Marked(mark(len(self.calls) - 1), call.name)

    def config(self) -> Any:
        return _ParseConfig(self)

    def this(self) -> Any:
        return _This(self)

    def this_partition(self, offset: int = 0) -> Any:
        return str(_This(self))

    def own_mark(self) -> str:
        """A new mark that stands for the model's own table."""
        number = len(self.calls)
        self.calls.append((RefCall("ref", None, ""), None))
        self.own.add(number)
        return mark(number)

    def partition(self) -> Any:
        return _ParsePartition(self)

    def partition_filter(self, expr: str | None = None, **options: Any) -> Any:
        return "true"

    def is_incremental(self) -> bool:
        self.asked_incremental = True
        return self.incremental

    def model(self) -> MappingOf[str, Any]:
        return _Model(self)

    def known(self) -> dict[str, Any]:
        """The config as far as it has been said."""
        self.asks_config = True
        said = [{key: Setting(value, self.model_file, line)} for key, value, line in self.settings]
        return {key: setting.value for key, setting in merge([self.outer, *said]).items()}

    def parsed(self, sql: str, dialect: str) -> Parsed:
        return finished(self.settings, self.calls, self.own, sql, dialect, self.asks_config)


class _Marked:
    """A relation that prints as its mark. Its parts print as the mark too, so that they count where they are used."""

    def __init__(self, word: str, name: str) -> None:
        self._word = word
        self.identifier = self.name = self.table = self.schema = self.database = word

    def __str__(self) -> str:
        return self._word


class _This:
    """The model's own table: only printing it as a whole reads it."""

    def __init__(self, scope: ParseScope) -> None:
        self._scope = scope

    @property
    def identifier(self) -> str:
        return str(self._scope.known().get("alias") or _stem(self._scope.model_file))

    name = table = identifier

    @property
    def schema(self) -> str:
        custom = self._scope.known().get("schema")
        base = str(self._scope.world.target.get("schema", ""))
        return f"{base}_{custom}" if custom else base

    @property
    def database(self) -> Any:
        return self._scope.known().get("database") or self._scope.world.target.get("database")

    def __str__(self) -> str:
        return self._scope.own_mark()


class _Model(MappingOf[str, Any]):
    """`model`, worked out when something of it is asked for."""

    def __init__(self, scope: ParseScope) -> None:
        self._scope = scope

    def _all(self) -> dict[str, Any]:
        scope = self._scope
        name, package, known = _stem(scope.model_file), scope.world.project_name, scope.known()
        return {
            "name": name,
            "alias": known.get("alias") or name,
            "unique_id": f"model.{package}.{name}",
            "package_name": package,
            "resource_type": "model",
            "original_file_path": scope.model_file,
            "config": known,
        }

    def __getitem__(self, name: str) -> Any:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


class _ParseConfig:
    """`config(...)` notes, `config.get` answers from what is known so far."""

    def __init__(self, scope: ParseScope) -> None:
        self._scope = scope

    def __call__(self, *args: Any, **given: Any) -> str:
        scope = self._scope
        line = scope.line()
        for mapping in args:
            if not isinstance(mapping, MappingOf):
                raise RenderError("config() takes `key=value`", hint="write config(materialized='view')")
            given = {**mapping, **given}
        for written, value in given.items():
            if written == "config" and isinstance(value, MappingOf):
                self(**value)
                continue
            key = check_key(written, scope.model_file, line)
            scope.settings.append((key, plain(value, written), line))
        return ""

    def get(self, name: str, default: Any = None, validator: Any = None) -> Any:
        value = self._scope.known().get(name)
        return default if value is None else value

    def require(self, name: str, validator: Any = None) -> Any:
        value = self._scope.known().get(name)
        if value is None:
            raise RenderError(f"the config key `{name}` is required and not set")
        return value


class _ParsePartition:
    """The partition seen while parsing, one day of any dimensions; it has the names of `partitionvalues`."""

    key = "2000-01-01"
    keys = ("2000-01-01",)

    def __init__(self, scope: ParseScope) -> None:
        self._scope = scope
        self.start = _ParseMoment(datetime(2000, 1, 1, tzinfo=UTC))
        self.end = _ParseMoment(datetime(2000, 1, 2, tzinfo=UTC))
        self.dims = _ParseDimensions()

    def __bool__(self) -> bool:
        return self._scope.known().get("partitions") is not None

    def __getattr__(self, name: str) -> Any:
        raise _no_such("partition", name, ("key", "keys", "start", "end", "dims"))


class _ParseMoment:
    """A bound of it."""

    def __init__(self, moment: datetime) -> None:
        self.datetime = moment
        self.timestamp = self.utc = f"TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S}'"
        self.timestamptz = f"TIMESTAMPTZ '{moment.isoformat(' ')}'"
        self.date = f"DATE '{moment:%Y-%m-%d}'"
        self.epoch = str(int(moment.timestamp()))

    def strftime(self, form: str) -> str:
        return f"'{self.datetime:{form}}'"

    def __str__(self) -> str:
        return self.timestamp

    def __getattr__(self, name: str) -> Any:
        known = ("date", "datetime", "epoch", "strftime", "timestamp", "timestamptz", "utc")
        raise _no_such("partition.start", name, known)


class _ParseDimensions:
    """Its values by dimension, whatever the dimensions are called."""

    def all(self, name: str) -> tuple[str, ...]:
        return _ParsePartition.keys

    def __getitem__(self, name: str) -> str:
        return _ParsePartition.key

    def __getattr__(self, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return _ParsePartition.key


def _no_such(what: str, name: str, known: tuple[str, ...]) -> Exception:
    if name.startswith("_"):
        return AttributeError(name)
    hint = did_you_mean(name, known) or f"it has {', '.join(f'`{k}`' for k in known)}"
    return RenderError(f"`{what}` has no `{name}`", hint=hint)


def _stem(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2].removesuffix(".sql")

