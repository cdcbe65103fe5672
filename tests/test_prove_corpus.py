"""The prover's verdicts on models judged by hand, and what DuckDB says of them."""

from __future__ import annotations

import re

import pytest

from prover_cases import READERS, Case, bench, cases

CASES = cases()
RUN = [case for case in CASES if case.dialect == "duckdb"]


def name(case: Case) -> str:
    return case.id


@pytest.mark.parametrize("case", CASES, ids=name)
def test_verdict(case: Case) -> None:
    verdict = bench(case.dialect).verdict(case)
    assert verdict.kind == case.expected, f"{case.why}\n{case.sql}\n{verdict}"
    assert verdict.where is not None and verdict.where.file == f"tests/prover_corpus/{case.file}"
    assert verdict.reason
    assert bool(verdict.example) <= (verdict.kind == "refuted")


@pytest.mark.parametrize("case", [c for c in RUN if c.verdict in ("proven", "gap")], ids=name)
def test_marked_as_equal_is_equal(case: Case) -> None:
    """What the hand marks as distributing does so, on rows near window edges with ties, NULLs and duplicates."""
    for seed in range(2):
        rows = bench("duckdb", seed).both(case)
        assert rows is not None, case.sql
        assert rows[0] == rows[1]


@pytest.mark.parametrize("case", [c for c in RUN if c.verdict == "refuted"], ids=name)
def test_marked_as_refuted_differs(case: Case) -> None:
    """For each refuted model there are rows for which the two ways differ."""
    tried = [bench("duckdb", seed).both(case) for seed in range(12)]
    assert any(rows is not None and rows[0] != rows[1] for rows in tried), case.sql


def test_common_models_are_proven() -> None:
    common = [case for case in CASES if case.common and case.verdict in ("proven", "gap")]
    proven = [case for case in common if bench(case.dialect).verdict(case).kind == "proven"]
    assert len(common) >= 40
    assert len(proven) >= 0.9 * len(common)


def test_the_corpus_is_large_and_known() -> None:
    assert len(CASES) >= 200
    assert {case.reader for case in CASES} == set(READERS)
    assert len({re.sub(r"\s+", " ", case.sql) + case.reader + case.dialect for case in CASES}) == len(CASES)
