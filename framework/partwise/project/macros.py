"""The project's own macros: found by name, compiled when first called, able to `return()` values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jinja2 import Template, nodes
from jinja2.ext import Extension
from jinja2.runtime import Context, Macro
from jinja2.utils import missing

from partwise.errors import PartwiseError, ProjectError
from partwise.project.world import MacroFile, macro_heads

if TYPE_CHECKING:
    from jinja2.parser import Parser

LIBRARY = " macros"  # key in a context under which macros are found; no template can name it


class MacroContext(Context):
    """Names not given by the scope are looked for among the project's macros."""

    def resolve_or_missing(self, key: str) -> Any:
        found = super().resolve_or_missing(key)
        if found is missing:
            library = self.parent.get(LIBRARY)
            if library is not None:
                return library.find(key, self.parent)
        return found


class Return(Exception):
    """Carries the value of `return()` to the macro's caller."""

    def __init__(self, value: Any) -> None:
        super().__init__("return() outside a macro")
        self.value = value


def return_(value: Any = None) -> Any:
    """`return(value)` in a macro."""
    raise Return(value)


class _ReturningMacro(Macro):
    """A macro that may end in `return(value)`, which then is its value, of any type."""

    def _invoke(self, arguments: list[Any], autoescape: bool) -> Any:
        try:
            return super()._invoke(arguments, autoescape)
        except Return as found:
            return found.value


def returning(template: Template) -> None:
    """Make the macros of a template ones that can return: its code looks `Macro` up in its own globals."""
    template.root_render_func.__globals__["Macro"] = _ReturningMacro


class Library:
    """The project's macros: files are compiled when a macro of theirs is first called."""

    def __init__(self, files: Sequence[MacroFile], compile_: Callable[[str, str], Template]) -> None:
        self._all = files
        self._compile = compile_
        self._templates: dict[str, Template] = {}
        self.files = {name: file for file in files for name, _ in macro_heads(file.text)}

    def find(self, name: str, names: dict[str, Any]) -> Any:
        """The macro, bound to the names of the template that asks; `missing` when there is none."""
        file = self.files.get(name)
        if file is None:
            return missing
        bound = names.setdefault(LIBRARY + " bound", {})
        if file.path not in bound:
            template = self._template(file)
            context = template.new_context(names, shared=True)
            for _ in template.root_render_func(context):
                pass
            bound[file.path] = context.vars
        return bound[file.path].get(name, missing)

    def _template(self, file: MacroFile) -> Template:
        if file.path not in self._templates:
            template = self._compile(file.text, file.path)
            returning(template)
            self._templates[file.path] = template
        return self._templates[file.path]

    def check(self) -> list[PartwiseError]:
        """What is wrong with the files: syntax errors, and names defined twice."""
        errors: list[PartwiseError] = []
        seen: dict[str, str] = {}
        for file in self._all:
            try:
                self._template(file)
            except PartwiseError as error:
                errors.append(error)
            for name, line in macro_heads(file.text):
                if name in seen:
                    message = f"the macro `{name}` is defined twice, first in {seen[name]}"
                    errors.append(ProjectError(message, file=file.path, line=line, hint="rename one of them"))
                seen.setdefault(name, f"{file.path}:{line}")
        return errors


class GenericTestBlock(Extension):
    """`{% test name(model, column_name) %} ... {% endtest %}`: a macro named `test_name`, as in dbt."""

    tags = {"test"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        node = nodes.Macro(lineno=next(parser.stream).lineno)
        node.name = "test_" + parser.parse_assign_target(name_only=True).name
        parser.parse_signature(node)
        node.body = parser.parse_statements(("name:endtest",), drop_needle=True)
        return node
