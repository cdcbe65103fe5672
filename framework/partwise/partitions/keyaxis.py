"""Axes of keys: static lists, and dynamic ones that the warehouse keeps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from partwise.errors import PartitionError


@dataclass(frozen=True)
class KeyAxis:
    """Static or dynamic keys, in a given order. The key list is not part of the identity."""

    name: str
    kind: str  # "static" | "dynamic"
    keys: tuple[str, ...] = ()

    is_time = False
    timezone = "UTC"

    def __post_init__(self) -> None:
        for text in self.keys:
            check_key(text)
        if len(set(self.keys)) != len(self.keys):
            twice = next(k for k in self.keys if self.keys.count(k) > 1)
            raise PartitionError(f"{self.kind} key `{twice}` is given twice", hint="leave one of them out")

    @property
    def identity(self) -> tuple[Any, ...]:
        return (self.kind, self.name if self.kind == "dynamic" else "")

    @cached_property
    def order(self) -> dict[str, int]:
        """Position of each key."""
        return {key: i for i, key in enumerate(self.keys)}

    def sorted(self, keys: Iterable[str]) -> list[str]:
        """Keys in the definition's order, unknown ones last by text."""
        order, end = self.order, len(self.keys)
        return sorted(keys, key=lambda k: (order.get(k, end), k))

    def clip(self, keys: frozenset[str]) -> frozenset[str]:
        return keys & self.order.keys()

    def existing(self, now: datetime | None) -> frozenset[str]:
        return frozenset(self.keys)

    def count(self, keys: frozenset[str]) -> int:
        return len(keys)

    def take(self, keys: frozenset[str], n: int) -> tuple[frozenset[str], frozenset[str]]:
        """The first `n` keys and the rest."""
        ordered = self.sorted(keys)
        return frozenset(ordered[:n]), frozenset(ordered[n:])

    def reads(self, text: str) -> bool:
        """Whether a text is one of the keys."""
        return text in self.order

    def _own(self, text: str) -> str:
        if text not in self.order:
            near = get_close_matches(text, self.keys, n=3, cutoff=0.4) or list(self.keys[:5])
            hint = f"the nearest keys are {', '.join(f'`{k}`' for k in near)}" if near else "it has no keys yet"
            what = "static" if self.kind == "static" else f"dynamic `{self.identity[1]}`"
            raise PartitionError(f"`{text}` is not a partition key of the {what} definition", hint=hint)
        return text

    def range_of(self, first: str, last: str, now: datetime | None) -> frozenset[str]:
        """The keys from one to another in their order, both included; an empty text means the first or the last."""
        lo = self.order[self._own(first)] if first or first in self.order else 0
        hi = self.order[self._own(last)] if last or last in self.order else len(self.keys) - 1
        if lo > hi and self.keys:
            raise PartitionError(
                f"the range runs backwards: `{first}` comes after `{last}`", hint=f"did you mean `{last}:{first}`?"
            )
        return frozenset(self.keys[lo : hi + 1])

    def one(self, text: str) -> frozenset[str]:
        return frozenset((self._own(text),))


@dataclass(frozen=True)
class DynamicAxis(KeyAxis):
    """Keys kept in the warehouse under `source`; `name` is the dimension it is used as."""

    source: str = ""
    shared: bool = False
    discover: str | None = None

    @property
    def identity(self) -> tuple[Any, ...]:
        return (self.kind, self.source)


def check_key(text: str) -> None:
    """Raise PartitionError for text that cannot be a key: control characters hide, `...` writes a range."""
    if not isinstance(text, str):
        raise PartitionError(f"partition key `{text!r}` is not text", hint=f"put it in quotes: '{text}'")
    if any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u2028\u2029\u200b\ufeff" for c in text):
        raise PartitionError(f"partition key {text!a} holds a control character", hint="take it out of the key")
    if "..." in text:
        raise PartitionError(
            f"partition key `{text}` holds `...`", hint="dots in a row write a range; name it otherwise"
        )
