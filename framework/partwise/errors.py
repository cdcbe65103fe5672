"""Everything partwise raises on purpose.

    PartwiseError
    |-- ProjectError      files of the project: config, properties, profiles, references      exit 2
    |   `-- ProjectErrors several of them, reported at once
    |-- PartitionError    a definition, key, range or mapping that makes no sense             exit 2
    |-- PlanError         a request that cannot be planned                                    exit 2
    |-- RenderError       a template or a query that cannot be turned into statements         exit 1
    `-- WarehouseError    the warehouse refused; `transient` says whether to try again        exit 1
        |-- CommitError   a COMMIT failed: whether it took effect is not known
        `-- CancelledError the statement was interrupted because somebody asked for it

Each holds fields and builds its text from them: what happened, where, what to do next.
"""

from __future__ import annotations

from collections.abc import Sequence


class PartwiseError(Exception):
    """Root of all expected errors; `str()` is the text shown to a person."""

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        model: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.model = model
        self.hint = hint

    @property
    def where(self) -> str | None:
        """`file:line`, `file`, or None when the error has no place in a file."""
        if self.file is None:
            return None
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def __str__(self) -> str:
        parts = [self.message]
        if self.where:
            parts.append(f"  --> {self.where}")
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)


class ProjectError(PartwiseError):
    """Something in the project's files is wrong."""


class ProjectErrors(ProjectError):
    """All that is wrong with a project, in the order of files and lines."""

    def __init__(self, errors: Sequence[PartwiseError]) -> None:
        self.errors = tuple(errors)
        count = f"{len(self.errors)} problems in the project" if len(self.errors) != 1 else "1 problem in the project"
        super().__init__(count)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)


class PartitionError(PartwiseError):
    """A partition definition, key, range or mapping that makes no sense."""


class PlanError(PartwiseError):
    """A request that cannot be planned."""


class RenderError(PartwiseError):
    """A template or query that cannot be turned into statements."""

    exit_code = 1


class WarehouseError(PartwiseError):
    """The warehouse refused a statement or could not be reached."""

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        transient: bool = False,
        sql: str | None = None,
        file: str | None = None,
        line: int | None = None,
        model: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, file=file, line=line, model=model, hint=hint)
        self.transient = transient
        self.sql = sql


class CommitError(WarehouseError):
    """A COMMIT failed. Whether it took effect is not known from the error alone: look in the log."""


class CancelledError(WarehouseError):
    """The statement was interrupted, or not started, because the session was told to stop."""


def did_you_mean(word: str, known: Sequence[str]) -> str | None:
    """A hint that names the closest of `known`, or None when nothing is near.

    >>> did_you_mean("partition_exp", ["partition_expr", "tags"])
    'did you mean `partition_expr`?'
    """
    from difflib import get_close_matches  # slow to load, and needed only when something is wrong

    near = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else None
