"""Keys of several dimensions as one text, and texts that name a range."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from partwise.errors import PartitionError
from partwise.partitions.axes import Axis
from partwise.partitions.spans import Slice

Slices = dict[str, Slice]
_BOTH = 4  # how `_likeness` of both ends adds up when both are keys


def join_key(parts: Sequence[str]) -> str:
    """The key of several dimensions: parts joined by `|`, with `|` and a backslash inside a part escaped.

    >>> join_key(["2024-01-15", "a|b"])
    '2024-01-15|a\\\\|b'
    """
    if len(parts) == 1:
        return parts[0]
    return "|".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in parts)


def split_key(text: str) -> list[str]:
    """The parts of a key of several dimensions: the inverse of `join_key`."""
    parts = [""]
    for escaped, bar, plain in re.findall(r"\\(.)|(\|)|([^\\|]+|\\$)", text, re.DOTALL):
        if bar:
            parts.append("")
        else:
            parts[-1] += escaped or plain
    return parts


def key_slices(axes: Sequence[Axis], text: str) -> Slices:
    """The slices of the one partition that a key names. Raises PartitionError when it is no key of the definition."""
    return _per_axis(axes, text, _parts(axes, text), lambda axis, part: axis.one(part))


def subset_slices(axes: Sequence[Axis], text: str, now: datetime | None) -> list[Slices]:
    """The rectangles that a text names: `KEY`, `A:B`, `A..B`, `A:`, `:B`, or several of these with commas.

    Raises PartitionError when a key is unknown, a range runs backwards, or the text can be read in two ways.
    """
    found: list[Slices] = []
    errors: list[tuple[int, PartitionError]] = []
    try:
        found.append(key_slices(axes, text))
    except PartitionError as error:
        errors.append((2 * _likeness(axes, text) - 1, error))
    for low, high in splits(text):
        try:
            one = _range_slices(axes, low, high, now)
        except PartitionError as error:
            errors.append((_likeness(axes, low) + _likeness(axes, high), error))
        else:
            if one not in found:
                found.append(one)
    if len(found) > 1:
        raise PartitionError(
            f"`{text}` can be read in more than one way", hint="write a range as `A..B`, and a single key as `KEY..KEY`"
        )
    if found:
        return found
    score, nearest = max(errors, key=lambda scored: scored[0])
    pieces = [piece.strip() for piece in text.split(",")]
    if score < _BOTH and len(pieces) > 1 and all(pieces):
        return [slices for piece in pieces for slices in subset_slices(axes, piece, now)]
    raise nearest


def splits(text: str) -> list[tuple[str, str]]:
    """The ways to read a text as two ends of a range: at `..`, and at any colon.

    >>> splits("2024-01-01..2024-01-02")
    [('2024-01-01', '2024-01-02')]
    >>> splits("05:00:06:00")
    [('05', '00:06:00'), ('05:00', '06:00'), ('05:00:06', '00')]
    """
    marks = [*re.finditer(r"\.\.\.?", text), *re.finditer(":", text)]
    return [(text[: mark.start()].strip(), text[mark.end() :].strip()) for mark in marks]


def _range_slices(axes: Sequence[Axis], low: str, high: str, now: datetime | None) -> Slices:
    lows = _parts(axes, low) if low else [""] * len(axes)
    highs = _parts(axes, high) if high else [""] * len(axes)
    ends = dict(zip([axis.name for axis in axes], zip(lows, highs, strict=True), strict=True))
    shown = f"{low}:{high}"
    return _per_axis(axes, shown, lows, lambda axis, _: axis.range_of(*ends[axis.name], now))


def _parts(axes: Sequence[Axis], text: str) -> list[str]:
    parts = split_key(text) if len(axes) > 1 else [text]
    if len(parts) != len(axes):
        names = "|".join(axis.name for axis in axes)
        raise PartitionError(f"`{text}` is not a partition key", hint=f"write {len(axes)} parts: `{names}`")
    return parts


def _per_axis(axes: Sequence[Axis], text: str, parts: Sequence[str], slice_of: Callable[[Axis, str], Slice]) -> Slices:
    made: Slices = {}
    for axis, part in zip(axes, parts, strict=True):
        try:
            made[axis.name] = slice_of(axis, part)
        except PartitionError as error:
            if len(axes) == 1:
                raise
            raise PartitionError(f"`{text}`: dimension `{axis.name}`: {error.message}", hint=error.hint) from None
    return made


def _likeness(axes: Sequence[Axis], text: str) -> int:
    """How much a text looks like an end of a range: 2 when each part could be a key, 1 when it is left open."""
    if not text:
        return 1
    parts = split_key(text) if len(axes) > 1 else [text]
    return 2 * (len(parts) == len(axes) and all(axis.reads(part) for axis, part in zip(axes, parts, strict=True)))
