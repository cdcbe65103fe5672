"""The files of a project, with what tells whether they have changed."""

from __future__ import annotations

import os
from collections.abc import Sequence

# path relative to the project folder with `/`; times of the last change of content and of any change, in ns; bytes
Signature = tuple[str, int, int, int]


def scan(root: str, folders: Sequence[str], suffixes: tuple[str, ...], skip: str) -> list[Signature]:
    """All files below some folders whose name ends in one of `suffixes`, each once, in order of path.

    Hidden files and folders are left out, and the folder `skip`. Links are followed, once each.
    """
    found: list[Signature] = []
    for folder in folders:
        start = os.path.normpath(os.path.join(root, folder))
        prefix = os.path.relpath(start, root).replace(os.sep, "/")
        _walk(start, "" if prefix == "." else prefix + "/", suffixes, skip, frozenset(), found)
    if len(folders) > 1:  # one folder may lie in another
        found = list(dict.fromkeys(found))
    found.sort()
    return found


def signature(path: str, shown: str | None = None) -> Signature | None:
    """The signature of one file; None when there is none."""
    try:
        info = os.stat(path)
    except OSError:
        return None
    return shown or path, info.st_mtime_ns, info.st_ctime_ns, info.st_size


def _walk(
    folder: str,
    prefix: str,
    suffixes: tuple[str, ...],
    skip: str,
    inside: frozenset[str],
    found: list[Signature],
) -> None:
    """Add what a folder holds. This runs for every file on every command, so it does little for each."""
    try:
        entries = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    with entries:
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                continue
            if name.endswith(suffixes):
                try:
                    info = entry.stat()
                except FileNotFoundError:  # a link that leads nowhere, or a file just removed
                    continue
                if info.st_mode & 0o170000 == 0o100000:
                    found.append((prefix + name, info.st_mtime_ns, info.st_ctime_ns, info.st_size))
                    continue
            if entry.is_dir() and entry.path != skip:
                within = inside
                if entry.is_symlink():
                    real = os.path.realpath(entry.path)
                    if real in inside or real == skip or (os.path.realpath(folder) + os.sep).startswith(real + os.sep):
                        continue  # seen already, or a way back up
                    within = inside | {real}
                _walk(entry.path, f"{prefix}{name}/", suffixes, skip, within, found)


def read_text(root: str, path: str) -> str:
    """A file's text without byte order mark, line ends as `\\n`. Raises OSError, UnicodeDecodeError."""
    with open(os.path.join(root, path), encoding="utf-8-sig") as file:
        return file.read()
