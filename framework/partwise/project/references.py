"""`ref()` and `source()` as values: the arguments a template gave, checked, before anything is looked up."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from partwise.errors import RenderError, did_you_mean

if TYPE_CHECKING:
    from partwise.mapping import Mapping

_OPTIONS = ("mapping", "lookback", "filter", "whole", "stale", "allow_missing_upstream")


@dataclass(frozen=True, slots=True)
class RefCall:
    """One call of `ref()` or `source()`.

    `group` is the package of a ref (None: not said) or the name of a source. `filter` is sorted pairs of a dimension of
    the reader and an expression over the input. `lookback=n` has become `window(start_offset=-n)`.
    """

    kind: Literal["ref", "source"]
    group: str | None
    name: str
    mapping: Mapping | None = None
    filter: tuple[tuple[str, str], ...] = ()
    whole: bool = False
    stale: bool = False
    allow_missing_upstream: bool = False

    @property
    def text(self) -> str:
        """How it is written, without options: `ref('orders')`."""
        group = f"'{self.group}', " if self.group is not None else ""
        return f"{self.kind}({group}'{self.name}')"


def ref_call(args: Sequence[Any], options: MappingOf[str, Any]) -> RefCall:
    """The call `ref(*args, **options)`. Raises RenderError for wrong arguments."""
    if options.keys() & {"version", "v"}:
        raise RenderError("ref() has no `version`: model versions are not there", hint="name the model itself")
    if not 1 <= len(args) <= 2:
        raise RenderError(f"ref() takes the name of a model, not {len(args)} names", hint="write ref('orders')")
    names = _names("ref", args)
    return _with_options("ref", names[0] if len(names) == 2 else None, names[-1], options)


def source_call(args: Sequence[Any], options: MappingOf[str, Any]) -> RefCall:
    """The call `source(*args, **options)`. Raises RenderError for wrong arguments."""
    if len(args) != 2:
        raise RenderError(
            f"source() takes a source and a table, not {len(args)} names", hint="write source('raw', 'orders')"
        )
    names = _names("source", args)
    return _with_options("source", names[0], names[1], options)


def _names(kind: str, args: Sequence[Any]) -> tuple[str, ...]:
    for arg in args:
        if not isinstance(arg, str) or not arg:
            raise RenderError(f"{kind}() takes names as text, not {arg!r}", hint="put the name in quotes")
    return tuple(str(arg) for arg in args)


def _with_options(kind: Literal["ref", "source"], group: str | None, name: str, given: MappingOf[str, Any]) -> RefCall:
    if not given:
        return RefCall(kind, group, name)
    for option in given:
        if option not in _OPTIONS:
            hint = did_you_mean(option, _OPTIONS) or f"it has {', '.join(f'`{o}`' for o in _OPTIONS)}"
            raise RenderError(f"{kind}('{name}') has no option `{option}`", hint=hint)
    return RefCall(
        kind,
        group,
        name,
        mapping=_mapping(name, given),
        filter=_filter(name, given.get("filter")),
        whole=_flag("whole", given),
        stale=_flag("stale", given),
        allow_missing_upstream=_flag("allow_missing_upstream", given),
    )


def _mapping(name: str, given: MappingOf[str, Any]) -> Mapping | None:
    from partwise import mapping
    from partwise.project import constructors

    how, lookback = given.get("mapping"), given.get("lookback")
    if how is not None and lookback is not None:
        raise RenderError(f"`{name}` is given both `mapping` and `lookback`", hint="write window(start_offset=-6)")
    if (how is not None or lookback is not None) and given.get("whole"):
        raise RenderError(f"`{name}` is read whole, so a mapping has no effect", hint="leave out one of them")
    if lookback is not None:
        if isinstance(lookback, bool) or not isinstance(lookback, int) or lookback < 0:
            raise RenderError(f"`lookback` is `{lookback}`", hint="write a whole number, such as lookback=6")
        return mapping.window(start_offset=-lookback)
    if isinstance(how, str):
        how = constructors.mapping_from_text(how)
    if how is not None and not isinstance(how, mapping.Mapping):
        raise RenderError(f"`mapping` of `{name}` is {how!r}, which is no mapping", hint=mapping.WAYS)
    return how


def _filter(name: str, given: Any) -> tuple[tuple[str, str], ...]:
    if given is None:
        return ()
    if not isinstance(given, MappingOf) or not all(isinstance(v, str) for pair in given.items() for v in pair):
        raise RenderError(
            f"`filter` of `{name}` takes a dimension of this model and an expression over the input",
            hint="write filter={'region': 'origin'}",
        )
    return tuple(sorted(given.items()))


def _flag(option: str, given: MappingOf[str, Any]) -> bool:
    value = given.get(option, False)
    if not isinstance(value, bool):
        raise RenderError(f"`{option}` is `{value}`", hint=f"write {option}=true")
    return value
