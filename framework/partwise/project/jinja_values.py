"""Templates inside YAML and TOML values: `schema: "{{ target.schema }}"`, `threads: "{{ env_var('N') | as_number }}"`.

A value that is one expression keeps the expression's type; text around it makes it text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from jinja2 import TemplateError, TemplateSyntaxError, Undefined

from partwise.errors import PartwiseError, ProjectError

_ONE = re.compile(r"\s*\{\{((?:(?!\}\}|\{\{).)*)\}\}\s*", re.DOTALL)


def profile_value(text: str, file: str, line: int, env_var: Callable[[str, Any], Any]) -> Any:
    """A setting of profiles.yml. Raises ProjectError that names the file and line."""
    from partwise.project.jinja_env import Engine, World

    engine = Engine(World("", {}, {}, {}))
    return value(engine.environment, text, file, line, {"env_var": lambda name, default=None: env_var(name, default)})


def value(environment: Any, text: str, file: str, line: int | None, names: dict[str, Any]) -> Any:
    """The value of a text that holds Jinja, over some names. Raises PartwiseError that names the file and line."""
    try:
        match = _ONE.fullmatch(text)
        if match is None:
            return environment.from_string(text).render(names)
        found = environment.compile_expression(match[1], undefined_to_none=False)(names)
        if isinstance(found, Undefined):
            str(found)  # raises, with the words of the undefined value
        return found
    except PartwiseError as error:
        if error.file is None:
            error.file, error.line = file, line
        raise
    except TemplateSyntaxError as error:
        raise ProjectError(f"Jinja: {error.message}", file=file, line=line) from error
    except TemplateError as error:
        raise ProjectError(f"Jinja: {error}", file=file, line=line) from error
    except Exception as error:
        raise ProjectError(f"{type(error).__name__} in `{text}`: {error}", file=file, line=line) from error
