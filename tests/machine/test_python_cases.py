"""What agents run with Python is answered as a real Python 3.12 on Linux answers it."""

from __future__ import annotations

import json

from agentworld_sim import Scenario, ToolCall, ToolSpec, World
from tests.machine.python_cases import RECORDED, cases, masked

NEWER = {"mock", "unittest-main", "fresh-m-unittest-v", "fresh-zip-tar-gz"}
"""Python 3.12.1, which was recorded, counts tests and words a message in another way than the machine's 3.12.0."""

ELSE = {
    f"fresh-{name}"
    for name in """
m-http-refused signal-exit file-errors fractions-math struct-binary os-fork locale-money broken-pipe cipher hash-algos
missing-libs ssl-import http-server-thread cprofile barrier-cond async-subprocess os-walk-size nested-heredoc
chmod-shebang-fail
""".split()
}
"""What the machine's Python, or the shell around it, has otherwise: some modules, sockets that listen, pipes of the
program's own, numbers of 64 bits, the shell's word of a killed program."""

RUN = ToolSpec(name="run", binds_to="shell/run")


async def test_agents_scripts_are_answered_as_outside() -> None:
    recorded = {name: tuple(answer) for name, answer in json.loads(RECORDED.read_text()).items()}
    different: set[str] = set()
    async with await World.create(Scenario(name="machine", domains=("terminal",))) as world:
        world.add_tools([RUN])
        for name, text in cases():
            folder = f"/root/{name}"
            script = f"mkdir {folder}; cd {folder}; {text}"
            told = (await world.step(ToolCall("run", {"command": script}))).observation.structured
            answer = (told["stdout"], told["stderr"], told["exit_code"])
            if masked(answer, folder) != recorded[name]:
                different.add(name)
    assert len(recorded) >= 390
    assert different == NEWER | ELSE
