"""The plain shells, and the terminal that keystrokes go to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentworld_sim.domains import domain
from agentworld_sim.errors import UsageError
from agentworld_sim.types.tools import ToolCall, ToolSpec

from .toolkit_machine import ToolMachine


@pytest.mark.parametrize(
    "command, said",
    [
        ("echo out; echo err >&2; echo more", "out\nmore\nerr\n"),
        ("nosuch", "bash: line 1: nosuch: command not found\n"),
        ("true", ""),
    ],
)
@pytest.mark.parametrize("tool", ["terminal/bash", "terminal/bash-c"])
def test_both_streams_follow_each_other(tool: str, command: str, said: str) -> None:
    assert ToolMachine().text(tool, command=command) == said


def test_bash_keeps_all_and_bash_c_nothing() -> None:
    machine = ToolMachine()
    for tool in ("terminal/bash", "terminal/bash-c"):
        machine.text(
            tool, command="cd /; X=1; f() { echo called; }; echo kept >> /project/f; false"
        )
    assert machine.text("terminal/bash", command="echo $? $X; pwd; f") == "1 1\n/\ncalled\n"
    said = machine.text("terminal/bash-c", command='echo "$?[$X]"; pwd; f')
    assert said == "0[]\n/project\nbash: line 1: f: command not found\n"
    assert machine.read("/project/f") == b"kept\nkept\n"


def press(machine: ToolMachine, *typed: tuple[str, float]) -> str:
    keystrokes: list[dict[str, Any]] = [
        {"keystrokes": keys, "duration": seconds} for keys, seconds in typed
    ]
    return machine.text("terminal/keystrokes", keystrokes=keystrokes)


def test_what_is_typed_shows_and_stays() -> None:
    machine = ToolMachine()
    assert press(machine, ("cd /; X=1\n", 0.1), ("echo $X", 0.1)).endswith("echo $X")
    assert press(machine, ("\n", 0.1)).split("\n")[-2] == "1"
    assert press(machine).split("\n")[-2] == "1"


def test_a_slow_command_shows_its_output_later() -> None:
    machine = ToolMachine()
    assert press(machine, ("sleep 5; echo done\n", 1)).endswith("sleep 5; echo done")
    assert press(machine, ("", 10)).split("\n")[-2] == "done"


@pytest.mark.parametrize(
    "arguments, keystrokes",
    [
        (
            {"keystrokes": [{"keystrokes": "ls\n", "duration": 0.5}]},
            [{"keystrokes": "ls\n", "duration": 0.5}],
        ),
        ({"keystrokes": []}, []),
        ({"command": "ls -l"}, [{"keystrokes": "ls -l\n", "duration": 0.1}]),
        (
            {"commands": ["cd é", "ls"]},
            [
                {"keystrokes": "cd é\n", "duration": 0.1},
                {"keystrokes": "ls\n", "duration": 0.1},
            ],
        ),
        ({"restart": True}, [{"keystrokes": "exec bash\n", "duration": 0.1}]),
    ],
)
def test_a_terminal_action_is_keystrokes(arguments: dict[str, Any], keystrokes: list[Any]) -> None:
    written = domain("terminal").action(ToolCall("shell", arguments), ToolSpec(name="shell"))
    assert json.loads(written.text) == keystrokes


def test_a_coding_action_is_the_call() -> None:
    call = ToolCall("Read", {"file_path": "/é", "limit": 1})
    written = domain("swe").action(call, ToolSpec(name="Read"))
    assert json.loads(written.text) == {
        "name": "Read",
        "arguments": {"file_path": "/é", "limit": 1},
    }


def test_a_domain_that_there_is_not_says_so() -> None:
    with pytest.raises(UsageError, match=r"there is no domain 'swi'\. Did you mean 'swe'\?"):
        domain("swi")
