"""`{{ partition }}` in templates: the partitions of the run, as constants.

Nothing here prints as bare text: a key is written as a quoted constant, so that no key, whatever it holds, can become
SQL. What is only written out (`where d = {{ partition.key }}`) is filled in per run; what the template looks at
(`{% if partition.key == 'US' %}`, `{{ partition.key | replace('-', '') }}`) ties its text to the one set.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import total_ordering
from typing import Any

from partwise.errors import RenderError, did_you_mean
from partwise.partitions import Definition, PartitionSet
from partwise.partitions.axes import TimeAxis
from partwise.partitions.zones import from_wall, to_datetime, zone
from partwise.rendering import literals
from partwise.rendering.predicates import timestamptz
from partwise.rendering.sqltypes import UNKNOWN
from partwise.rendering.timeformats import EPOCH_FORMATS, time_format

Write = Callable[[PartitionSet, str], str]
"""A constant's SQL, given the set of the run and a dialect."""


@dataclass(slots=True)
class Looking:
    """What values of `partition` have in common: the set, and whether the template has looked at it.

    `fill` notes a constant that is filled in later and returns what stands for it until then.
    """

    definition: Definition | None
    partitions: PartitionSet | None
    dialect: str
    fill: Callable[[Write], str]
    touch: Callable[[], None]

    def look(self) -> PartitionSet:
        """The set itself. Raises RenderError when nothing is built by partition here."""
        self.touch()
        if self.partitions is None:
            raise _nothing("partition")
        return self.partitions


def _nothing(name: str) -> RenderError:
    return RenderError(
        f"`{name}` is used where no partition is being built",
        hint="only models with partitions have it; `{% if partition %}` asks",
    )


class Constant:
    """Something that prints as an SQL constant."""

    __slots__ = ("_looking", "_write")

    def __init__(self, looking: Looking, write: Write) -> None:
        self._looking, self._write = looking, write

    def __output__(self) -> str:
        """What `{{ }}` writes."""
        return self._looking.fill(self._write)

    def __str__(self) -> str:
        return self._write(self._looking.look(), self._looking.dialect)


@total_ordering
class Key(Constant):
    """A key, or one part of it: prints as a quoted constant and compares as its text."""

    __slots__ = ("_read",)

    def __init__(self, looking: Looking, read: Callable[[PartitionSet], str]) -> None:
        super().__init__(looking, lambda partitions, dialect: literals.text(read(partitions), dialect))
        self._read = read

    @property
    def _text(self) -> str:
        return self._read(self._looking.look())

    def __eq__(self, other: object) -> bool:
        return self._text == (other._text if isinstance(other, Key) else other)

    def __lt__(self, other: object) -> bool:
        return self._text < (other._text if isinstance(other, Key) else str(other))

    def __hash__(self) -> int:
        return hash(self._text)

    def __contains__(self, part: str) -> bool:
        return part in self._text

    def startswith(self, start: str) -> bool:
        """Whether the text itself begins so."""
        return self._text.startswith(start)

    def endswith(self, end: str) -> bool:
        """Whether the text itself ends so."""
        return self._text.endswith(end)


class Keys(Constant):
    """Several keys: prints as `('a', 'b')` for IN, and can be looped over."""

    __slots__ = ("_read",)

    def __init__(self, looking: Looking, read: Callable[[PartitionSet], list[str]]) -> None:
        def write(partitions: PartitionSet, dialect: str) -> str:
            return "(" + ", ".join(literals.text(text, dialect) for text in read(partitions)) + ")"

        super().__init__(looking, write)
        self._read = read

    def _texts(self) -> list[str]:
        return self._read(self._looking.look())

    def __iter__(self) -> Iterator[Key]:
        return iter([Key(self._looking, lambda _, text=text: text) for text in self._texts()])  # type: ignore[misc]

    def __len__(self) -> int:
        return len(self._texts())

    def __getitem__(self, index: int) -> Key:
        return list(self)[index]

    def __contains__(self, text: object) -> bool:
        return any(item == text for item in self)


class Moment(Constant):
    """A bound of the run's time: prints as a timestamp constant, and knows other ways to be written.

    In UTC definitions it is zoneless, else it carries its offset. `date` is the local calendar day.
    """

    __slots__ = ("_axis", "_read")

    def __init__(self, looking: Looking, axis: TimeAxis, read: Callable[[PartitionSet], int]) -> None:
        self._axis, self._read = axis, read
        in_utc = zone(axis.timezone).is_utc
        super().__init__(looking, self._wall if in_utc else self._instant)

    def _local(self, partitions: PartitionSet) -> dt.datetime:
        return from_wall(zone(self._axis.timezone).wall(self._read(partitions)))

    def _wall(self, partitions: PartitionSet, dialect: str) -> str:
        return _zoneless(self._local(partitions), dialect)

    def _instant(self, partitions: PartitionSet, dialect: str) -> str:
        return timestamptz(self._read(partitions), zone(self._axis.timezone), UNKNOWN, dialect)

    @property
    def timestamp(self) -> Constant:
        """The wall clock of the definition's zone, as a timestamp without a zone."""
        return Constant(self._looking, self._wall)

    @property
    def timestamptz(self) -> Constant:
        """The instant, with its offset."""
        return Constant(self._looking, self._instant)

    @property
    def utc(self) -> Constant:
        """UTC, as a timestamp without a zone."""
        return Constant(self._looking, lambda partitions, d: _zoneless(from_wall(self._read(partitions)), d))

    @property
    def date(self) -> Constant:
        return Constant(self._looking, lambda partitions, _: f"DATE '{self._local(partitions):%Y-%m-%d}'")

    @property
    def epoch(self) -> Constant:
        """Seconds since 1970 in UTC."""
        return Constant(self._looking, lambda partitions, _: str(self._read(partitions)))

    @property
    def datetime(self) -> dt.datetime:
        """An aware UTC datetime, for calculating in the template."""
        return to_datetime(self._read(self._looking.look()))

    def strftime(self, form: str) -> Constant:
        """A text constant of the wall clock in the definition's zone (`epoch_ms` and the like: a number)."""
        if form in EPOCH_FORMATS:
            return Constant(self._looking, lambda partitions, _: str(self._read(partitions) * EPOCH_FORMATS[form]))
        parsed, in_zone = time_format(form), zone(self._axis.timezone)

        def write(partitions: PartitionSet, dialect: str) -> str:
            return literals.text(parsed.write(in_zone.wall(self._read(partitions))), dialect)

        return Constant(self._looking, write)


def _zoneless(moment: dt.datetime, dialect: str) -> str:
    shown = f"{moment:%Y-%m-%d %H:%M:%S}"
    return f"'{shown}'::TIMESTAMP_NTZ" if dialect == "snowflake" else f"TIMESTAMP '{shown}'"


class PartitionValue:
    """`{{ partition }}`. `.key` and `.dims` need a run of one value; `.start` and `.end` span the whole run."""

    __slots__ = ("_looking",)

    def __init__(self, looking: Looking) -> None:
        self._looking = looking

    def _definition(self, name: str) -> Definition:
        if self._looking.definition is None:
            raise _nothing(f"partition.{name}")
        return self._looking.definition

    def __bool__(self) -> bool:
        return self._looking.definition is not None

    def __str__(self) -> str:
        hint = "write partition.key, .keys, .start, .end or .dims"
        raise RenderError("`partition` alone cannot be written", hint=hint)

    @property
    def key(self) -> Key:
        self._definition("key")
        return Key(self._looking, lambda partitions: _only(list(partitions.keys()), "key", "keys"))

    @property
    def keys(self) -> Keys:
        self._definition("keys")
        return Keys(self._looking, lambda partitions: list(partitions.keys()))

    @property
    def start(self) -> Moment:
        return self._moment("start")

    @property
    def end(self) -> Moment:
        return self._moment("end")

    @property
    def dims(self) -> Dimensions:
        return Dimensions(self._looking, self._definition("dims"))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        known = ("key", "keys", "start", "end", "dims")
        hint = did_you_mean(name, known) or f"it has {', '.join(f'`{k}`' for k in known)}"
        raise RenderError(f"`partition` has no `{name}`", hint=hint)

    def _moment(self, name: str) -> Moment:
        definition = self._definition(name)
        axis = definition.time_axis
        if axis is None:
            raise RenderError(f"`partition.{name}`: a {definition.kind} definition has no single time window")

        def read(partitions: PartitionSet) -> int:
            spans = partitions.spans(axis.name) if partitions else ()
            if not spans:
                raise RenderError(f"`partition.{name}`: the run holds no partition")
            return spans[0][0] if name == "start" else spans[-1][1]

        return Moment(self._looking, axis, read)


class Dimensions:
    """`{{ partition.dims.region }}`: the one value of a dimension in this run; `.all('region')` gives several."""

    __slots__ = ("_definition", "_looking")

    def __init__(self, looking: Looking, definition: Definition) -> None:
        self._looking, self._definition = looking, definition

    def _values(self, name: str) -> Callable[[PartitionSet], list[str]]:
        axis = self._definition.dims.get(name)
        if axis is None:
            known = list(self._definition.dims)
            hint = did_you_mean(name, known) or f"it has {', '.join(f'`{d}`' for d in known)}"
            raise RenderError(f"`partition.dims.{name}`: there is no such dimension", hint=hint)

        def read(partitions: PartitionSet) -> list[str]:
            part: Any = partitions.project(name)
            if isinstance(axis, TimeAxis):
                return [axis.key(tick) for lo, hi in part for tick in axis.grid.ticks(lo, hi)]
            return axis.sorted(part)

        return read

    def all(self, name: str) -> Keys:
        """Every value of a dimension in this run."""
        return Keys(self._looking, self._values(name))

    def __getitem__(self, name: str) -> Key:
        values = self._values(name)
        return Key(self._looking, lambda p: _only(values(p), f"dims.{name}", f"dims.all('{name}')"))

    def __getattr__(self, name: str) -> Key:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]


def _only(found: list[str], name: str, several: str) -> str:
    if len(found) == 1:
        return found[0]
    raise RenderError(
        f"`partition.{name}` needs a run of one value, and this run has {len(found)}",
        hint=f"use partition.{several}, or policy=multi_run() to run one partition at a time",
    )
