"""Real MCP servers behind the shim, which only `make test-servers` runs.

Whoever asks for the whole suite does not get them: they need node and packages of their own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers.behind import Behind

HERE = Path(__file__).resolve().parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Collects this folder only where it is named on the command line."""
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True


@pytest.fixture
def behind(tmp_path: Path) -> Behind:
    """A folder with a real server that the shim can be put in front of."""
    return Behind(tmp_path)
