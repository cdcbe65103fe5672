"""The Jinja that model text is written in: the engine, and the names a template may use.

An `Engine` compiles and renders; a `Scope` says what `ref`, `this`, `partition` and the rest mean. Loading a project
uses a scope that notes what is called (`parsing.py`); carrying out a run uses one that gives SQL (`render.py`):

    class RunScope(Scope):
        def ref(self, *args, **options):
            call = ref_call(args, options)          # references.py: checked arguments
            site = self.engine.site()               # where in the template we are
            return RelationText(...)                # anything whose str() is the SQL

    engine = project.engine(run_started_at=now, invocation_id=..., log=...)
    text = engine.render(engine.compile(node.raw_code, node.path), RunScope(engine, node...))

Every error raised while rendering leaves as a PartwiseError that names the template's file and line; in a macro, the
macro's file and line, and the line of the model that called it.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, FrameType, TracebackType
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError
from jinja2.exceptions import SecurityError, UndefinedError
from jinja2.sandbox import SandboxedEnvironment

from partwise.errors import PartwiseError, RenderError, did_you_mean
from partwise.project.jinja_names import FILTERS, NOT_THERE, constants
from partwise.project.macros import LIBRARY, GenericTestBlock, Library, MacroContext, Return, return_, returning
from partwise.project.scopes import ReadConfig as ReadConfig
from partwise.project.scopes import RelationText as RelationText
from partwise.project.scopes import Scope as Scope
from partwise.project.world import MacroFile as MacroFile
from partwise.project.world import World as World

_UNDEFINED = re.compile(r"'(\w+)' is undefined")


@dataclass(frozen=True, slots=True)
class Site:
    """A place in a template."""

    file: str
    line: int


class Engine:
    """Compiles and renders templates in one `World`."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.environment = _Environment(undefined=StrictUndefined, extensions=["jinja2.ext.do", GenericTestBlock])
        self.environment.filters.update(FILTERS)
        self._library = Library(world.macros, self.compile)

    @cached_property
    def constants(self) -> dict[str, Any]:
        """The names that do not depend on the model."""
        own = constants(self.world)
        return {**self.environment.globals, **own, "return": return_, LIBRARY: self._library}

    @property
    def macro_names(self) -> tuple[str, ...]:
        """The project's own macros, by name."""
        return tuple(self._library.files)

    def compile(self, text: str, path: str) -> Template:
        """The template of a file's text. Raises RenderError with the line of a syntax error."""
        return Template.from_code(self.environment, self.code(text, path), {})

    def code(self, text: str, path: str) -> CodeType:
        """Python code of a template. Raises RenderError with the line of a syntax error."""
        try:
            return self.environment.compile(text, path, path)
        except TemplateSyntaxError as error:
            raise RenderError(
                f"Jinja: {_sentence(error.message or 'syntax error')}", file=path, line=error.lineno
            ) from error
        except SyntaxError as error:  # Jinja leaves some checks to Python, e.g. an argument given twice
            raise RenderError(f"Jinja: {error.msg}", file=path) from error

    def render(self, template: Template, scope: Scope) -> str:
        """The text of a template. Raises PartwiseError that names the place in the template, whatever went wrong."""
        returning(template)
        try:
            context = template.new_context(scope.names(), shared=True)
            return self.environment.concat(template.root_render_func(context))  # text that knows its lines: linemap.py
        except PartwiseError as error:
            raise self._placed(error, error.__traceback__, scope) from error
        except Return as error:
            raise RenderError("return() stands outside a macro", file=scope.model_file) from error
        except RecursionError as error:
            raise RenderError("the template calls itself without end", file=scope.model_file) from error
        except Exception as error:
            made = RenderError(self._told(error, scope), hint=self._hint(error, scope))
            raise self._placed(made, error.__traceback__, scope) from error

    def render_text(self, text: str, path: str, scope: Scope) -> str:
        """`render(compile(text))`, at once the text itself when it holds no Jinja."""
        if "{" not in text:
            return text
        return self.render(self.compile(text, path), scope)

    def check_macros(self) -> list[PartwiseError]:
        """What is wrong with the macro files: syntax errors, and names defined twice."""
        return self._library.check()

    def site(self, model_file: str | None = None) -> Site | None:
        """Where the running template has got to: in `model_file` when it is on the stack, else innermost."""
        found: Site | None = None
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            template = frame.f_globals.get("__jinja_template__")
            if template is not None:
                site = Site(template.filename or "", template.get_corresponding_lineno(frame.f_lineno))
                if model_file is None or site.file == model_file:
                    return site
                found = found or site
            frame = frame.f_back
        return found

    def _placed(self, error: PartwiseError, traceback: TracebackType | None, scope: Scope) -> PartwiseError:
        """The error with its place filled in, when it has none yet."""
        sites: list[Site] = []
        while traceback is not None:
            template = traceback.tb_frame.f_globals.get("__jinja_template__")
            if template is not None:
                sites.append(Site(template.filename or "", template.get_corresponding_lineno(traceback.tb_lineno)))
            traceback = traceback.tb_next
        if error.file is not None or not sites:
            error.file = error.file or scope.model_file
            return error
        error.file, error.line = sites[-1].file, sites[-1].line
        callers = [site for site in sites if site.file == scope.model_file]
        if error.file != scope.model_file and callers:
            error.message += f" (in a macro called from {callers[-1].file}:{callers[-1].line})"
        return error

    def _told(self, error: Exception, scope: Scope) -> str:
        if isinstance(error, UndefinedError):
            name = _UNDEFINED.search(str(error))
            return f"`{name[1]}` is not defined" if name else _sentence(str(error))
        if isinstance(error, SecurityError):
            return f"not allowed in a template: {error}"
        if isinstance(error, TemplateError):
            return f"Jinja: {_sentence(str(error))}"
        return f"{type(error).__name__} in the template: {error}"

    def _hint(self, error: Exception, scope: Scope) -> str | None:
        name = _UNDEFINED.search(str(error)) if isinstance(error, UndefinedError) else None
        if name is None:
            return None
        if name[1] in NOT_THERE:
            return NOT_THERE[name[1]]
        known = [n for n in (*scope.names(), *self.macro_names) if n != LIBRARY]
        return did_you_mean(name[1], known) or "text in SQL needs no braces; in Jinja it needs quotes"


class _Environment(SandboxedEnvironment):
    """The sandbox, with the project's macros behind all names."""

    context_class = MacroContext

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return not isinstance(obj, Scope | Engine | World) and super().is_safe_attribute(obj, attr, value)




def _sentence(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".") if text else text
