"""Sets of partitions as text, and back: `day [2024-03-01, 2024-03-05) region {eu, us}`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from partwise.errors import PartitionError
from partwise.partitions.axes import Axis, TimeAxis
from partwise.partitions.spans import Slice, Span, merge
from partwise.partitions.tree import Box

_PLAIN = re.compile(r"[^\s\"{}\[\](),;]+")
_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^\s"{}\[\](),;]+|[{}\[\](),;])')


def write_set(axes: Mapping[str, Axis], boxes: Iterable[Box]) -> str:
    """Boxes in order, separated by `; `; none at all is `{}`. `parse_set` reads it back."""
    shown = []
    for box in boxes:
        parts = []
        for name, slices in box.dims.items():
            axis = axes[name]
            if isinstance(axis, TimeAxis):
                spans = (f"[{_quote(axis.key(s.lo))}, {_quote(axis.key(s.hi))})" for s in slices if isinstance(s, Span))
                parts.append(" ".join([_quote(name), *spans]))
            else:
                parts.append(f"{_quote(name)} {{{', '.join(_quote(str(key)) for key in slices)}}}")
        shown.append(" ".join(parts))
    return "; ".join(shown) or "{}"


def _quote(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def parse_set(axes: Mapping[str, Axis], text: str) -> list[dict[str, Slice]]:
    """The rectangles that `write_set` wrote. Raises PartitionError when the text is not what it writes."""
    if text.strip() == "{}":
        return []
    tokens = [*_tokens(text), ";"]
    boxes: list[dict[str, Slice]] = []
    box: dict[str, Slice] = {}
    i = 0
    try:
        while i < len(tokens):
            if tokens[i] == ";":
                if set(box) != set(axes):
                    raise ValueError
                boxes.append(box)
                box, i = {}, i + 1
                continue
            axis, i = axes[_unquote(tokens[i])], i + 1
            if isinstance(axis, TimeAxis):
                spans = []
                while tokens[i] == "[":
                    spans.append((axis.tick(_unquote(tokens[i + 1])), axis.tick(_unquote(tokens[i + 3]))))
                    i += 5
                box[axis.name] = merge(spans)
            else:
                end = tokens.index("}", i)
                box[axis.name] = frozenset(_unquote(t) for t in tokens[i + 1 : end] if t != ",")
                i = end + 1
    except (KeyError, IndexError, ValueError):
        raise PartitionError(f"`{text}` is not a set of partitions of this definition") from None
    return boxes


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            raise PartitionError(f"`{text}` is not a set of partitions: cannot read it at position {at}")
        yield match[1]
        at = match.end()


def _unquote(token: str) -> str:
    return str(json.loads(token)) if token.startswith('"') else token
