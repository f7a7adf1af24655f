"""What programs of the extra `machine` do, which only `make test-machine` runs: it takes minutes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentworld_sim.engines.shell.machine import Machine
from tests.engines.shell.conftest import MachineShell
from tests.engines.shell.limited import close_machines

HERE = Path(__file__).resolve().parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Collects this folder only where it is named on the command line."""
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True


@pytest.fixture
def machine() -> Iterator[MachineShell]:
    yield MachineShell(Machine())
    close_machines()
