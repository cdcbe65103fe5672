"""Every case of `bug_cases.yml` is run by some test, or waits for the issue named here."""

from __future__ import annotations

from pathlib import Path

import yaml

TESTS = Path(__file__).parent
LATER = {
    "unit tests": (
        "c-depends-on-clock", "c-case-sensitive-columns", "c-mock-null-types", "c-mock-empty-input", "c-mock-text-values",
        "c-compare-row-multiset", "c-compare-floats", "c-compare-dates-and-times", "c-mock-special-characters", "c-mock-this",
        "c-mock-missing", "c-yaml-scalars-in-tests",
    ),
    "Snowflake syntax": (
        "c-unnest-array", "c-snowflake-weeks", "c-snowflake-division", "c-snowflake-aggregates", "c-snowflake-timestamps",
        "c-snowflake-json", "c-epoch-column",
    ),
    "staleness": ("c-outdated-by-code", "c-outdated-by-upstream"),
}  # fmt: skip


def test_every_case_is_run_or_waits_for_an_issue():
    cases = yaml.safe_load((TESTS / "cases/bug_cases.yml").read_text(encoding="utf-8"))["cases"]
    ids = [case["id"] for case in cases]
    later = [case for group in LATER.values() for case in group]
    assert len(ids) == 102 and set(later) <= set(ids)
    texts = [path.read_text(encoding="utf-8") for path in TESTS.glob("test_*.py") if path.name != Path(__file__).name]
    all_text = "\n".join(texts)
    run = {case for case in ids if case in all_text or f"test_{case.removeprefix('c-').replace('-', '_')}" in all_text}
    assert sorted(set(ids) - run - set(later)) == []
