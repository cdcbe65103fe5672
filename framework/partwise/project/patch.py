"""The quickest answer to an edited model: nothing but its text has changed, so only its own node is made anew.

That holds when the edit leaves alone what others see of the model: its config, what it reads, and how. Anything else
gives None, and a whole load decides.
"""

from __future__ import annotations

import marshal
import time
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from partwise.project import Project
from partwise.project.cache import (
    Blob,
    Cached,
    Writer,
    cache_path,
    digest,
    packed,
    place,
    places,
    project_of,
    sure,
    unpacked,
    write_cache,
)
from partwise.project.locate import Opening
from partwise.project.scan import Signature, read_text

if TYPE_CHECKING:
    from partwise.project.jinja_env import Engine
    from partwise.project.parsed import Parsed

# how many edits may pile up at the end of a cache before it is written anew, as a part of the whole
_MOST_WASTE = 0.5


def patched(cached: Cached, opening: Opening, models: Sequence[Signature]) -> Project | None:
    """The project after edits of some models, and a cache that knows of them; None when it takes a whole load."""
    before = unpacked(cached.index["scanned"][0])
    if len(models) != len(before):
        return None
    changed = [(old, new) for old, new in zip(before, models, strict=True) if old != new]
    if len(changed) > 20 or any(old[0] != new[0] or not new[0].endswith(".sql") for old, new in changed):
        return None
    try:
        return _Patch(cached, opening).apply(models, [new for _, new in changed])
    except (_TakesAWholeLoad, KeyError, ValueError, TypeError, EOFError, OSError):
        return None


class _TakesAWholeLoad(Exception):
    """The edit shows outside the model."""


class _Patch:
    def __init__(self, cached: Cached, opening: Opening) -> None:
        self.cached = cached
        self.opening = opening
        self.scanned_at = time.time_ns()  # only ever compared with the times of files
        self.writer = Writer(bytes(cached.data[cached.start :]))
        self.at: dict[str, int] | None = None
        self.by_path: dict[str, int] = {
            row[4]: at for at, row in enumerate(cached.index["items"]) if row[2] == "model"
        }

    def apply(self, models: Sequence[Signature], changed: Sequence[Signature]) -> Project:
        index = dict(self.cached.index)
        nodes = [place(index["nodes"], at) for at in range(len(index["items"]))]
        records: dict[str, Blob] = marshal.loads(index["records"])
        for file in changed:
            at = self.by_path[file[0]]
            node, record = self.model(file, nodes[at], records[file[0]])
            nodes[at], records[file[0]] = self.writer.add(node), self.writer.add(record)
        index["nodes"], index["records"] = places(nodes), marshal.dumps(records)
        index["environ"] = self.environ()
        index["scanned"] = (packed([sure(file, self.scanned_at) for file in models]), *index["scanned"][1:])
        used = sum(blob[1] for blob in (*nodes, *records.values()))
        blobs = self.writer.bytes()
        if used < len(blobs) * _MOST_WASTE:
            raise _TakesAWholeLoad
        write_cache(cache_path(self.opening), index, blobs)
        return project_of(Cached(index, blobs, 0), self.opening)

    def parsed(self, text: str, path: str, dialect: str) -> Parsed:
        """The parsed model, in the world that the cache was written in."""
        from partwise.project.static import static_parse

        if not text.strip():
            raise _TakesAWholeLoad
        found = static_parse(text, path, dialect)
        if found is not None:
            return found
        from partwise.errors import PartwiseError
        from partwise.project.parsing import parse_model

        try:
            return parse_model(self.engine, text, path, {}, dialect)
        except PartwiseError as error:  # a whole load finds it again, and whatever else is wrong
            raise _TakesAWholeLoad from error

    @cached_property
    def engine(self) -> Engine:
        """A Jinja engine in that world."""
        from partwise.project.jinja_env import Engine, MacroFile, World

        index = self.cached.index
        macros = [file[0] for file in unpacked(index["scanned"][2]) if file[0].endswith(".sql")]
        target = index["public"] or project_of(self.cached, self.opening).target.public
        return Engine(
            World(
                project_name=index["name"],
                vars=index["kept"]["vars"],
                environ=self.opening.environ,
                target=target,
                macros=[MacroFile(path, read_text(self.opening.root, path)) for path in macros],
            )
        )

    def environ(self) -> list[tuple[str, bytes]]:
        """The environment variables that the project depends on now."""
        known = dict(self.cached.index["environ"])
        read = self.engine.world.env_read if "engine" in self.__dict__ else {}
        salt = self.cached.index["salt"]
        return [*known.items(), *((n, digest(salt, value)) for n, value in read.items() if n not in known)]

    def has_exprs(self, unique_id: str) -> bool:
        """Whether a node has a partition expr, own or inherited."""
        if self.at is None:
            self.at = {row[0]: n for n, row in enumerate(self.cached.index["items"])}
        return bool(self.cached.blob(place(self.cached.index["nodes"], self.at[unique_id]))[3])

    def model(self, file: Signature, node_place: Blob, record_place: Blob) -> tuple[Any, Any]:
        """The node and the record of an edited model, as they are written."""
        from partwise.project.codec import encode_parsed

        simple, relation, definition, exprs, edges, policy, columns, config = self.cached.blob(node_place)
        before, dialect, around = self.cached.blob(record_place)
        text = read_text(self.opening.root, file[0])
        parsed = self.parsed(text, file[0], dialect)
        if parsed.asks_config or around is not None:
            raise _TakesAWholeLoad  # what folders and property files say is not at hand
        after = encode_parsed(parsed)
        if [setting[:2] for setting in after[0]] != [setting[:2] for setting in before[0]]:
            raise _TakesAWholeLoad  # config
        if [call for call, _ in after[1]] != [call for call, _ in before[1]]:
            raise _TakesAWholeLoad  # what it reads
        if config["materialized"] in ("view", "ephemeral") and any(self.has_exprs(edge[0]) for edge in edges):
            raise _TakesAWholeLoad  # whether it inherits partitions hangs on its SQL
        simple = _replaced(simple, raw_code=text, reads_own_past=parsed.reads_own_past)
        lines = _lines(after[1])
        edges = tuple((*edge[:-1], line) for edge, line in zip(edges, lines, strict=True))
        return (simple, relation, definition, exprs, edges, policy, columns, config), (after, dialect, around)


def _lines(calls: Sequence[Any]) -> list[int | None]:
    """The line of each edge: equal references make one edge, at the first of them."""
    found: dict[Any, int | None] = {}
    for call, line in calls:
        found.setdefault(call, line)
    return list(found.values())


def _replaced(simple: tuple[Any, ...], **given: Any) -> tuple[Any, ...]:
    from partwise.project.codec import SIMPLE

    return tuple(given.get(name, value) for name, value in zip(SIMPLE, simple, strict=True))

