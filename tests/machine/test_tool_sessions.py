"""sqlite3 and openssl answer as the recorded ones."""

from __future__ import annotations

import json
import re

import pytest

from tests.engines.shell.real_tools import Answer, SimulatedMachine
from tests.machine.tool_sessions import RECORDED, SESSIONS

ARROW = re.compile(r"\n  .*\n *(\^--- error here|error here ---\^)")
"""sqlite3 shows the place of an error in its statement; ours says what the error is alone."""


@pytest.mark.parametrize("name", SESSIONS)
def test_programs_answer_as_the_recorded_ones(name: str) -> None:
    recorded = json.loads(RECORDED.read_text())[name]
    assert [command for command, *_ in recorded] == list(SESSIONS[name]), "record the sessions anew"
    machine = SimulatedMachine()
    different: list[str] = []
    try:
        for command, stdout, stderr, exit_code in recorded:
            real, ours = Answer(stdout, ARROW.sub("", stderr), exit_code), machine(command)
            if ours != real:
                different.append(f"{command}\n  real: {real}\n  ours: {ours}")
    finally:
        machine.live.close()
    assert not different, "\n".join(different)
