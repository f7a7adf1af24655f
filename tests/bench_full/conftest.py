"""The bench in the real thing, which only `make test-bench` runs: it needs Chromium, Ray and a jail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.conftest import recording

__all__ = ["recording"]

HERE = Path(__file__).resolve().parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Collects this folder only where it is named on the command line."""
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True
