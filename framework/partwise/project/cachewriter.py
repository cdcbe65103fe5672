"""Loading with what a cache knows, and writing the cache."""

from __future__ import annotations

import marshal
import os
from typing import Any

from partwise.project import Project
from partwise.project.cache import (
    FILE,
    Cached,
    Index,
    Writer,
    digest,
    given,
    packed,
    places,
    stamp,
    sure,
    unpacked,
    write_cache,
)
from partwise.project.codec import bare, decode_parsed, encode_node, encode_parsed
from partwise.project.config import Layer
from partwise.project.loading import MODEL_FILES, PROPERTY_FILES, SEED_FILES, Loader
from partwise.project.locate import Opening
from partwise.project.parsed import Parsed
from partwise.project.scan import Signature, signature
from partwise.project.selection import Item

Record = tuple[Any, ...]  # parsed model, its dialect, what was said around it when it asks for that


class KnownModels:
    """What a cache knows of single models; the macros must be those it was written with."""

    def __init__(self, cached: Cached) -> None:
        self._cached = cached
        self._files = {file[0]: file for file in unpacked(cached.index["scanned"][0])}
        self._records = marshal.loads(cached.index["records"])

    def parsed(self, file: Signature, outer: Layer, dialect: str) -> Parsed | None:
        """The parsed model of a file, when nothing it depends on has changed."""
        place = self._records.get(file[0])
        if place is None or self._files.get(file[0]) != file:
            return None
        try:
            plain, its_dialect, around = self._cached.blob(place)
            if its_dialect != dialect or (around is not None and around != around_of(outer)):
                return None
            return decode_parsed(plain)
        except (ValueError, TypeError, EOFError):
            return None


def around_of(outer: Layer) -> str:
    """What folders and property files say, as a text that can be compared."""
    return repr(sorted((key, setting.value) for key, setting in outer.items()))


def load_and_write(opening: Opening, cached: Cached | None) -> Project:
    """A load that parses only what the cache does not know, and a new cache."""
    files = _outer_files(opening)
    loader = Loader(opening, None)
    if cached is not None and packed(loader.scanned.macros) == cached.index["scanned"][2]:
        loader.known = KnownModels(cached)
        loader.world.env_read.update({name: None for name, _ in cached.index["environ"]})
    project = loader.load()
    writer = Writer()
    index = _index(opening, loader, project, files, writer)
    # where the project file says; when `cache_path` guesses otherwise, loads are never warm, and right all the same
    write_cache(os.path.join(opening.root, loader.settings.target_path, FILE), index, writer.bytes())
    return project


def _outer_files(opening: Opening) -> list[tuple[str, Signature | None]]:
    """The project file, as it was before it was read."""
    path = os.path.join(opening.root, opening.file)
    return [(path, signature(path))]


def _index(
    opening: Opening, loader: Loader, project: Project, files: list[tuple[str, Signature | None]], writer: Writer
) -> Index:
    settings = loader.settings
    salt = os.urandom(16)
    read = {**loader.world.env_read, **(loader.profile.env_read if loader.profile.is_public else {})}
    skip = os.path.normpath(os.path.join(opening.root, settings.target_path))
    scanned = (loader.scanned.models, loader.scanned.seeds, loader.scanned.macros)
    at = {item.unique_id: n for n, item in enumerate(project.items)}
    records = {}
    for draft in loader.drafts:
        if draft.parsed is not None and draft.path in loader.dialects:
            records[draft.path] = writer.add(record_of(draft.parsed, loader.dialects[draft.path], draft.layers))
    return {
        "stamp": stamp(),
        "given": given(opening),
        "salt": salt,
        "environ": [(name, digest(salt, opening.environ.get(name))) for name in sorted(read)],
        "profile": settings.profile,
        "public": None if loader.profile.is_public else bare(loader.target.public),
        "files": files + list(loader.profile_signatures),
        "folders": (
            (settings.model_paths, MODEL_FILES + PROPERTY_FILES),
            (settings.seed_paths, SEED_FILES + PROPERTY_FILES),
            (settings.macro_paths, MODEL_FILES + PROPERTY_FILES),
            skip,
        ),
        "scanned": tuple(packed([sure(file, loader.scanned_at) for file in kind]) for kind in scanned),
        "name": settings.name,
        "target_path": settings.target_path,
        "notes": settings.notes,
        "kept": loader.kept,
        "items": [tuple(item) for item in project.items],
        "parents": [tuple(at[p] for p in project.graph.parents[item.unique_id]) for item in project.items],
        "order": [at[uid] for uid in project.graph.order],
        "nodes": places([writer.add(node_plain(project, item)) for item in project.items]),
        "records": marshal.dumps(records),
    }


def node_plain(project: Project, item: Item) -> Any:
    """A node as it is written."""
    return encode_node(project.nodes[item.unique_id], item.partitions)


def record_of(parsed: Parsed, dialect: str, layers: list[Layer]) -> Record:
    """A parsed model as it is written."""
    from partwise.project.config import merge

    around = around_of(merge(layers)) if parsed.asks_config else None
    return (encode_parsed(parsed), dialect, around)
