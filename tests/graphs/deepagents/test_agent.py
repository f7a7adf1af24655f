"""A deep agent at work on a simulated machine, and nothing of it on this one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deepagents.backends import CompositeBackend, StateBackend
from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse
from langchain_core.messages import AIMessage, ToolMessage

from agentworld_graphs import SimDeepAgentState, SimulatedSandbox, ref_in
from agentworld_sim import Scenario, ToolCall, ToolSpec, UsageError, World

if TYPE_CHECKING:
    from conftest import Deep

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])


def machine(**files: str) -> World:
    from agentworld_sim.runtime.sync import run_sync

    content = {f"/srv/{name}.txt": text for name, text in files.items()}
    scenario = {"name": "machine", "domains": ["swe"], "files": content}
    return run_sync(World.create(Scenario.model_validate(scenario)))


@WAYS
@pytest.mark.parametrize("state", [SimDeepAgentState, None])
async def test_an_agent_writes_edits_searches_runs_and_delegates(
    deep: Deep, go: Any, way: str, state: Any
) -> None:
    sandbox = SimulatedSandbox(machine(old="alpha\n"))
    first = deep.asks(
        deep.call("write_file", "1", file_path="/srv/new.txt", content="alpha\nbeta\n"),
        deep.call("execute", "2", command="cat /srv/n*.txt; pwd", timeout=5),
        deep.call("task", "3", description="go", subagent_type="general-purpose"),
        deep.call("execute", "4", command="cat /srv/*.txt | sort"),
    )
    second = deep.asks(
        deep.call("grep", "5", pattern="alpha", path="/srv"),
        deep.call("glob", "6", pattern="*.txt", path="/srv"),
        deep.call("read_file", "7", file_path="/srv/new.txt"),
        deep.call("ls", "8", path="/srv"),
        deep.call("delete", "9", file_path="/srv/helper.txt"),
        deep.call("execute", "10", command="ls /srv; false"),
    )
    helper = deep.asks(
        deep.call(
            "edit_file", "1", file_path="/srv/new.txt", old_string="beta", new_string="gamma"
        ),
        deep.call("write_file", "2", file_path="/srv/helper.txt", content="delta\n"),
    )
    agent = deep.agent(
        sandbox,
        first,
        second,
        AIMessage("done"),
        helpers={"general-purpose": [helper, AIMessage("helped")]},
        state=state,
    )
    final = await deep.run(agent, way, go)
    assert deep.answers(final) == [
        "Updated file /srv/new.txt",
        "alpha\nbeta\n/root\n\n[Command succeeded with exit code 0]",
        "helped",
        "alpha\nalpha\ndelta\ngamma\n\n[Command succeeded with exit code 0]",
        "/srv/new.txt\n/srv/old.txt",
        "['/srv/helper.txt', '/srv/new.txt', '/srv/old.txt']",
        "@@ lines 1-2 of 2 @@\nalpha\ngamma",
        "['/srv/helper.txt', '/srv/new.txt', '/srv/old.txt']",
        "Deleted /srv/helper.txt",
        "new.txt\nold.txt\n\n[Command failed with exit code 1]",
    ]
    trajectory = await sandbox.world.trajectory()
    names = [turn.call.name for turn in trajectory.turns]
    assert names[:5] == ["write_file", "execute", "edit_file", "write_file", "execute"]
    assert [str(change.path) for change in (await sandbox.world.diff()).files] == ["/srv/new.txt"]
    if state is not None:
        assert ref_in(final) == sandbox.world.ref
    assert not any("simul" in str(answer).lower() for answer in deep.answers(final))


@WAYS
async def test_nothing_of_it_happens_on_this_machine(
    deep: Deep, go: Any, way: str, tmp_path: Path
) -> None:
    marker, number = tmp_path / "here.txt", os.getpid()
    agent = deep.agent(
        SimulatedSandbox(),
        deep.writes(str(marker)),
        deep.asks(
            deep.call("execute", "e", command=f"touch {marker}2; ls {tmp_path}; ls /proc | wc -l")
        ),
        deep.asks(deep.call("execute", "k", command=f"kill -9 {number}; kill -9 {os.getppid()}")),
        AIMessage("done"),
    )
    children = Path(f"/proc/{number}/task/{number}/children")
    before = children.read_text()
    final = await deep.run(agent, way, go)
    assert "here.txt" in deep.answers(final)[1]
    assert list(tmp_path.iterdir()) == []
    assert children.read_text() == before


async def test_each_command_is_a_new_shell_in_the_working_directory() -> None:
    sandbox = SimulatedSandbox()
    await sandbox.aexecute("cd /tmp; X=1; export Y=2; umask 077; echo kept > /tmp/kept; sleep 1 &")
    answer = await sandbox.aexecute("pwd; echo [$X$Y]; umask; cat /tmp/kept")
    assert answer == ExecuteResponse("/root\n[]\n0022\nkept\n", 0)


async def test_a_command_may_take_its_time_on_the_clock_of_the_world() -> None:
    sandbox = SimulatedSandbox()
    before = (await sandbox.world.state()).clock_us
    assert await sandbox.aexecute("sleep 60; echo rested") == ExecuteResponse("rested\n", 0)
    assert (await sandbox.world.state()).clock_us - before > 60_000_000
    answer = await sandbox.aexecute("echo begun; sleep 60", timeout=5)
    assert answer.exit_code == 124
    assert "timed out after 5 seconds" in answer.output


@WAYS
async def test_a_timeout_that_is_none_is_told_to_the_agent(deep: Deep, go: Any, way: str) -> None:
    sandbox = SimulatedSandbox()
    with pytest.raises(ValueError, match="timeout must be positive, got 0"):
        sandbox.execute("true", timeout=0)
    asks = deep.asks(deep.call("execute", "1", command="true", timeout=0))
    final = await deep.run(deep.agent(sandbox, asks, AIMessage("done")), way, go)
    assert deep.answers(final) == ["Error: Invalid parameter. timeout must be positive, got 0"]


async def test_what_is_uploaded_is_a_turn_and_what_is_downloaded_is_none() -> None:
    sandbox = SimulatedSandbox()
    data = bytes(range(256))
    await sandbox.aupload_files([("/srv/a.bin", data), ("/srv", b""), ("/srv/a.bin/b", b"")])
    await sandbox.aexecute("ln -s a.bin /srv/link; ln -s loop /srv/loop; ln -s /srv /tmp/there")
    ref = sandbox.world.ref
    paths = ["/srv/link", "/tmp/there/../srv/a.bin", "/srv/loop", "/srv", "/none", "x"]
    assert await sandbox.adownload_files(paths) == [
        FileDownloadResponse("/srv/link", data),
        FileDownloadResponse("/tmp/there/../srv/a.bin", data),
        FileDownloadResponse("/srv/loop", error="file_not_found"),
        FileDownloadResponse("/srv", error="is_directory"),
        FileDownloadResponse("/none", error="file_not_found"),
        FileDownloadResponse("x", error="invalid_path"),
    ]
    assert sandbox.world.ref == ref


@WAYS
async def test_it_can_be_one_part_of_a_composite_backend(deep: Deep, go: Any, way: str) -> None:
    sandbox = SimulatedSandbox()
    backend = CompositeBackend(default=sandbox, routes={"/notes/": StateBackend()})
    agent = deep.agent(
        backend,
        deep.writes("/notes/a.txt"),
        deep.writes("/srv/b.txt", id="w2"),
        deep.asks(deep.call("execute", "e", command="ls /notes /srv 2>&1")),
        AIMessage("done"),
    )
    final = await deep.run(agent, way, go)
    assert list(final["files"]) == ["/a.txt"]
    assert "b.txt" in deep.answers(final)[-1]
    assert "cannot access '/notes'" in deep.answers(final)[-1]


async def test_what_is_too_long_for_a_message_is_put_on_the_simulated_machine(
    deep: Deep, go: Any
) -> None:
    sandbox = SimulatedSandbox()
    asks = deep.asks(deep.call("execute", "big", command="seq 100000"))
    final = await deep.run(deep.agent(sandbox, asks, AIMessage("done")), "ainvoke", go)
    assert "/large_tool_results/big" in deep.answers(final)[0]
    kept = await sandbox.world.read_file("/large_tool_results/big")
    assert kept.startswith(b"1\n2\n3\n")


async def test_an_exit_code_reaches_the_artifact(deep: Deep, go: Any) -> None:
    asks = deep.asks(deep.call("execute", "1", command="exit 3"))
    final = await deep.run(deep.agent(SimulatedSandbox(), asks, AIMessage("done")), "ainvoke", go)
    (message,) = [one for one in final["messages"] if isinstance(one, ToolMessage)]
    assert message.artifact == {"exit_code": 3, "truncated": False}


async def test_another_tool_of_the_same_name_is_refused() -> None:
    async with await World.create() as world:
        SimulatedSandbox(world)
        SimulatedSandbox(world)
        from agentworld_graphs import simulate

        def execute(command: str) -> str:
            """Runs a command."""
            return command

        with pytest.raises(UsageError, match="already answers a tool 'execute'"):
            simulate(execute, world, binds_to="terminal/bash-c")


async def test_the_world_can_be_used_beside_it() -> None:
    world = machine(a="one\n")
    sandbox = SimulatedSandbox(world)
    spec = ToolSpec(
        name="bash",
        input_schema={
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    )
    world.add_tools([spec])
    await world.step(ToolCall("bash", {"command": "echo two >> /srv/a.txt"}))
    assert (await sandbox.aread("/srv/a.txt")).file_data == {
        "content": "one\ntwo",
        "encoding": "utf-8",
    }
    assert sandbox.id == world.id
    assert sandbox.world is world
