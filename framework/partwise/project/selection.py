"""dbt's selection grammar: `+orders`, `2+tag:daily`, `@source:raw`, `path:models/staging,config.materialized:view`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from partwise.errors import PlanError, did_you_mean
from partwise.project.graph import Graph

# compiled when first used: a command without --select needs none of it
_TERM = r"(?P<at>@)?(?:(?P<up>\d*)\+)?(?:(?P<method>[\w.]+):)?(?P<value>.*?)(?:\+(?P<down>\d*))?"
_WILD = r"[*?\[]"
_NOT_YET = (
    "access", "exposure", "function", "group", "metric", "result", "saved_query", "selector", "semantic_model",
    "source_status", "state", "test_name", "test_type", "unit_test", "version",
)  # fmt: skip


class Item(NamedTuple):
    """What selection and lists need to know of a node, so that they need not make the node itself.

    `partitions` is its definition as text, `dimensions` the kind and name of each dimension of it.
    """

    unique_id: str
    name: str
    resource_type: str
    package: str
    path: str
    fqn: tuple[str, ...]
    tags: tuple[str, ...]
    materialized: str
    source_name: str | None = None
    partitions: str | None = None
    inherited_from: str | None = None
    dimensions: tuple[tuple[str, str], ...] = ()
    partition_expr: tuple[tuple[str, str], ...] = ()


class Selection(NamedTuple):
    """What a selection gives, in the order of building.

    `named` are the nodes that a term matched by itself, the others were reached through `+` or `@`. `unmatched` are the
    terms that matched nothing; whether that is an error is for the caller to say.
    """

    nodes: tuple[str, ...]
    named: frozenset[str]
    unmatched: tuple[str, ...] = ()


def select(
    items: Sequence[Item],
    graph: Graph,
    select: Sequence[str] = (),
    exclude: Sequence[str] = (),
    *,
    config: Callable[[str], Mapping[str, Any]] = lambda unique_id: {},
    resource_types: Iterable[str] | None = None,
) -> Selection:
    """The nodes that `select` names (all of them when it is empty) without those that `exclude` names.

    Each text is a union of terms separated by spaces; terms joined by commas intersect. `config` gives the config of a
    node. Raises PlanError for unknown methods, and for a plain name that no node has.
    """
    finder = _Finder(items, graph, config)
    kinds = None if resource_types is None else set(resource_types)
    kept = {item.unique_id for item in items if kinds is None or item.resource_type in kinds}
    named = kept
    if any(text.strip() for text in select):
        nodes, named = finder.union(select)
        kept &= nodes
    if exclude:
        kept -= finder.union(exclude)[0]
    order = graph.order if len(kept) * 2 > len(items) else graph.sorted(kept)
    return Selection(tuple(uid for uid in order if uid in kept), frozenset(named & kept), tuple(finder.unmatched))


class _Finder:
    def __init__(
        self, items: Sequence[Item], graph: Graph, config: Callable[[str], Mapping[str, Any]]
    ) -> None:
        self.items = items
        self.graph = graph
        self.config = config
        self.unmatched: list[str] = []

    def union(self, texts: Sequence[str]) -> tuple[set[str], set[str]]:
        nodes: set[str] = set()
        named: set[str] = set()
        for text in texts:
            for part in text.split():
                some, direct = self.intersection(part)
                nodes |= some
                named |= direct
        return nodes, named

    def intersection(self, text: str) -> tuple[set[str], set[str]]:
        nodes: set[str] | None = None
        named: set[str] = set()
        for term in text.split(","):
            if not term:
                continue
            some, direct = self.term(term)
            nodes = some if nodes is None else nodes & some
            named |= direct
        if nodes is None:
            return set(), set()
        if not nodes and "," in text:
            self.unmatched.append(text)
        return nodes, named & nodes

    def term(self, text: str) -> tuple[set[str], set[str]]:
        match = re.fullmatch(_TERM, text, re.DOTALL)
        if match is None or not match["value"]:
            raise PlanError(f"`{text}` is no selection", hint="write a name, or method:value, such as tag:daily")
        if match["at"] and match["up"] is not None:
            raise PlanError(f"`{text}` has both `@` and `+` in front", hint="`@` takes the ancestors along already")
        direct = self.direct(match["method"], match["value"])
        if not direct:
            self.unmatched.append(text)
        found = set(direct)
        if match["at"]:
            found |= self.graph.descendants(direct)
            found |= self.graph.ancestors(found)
        if match["up"] is not None:
            found |= self.graph.ancestors(direct, int(match["up"]) if match["up"] else None)
        if match["down"] is not None:
            found |= self.graph.descendants(direct, int(match["down"]) if match["down"] else None)
        return found, direct

    def direct(self, method: str | None, value: str) -> set[str]:
        if method is None:
            return self.plain(value)
        name, _, rest = method.partition(".")
        if name == "config" and rest:
            return self.where(lambda item: _has(self.config(item.unique_id), rest.split("."), value))
        if method not in _METHODS:
            if method in _NOT_YET:
                raise PlanError(f"the selection method `{method}:` is not there yet")
            known = [f"{name}:" for name in (*_METHODS, "config.materialized")]
            hint = did_you_mean(f"{method}:", known) or f"there are {', '.join(f'`{m}`' for m in known)}"
            raise PlanError(f"unknown selection method `{method}:`", hint=hint)
        return self.where(_METHODS[method](value))

    def where(self, test: Callable[[Item], bool]) -> set[str]:
        return {item.unique_id for item in self.items if test(item)}

    def plain(self, value: str) -> set[str]:
        """A name, a dotted path of names, a path or a file name, told apart as dbt does."""
        if "/" in value or "\\" in value:
            return self.where(_path(value.replace("\\", "/")))
        if value.lower().endswith((".sql", ".csv", ".parquet", ".yml", ".yaml")):
            return self.where(_file(value))
        found = self.where(_fqn(value))
        if not found and not re.search(_WILD, value):
            raise self.unknown(value)
        return found

    def unknown(self, value: str) -> PlanError:
        for item in self.items:
            if item.resource_type == "source" and value in (item.name, f"{item.source_name}.{item.name}"):
                hint = f"it is a source: write source:{item.source_name}.{item.name}"
                return PlanError(f"no model or seed is called `{value}`", hint=hint)
        names = [item.name for item in self.items if item.resource_type != "source"]
        folders = {part for item in self.items for part in item.fqn[:-1]}
        near = did_you_mean(value, [*names, *sorted(folders)]) or "`partwise ls` lists all names"
        return PlanError(f"no model or seed is called `{value}`", hint=near)


# ---------------------------------------------------------------- methods


def _fqn(value: str) -> Callable[[Item], bool]:
    if "." not in value and not re.search(_WILD, value):
        return lambda item: item.resource_type != "source" and value in item.fqn
    parts = value.split(".")

    def test(item: Item) -> bool:
        if item.resource_type == "source":
            return False
        if fnmatchcase(item.name, value):
            return True
        return _fqn_match(item.fqn, parts) or _fqn_match(item.fqn[1:], parts)

    return test


def _fqn_match(fqn: tuple[str, ...], parts: list[str]) -> bool:
    """Whether the parts match the start of the qualified name; from the first wildcard on they match all the rest."""
    flat = [piece for name in fqn for piece in name.split(".")]
    for at, part in enumerate(parts):
        if re.search(_WILD, part):
            return len(flat) > at and fnmatchcase(".".join(flat[at:]), ".".join(parts[at:]))
        if at >= len(flat) or flat[at] != part:
            return False
    return True


def _tag(value: str) -> Callable[[Item], bool]:
    return lambda item: any(fnmatchcase(tag, value) for tag in item.tags)


def _path(value: str) -> Callable[[Item], bool]:
    pattern = _glob(value.removeprefix("./").rstrip("/"))
    return lambda item: pattern.match(item.path) is not None


def _glob(value: str) -> re.Pattern[str]:
    """A path or glob as a pattern for a file itself or anything below a folder."""
    out = ""
    for piece in re.findall(r"\*\*/|\*\*|\*|\?|\[[^\]]*\]|.", value, re.DOTALL):
        named = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
        out += named.get(piece) or (piece if len(piece) > 1 else re.escape(piece))
    return re.compile(rf"{out}(?:/.*)?\Z" if value not in ("", ".") else ".*", re.DOTALL)


def _file(value: str) -> Callable[[Item], bool]:
    def test(item: Item) -> bool:
        name = item.path.rpartition("/")[2]
        matches = fnmatchcase(name, value) or fnmatchcase(name.rpartition(".")[0], value)
        return matches and item.resource_type != "source"

    return test


def _source(value: str) -> Callable[[Item], bool]:
    parts = value.split(".")

    def test(item: Item) -> bool:
        if item.resource_type != "source":
            return False
        names = (item.package, item.source_name or "", item.name)
        wanted = {1: ("*", parts[0], "*"), 2: ("*", *parts), 3: tuple(parts)}.get(len(parts))
        return wanted is not None and all(map(fnmatchcase, names, wanted))

    return test


def _resource_type(value: str) -> Callable[[Item], bool]:
    known: tuple[str, ...] = ("model", "seed", "source")
    if value not in known:
        hint = did_you_mean(value, known) or f"there are {', '.join(f'`{k}`' for k in known)}"
        raise PlanError(f"unknown resource type `{value}`", hint=hint)
    return lambda item: item.resource_type == value


def _package(value: str) -> Callable[[Item], bool]:
    return lambda item: value == "this" or fnmatchcase(item.package, value)


_METHODS: dict[str, Callable[[str], Callable[[Item], bool]]] = {
    "fqn": _fqn,
    "tag": _tag,
    "path": _path,
    "file": _file,
    "source": _source,
    "resource_type": _resource_type,
    "package": _package,
}


def _has(config: Mapping[str, Any], path: list[str], value: str) -> bool:
    """Whether a config holds a value at a dotted path: itself, as an entry of a list, or as a key of a mapping."""
    at: Any = config
    for name in path:
        if not isinstance(at, Mapping) or name not in at:
            return False
        at = at[name]
    if isinstance(at, Mapping):
        return value in at
    entries = at if isinstance(at, (list, tuple)) else [at]
    return any(_same(entry, value) for entry in entries)


def _same(entry: Any, value: str) -> bool:
    if isinstance(entry, bool):
        return value.lower() == str(entry).lower()
    return fnmatchcase(str(entry), value)
