"""Values that must never be shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

PREFIXES = ("PARTWISE_ENV_SECRET", "DBT_ENV_SECRET")
FIELDS = frozenset(
    {"password", "token", "private_key", "private_key_passphrase", "oauth_client_secret", "secret", "session_token",
     "connection_string", "bearer_token", "access_key", "secret_key", "motherduck_token"}
)  # fmt: skip
_STARS = "*****"
_SHORTEST = 3  # a shorter literal would blank out half of every line


class Secrets:
    """The secret values of an invocation: environment variables named as secrets, and fields of the profile."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._values: set[str] = set()
        for name, value in environ.items():
            if name.startswith(PREFIXES):
                self.add(value)

    def add(self, value: Any) -> None:
        """Hide a value from now on; empty text and very short ones are let through."""
        text = str(value)
        if len(text.strip()) >= _SHORTEST:
            self._values.add(text)
            self._values.add(text.encode("unicode_escape").decode("ascii"))  # as in JSON and in repr()
            if "\n" in text:  # a PEM key: drivers quote single lines of it
                self._values.update(line for line in text.splitlines() if len(line) > 20)

    def add_fields(self, fields: Any) -> None:
        """Hide what secret fields of a profile hold, at any depth."""
        if isinstance(fields, Mapping):
            for name, value in fields.items():
                if str(name).lower() in FIELDS and isinstance(value, (str, int)):
                    self.add(value)
                else:
                    self.add_fields(value)
        elif isinstance(fields, Iterable) and not isinstance(fields, str):
            for value in fields:
                self.add_fields(value)

    def scrub(self, text: str) -> str:
        """The text with every secret value replaced by stars.

        >>> Secrets({"DBT_ENV_SECRET_PW": "hunter2"}).scrub("login failed for hunter2")
        'login failed for *****'
        """
        if self._values:
            for value in sorted(self._values, key=len, reverse=True):
                text = text.replace(value, _STARS)
        return text


def is_secret_field(name: str) -> bool:
    """Whether a profile field holds a secret."""
    return name.lower() in FIELDS
