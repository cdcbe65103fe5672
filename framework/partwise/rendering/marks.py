"""What a model's template may write, and how it is found again in the text.

A relation is found again by a sign in front of its name: one character of Unicode's private area per call, which
survives what macros do to text, and is taken out before anything else reads it. So a name inside a comment or a string
is no reference, and two refs to one relation may be filtered differently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

from partwise.errors import RenderError, did_you_mean
from partwise.nodes import Edge, Node
from partwise.partitions import PartitionSet
from partwise.project.jinja_env import Engine, ReadConfig, RelationText, Scope
from partwise.project.references import RefCall, ref_call, source_call
from partwise.rendering import literals
from partwise.rendering.linemap import Located, Location, edit, locate, locating
from partwise.rendering.partitionvalues import Looking, PartitionValue, Write

if TYPE_CHECKING:
    from jinja2 import Template

_FIRST_SIGN = 0x100000
_SIGN = re.compile("[\U00100000-\U0010fffd]")
HOLE = re.compile(r"\b__pw_(\d+)\b")
INLINE = "__pw__"  # in front of the name of an ephemeral model
Lookup = Callable[[Node, RefCall], Node | None]
"""The node that a ref or source in a node means; None when there is none."""


@dataclass(slots=True)
class Use:
    """One thing a template wrote: a relation, a partition_filter(), or a constant of the run."""

    kind: Literal["relation", "filter", "constant"]
    call: str = ""
    edge: Edge | None = None
    node: Node | None = None
    is_this: bool = False
    shift: int | None = None
    exprs: Mapping[str, str] = field(default_factory=dict)
    lookback: int = 0
    timezone: str | None = None
    format: str | None = None
    hole: int = -1
    write: Write | None = None


class Signed(RelationText):
    """A relation that prints with a new sign each time, and compares by its name."""

    def __init__(self, text: str, node: Node, sign: Callable[[], str]) -> None:
        super().__init__(text, node.relation.database, node.relation.schema, node.relation.identifier)
        self.type = "view" if node.materialized == "view" else "table"
        self._sign = sign

    def __str__(self) -> str:
        return self._sign() + self.text

    def __eq__(self, other: object) -> bool:
        return self.text == (other.text if isinstance(other, RelationText) else other)

    def __hash__(self) -> int:
        return hash(self.text)


class Writing:
    """What the templates of one model and the ephemeral models in it have written so far."""

    def __init__(self, model: Node, lookup: Lookup, partitions: PartitionSet | None, table_exists: bool) -> None:
        self.model = model
        self.lookup = lookup
        self.partitions = partitions
        self.table_exists = table_exists
        self.uses: list[Use] = []
        self.called: list[tuple[Node, Use]] = []  # every relation asked for, by the template that asked
        self.holes = 0
        self.is_touched = False  # the template looked at the set, so its text is good for this one only

    @property
    def is_by_partition(self) -> bool:
        """Whether the model's query runs for sets of partitions (that of a view does not)."""
        return self.model.is_partitioned and self.model.definition is not None

    def sign(self, use: Use) -> str:
        self.uses.append(use)
        return chr(_FIRST_SIGN + len(self.uses) - 1)

    def constant(self, write: Write) -> str:
        use = Use("constant", hole=self.hole(), write=write)
        return f"{self.sign(use)}__pw_{use.hole}"

    def touch(self) -> None:
        self.is_touched = True

    def hole(self) -> int:
        self.holes += 1
        return self.holes - 1

    def take_signs(self, written: Located) -> tuple[Located, list[tuple[int, Use]]]:
        """The text without signs, and where each of them stood, ascending."""
        marks: list[tuple[int, Use]] = []
        edits: list[tuple[int, int, str]] = []
        for count, found in enumerate(_SIGN.finditer(written)):
            use = self.uses[ord(found[0]) - _FIRST_SIGN]
            if use.kind == "constant" and written[found.start() - 1 : found.start()] == "'":
                raise placed(
                    RenderError(
                        "a constant of `partition` comes with its quotes, and is quoted again",
                        hint="write {{ partition.key }}, not '{{ partition.key }}'",
                    ),
                    written.at(found.start()),
                )
            marks.append((found.start() - count, use))
            edits.append((found.start(), found.end(), ""))
        return (edit(written, edits) if edits else written), marks


class RunScope(Scope):
    """The names of a template that is rendered to run: refs print as relations with a sign."""

    def __init__(self, engine: Engine, writing: Writing, owner: Node) -> None:
        super().__init__(engine, model_file=owner.path)
        self.writing = writing
        self.owner = owner

    def ref(self, *args: Any, **options: Any) -> Any:
        return self._relation(ref_call(args, options))

    def source(self, *args: Any, **options: Any) -> Any:
        return self._relation(source_call(args, options))

    def _relation(self, call: RefCall) -> Any:
        writing = self.writing
        found = writing.lookup(self.owner, call)
        if found is None:  # told only when it is used: a comment may name what is gone
            return writing.sign(Use("relation", call.text)) + re.sub(r"\W", "_", call.name)
        edge = Edge(
            found.unique_id, call.mapping, call.filter, call.whole, call.stale, call.allow_missing_upstream
        )
        text = literals.relation(found.relation, self.owner.dialect)
        if found.materialized == "ephemeral":
            text = INLINE + re.sub(r"\W", "_", found.name)
        writing.called.append((self.owner, Use("relation", call.text, edge, found)))
        return Signed(text, found, lambda: writing.sign(Use("relation", call.text, edge, found)))

    def log(self, message: Any, info: bool = False) -> str:
        return super().log(_SIGN.sub("", str(message)), info)

    def config(self) -> Any:
        return ReadConfig(self.owner.config)

    def this(self) -> Any:
        return self._this(None)

    def _this(self, shift: int | None) -> Signed:
        writing, model = self.writing, self.writing.model
        text = literals.relation(model.relation, self.owner.dialect)
        if shift is None:
            writing.called.append((self.owner, Use("relation", "this", node=model, is_this=True)))
        return Signed(
            text, model, lambda: writing.sign(Use("relation", "this", node=model, is_this=True, shift=shift))
        )

    def this_partition(self, offset: int = -1) -> Any:
        definition = self.writing.model.definition
        if definition is None or definition.time_axis is None:
            raise RenderError("this_partition() needs a model with one time dimension", hint="read {{ this }} instead")
        if isinstance(offset, bool) or not isinstance(offset, int) or offset >= 0:
            raise RenderError(f"this_partition(offset={offset}) is not in the past", hint="write offset=-1, or less")
        return self._this(offset)

    def partition(self) -> Any:
        writing = self.writing
        definition = writing.model.definition if writing.is_by_partition else None
        dialect = self.owner.dialect
        return PartitionValue(Looking(definition, writing.partitions, dialect, writing.constant, writing.touch))

    def is_incremental(self) -> bool:
        return self.writing.is_by_partition and self.writing.table_exists

    def model(self) -> Mapping[str, Any]:
        node = self.owner
        return {"name": node.name, "unique_id": node.unique_id, "path": node.path, "tags": list(node.tags)}

    def partition_filter(self, expr: Any = None, **options: Any) -> Any:
        """`partition_filter('expr', lookback=0, dimension=, timezone=, format=)`: the run's windows as a condition."""
        model, definition = self.writing.model, self.writing.model.definition
        for name in options:
            if name not in ("lookback", "dimension", "timezone", "format"):
                hint = did_you_mean(name, ("lookback", "dimension", "timezone", "format"))
                raise RenderError(f"partition_filter() has no option `{name}`", hint=hint)
        if definition is None or not self.writing.is_by_partition:
            raise RenderError(
                f"partition_filter() is used in `{model.name}`, which is not built by partition",
                hint="give the model partitions, or leave the filter out",
            )
        lookback = options.get("lookback", 0)
        if isinstance(lookback, bool) or not isinstance(lookback, int) or lookback < 0:
            raise RenderError(f"`lookback` is `{lookback}`", hint="write a whole number, such as lookback=6")
        if lookback and definition.time_axis is None:
            raise RenderError("partition_filter(lookback=...) needs one time dimension")
        use = Use("filter", "partition_filter()", exprs=_by_dimension(model, expr, options.get("dimension")))
        use.lookback, use.timezone, use.format = lookback, options.get("timezone"), options.get("format")
        use.hole = self.writing.hole()
        return f"{self.writing.sign(use)}__pw_{use.hole}"


_TEMPLATES: WeakKeyDictionary[Engine, dict[tuple[str, str], Template]] = WeakKeyDictionary()


def run_template(engine: Engine, writing: Writing, owner: Node) -> Located:
    """The text of a node's template, with signs. Raises PartwiseError that names the template's line."""
    kept = _TEMPLATES.get(engine)
    if kept is None:
        locating(engine.environment)
        kept = _TEMPLATES[engine] = {}
    key = (owner.path, owner.raw_code)
    if key not in kept:
        kept[key] = engine.compile(owner.raw_code, owner.path)
    written = engine.render(kept[key], RunScope(engine, writing, owner))
    return written if isinstance(written, Located) else locate(written, Location(owner.path, None))


def _by_dimension(model: Node, expr: Any, dimension: str | None) -> Mapping[str, str]:
    """The expressions of a partition_filter() by dimension of the model."""
    assert model.definition is not None
    dims = model.definition.dims
    if expr is None:
        if not model.partition_expr:
            raise RenderError("partition_filter() needs an expression: the model has no partition_expr")
        return dict(model.partition_expr)
    if not isinstance(expr, Mapping):
        timed = model.definition.time_axis
        if dimension is None and timed is None and len(dims) > 1:
            raise RenderError(
                "partition_filter() has one expression, and the model several dimensions",
                hint="say which: partition_filter({'region': 'r'}), or dimension='region'",
            )
        expr = {dimension or (timed.name if timed is not None else next(iter(dims))): expr}
    for name in expr:
        if name not in dims:
            hint = did_you_mean(str(name), list(dims)) or f"it has {', '.join(f'`{d}`' for d in dims)}"
            raise RenderError(f"partition_filter(): the model has no dimension `{name}`", hint=hint)
    return {name: _SIGN.sub("", str(text)) for name, text in expr.items()}


def placed(error: RenderError, where: Location | None, model: Node | None = None) -> RenderError:
    """The error with its place filled in, when it has none yet."""
    error.message = _SIGN.sub("", error.message)
    if model is not None:
        error.model = error.model or model.name
    if error.file is None and where is not None and where.file is not None:
        error.file, error.line = where.file, where.line
        if where.caller is not None:
            error.message += f" (in a macro called from {where.caller[0]}:{where.caller[1]})"
    elif error.file is None and model is not None:
        error.file = model.path
    return error
