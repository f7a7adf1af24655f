"""Saying what a tool is: held against its schema, with arguments that have other names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim import Scenario, ToolCall, ToolSpec, UsageError, World
from agentworld_sim.domains import domain
from agentworld_sim.toolkits import arguments_of, failure_of


def tool(binds_to: str, **arguments: str) -> ToolSpec:
    properties = {name: {"type": kind} for name, kind in arguments.items()}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": list(arguments),
    }
    return ToolSpec(name="run", input_schema=schema, binds_to=binds_to)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            tool("terminal/bash", cmd="string"),
            (
                "tool 'run' binds to 'terminal/bash': that binding needs command; cmd would be ignored, and"
                " 'run' takes cmd. They are different tools, or say which argument is which and what may be"
                " left out: 'terminal/bash(command=cmd)'."
            ),
        ),
        (
            tool("terminal/bash", command="string", cwd="string"),
            (
                "tool 'run' binds to 'terminal/bash': cwd would be ignored, and 'run' takes command, cwd. They"
                " are different tools, or say which argument is which and what may be left out:"
                " 'terminal/bash(-cwd)'."
            ),
        ),
        (
            tool("terminal/bash", command="integer"),
            (
                "tool 'run' binds to 'terminal/bash': command is of another type there, and 'run' takes"
                " command. They are different tools."
            ),
        ),
        (
            tool("terminal/bash(command=cdm)", cmd="string"),
            (
                "tool 'run' binds to 'terminal/bash(command=cdm)', and it has no argument 'cdm'. Did you mean"
                " 'cmd'?"
            ),
        ),
        (
            tool("terminal/bash(comand=cmd)", cmd="string"),
            (
                "tool 'run' binds to 'terminal/bash(comand=cmd)', and 'terminal/bash' has no argument"
                " 'comand'. Did you mean 'command'?"
            ),
        ),
        (
            tool("terminal/bahs(command=cmd)", cmd="string"),
            (
                "tool 'run' binds to 'terminal/bahs(command=cmd)', which does not exist. Did you mean"
                " 'terminal/bash'? There are: langchain/terminal"
            ),
        ),
        (
            tool("termnal/bash", command="string"),
            (
                "tool 'run' binds to 'termnal/bash': there is no toolkit 'termnal'. Did you mean 'terminal'?"
                " There are: langchain"
            ),
        ),
    ],
)
async def test_what_could_never_be_answered_is_refused_when_it_is_bound(
    spec: ToolSpec, problem: str
) -> None:
    async with await World.create(model=False) as world:
        with pytest.raises(UsageError) as caught:
            world.add_tools([spec])
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    "form",
    ["(command=cmd", "(command=)", "()", "(=cmd)", "(command=cmd, command=c)", "(-)", "(cmd)"],
)
async def test_a_mapping_of_another_form_is_a_mistake(form: str) -> None:
    async with await World.create(model=False) as world:
        with pytest.raises(UsageError, match="is not of the form 'toolkit/tool"):
            world.add_tools([tool(f"terminal/bash{form}", cmd="string")])


async def test_arguments_with_other_names_are_mapped_and_what_does_not_matter_is_left_out() -> None:
    spec = tool("terminal/bash(command = cmd, -timeout)", cmd="string", timeout="integer")
    async with await World.create(model=False) as world:
        (bound,) = world.add_tools([spec])
        assert bound.binds_to == spec.binds_to
        await world.step(ToolCall("run", {"cmd": "cd /tmp; a=1", "timeout": 5}))
        turn = await world.step(ToolCall("run", {"cmd": "pwd; echo $a", "timeout": 5}))
        assert turn.observation.text == "/tmp\n1\n"
        assert "echo $a" in turn.action.text


async def test_a_scenario_says_it_in_the_same_form() -> None:
    lab = Scenario.model_validate(
        {
            "name": "lab",
            "domains": ["mcp"],
            "tools": [
                {
                    "name": "remember",
                    "input_schema": tool("", items="array").input_schema,
                    "binds_to": "memory/create_entities(entities=items)",
                }
            ],
        }
    )
    entity: dict[str, Any] = {"name": "Ada", "entityType": "person", "observations": []}
    async with await World.create(lab, model=False) as world:
        turn = await world.step(ToolCall("remember", {"items": [entity]}))
    assert "Ada" in turn.observation.text


async def test_an_open_schema_is_taken_at_its_word() -> None:
    async with await World.create(model=False) as world:
        world.add_tools([ToolSpec(name="run", binds_to="terminal/bash")])
        assert (await world.step(ToolCall("run", {"command": "echo 1"}))).observation.text == "1\n"


def test_a_failure_is_worded_from_the_mapped_arguments() -> None:
    spec = ToolSpec(name="run", binds_to="gemini-cli/run_shell_command(command=cmd)")
    told = failure_of(spec, "no", {"cmd": "ls"}, 1)
    assert told.text.startswith("Command: ls\n")


@given(st.dictionaries(st.text(), st.integers()))
def test_without_a_mapping_arguments_stay_as_they_are(arguments: dict[str, int]) -> None:
    assert arguments_of("terminal/bash", arguments) == arguments
    assert arguments_of(None, arguments) == arguments


@pytest.mark.parametrize("arguments", [{"cmd": "ls"}, {"keystrokes": "ls\n"}, {"clear": True}])
def test_no_call_to_a_terminal_says_that_the_task_is_done(arguments: dict[str, Any]) -> None:
    spec = ToolSpec(name="run", domain="terminal")
    written = domain("terminal").action(ToolCall("run", arguments), spec).text
    assert written.startswith('[\n  {\n    "keystrokes": ')
    assert ('"ls\\n"' in written) is ("clear" not in arguments)
