"""Ratios against a reference in the same run: interleaved pairs, CPU time of whole processes or of calls.

A figure in seconds depends on the machine and on what else it does; a ratio of two things measured turn by turn hardly
does. The reported ratio is the median over the pairs.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAIRS = int(os.environ.get("BENCH_PAIRS", "7"))


def process(arguments: list[str], *, cwd: Path | None = None) -> Callable[[], float]:
    """A process to time: calling it runs it and returns its CPU seconds, children included."""

    def run() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(arguments, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(arguments)} failed:\n{done.stderr}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)

    return run


def call(function: Callable[[], object], *, wall: bool = False) -> Callable[[], float]:
    """A function to time: calling it returns CPU seconds of this process (all threads), or wall seconds."""

    def run() -> float:
        clock = time.perf_counter if wall else time.process_time
        start = clock()
        function()
        return clock() - start

    return run


def compare(name: str, mine: Callable[[], float], reference: Callable[[], float], budget: float | None = None) -> float:
    """Print and return the median ratio of `mine` to `reference` over interleaved pairs; one pair is run to warm up."""
    mine(), reference()
    pairs = [(mine(), reference()) for _ in range(PAIRS)]
    ratio = statistics.median(a / b for a, b in pairs)
    spread = sorted(a / b for a, b in pairs)
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    limit = "" if budget is None else f"  budget {budget:.2f}x{'' if ratio <= budget else '  OVER'}"
    print(
        f"{name:<58} {ratio:6.2f}x  ({ours * 1000:8.1f} ms against {theirs * 1000:8.1f} ms, "
        f"{spread[0]:.2f} to {spread[-1]:.2f}){limit}",
        flush=True,
    )
    return ratio


def figure(name: str, seconds: float, budget: float) -> None:
    """Print one absolute figure, for what has no reference."""
    over = "" if seconds <= budget else "  OVER"
    print(f"{name:<58} {seconds * 1000:8.1f} ms  budget {budget * 1000:.0f} ms{over}", flush=True)


def bounded(name: str, value: float, budget: float) -> None:
    """Print a figure that is no time."""
    over = "" if value <= budget else "  OVER"
    print(f"{name:<58} {value:8.1f}     budget {budget:g}{over}", flush=True)


def peak_memory(arguments: list[str], *, cwd: Path | None = None) -> float:
    """The largest resident size of a process, in MB."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=cwd, capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024
