"""`manifest.json` and `run_results.json`: dbt's keys, and the partitions beside them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise import __version__
from partwise.planning.report import set_json

if TYPE_CHECKING:
    from partwise.planning.plan import Plan
    from partwise.session import Session
    from partwise.warehouse.results import RunResult, RunResults

_STATUS = {"success": "success", "partial": "partial success", "error": "error", "skipped": "skipped"}
_ORDER = ("error", "cancelled", "partial", "skipped", "success")


def write_json(session: Session, name: str, value: Any) -> Path:
    """Write a file into the target folder, whole or not at all, with secrets scrubbed. Returns its path."""
    folder = session.project.target_path
    folder.mkdir(parents=True, exist_ok=True)
    path, draft = folder / name, folder / f".{name}.{session.invocation_id}"
    text = session.secrets.scrub(json.dumps(value, indent=1, ensure_ascii=False, default=str))
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)
    return path


def write_artifacts(session: Session, plan: Plan, results: RunResults) -> None:
    """Write run_results.json, and the SQL of every run that failed below target/run."""
    write_json(session, "run_results.json", run_results(session, plan, results))
    for result in results.runs:
        statement = getattr(result.error, "sql", None)
        if statement:
            _write_failed(session, result, statement)


def _write_failed(session: Session, result: RunResult, statement: str) -> None:
    from partwise.compiling import file_name

    node = session.nodes[result.model]
    path = session.project.target_path / "run" / session.project.name / node.path
    if result.run.partitions is not None:
        path = path.with_suffix("") / f"{node.name}_{file_name(result.run.partitions)}.sql"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(session.secrets.scrub(statement) + "\n", encoding="utf-8")


def run_results(session: Session, plan: Plan, results: RunResults) -> dict[str, Any]:
    """The content of run_results.json: one result per model, as dbt has it, with its runs and partitions."""
    by_model: dict[str, list[RunResult]] = {}
    for result in results.runs:
        by_model.setdefault(result.model, []).append(result)
    return {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/run-results/v6.json",
            "partwise_version": __version__,
            "generated_at": session.now.isoformat(),
            "invocation_id": session.invocation_id,
            "env": {},
        },
        "args": {"target": session.target.name, "now": session.now.isoformat()},
        "elapsed_time": results.seconds,
        "interrupted": results.interrupted,
        "results": [_result(session, model, found) for model, found in by_model.items()],
        "blocked": [
            {
                "unique_id": item.model,
                "partitions": None if item.partitions is None else set_json(item.partitions),
                "message": item.example,
            }
            for item in plan.blocked
        ],
    }


def _result(session: Session, model: str, found: list[RunResult]) -> dict[str, Any]:
    node = session.nodes[model]
    statuses = {result.status for result in found}
    worst = next(status for status in _ORDER if status in statuses)
    if worst in ("error", "skipped") and statuses & {"success", "partial"}:
        worst = "partial"
    errors = [str(result.error) for result in found if result.error is not None]
    rows = [result.rows for result in found if result.rows is not None]
    return {
        "unique_id": model,
        "status": _STATUS.get(worst, worst),
        "message": errors[0] if errors else next((r.because for r in found if r.because), None),
        "failures": len(errors) or None,
        "thread_id": "main",
        "execution_time": sum(result.seconds for result in found),
        "timing": [],
        "adapter_response": {"rows_affected": sum(rows) if rows else None},
        "compiled": True,
        "compiled_code": None,
        "relation_name": node.relation.key,
        "run_mode": found[0].run.mode,
        "batch_results": {
            "successful": _keys(r.written for r in found),
            "failed": _keys(r.run.partitions for r in found if r.status == "error"),
        },
        "partitions": [
            {
                "set": None if r.run.partitions is None else set_json(r.run.partitions),
                "status": _STATUS.get(r.status, r.status),
                "reason": r.run.reason,
                "rows_affected": r.rows,
                "execution_time": r.seconds,
                "skipped": None if r.skipped is None else set_json(r.skipped),
                "message": str(r.error) if r.error is not None else r.because or None,
                "warnings": list(r.warnings),
                "leaked_rows": r.leaks,
            }
            for r in found
        ],
    }


def _keys(parts: Iterable[Any]) -> list[str]:
    return [str(part) for part in parts if part]
