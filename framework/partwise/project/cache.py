"""The loading cache: a project whose files have not changed is not read again.

One file in the target folder: an index (what was read, names, graph), then one blob per node and per parsed model,
which are looked at only when asked for. It is written with `marshal`, which holds values and no code, and is trusted
only with the right stamp and checksums: anything else counts as no cache.

Three ways to open a project, each giving the same as a load from scratch:
- nothing changed: the index alone;
- only models changed, in nothing but their text (`patch.py`): those models are parsed, the rest is kept;
- anything else: a load that parses only the models that changed.
"""

from __future__ import annotations

import gc
import marshal
import mmap
import os
import re
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from threading import get_ident
from typing import TYPE_CHECKING, Any
from zlib import crc32

from partwise import __version__
from partwise.project import Project
from partwise.project.graph import Parents
from partwise.project.locate import Opening
from partwise.project.scan import Signature, scan, signature
from partwise.project.selection import Item

if TYPE_CHECKING:
    from partwise.nodes import Node

FILE = "partwise.cache"
_MAGIC = b"partwise1\n"
_HEAD = struct.Struct("<10sIQ")  # magic, checksum and length of the index
# environment variables that decide which profile and target is read
_ENV = (
    "HOME", "USERPROFILE", "PARTWISE_PROFILES_DIR", "DBT_PROFILES_DIR", "PARTWISE_PROFILE", "DBT_PROFILE",
    "PARTWISE_TARGET", "DBT_TARGET",
)  # fmt: skip
_TARGET_PATH = rb"(?m)^\s*[\"']?target[-_]path[\"']?\s*[=:]\s*[\"']?([^\"'#\r\n]+)"
Blob = tuple[int, int, int]  # offset, length, checksum
Index = dict[str, Any]


class Cached:
    """An open cache file: its index, and its blobs by place."""

    def __init__(self, index: Index, data: bytes | mmap.mmap, start: int) -> None:
        self.index = index
        self.data = data
        self.start = start

    def blob(self, place: Blob) -> Any:
        """The value of a blob. Raises ValueError when it is damaged."""
        offset, length, checksum = place
        text = self.data[self.start + offset : self.start + offset + length]
        if crc32(text) != checksum:
            raise ValueError("the cache is damaged")
        return marshal.loads(text)


def cached_or_loaded(opening: Opening) -> Project:
    """The project, from the cache as far as it is right. Raises what a load raises."""
    collecting = gc.isenabled()
    gc.disable()  # thousands of small values are made, none of them garbage
    try:
        return _cached_or_loaded(opening)
    finally:
        if collecting:
            gc.enable()


def _cached_or_loaded(opening: Opening) -> Project:
    cached = read_cache(opening)
    if cached is None or not _same_world(cached.index, opening):
        return _load(opening, None)
    index = cached.index
    models, seeds, macros, skip = index["folders"]
    root = opening.root
    scanned = (
        scan(root, models[0], models[1], skip),
        scan(root, seeds[0], seeds[1], skip),
        scan(root, macros[0], macros[1], skip),
    )
    if tuple(map(packed, scanned)) == index["scanned"]:
        return project_of(cached, opening)
    if tuple(map(packed, scanned[1:])) == index["scanned"][1:]:
        from partwise.project.patch import patched

        project = patched(cached, opening, scanned[0])
        if project is not None:
            return project
    return _load(opening, cached)


def _load(opening: Opening, cached: Cached | None) -> Project:
    from partwise.project.cachewriter import load_and_write

    return load_and_write(opening, cached)


def project_of(cached: Cached, opening: Opening) -> Project:
    """The project that an index describes."""
    index = cached.index
    names = [row[0] for row in index["items"]]
    return Project(
        opening,
        name=index["name"],
        target_path=index["target_path"],
        items=map(partial(tuple.__new__, Item), index["items"]),
        parents=Parents(names, index["parents"]),
        order=list(map(names.__getitem__, index["order"])),
        nodes=Nodes(cached, opening, names),
        notes=index["notes"],
        kept=index["kept"],
    )


class Nodes(Mapping[str, "Node"]):
    """The nodes of a cached project, each made when it is asked for."""

    def __init__(self, cached: Cached, opening: Opening, names: list[str]) -> None:
        self._cached = cached
        self._opening = opening
        self._names = names
        self._made: dict[str, Node] = {}

    @cached_property
    def _at(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self._names)}

    def __getitem__(self, unique_id: str) -> Node:
        if unique_id not in self._made:
            from partwise.project.codec import decode_node

            at = self._at[unique_id]
            try:
                self._made[unique_id] = decode_node(self._cached.blob(place(self._cached.index["nodes"], at)))
            except Exception:  # a damaged cache must never be more than slow
                from partwise.project.loading import Loader

                self._made.update(Loader(self._opening).load().nodes)
        return self._made[unique_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


# ---------------------------------------------------------------- reading


def cache_path(opening: Opening) -> str:
    """Where the cache of a project is. The target path is guessed from the project file's text, which is quick."""
    folder = "target"
    try:
        with open(os.path.join(opening.root, opening.file), "rb") as file:
            text = file.read()
        match = re.search(_TARGET_PATH, text) if b"target" in text else None
    except OSError:
        match = None
    if match:
        folder = match[1].decode("utf-8", "replace").strip()
    return os.path.join(opening.root, folder, FILE)


def read_cache(opening: Opening) -> Cached | None:
    """The cache of a project; None when there is none, or none of this version of partwise and Python."""
    try:
        with open(cache_path(opening), "rb") as file:
            head = file.read(_HEAD.size)
            magic, checksum, length = _HEAD.unpack(head)
            if magic != _MAGIC:
                return None
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        text = data[_HEAD.size : _HEAD.size + length]
        if crc32(text) != checksum:
            return None
        index = marshal.loads(text)
        if not isinstance(index, dict) or index.get("stamp") != stamp():
            return None
        return Cached(index, data, _HEAD.size + length)
    except (OSError, ValueError, EOFError, TypeError, struct.error):
        return None


def write_cache(path: str, index: Index, blobs: bytes) -> None:
    """Put a cache in place of the one before, at once. A folder that cannot be written to is no error."""
    text = marshal.dumps(index)
    temporary = f"{path}.{os.getpid()}.{get_ident()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(_HEAD.pack(_MAGIC, crc32(text), len(text)))
            file.write(text)
            file.write(blobs)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)


class Writer:
    """Collects blobs and their places."""

    def __init__(self, before: bytes = b"") -> None:
        self.parts = [before]
        self.at = len(before)

    def add(self, value: Any) -> Blob:
        """Write a value; where it is."""
        text = marshal.dumps(value)
        place = (self.at, len(text), crc32(text))
        self.parts.append(text)
        self.at += len(text)
        return place

    def bytes(self) -> bytes:
        return b"".join(self.parts)


def sure(file: Signature, scanned_at: int) -> Signature:
    """The signature to keep: one that never matches, when the file could change again without a trace."""
    return file if scanned_at - max(file[1], file[2]) > _TICK else (file[0], 0, 0, 0)


_TICK = 20_000_000  # ns: file systems count time in steps of up to 10 ms


def packed(files: list[Signature]) -> bytes:
    """Signatures as bytes: equal lists give equal bytes, which are quicker to read and compare than the lists."""
    return marshal.dumps(files, 2)  # later formats write the same value in more than one way


def unpacked(text: bytes) -> list[Signature]:
    """The signatures that `packed` wrote."""
    files: list[Signature] = marshal.loads(text)
    return files


_PLACE = struct.Struct("<QII")


def places(blobs: Sequence[Blob]) -> bytes:
    """Places of blobs as bytes, for `place`."""
    return b"".join(_PLACE.pack(*blob) for blob in blobs)


def place(text: bytes, at: int) -> Blob:
    """One of the places that `places` wrote."""
    found: Blob = _PLACE.unpack_from(text, at * _PLACE.size)
    return found


def stamp() -> tuple[Any, ...]:
    """What a cache must have been written by: this Python, and this partwise with each of its files."""
    folder = os.path.dirname(os.path.abspath(__file__))
    with os.scandir(folder) as entries:
        files = [(e.name, e.stat().st_mtime_ns) for e in entries if e.name.endswith(".py")]
    return (__version__, sys.version, marshal.version, tuple(sorted(files)))


def _same_world(index: Index, opening: Opening) -> bool:
    """Whether everything but the scanned folders is as it was: options, environment, project file, profile."""
    return bool(
        index["given"] == given(opening)
        and all(digest(index["salt"], opening.environ.get(name)) == known for name, known in index["environ"])
        and all(signature(path) == known for path, known in index["files"])
        and (index["public"] is None or index["public"] == _public(index, opening))
    )


def _public(index: Index, opening: Opening) -> dict[str, Any] | None:
    """What templates see of a target that holds secrets: nothing of such a profile is kept but this, so it is read."""
    from partwise.errors import PartwiseError
    from partwise.project.codec import bare
    from partwise.project.profiles import open_profile

    try:
        public: dict[str, Any] = bare(open_profile(opening, index["profile"]).target.public)
    except PartwiseError:
        return None
    return public


def given(opening: Opening) -> tuple[Any, ...]:
    """What was given on top of the files, as a value that can be compared."""
    return (
        opening.root, opening.file, opening.profiles_dir, opening.profile, opening.target,
        repr(sorted(opening.vars.items())), *map(opening.environ.get, _ENV),
    )  # fmt: skip


def digest(salt: bytes, value: str | None) -> bytes:
    """A value that tells whether an environment variable has changed, without telling what it holds."""
    from hashlib import blake2b

    text = b"" if value is None else b"=" + value.encode("utf-8", "surrogateescape")
    return blake2b(text, salt=salt, digest_size=16).digest()
