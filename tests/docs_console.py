"""Reads the documentation's code blocks, carries them out, and compares what they print.

A page is carried out from top to bottom in one folder:

* a ```console block holds commands after `$ ` and what they print below them; a line `...` stands for any lines,
* any other block after a line that ends with `` `path`: `` is written to that file,
* a ```python block is executed as it stands (one scope per page), its output compared with the ```text block after it.

`~` is the home folder of the reader, with the clone in `~/partwise`. Times of day, seconds and fractions of a mean are
not compared.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from partwise.cli import call

ROOT = Path(__file__).resolve().parents[1]
NOT_RUN = ("make", "git", "pip", "python")
_FENCE = re.compile(r"^```(\w*)\s*$")
_FILE = re.compile(r"`([\w./-]+)`:$")
_MASKS = (
    (re.compile(r"^\d\d:\d\d:\d\d(?: {1,2}|$)", re.MULTILINE), "HH:MM:SS "),
    (re.compile(r"\bin \d+\.\d\ds\b"), "in N s"),
    (re.compile(r"\.{2,} \["), ".. ["),
    (re.compile(r"(\d\.\d{6})\d+"), r"\1"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, the last line of prose before it, and which lines of the page it has."""

    language: str
    text: str
    before: str
    line: int
    end: int

    @property
    def file(self) -> str | None:
        """The file it is written to."""
        found = _FILE.search(self.before)
        return found[1] if found and self.language != "console" else None


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    lines = page.split("\n")
    at, before = 0, ""
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence:
            end = next(i for i in range(at + 1, len(lines)) if lines[i].startswith("```"))
            yield Block(fence[1], "\n".join(lines[at + 1 : end]), before, at + 1, end)
            at = end
        elif lines[at].strip():
            before = lines[at].rstrip()
        at += 1


def commands(text: str) -> list[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines expected below it."""
    found: list[tuple[str, list[str]]] = []
    for line in text.split("\n"):
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


def masked(text: str) -> str:
    """A text without what differs from run to run."""
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return text.strip("\n")


def agrees(expected: str, printed: str) -> bool:
    """Whether what was printed is what the page shows; a line `...` stands for any lines."""
    parts = re.split(r"^ *\.\.\. *$\n?", masked(expected), flags=re.MULTILINE)
    pattern = r"(?:.*\n)*?".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern + r"\n*", masked(printed) + "\n" if len(parts) > 1 else masked(printed)) is not None


class Shell:
    """A home folder in which commands of a page are carried out, `partwise` in this process."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.last = 0
        (home / "partwise").symlink_to(ROOT, target_is_directory=True)

    def run(self, line: str) -> str:
        """What a command prints, on both streams."""
        line = line.split("  #")[0].replace("~/", f"{self.home}/")
        words = shlex.split(line)
        printed = io.StringIO()
        if words[0] == "partwise":
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                self.last = call(words[1:])
        elif words[0] == "cd":
            os.chdir(words[1])
        elif words[0] == "mkdir":
            for name in words[1:]:
                Path(name).mkdir()
        elif words[0] == "cp":
            target = Path(words[-1])
            for name in words[1:-1]:
                inside = target / Path(name).name if target.is_dir() else target
                (shutil.copytree if Path(name).is_dir() else shutil.copy)(name, inside)
        elif words[:2] == ["echo", "$?"]:
            printed.write(f"{self.last}\n")
        else:
            raise AssertionError(f"the docs use `{words[0]}`, which the test cannot carry out")
        return printed.getvalue().replace(str(self.home), "~")


@dataclass(frozen=True, slots=True)
class Difference:
    """A command of a page that prints something else than the page says."""

    line: int
    command: str
    expected: str
    printed: str

    def __str__(self) -> str:
        return f"line {self.line}: $ {self.command}\n--- the page\n{self.expected}\n--- printed\n{self.printed}"


def carry_out(page: str, shell: Shell) -> tuple[str, list[Difference]]:
    """The page with what is really printed, and where that differs from what it shows."""
    differences: list[Difference] = []
    scope: dict[str, object] = {}
    printed_by_python: str | None = None
    lines = page.split("\n")
    out: list[str] = []
    done = 0
    for block in blocks(page):
        new = block.text
        if block.file is not None:
            path = Path(block.file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text + "\n", encoding="utf-8")
        elif block.language == "python":
            stream = io.StringIO()
            with contextlib.redirect_stdout(stream):
                exec(compile(block.text, f"block at line {block.line}", "exec"), scope)
            printed_by_python = stream.getvalue().rstrip("\n")
        elif block.language == "text" and printed_by_python is not None:
            if not agrees(block.text, printed_by_python):
                differences.append(Difference(block.line, "python", block.text, printed_by_python))
                new = printed_by_python
            printed_by_python = None
        elif block.language == "console":
            shown: list[str] = []
            for command, below in commands(block.text):
                shown.append(f"$ {command}")
                if command.split()[0] in NOT_RUN:
                    shown += below
                    continue
                printed, expected = shell.run(command).rstrip("\n"), "\n".join(below)
                if agrees(expected, printed):
                    shown += below
                else:
                    differences.append(Difference(block.line, command, expected, printed))
                    shown += [line.rstrip() for line in printed.split("\n")] if printed else []
            new = "\n".join(shown)
        out += [*lines[done : block.line], new]
        done = block.end
    out += lines[done:]
    return "\n".join(out), differences
