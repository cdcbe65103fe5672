"""Where rendered text came from: every position in it leads back to a line of a template.

Jinja knows the line of each piece it writes, but joins the pieces and forgets. `Located` is a `str` that remembers: it
compares, hashes and prints as the plain text, so template code cannot tell the difference; what it does not preserve
(`replace`, `~`) falls back to the line of the `{{ }}` that writes the result. `locating()` makes an environment produce
it, in templates and in macros alike.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, SupportsIndex

from jinja2 import Environment, nodes
from jinja2.compiler import CodeGenerator
from jinja2.compiler import Frame as _Frame


@dataclass(frozen=True, slots=True)
class Location:
    """A line of a template. `caller` is the line of the model that called, when `file` is another file (a macro)."""

    file: str | None
    line: int | None
    caller: tuple[str | None, int | None] | None = None

    def __str__(self) -> str:
        here = _place(self.file, self.line)
        return here if self.caller is None else f"{here}, called at {_place(*self.caller)}"


def _place(file: str | None, line: int | None) -> str:
    return f"{file or '<template>'}" + ("" if line is None else f":{line}")


class Span(NamedTuple):
    """Text from `start` up to the next span. In `advancing` text each newline is one line further down the file."""

    start: int
    location: Location
    advancing: bool


class Located(str):
    """Text that knows where each part of it came from. Spans ascend and the first starts at 0 (none: empty text)."""

    spans: tuple[Span, ...]

    def __new__(cls, text: str = "", spans: tuple[Span, ...] = ()) -> Located:
        made = super().__new__(cls, text)
        made.spans = spans
        return made

    def __str__(self) -> str:  # str() of a str subclass would drop the spans
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (Located, (str.__str__(self), self.spans))

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return self.cut(start, stop)
        return super().__getitem__(key)

    def __add__(self, other: str) -> str:
        return join((self, other)) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: str) -> str:
        return join((other, self)) if isinstance(other, str) else NotImplemented

    def strip(self, chars: str | None = None, /) -> str:
        return self.cut(len(self) - len(super().lstrip(chars)), len(super().rstrip(chars)))

    def lstrip(self, chars: str | None = None, /) -> str:
        return self.cut(len(self) - len(super().lstrip(chars)), len(self))

    def rstrip(self, chars: str | None = None, /) -> str:
        return self.cut(0, len(super().rstrip(chars)))

    def cut(self, start: int, stop: int) -> Located:
        """The text from `start` up to `stop`, with its origins. Empty when they cross."""
        text = super().__getitem__(slice(start, max(start, stop)))
        if not text or not self.spans:
            return Located(text)
        first = self._span_index(start)
        kept = [s for s in self.spans[first:] if s.start < stop]
        head = Span(0, self.at(start), kept[0].advancing)
        return Located(text, (head, *(s._replace(start=s.start - start) for s in kept[1:])))

    def at(self, offset: int) -> Location:
        """The line that the character at `offset` came from."""
        if not self.spans:
            return Location(None, None)
        span = self.spans[self._span_index(offset)]
        if not span.advancing or span.location.line is None:
            return span.location
        return replace(span.location, line=span.location.line + self.count("\n", span.start, offset))

    def _span_index(self, offset: int) -> int:
        return max(0, bisect_right(self.spans, offset, key=lambda s: s.start) - 1)


def join(pieces: Iterable[str]) -> Located:
    """`"".join` that keeps origins; a plain piece counts to the place before it (the first to the one after)."""
    kept = [piece for piece in pieces if piece]
    spans: list[Span] = []
    offset = 0
    for piece in kept:
        if isinstance(piece, Located):
            spans += [s._replace(start=s.start + offset) for s in piece.spans] if offset else piece.spans
        offset += len(piece)
    if spans and spans[0].start:
        spans[0] = spans[0]._replace(start=0)
    return Located("".join(str.__str__(piece) for piece in kept), tuple(spans))


def locate(text: str, location: Location, *, advancing: bool = False) -> Located:
    """Plain `text` that came from `location`."""
    return Located(text, (Span(0, location, advancing),) if text else ())


def edit(text: Located, edits: Iterable[tuple[int, int, str]]) -> Located:
    """`text` with each `(start, stop, new)` replaced. Edits do not overlap; new text belongs to the line it replaces.

    A `Located` replacement keeps its own origins.
    """
    pieces: list[str] = []
    done = 0
    for start, stop, new in sorted(edits, key=lambda e: (e[0], e[1])):
        pieces.append(text.cut(done, start))
        pieces.append(new if isinstance(new, Located) and new.spans else locate(new, text.at(start)))
        done = stop
    pieces.append(text.cut(done, len(text)))
    return join(pieces)


class _Data(str):
    """Constant output with the line it stands on, between two steps of the code generator."""

    line: int
    advancing: bool


class LocatingCodeGenerator(CodeGenerator):
    """Jinja's code generator, with each output handed to a function that is told file and line, and makes it text.

    For environments that neither escape nor finalize: SQL is written as it is.
    """

    def _output_child_to_const(self, node: nodes.Expr, frame: _Frame, finalize: Any) -> str:
        made = _Data(super()._output_child_to_const(node, frame, finalize))
        made.line, made.advancing = node.lineno, isinstance(node, nodes.TemplateData)
        return made

    def _output_const_repr(self, group: Iterable[Any]) -> str:
        pieces = tuple((str(data), data.line, data.advancing) for data in group)
        return f"environment.pw_constant({self._file!r}, {pieces!r})"

    def _output_child_pre(self, node: nodes.Expr, frame: _Frame, finalize: Any) -> None:
        self.write(f"environment.pw_output({self._file!r}, {node.lineno}, ")

    def _output_child_post(self, node: nodes.Expr, frame: _Frame, finalize: Any) -> None:
        self.write(")")

    @property
    def _file(self) -> str | None:
        return self.name or self.filename


def locating(environment: Environment) -> None:
    """Make the templates that `environment` compiles from now on render to `Located` text.

    The files named are the templates' names (relative paths, when the loader is given those).
    """
    environment.code_generator_class = LocatingCodeGenerator
    environment.concat = join  # type: ignore[method-assign]
    environment.pw_constant = _constant  # type: ignore[attr-defined]
    environment.pw_output = _output  # type: ignore[attr-defined]


def _constant(file: str | None, pieces: Sequence[tuple[str, int, bool]]) -> Located:
    return join(locate(text, Location(file, line), advancing=advancing) for text, line, advancing in pieces)


def _output(file: str | None, line: int, value: Any) -> Located:
    """A value as `{{ }}` writes it: by its `__output__`, where it has one that differs from `str()`."""
    written = getattr(type(value), "__output__", None)
    text = str(value) if written is None else written(value)
    if not isinstance(text, Located) or not text.spans:
        return locate(text, Location(file, line))
    spans = tuple(
        s if s.location.file == file else s._replace(location=replace(s.location, caller=(file, line)))
        for s in text.spans
    )
    return Located(text, spans)


def template_location(error: BaseException) -> Location | None:
    """The template line an exception was raised at, with the model line that led there. None outside templates."""
    found: list[tuple[str | None, int | None]] = []
    trace = error.__traceback__
    while trace is not None:
        template = trace.tb_frame.f_globals.get("__jinja_template__")
        if template is not None:
            line = template.get_corresponding_lineno(trace.tb_lineno)
            found.append((template.name or template.filename, line))
        trace = trace.tb_next
    if not found:
        return None
    (file, line), outer = found[-1], found[0]
    return Location(file, line, None if outer[0] == file else outer)


_LINE_PATTERNS = (
    re.compile(r"\bLINE (?P<line>\d+):(?P<rest>.*)", re.DOTALL),  # DuckDB, Postgres
    re.compile(r"\bline (?P<line>\d+)(?: at|,)? position (?P<column>-?\d+)", re.IGNORECASE),  # Snowflake
    re.compile(r"\bat line (?P<line>\d+)\b", re.IGNORECASE),
)


def error_position(message: str, statement: str) -> int | None:
    """The offset in `statement` that an engine's message complains about, or None when it names no line.

    DuckDB says `LINE 3: text` and puts a caret below, Snowflake says `at line 3 position 7` (position counted from 0).
    """
    for pattern in _LINE_PATTERNS:
        match = pattern.search(message)
        if match is None:
            continue
        lines = statement.split("\n")
        number = int(match["line"])
        if not 1 <= number <= len(lines):
            return None
        start = sum(len(line) + 1 for line in lines[: number - 1])
        return start + min(_column(match, lines[number - 1]), len(lines[number - 1]))
    return None


def _column(match: re.Match[str], line: str) -> int:
    groups = match.groupdict()
    if groups.get("column") is not None:
        return max(0, int(groups["column"]))
    shown = (groups.get("rest") or "").split("\n")
    if len(shown) < 2 or "^" not in shown[1]:
        return len(line) - len(line.lstrip())
    # The caret stands under the text shown, behind `LINE 3: `; long lines are cut with `...` on either side.
    caret = shown[1].index("^") - (len(match.group(0)) - len(groups["rest"])) - 1
    excerpt = shown[0][1:]
    core = excerpt.removeprefix("...").removesuffix("...")
    found = line.find(core)
    if found < 0:
        return len(line) - len(line.lstrip())
    return max(0, found + caret - (3 if excerpt.startswith("...") else 0))
