"""Pages of other people in a real Chromium, which only `make test-snapshots` opens."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Collects this folder only where it is named on the command line."""
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True
