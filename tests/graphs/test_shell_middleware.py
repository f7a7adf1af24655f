"""`SimulatedShellMiddleware` beside LangChain's own, which runs a real bash in a temporary directory."""

from __future__ import annotations

import gc
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents.middleware import (
    HostExecutionPolicy,
    RedactionRule,
    ShellToolMiddleware,
)
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import ToolException
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from agentworld_graphs import (
    ScriptedChatModel,
    SimulatedShellMiddleware,
    SimulatedTools,
    SimulationInterrupted,
    simulate,
)
from agentworld_sim import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Lab

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])


async def run(graph: Any, way: str, given: Any, *config: Any) -> Any:
    return graph.invoke(given, *config) if way == "invoke" else await graph.ainvoke(given, *config)


def agent(lab: Lab, commands: list[Any], *middleware: Any, **options: Any) -> Any:
    """An agent that runs commands one after the other; `None` restarts the session."""
    script: list[Any] = []
    for number, command in enumerate(commands):
        asked = {"restart": True} if command is None else {"command": command}
        script.append(lab.asks(lab.call("shell", str(number), **asked)))
    options.setdefault("tools", [])
    return lab.create_agent(
        ScriptedChatModel(script=[*script, AIMessage("done")], checks_calls=False),
        options.pop("tools"),
        middleware=list(middleware),
        **options,
    )


def told(final: Any) -> list[tuple[Any, str, Any, Any]]:
    """What the tool messages of a run say."""
    return [
        (message.content, message.status, counted(message), message.name)
        for message in final["messages"]
        if isinstance(message, ToolMessage)
    ]


def counted(message: ToolMessage) -> Any:
    """The artifact of a message. The real tool counts lines of standard error only if they reach it before
    the end of standard output does, which a busy host decides."""
    if "[stderr]" not in str(message.content):
        return message.artifact
    return {
        name: value for name, value in message.artifact.items() if not name.startswith("total_")
    }


SESSIONS: dict[str, list[Any]] = {
    "output": ["echo hello", "true", "printf 'a\\nb\\n'", "echo"],
    "errors": ["echo oops >&2", "false", "ls missing; (exit 3)", "nosuchcommand"],
    "state": [
        "cd sub && greet() { echo hi $1; }",
        "pwd | sed 's|.*/||'",
        "X=1; export Y=2",
        "greet $X$Y",
    ],
    "restart": ["cd sub; X=1", None, "pwd | sed 's|.*/||' | wc -l; echo [$X]"],
    "long": ["seq 1 250", "seq 1 101; false"],
    "settings": ['echo "$GREETING"', "cat started; wc -l < started", None, "wc -l < started"],
    "files": ["echo x > f; cat f", "for i in 1 2; do echo $i; done"],
}


@pytest.mark.slow
@WAYS
@pytest.mark.parametrize("session", SESSIONS)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
async def test_it_says_what_the_real_one_says(
    lab: Lab, go: Any, tmp_path: Path, way: str, session: str
) -> None:
    (tmp_path / "sub").mkdir()
    settings: dict[str, Any] = {
        "startup_commands": ["echo again >> started"],
        "env": {"GREETING": "it's me", "PATH": "/usr/bin:/bin"},
    }
    real = agent(lab, SESSIONS[session], ShellToolMiddleware(tmp_path, **settings))
    expected = told(await run(real, way, go))
    world = lab.machine({f"{tmp_path}/sub/.keep": ""})
    ours = SimulatedShellMiddleware(tmp_path, world=world, **settings)
    assert told(await run(agent(lab, SESSIONS[session], ours), way, go)) == expected
    # The real middleware leaves its pipes to the collector, which complains of them.
    del real
    gc.collect()


@pytest.mark.slow
@WAYS
@pytest.mark.filterwarnings("ignore::ResourceWarning")
async def test_what_the_real_one_raises_is_raised(
    lab: Lab, go: Any, tmp_path: Path, way: str
) -> None:
    real = ShellToolMiddleware(tmp_path)
    for middleware in (real, SimulatedShellMiddleware(world=lab.machine())):
        with pytest.raises(ToolException, match="expects a 'command' string"):
            await run(agent(lab, [""], middleware), way, go)
    del real, middleware
    gc.collect()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(
    "policy",
    [
        HostExecutionPolicy(max_output_lines=3),
        HostExecutionPolicy(max_output_bytes=20),
        HostExecutionPolicy(max_output_lines=5, max_output_bytes=12),
    ],
)
def test_limits_of_output_are_those_of_the_policy(
    lab: Lab, go: Any, tmp_path: Path, policy: HostExecutionPolicy
) -> None:
    commands = ["seq 1 30", "seq 1 30; false", "echo short"]
    real = ShellToolMiddleware(tmp_path, execution_policy=policy)
    ours = SimulatedShellMiddleware(tmp_path, world=lab.machine(), execution_policy=policy)
    expected, got = (told(agent(lab, commands, one).invoke(go)) for one in (real, ours))
    assert got == expected
    del real
    gc.collect()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("strategy", ["redact", "mask", "hash", "block"])
def test_redaction_is_that_of_the_rules(lab: Lab, go: Any, tmp_path: Path, strategy: Any) -> None:
    rules = (RedactionRule("email", strategy=strategy), RedactionRule("ip", strategy="redact"))
    commands = ["echo write to ann@example.com at 10.0.0.1", "echo nothing; false"]
    real = ShellToolMiddleware(tmp_path, redaction_rules=rules)
    ours = SimulatedShellMiddleware(tmp_path, world=lab.machine(), redaction_rules=rules)
    expected, got = (told(agent(lab, commands, one).invoke(go)) for one in (real, ours))
    assert got == expected
    assert "ann@example.com" not in str([content for content, *_ in got])
    del real
    gc.collect()


def test_a_command_that_takes_too_long_is_given_up_in_the_worlds_time(lab: Lab, go: Any) -> None:
    policy = HostExecutionPolicy(command_timeout=5.0)
    ours = SimulatedShellMiddleware(world=lab.machine(), execution_policy=policy)
    (answer,) = told(agent(lab, ["sleep 600"], ours).invoke(go))
    assert answer == (
        "Error: Command timed out after 5.0 seconds.",
        "error",
        {"timed_out": True, "exit_code": None},
        "shell",
    )


def test_the_tool_looks_like_the_real_one() -> None:
    options: dict[str, Any] = {"tool_name": "sh", "tool_description": "Runs."}
    for given in ({}, options):
        real, ours = ShellToolMiddleware(**given), SimulatedShellMiddleware(**given)
        pair = [one.tools[0] for one in (real, ours)]
        assert len({tool.name for tool in pair}) == len({tool.description for tool in pair}) == 1
        shown = [tool.tool_call_schema for tool in pair]
        assert shown[0].model_json_schema() == shown[1].model_json_schema()  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]  pydantic models both


@pytest.mark.promise("simulated-shell")
@WAYS
async def test_no_process_is_ever_started(
    lab: Lab, go: Any, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*_: Any, **__: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess.Popen, "__init__", start)
    ours = SimulatedShellMiddleware(
        tmp_path,
        world=lab.machine(),
        startup_commands="touch started",
        shutdown_commands=["touch stopped"],
    )
    await run(agent(lab, ["touch here", None], ours), way, go)
    assert list(tmp_path.iterdir()) == []


@WAYS
async def test_startup_and_shutdown_commands_run_in_the_world(lab: Lab, go: Any, way: str) -> None:
    world = lab.machine()
    ours = SimulatedShellMiddleware(
        "/desk", world=world, startup_commands=["date > a", "cp a b"], shutdown_commands="rm a"
    )
    final = await run(agent(lab, ["ls"], ours), way, go)
    assert told(final)[0][0] == "a\nb\n"
    tree = await world.state(at=final["sim_ref"])
    assert "/desk/b" in tree.files
    assert "/desk/a" not in tree.files


@WAYS
async def test_a_startup_command_that_fails_fails_the_run_as_the_real_one(
    lab: Lab, go: Any, way: str
) -> None:
    ours = SimulatedShellMiddleware(world=lab.machine(), startup_commands=["true", "(exit 4)"])
    with pytest.raises(RuntimeError, match=r"Startup command '\(exit 4\)' failed with exit code 4"):
        await run(agent(lab, ["ls"], ours), way, go)


@WAYS
async def test_a_session_begins_with_each_run_and_outlives_an_interrupt(
    lab: Lab, go: Any, way: str
) -> None:
    def ask() -> str:
        """Asks a person."""
        return str(interrupt("may I?"))

    world = lab.machine()
    script = [
        lab.asks(lab.call("shell", "1", command="cd /tmp; X=kept")),
        lab.asks(lab.call("ask", "2")),
        lab.asks(lab.call("shell", "3", command="pwd; echo [$X]")),
        AIMessage("done"),
        lab.asks(lab.call("shell", "4", command="echo [$X]")),
        AIMessage("done"),
    ]
    graph = lab.create_agent(
        ScriptedChatModel(script=script),
        [ask],
        middleware=[SimulatedShellMiddleware(world=world)],
        checkpointer=InMemorySaver(),
    )
    await run(graph, way, go, lab.thread())
    final = await run(graph, way, Command(resume="yes"), lab.thread())
    assert told(final)[2][0] == "/tmp\n[kept]\n"
    assert told(await run(graph, way, go, lab.thread()))[3][0] == "[]\n"


@WAYS
async def test_time_travel_brings_the_session_back(lab: Lab, go: Any, way: str) -> None:
    commands = ["cd /tmp; touch one", "ls; touch two", "ls"]
    ours = SimulatedShellMiddleware(world=lab.machine())
    graph = agent(lab, commands, ours, checkpointer=InMemorySaver())
    first = await run(graph, way, go, lab.thread())
    earlier = next(
        state
        for state in graph.get_state_history(lab.thread())
        if state.next == ("tools",) and len(lab.answers(state.values)) == 1
    )
    again = await run(graph, way, None, earlier.config)
    assert told(again) == told(first)
    assert told(again)[1][0] == "one\n"


@WAYS
async def test_it_goes_with_the_other_simulated_tools_of_the_same_world(
    lab: Lab, go: Any, way: str
) -> None:
    world = lab.machine()
    script = [
        lab.asks(
            lab.call("shell", "1", command="echo hi > /srv/f"),
            lab.call("read_file", "2", file_path="/srv/f"),
        ),
        AIMessage("done"),
    ]
    _, read_file = lab.shell_tools()
    graph = lab.create_agent(
        ScriptedChatModel(script=script),
        [read_file],
        middleware=[
            SimulatedShellMiddleware(world=world, startup_commands="mkdir -p /srv"),
            SimulatedTools(world),
        ],
    )
    final = await run(graph, way, go)
    assert "hi" in lab.answers(final)[1]
    assert lab.ran == []


@WAYS
async def test_our_failures_leave_the_run(lab: Lab, go: Any, way: str) -> None:
    world = lab.machine()
    graph = agent(lab, ["ls"], SimulatedShellMiddleware(world=world))
    await world.close()
    with pytest.raises(SimulationInterrupted):
        await run(graph, way, go)


def test_a_world_has_one_shell_of_a_name(lab: Lab) -> None:
    world = lab.machine()
    simulate(lab.shell_tools()[0], world)
    with pytest.raises(UsageError, match="already answers a tool 'bash'"):
        SimulatedShellMiddleware(world=world, tool_name="bash")
