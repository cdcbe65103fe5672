"""Options of the test suite."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "write tests/golden anew from what is rendered now; then read the diff"
    parser.addoption("--rewrite-golden", action="store_true", help=told)


def pytest_configure(config: pytest.Config) -> None:
    """The law tests draw the same examples each time, unless `--hypothesis-seed=N` asks for others."""
    from hypothesis import settings

    settings.register_profile("steady", derandomize=True, database=None)
    if config.getoption("--hypothesis-seed", default=None) is None:
        settings.load_profile("steady")
