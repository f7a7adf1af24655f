"""The real side of the transfer: a bash inside namespaces agrees with the world, or nothing is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentworld_sim import ToolCall
from agentworld_sim.errors import UsageError
from agentworld_sim.rollouts import Task, write_call
from experiments.pocket.shell_tasks import ShellTask, shell_tasks
from experiments.prediction_before_action.real_shell import (
    NoNamespaces,
    RealShellTask,
    namespace_command,
)
from experiments.prediction_before_action.transfer import measure_transfer, summary


def namespace() -> list[str] | None:
    """The command, where this machine allows it; it must say why not otherwise."""
    try:
        return namespace_command()
    except NoNamespaces as error:
        assert "nothing was run" in str(error)
        return None


async def played(task: Task, commands: tuple[str, ...]) -> tuple[list[str], float]:
    """What the commands print, and what the end is worth."""
    environment = await task.environment(seed=0)
    try:
        await environment.open()
        said: list[str] = []
        for command in commands:
            reply = await environment.answer(write_call(ToolCall("bash", {"command": command})))
            said.append(reply.messages[0]["content"])
        assert (await environment.answer("Done.")).done
        reward = await environment.reward()
        assert reward is not None
        return said, reward.value
    finally:
        await environment.close()


def of_every_family() -> list[ShellTask]:
    counts = {"demonstrated": 0, "looks": 0, "sessions": 0}
    counts |= {"train": 60, "instances": 0, "templates": 12}
    tasks = [task for group in shell_tasks(counts, 5).values() for task in group]
    return list({task.template.partition("+")[0]: task for task in tasks}.values())


async def test_the_real_shell_says_and_leaves_what_the_world_does() -> None:
    command = namespace()
    for task in of_every_family() if command else ():
        real = await played(RealShellTask(task, command or []), task.commands)
        assert real == await played(task.task(), task.commands), task.name
        assert real[1] == 1.0


async def test_a_task_that_is_not_done_earns_nothing_there_either() -> None:
    command = namespace()
    task = of_every_family()[0]
    if command:
        assert await played(RealShellTask(task, command), ("ls",)) == await played(
            task.task(), ("ls",)
        )


async def test_the_real_shell_stays_open_and_cannot_leave_its_folder(tmp_path: Path) -> None:
    command = namespace()
    if command is None:
        return
    outside = tmp_path / "outside"
    real = RealShellTask(of_every_family()[0], command)
    said, _ = await played(
        real, ("x=3; cd /tmp", "echo $x; pwd", f"echo gone > {outside}", "id -u", "'")
    )
    assert said[:2] == ["", "3\n/tmp\n"]
    assert "Read-only file system" in said[2] or "No such file" in said[2] or "denied" in said[2]
    assert said[3] == "65534\n"
    assert "unexpected EOF" in said[4]
    assert not outside.exists()


def test_nothing_is_run_without_the_flag(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Say so with `--real-shell`"):
        measure_transfer(tmp_path, 0, [0], real_shell=False)


def test_nothing_is_run_where_namespaces_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NoNamespaces, match=r"needs unshare, .* lacks; nothing was run"):
        namespace_command()


def test_a_transfer_is_told_by_task() -> None:
    row = {"simulated": [True, True, False, None], "real": [True, False, False, True]}
    assert summary(row) == {
        "judged": 3,
        "simulated": 2 / 3,
        "real": 1 / 3,
        "ratio": 0.5,
        "agreement": 2 / 3,
    }
