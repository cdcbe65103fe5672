"""`profiles.yml`: profile -> target -> connection settings, in dbt's format."""

from __future__ import annotations

import re
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.errors import ProjectError, did_you_mean
from partwise.project.secrets import PREFIXES, Secrets, is_secret_field

if TYPE_CHECKING:
    from partwise.project.locate import Opening

_COMMON = ("type", "schema", "database", "threads")
FIELDS: dict[str, tuple[str, ...]] = {
    "duckdb": (*_COMMON, "path", "extensions", "settings", "config_options", "attach", "secrets", "retries"),
    "snowflake": (
        *_COMMON, "account", "user", "role", "warehouse", "password", "authenticator", "private_key",
        "private_key_path", "private_key_passphrase", "token", "oauth_client_id", "oauth_client_secret",
        "workload_identity_provider", "workload_identity_entra_resource", "client_session_keep_alive",
        "reuse_connections", "connect_retries", "connect_timeout", "retry_on_database_errors", "retry_all",
        "query_tag", "host", "port", "protocol", "proxy_host", "proxy_port", "insecure_mode",
    ),
}  # fmt: skip
_REQUIRED = {"duckdb": (), "snowflake": ("account", "database", "schema")}
_ELSEWHERE = re.compile(r":memory:|[a-z0-9]+://|md:|motherduck:", re.IGNORECASE)
# `{{ env_var('NAME') }}`, the one thing most profiles say, without loading Jinja
_ENV_VAR = re.compile(
    r"""\{\{\s*env_var\(\s*(?P<q>['"])(?P<name>\w+)(?P=q)\s*(?:,\s*(?P<d>['"])(?P<default>[^'"\\]*)(?P=d)\s*)?\)\s*\}\}"""
)


@dataclass(frozen=True, slots=True)
class Target:
    """One output of a profile: which warehouse, and how to reach it.

    `fields` holds every setting with templates rendered and the DuckDB `path` absolute; it may hold secrets, so show
    `public` instead. `file` is the profiles.yml it comes from.
    """

    name: str
    profile: str
    type: str
    schema: str
    threads: int
    fields: MappingOf[str, Any] = field(repr=False)
    file: str = ""

    @property
    def database(self) -> str | None:
        """The database of the settings (None: the connection's own)."""
        found = self.fields.get("database")
        return None if found is None else str(found)

    @property
    def dialect(self) -> str:
        """sqlglot's name of the SQL it takes."""
        return self.type

    @property
    def public(self) -> dict[str, Any]:
        """What templates see as `target`: no secrets."""
        shown = {k: v for k, v in self.fields.items() if not is_secret_field(k) and k not in ("secrets", "attach")}
        return {
            **shown,
            "name": self.name,
            "target_name": self.name,
            "profile_name": self.profile,
            "type": self.type,
            "schema": self.schema,
            "threads": self.threads,
            "database": self.database,
        }


@dataclass(frozen=True, slots=True)
class Profile:
    """What reading profiles.yml gave: the target, its secrets, and what the answer depends on."""

    target: Target
    secrets: Secrets
    searched: tuple[Path, ...]
    env_read: MappingOf[str, str | None]

    @property
    def is_public(self) -> bool:
        """Whether the target holds no secret, so that it may be written to a cache."""
        if any(name.startswith(PREFIXES) for name in self.env_read):
            return False
        return not _holds_secret(self.target.fields)


def _holds_secret(value: Any) -> bool:
    if isinstance(value, MappingOf):
        return any(is_secret_field(str(k)) or k in ("secrets", "attach") or _holds_secret(v) for k, v in value.items())
    return isinstance(value, list) and any(map(_holds_secret, value))


def search_path(root: Path, profiles_dir: str | Path | None, environ: MappingOf[str, str]) -> tuple[Path, ...]:
    """The files looked at for a profile, first one first."""
    given = profiles_dir or environ.get("PARTWISE_PROFILES_DIR") or environ.get("DBT_PROFILES_DIR")
    if given:
        return (Path(given).expanduser() / "profiles.yml",)
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or "~").expanduser()
    return (root / "profiles.yml", home / ".partwise" / "profiles.yml", home / ".dbt" / "profiles.yml")


def open_profile(opening: Opening, own: str) -> Profile:
    """The profile of a project as it was opened; `own` is the one its project file names. Raises ProjectError."""
    environ = opening.environ
    return load_profile(
        Path(opening.root),
        profile=opening.profile or environ.get("PARTWISE_PROFILE") or environ.get("DBT_PROFILE") or own,
        target=opening.target,
        profiles_dir=opening.profiles_dir,
        environ=environ,
    )


def load_profile(
    root: Path,
    *,
    profile: str,
    target: str | None = None,
    profiles_dir: str | Path | None = None,
    environ: MappingOf[str, str],
) -> Profile:
    """The target in use. Raises ProjectError that names the paths searched, or the targets there are."""
    searched = search_path(root, profiles_dir, environ)
    target = target or environ.get("PARTWISE_TARGET") or environ.get("DBT_TARGET")
    known: list[str] = []
    for path in searched:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise ProjectError(f"profiles.yml cannot be read: {error}", file=str(path)) from error
        from partwise.project.yamltext import load_yaml

        document = load_yaml(text, str(path))
        if document is not None and not isinstance(document, dict):
            raise ProjectError("profiles.yml must hold a mapping of profiles", file=str(path), line=1)
        if document and profile in document:
            return _Reading(path, document, profile, environ).target(target, searched)
        known += [name for name in document or () if name != "config"]
    places = "\n".join(f"    {path}" for path in searched)
    hint = did_you_mean(profile, known) or (f"there are {_listed(known)}" if known else "`partwise init` writes one")
    raise ProjectError(f"there is no profile `{profile}`; searched\n{places}", hint=hint)


class _Reading:
    """One profile of one file."""

    def __init__(self, path: Path, document: Any, profile: str, environ: MappingOf[str, str]) -> None:
        self.path = path
        self.file = str(path)
        self.document = document
        self.profile = profile
        self.environ = environ
        self.env_read: dict[str, str | None] = {}
        self.secrets = Secrets(environ)

    def target(self, wanted: str | None, searched: tuple[Path, ...]) -> Profile:
        body = self.document[self.profile]
        line = self.document.lines[self.profile]
        outputs = body.get("outputs") if isinstance(body, dict) else None
        if not isinstance(outputs, dict) or not outputs:
            hint = "write `outputs:` with a target in it, and below that `type: duckdb`"
            raise ProjectError(f"the profile `{self.profile}` has no outputs", file=self.file, line=line, hint=hint)
        name = wanted or self._rendered(body.get("target"), "target", line)
        if name is None:
            name = next(iter(outputs)) if len(outputs) == 1 else "default"
        name = str(name)
        if name not in outputs:
            hint = did_you_mean(name, list(outputs)) or f"it has {_listed(outputs)}"
            message = f"the profile `{self.profile}` has no target `{name}`; available: {_listed(outputs)}"
            raise ProjectError(message, file=self.file, line=line, hint=hint)
        made = self._made(name, outputs[name], getattr(outputs, "lines", {}).get(name, line))
        self.secrets.add_fields(made.fields)
        return Profile(made, self.secrets, searched, dict(self.env_read))

    def _made(self, name: str, given: Any, line: int) -> Target:
        if not isinstance(given, dict):
            raise ProjectError(f"the target `{name}` has no settings", file=self.file, line=line)
        lines: MappingOf[str, int] = getattr(given, "lines", {})
        kind = str(self._rendered(given.get("type"), "type", line) or "")
        if kind not in FIELDS:
            hint = did_you_mean(kind, tuple(FIELDS)) or f"there are {_listed(FIELDS)}"
            message = f"the target `{name}` is of type `{kind}`" if kind else f"the target `{name}` has no `type`"
            raise ProjectError(message, file=self.file, line=lines.get("type", line), hint=hint)
        fields: dict[str, Any] = {}
        for key, value in given.items():
            at = lines.get(key, line)
            if key not in FIELDS[kind]:
                hint = did_you_mean(key, FIELDS[kind]) or f"a {kind} target has {_listed(FIELDS[kind])}"
                raise ProjectError(f"unknown field `{key}` in the target `{name}`", file=self.file, line=at, hint=hint)
            fields[key] = self._rendered(value, key, at)
        for key in _REQUIRED[kind]:
            if not fields.get(key):
                hint = f"write `{key}:` under `{name}:`"
                raise ProjectError(f"the target `{name}` has no `{key}`", file=self.file, line=line, hint=hint)
        if kind == "duckdb":
            fields["path"] = self._path(fields.get("path"))
        return Target(
            name=name,
            profile=self.profile,
            type=kind,
            schema=str(fields.get("schema") or "main"),
            threads=self._threads(fields.get("threads"), lines.get("threads", line)),
            fields=fields,
            file=self.file,
        )

    def _path(self, given: Any) -> str:
        text = str(given) if given else ":memory:"
        if _ELSEWHERE.match(text):
            return text
        return str((self.path.absolute().parent / Path(text).expanduser()).resolve())

    def _threads(self, given: Any, line: int) -> int:
        if given is None:
            return 1
        text = str(given).strip()
        if isinstance(given, bool) or not text.isdecimal() or int(text) < 1:
            message = f"`threads` is `{given}`"
            raise ProjectError(message, file=self.file, line=line, hint="write a whole number from 1")
        return int(text)

    def _rendered(self, value: Any, key: str, line: int) -> Any:
        """A setting with its templates filled in, at any depth."""
        if isinstance(value, dict):
            lines = getattr(value, "lines", {})
            return {k: self._rendered(v, k, lines.get(k, line)) for k, v in value.items()}
        if isinstance(value, list):
            return [self._rendered(item, key, line) for item in value]
        if not isinstance(value, str) or "{" not in value or ("{{" not in value and "{%" not in value):
            return value
        return self._template(value, line)

    def _template(self, text: str, line: int) -> Any:
        match = _ENV_VAR.fullmatch(text.strip())
        if match:
            return self._env_var(match["name"], line, match["default"])
        from partwise.project.jinja_values import profile_value

        return profile_value(text, self.file, line, lambda name, default: self._env_var(name, line, default))

    def _env_var(self, name: str, line: int, default: Any = None) -> Any:
        value = self.environ.get(name)
        self.env_read[name] = value
        if value is None:
            if default is None:
                hint = f"set it, or write env_var('{name}', 'default')"
                raise ProjectError(
                    f"the environment variable `{name}` is not set", file=self.file, line=line, hint=hint
                )
            return default
        if name.startswith(PREFIXES):
            self.secrets.add(value)
        return value


def _listed(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)
