"""Options of the test suite."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "write tests/golden anew from what is rendered now; then read the diff"
    parser.addoption("--rewrite-golden", action="store_true", help=told)
