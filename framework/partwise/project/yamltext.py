"""YAML with line numbers, read the way people write it.

Scalars follow YAML 1.2: only `true` and `false` are booleans (`NO` is Norway), dates stay text. Under keys that hold
partition definitions every scalar stays text as written, so that `[007, 1e3, US]` are three keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from partwise.errors import ProjectError

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXT_KEYS = frozenset({"partitions", "+partitions", "partition_expr", "+partition_expr", "alias", "+alias", "name"})
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}


class YamlMap(dict[str, Any]):
    """A mapping that knows the line of each key, and its own (both from 1)."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}


class YamlList(list[Any]):
    """A list that knows the line of each entry."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: list[int] = []


def load_yaml(text: str, file: str) -> Any:
    """The document as dicts, lists and scalars; None when there is none. Raises ProjectError with the line."""
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        hint = "YAML is indented with spaces; text with `: ` or `{` in it needs quotes"
        raise ProjectError(f"YAML: {error.problem or error.context}", file=file, line=line, hint=hint) from error
    except yaml.YAMLError as error:
        raise ProjectError(f"YAML: {' '.join(str(error).split())}", file=file) from error
    return None if node is None else _Reader(file).value(node, False)


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.open: set[int] = set()  # nodes being read, to see a document that contains itself

    def value(self, node: Any, as_text: bool) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, as_text)
        if id(node) in self.open:
            raise ProjectError("YAML: an anchor contains itself", file=self.file, line=_line(node))
        self.open.add(id(node))
        made = self._map(node, as_text) if isinstance(node, yaml.MappingNode) else self._list(node, as_text)
        self.open.discard(id(node))
        return made

    def _scalar(self, node: Any, as_text: bool) -> Any:
        text: str = node.value
        if node.style or node.tag == "tag:yaml.org,2002:str":
            return text
        if as_text:
            return None if text in _WORDS and _WORDS[text] is None else text
        if text in _WORDS:
            return _WORDS[text]
        if _INT.match(text):
            return int(text)
        return float(text) if _FLOAT.match(text) else text

    def _list(self, node: Any, as_text: bool) -> YamlList:
        made = YamlList(_line(node))
        for item in node.value:
            made.append(self.value(item, as_text))
            made.lines.append(_line(item))
        return made

    def _map(self, node: Any, as_text: bool) -> YamlMap:
        made = YamlMap(_line(node))
        merged: list[YamlMap] = []
        for key_node, value_node in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                merged.extend(self._merged(value_node, as_text))
                continue
            key = self._key(key_node)
            if key in made:
                raise ProjectError(f"`{key}` is given twice", file=self.file, line=_line(key_node))
            made[key] = self.value(value_node, as_text or key in _TEXT_KEYS)
            made.lines[key] = _line(key_node)
        for other in merged:
            for key, value in other.items():
                if key not in made:
                    made[key] = value
                    made.lines[key] = other.lines[key]
        return made

    def _merged(self, node: Any, as_text: bool) -> Iterator[YamlMap]:
        value = self.value(node, as_text)
        for part in value if isinstance(value, YamlList) else [value]:
            if not isinstance(part, YamlMap):
                raise ProjectError("YAML: `<<` takes a mapping", file=self.file, line=_line(node))
            yield part

    def _key(self, node: Any) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise ProjectError("YAML: a key must be text", file=self.file, line=_line(node))
        return str(node.value)


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1
