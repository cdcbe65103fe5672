"""Models of plain templates, parsed without Jinja.

Most models hold nothing but `config(...)`, `ref(...)`, `source(...)`, `partition_filter(...)` and `this`, with
constants. Reading those as Python expressions gives what Jinja gives (a test compares the two) for a tenth of the time.
Anything else, and anything wrong, is left to Jinja, whose messages are better.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from partwise.errors import PartwiseError
from partwise.project.calls import DEFINITIONS, MAPPINGS, POLICIES, CallText, call_text
from partwise.project.config import INERT, OWN, key_of
from partwise.project.parsed import Parsed, finished, plain
from partwise.project.references import RefCall, ref_call, source_call
from partwise.project.sqltext import mark

# what Python and Jinja read differently: escapes, comments, triple quotes; and, perhaps, prefixes such as r''
_DIFFERENT = re.compile(r"\\|#|'''|\"\"\"")
_PREFIX = re.compile(r"[rRbBuUfF]['\"]")
_PLAIN_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")
# the most common chunk, without a parser
_REF = re.compile(r"ref\((?:'([\w.-]+)'|\"([\w.-]+)\")\)")
_WORDS: dict[str, Any] = {"true": True, "false": False, "none": None, "True": True, "False": False, "None": None}


class _Jinja(Exception):
    """This template needs Jinja."""


def static_parse(text: str, path: str, dialect: str) -> Parsed | None:
    """What `parse_model` gives for a plain template; None when it is not one."""
    if "{%" in text or "{#" in text or "\r" in text:
        return None
    try:
        return _Reader(dialect).read(text)
    except (_Jinja, PartwiseError, SyntaxError, ValueError, RecursionError):
        return None


class _Reader:
    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.config: list[tuple[str, Any, int | None]] = []
        self.calls: list[tuple[RefCall, int | None]] = []
        self.own: set[int] = set()

    def read(self, text: str) -> Parsed:
        out: list[str] = []
        at, line = 0, 1
        strip = False
        while (start := text.find("{{", at)) >= 0:
            before = text[at:start]
            line += before.count("\n")
            piece = before.lstrip() if strip else before
            start += 2
            if text.startswith("-", start):
                piece = piece.rstrip()
                start += 1
            out.append(piece)
            at, strip = self.until_end(text, start, line, out)
            line += text.count("\n", start, at)
        rest = text[at:]
        out.append(rest.lstrip() if strip else rest)
        return finished(self.config, self.calls, self.own, "".join(out).removesuffix("\n"), self.dialect)

    def until_end(self, text: str, start: int, line: int, out: list[str]) -> tuple[int, bool]:
        """Read the chunk that starts at `start`; gives where it ends and whether white space after it goes."""
        end = start - 1
        for _ in range(5):  # `}}` may also close two mappings: then what comes before it is no expression yet
            end = text.find("}}", end + 1)
            if end < 0:
                raise _Jinja
            strip = text[end - 1] == "-" and end > start
            inner = text[start : end - strip]
            try:
                body = inner.lstrip()
                first = line + inner.count("\n", 0, len(inner) - len(body))  # the line that Jinja gives to the call
                out.append(self.chunk(body.rstrip(), first))
            except SyntaxError:
                continue
            return end + 2, strip
        raise _Jinja

    def chunk(self, inner: str, line: int) -> str:
        match = _REF.fullmatch(inner)
        if match:
            return self.reference(RefCall("ref", None, match[1] or match[2]), line)
        if "{{" in inner or _DIFFERENT.search(inner):
            raise _Jinja
        tree = ast.parse(inner, mode="eval").body
        if _PREFIX.search(inner):
            _check_texts(tree, inner)
        if isinstance(tree, ast.Name) and tree.id == "this":
            return self.this()
        if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
            raise _Jinja
        name = tree.func.id
        if name == "config":
            return self.configure(tree, line)
        if name == "partition_filter":
            self.keywords(tree)
            _ = [self.value(arg) for arg in tree.args]
            return "true"
        if name not in _REFERENCES:
            raise _Jinja
        args = [self.value(arg) for arg in tree.args]
        return self.reference(_REFERENCES[name](args, self.keywords(tree)), line)

    def reference(self, call: RefCall, line: int) -> str:
        self.calls.append((call, line))
        return mark(len(self.calls) - 1)

    def this(self) -> str:
        self.own.add(len(self.calls))
        self.calls.append((RefCall("ref", None, ""), None))
        return mark(len(self.calls) - 1)

    def configure(self, tree: ast.Call, line: int) -> str:
        if tree.args:
            raise _Jinja
        for written, value in self.keywords(tree).items():
            key = key_of(written)
            if key not in OWN and key not in INERT:
                raise _Jinja
            self.config.append((key, plain(value, written), line))
        return ""

    def keywords(self, tree: ast.Call) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for keyword in tree.keywords:
            if keyword.arg is None or keyword.arg in _WORDS or keyword.arg in found:
                raise _Jinja
            found[keyword.arg] = self.value(keyword.value)
        return found

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, (str, int, float, bool, type(None))):
                return node.value
        elif isinstance(node, ast.Name):
            if node.id in _WORDS:
                return _WORDS[node.id]
        elif isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
                value = node.operand.value
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    return -value
        elif isinstance(node, ast.List):
            return [self.value(item) for item in node.elts]
        elif isinstance(node, ast.Tuple):
            return tuple(self.value(item) for item in node.elts)
        elif isinstance(node, ast.Dict):
            return self.mapping(node)
        elif isinstance(node, ast.Call):
            return self.call(node)
        raise _Jinja

    def mapping(self, node: ast.Dict) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise _Jinja
            found[self.value(key)] = self.value(value)
        return found

    def call(self, node: ast.Call) -> CallText | Any:
        name = ast.unparse(node.func).removeprefix("mapping.")
        args = [self.value(arg) for arg in node.args]
        given = self.keywords(node)
        if name in MAPPINGS:
            from partwise.project import constructors

            return constructors.MAPPINGS[name](*args, **given)
        if name in DEFINITIONS or name in POLICIES:
            return call_text(name, args, given)
        raise _Jinja


def _check_texts(tree: ast.expr, source: str) -> None:
    """Leave texts with a prefix, or written in several pieces, to Jinja."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
            segment = ast.get_source_segment(source, node)
            if segment is None or not _PLAIN_TEXT.fullmatch(segment):
                raise _Jinja
        elif isinstance(node, ast.JoinedStr):
            raise _Jinja


_REFERENCES: dict[str, Callable[[Any, Any], RefCall]] = {"ref": ref_call, "source": source_call}
