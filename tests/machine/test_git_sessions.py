"""git says on the simulated machine what the real one said in the recorded sessions."""

from __future__ import annotations

import json

import pytest

from agentworld_sim.engines.shell.machine import Machine
from tests.engines.shell.conftest import MachineShell
from tests.machine.git_sessions import RECORDED, SESSIONS, START

RECORDS = json.loads(RECORDED.read_text("utf-8"))


def test_every_session_is_recorded() -> None:
    assert [record["script"] for record in RECORDS] == SESSIONS


@pytest.mark.parametrize("number", range(len(SESSIONS)))
def test_a_session_goes_as_with_the_real_git(number: int) -> None:
    record = RECORDS[number]
    shell = MachineShell(Machine())
    try:
        run = shell.run(START + record["script"])
    finally:
        shell.live.close()
    said = {"stdout": run.stdout, "stderr": run.stderr, "exit_code": run.exit_code}
    assert said == {name: record[name] for name in said}
