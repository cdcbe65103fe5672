"""Relation names: dbt's rules, which a project may replace with macros of its own.

By default a custom schema is put behind the target's (`main_mart`), the alias or else the node's name is the
identifier, and the database is the connection's. Macros `generate_schema_name`, `generate_alias_name` and
`generate_database_name` take the custom value (or none) and the node, as in dbt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from partwise.errors import ProjectError
from partwise.nodes import RelationName
from partwise.project.draft import Draft
from partwise.project.properties import SourceEntry

if TYPE_CHECKING:
    from partwise.project.jinja_env import Engine

_MACROS = {"schema": "generate_schema_name", "alias": "generate_alias_name", "database": "generate_database_name"}


class Naming:
    """Names the relations of one project. `engine` is made only when the project has such macros."""

    def __init__(self, schema: str, engine: Callable[[], Engine], macros: frozenset[str] = frozenset()) -> None:
        self.schema = schema
        self._engine = engine
        self._own = {key: name for key, name in _MACROS.items() if name in macros}

    def relation(self, draft: Draft) -> RelationName:
        """The relation of a node whose config is settled. Raises PartwiseError from a macro."""
        config = draft.config
        if isinstance(draft.entry, SourceEntry):
            database = config.get("database") or draft.entry.database
            return RelationName(database, config.get("schema") or draft.entry.schema, draft.entry.identifier)
        custom = (config.get("schema") or "").strip() or None
        schema = f"{self.schema}_{custom}" if custom else self.schema
        alias = config.get("alias") or draft.name
        database = config.get("database")
        if self._own:
            schema = self._made("schema", custom, draft, schema) or self.schema
            alias = self._made("alias", config.get("alias"), draft, alias) or draft.name
            database = self._made("database", database, draft, database)
        return RelationName(database, schema, alias)

    def _made(self, key: str, custom: str | None, draft: Draft, default: str | None) -> str | None:
        if key not in self._own:
            return default
        from partwise.project.jinja_env import Scope

        engine, name = self._engine(), self._own[key]
        node = {
            "name": draft.name,
            "resource_type": draft.resource_type,
            "package_name": draft.fqn[0],
            "path": "/".join((*draft.fqn[1:-1], draft.path.rpartition("/")[2])),
            "original_file_path": draft.path,
            "fqn": list(draft.fqn),
            "tags": draft.config.get("tags") or [],
            "config": draft.config,
            "unique_id": draft.unique_id,
        }
        template = engine.compile(f"{{{{ {name}(custom, node) }}}}", draft.path)
        scope = Scope(engine, model_file=draft.path, more={"custom": custom, "node": node})
        text = engine.render(template, scope).strip()
        if any(letter in text for letter in "\"'\n;"):
            raise ProjectError(f"{name}() gives `{text}`, which is no name", file=draft.path, model=draft.name)
        return None if text in ("", "None") else text

