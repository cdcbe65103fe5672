"""The names that the text of one model may use."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from typing import TYPE_CHECKING, Any

from jinja2 import StrictUndefined
from jinja2.utils import missing

from partwise.errors import RenderError, did_you_mean
from partwise.project.secrets import PREFIXES

if TYPE_CHECKING:
    from partwise.project.jinja_env import Engine


class Scope:
    """The names that the text of one model may use: override what your context gives.

    `names()` is what Jinja sees. Methods without a body here raise: they have no meaning outside a model.
    """

    def __init__(self, engine: Engine, *, model_file: str, more: MappingOf[str, Any] | None = None) -> None:
        self.engine = engine
        self.more = more or {}
        self.world = engine.world
        self.model_file = model_file

    def ref(self, *args: Any, **options: Any) -> Any:
        raise RenderError("ref() cannot be used here")

    def source(self, *args: Any, **options: Any) -> Any:
        raise RenderError("source() cannot be used here")

    def config(self) -> Any:
        """The object behind `config`: callable, with `get` and `require`."""
        return NoConfig()

    def this(self) -> Any:
        """The object behind `this`, asked for once per render."""
        return StrictUndefined(name="this")

    def this_partition(self, offset: int = 0) -> Any:
        raise RenderError("this_partition() cannot be used here")

    def partition(self) -> Any:
        """The object behind `partition`, asked for once per render."""
        return StrictUndefined(name="partition")

    def partition_filter(self, expr: str | None = None, **options: Any) -> Any:
        raise RenderError("partition_filter() cannot be used here")

    def is_incremental(self) -> bool:
        return False

    def model(self) -> MappingOf[str, Any]:
        """The mapping behind `model`: what is known of the node."""
        return {}

    def var(self, name: str, default: Any = missing) -> Any:
        if name in self.world.vars:
            return self.world.vars[name]
        if default is missing:
            ways = f"give it under `vars`, or write var('{name}', default)"
            hint = did_you_mean(name, tuple(self.world.vars)) or ways
            raise RenderError(f"the variable `{name}` is not set", hint=hint)
        return default

    def env_var(self, name: str, default: Any = missing) -> Any:
        if str(name).startswith(PREFIXES):
            raise RenderError(
                f"the secret environment variable `{name}` can be used in profiles.yml only",
                hint="models end up in files and logs; pass a name without SECRET",
            )
        value = self.world.environ.get(name)
        self.world.env_read[name] = value
        if value is not None:
            return value
        if default is missing:
            raise RenderError(
                f"the environment variable `{name}` is not set", hint=f"set it, or write env_var('{name}', 'default')"
            )
        return default

    def log(self, message: Any, info: bool = False) -> str:
        self.world.log(str(message), bool(info))
        return ""

    def names(self) -> dict[str, Any]:
        """Every name a template sees, in a new dict."""
        return {
            **self.engine.constants,
            "ref": self.ref,
            "source": self.source,
            "config": self.config(),
            "this": self.this(),
            "this_partition": self.this_partition,
            "partition": self.partition(),
            "partition_filter": self.partition_filter,
            "is_incremental": self.is_incremental,
            "model": self.model(),
            "var": self.var,
            "env_var": self.env_var,
            "log": self.log,
            **self.more,
        }


class NoConfig:
    """`config` where there is none."""

    def __call__(self, *args: Any, **given: Any) -> str:
        raise RenderError("config() cannot be used here")

    def get(self, name: str, default: Any = None) -> Any:
        return default


class ReadConfig:
    """`config` of a model whose configuration is settled: `config(...)` says nothing new, `get` reads it."""

    def __init__(self, resolved: MappingOf[str, Any]) -> None:
        self._resolved = resolved

    def __call__(self, *args: Any, **given: Any) -> str:
        return ""

    def get(self, name: str, default: Any = None, validator: Any = None) -> Any:
        value = self._resolved.get(name)
        return default if value is None else value

    def require(self, name: str, validator: Any = None) -> Any:
        if self._resolved.get(name) is None:
            raise RenderError(f"the config key `{name}` is required and not set")
        return self._resolved[name]


class RelationText:
    """A relation in a template: prints as `text`; `database`, `schema`, `identifier`, `name`, `table` as dbt's."""

    def __init__(self, text: str, database: str | None, schema: str, identifier: str) -> None:
        self.text = text
        self.database = database
        self.schema = schema
        self.identifier = self.name = self.table = identifier

    def __str__(self) -> str:
        return self.text
