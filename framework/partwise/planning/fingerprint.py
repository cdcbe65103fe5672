"""The identity of a model's text, for views and tables: were they built from what the file says now?

This first algorithm hashes the template, the config that shapes the result, and the texts of the macros it names; it is
stored with its name in front, so that a better one can take over without calling everything changed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from partwise.nodes import Node

if TYPE_CHECKING:
    from partwise.project.jinja_env import MacroFile

ALGORITHM = "text1"
_WORD = re.compile(r"\w+")


def fingerprint(node: Node, macros: Iterable[MacroFile], variables: Mapping[str, Any]) -> str:
    """`text1:` and 16 hex digits; equal texts, configs and used macros and variables give equal fingerprints."""
    used, texts = set(_WORD.findall(node.raw_code)), []
    pending = sorted(macros, key=lambda macro: macro.path)
    while True:  # macros call macros
        hit = [macro for macro in pending if used & _defined(macro.text)]
        if not hit:
            break
        for macro in hit:
            pending.remove(macro)
            texts.append(macro.text)
            used |= set(_WORD.findall(macro.text))
    shape = [
        node.raw_code.strip(),
        node.materialized,
        node.dialect,
        node.relation.key,
        dict(node.partition_expr),
        texts,
        {name: variables[name] for name in sorted(variables) if name in used},
    ]
    return f"{ALGORITHM}:{hashlib.sha256(json.dumps(shape, default=str).encode()).hexdigest()[:16]}"


def _defined(text: str) -> set[str]:
    return set(re.findall(r"\{%[-+]?\s*macro\s+(\w+)", text))
