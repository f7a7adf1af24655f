"""What the machine itself obeys in the middle of a script, and what is left afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.controls.control_list import DECLARED

FULL = {"kind": "disk-full", "name": "full"}


async def machine(*controls: dict[str, Any]) -> World:
    scenario = {"name": "m", "domains": ["terminal"], "controls": controls}
    return await World.create(Scenario.model_validate(scenario), model=False)


async def run(world: World, command: str) -> str:
    return (await world.step(ToolCall("bash", {"command": command}))).observation.text


async def test_a_read_only_disk_fails_each_write_of_a_script_and_nothing_else() -> None:
    async with await machine({"kind": "read-only", "name": "r", "nth": [2]}) as world:
        await run(world, "echo a > /root/a")
        said = await run(
            world,
            "cat /root/a; echo b > /root/b; mkdir /root/c; mv /root/a /root/d; rm /root/a; cp /root/a /e;"
            " touch /root/a; chmod 600 /root/a; ln -s a /root/l; sed -i s/a/b/ /root/a; ls /root",
        )
        assert said.startswith("a\na\n")
        assert said.count("Read-only file system") == 9
        assert (await world.trajectory()).turns[-1].observation.provenance == "computed"
        assert "Read-only file system" in await run(world, "echo x | tee /root/z")
        assert await run(world, "ls /root; cat /root/a") == "a\na\n"


async def test_a_read_only_folder_stops_writes_below_it_alone() -> None:
    async with await machine(
        {"kind": "read-only", "name": "r", "paths": ["/srv"], "nth": [2]}
    ) as world:
        await run(world, "mkdir /srv/x; echo 1 > /srv/x/a; ln -s a /srv/x/l; chmod 700 /srv/x/a")
        before = await run(world, "ls -la /srv/x; cat /srv/x/l")
        said = await run(
            world, "echo 2 > /srv/x/a; echo 3 > /root/b; cat /srv/x/a /root/b; touch /srv/n"
        )
        assert said.startswith("1\n3\n")
        assert said.count("Read-only file system") == 2
        assert await run(world, "ls -la /srv/x; cat /srv/x/l") == before


async def test_a_full_disk_ends_writing_in_the_middle_and_is_seen_by_later_probes() -> None:
    async with await machine({**FULL, "nth": [2], "free_bytes": 10}) as world:
        await run(world, "seq 100 > /root/a")
        said = await run(
            world, "echo 12345 > /root/b; echo 1234567 > /root/c; echo on; cat /root/b"
        )
        assert said == "on\n12345\nbash: line 1: /root/c: No space left on device\n"
        assert (await world.state()).values["condition/free_bytes"] == 4
        assert "100% /" in await run(world, "df /")
        assert "No space left on device" in await run(world, "cp /root/a /root/z")
        assert await run(world, "rm /root/a; seq 50 > /root/n && wc -l < /root/n") == "50\n"
        async with await world.fork(at=world.root) as fork:
            assert await run(fork, "seq 100 > /root/z; wc -l < /root/z") == "100\n"


async def test_a_full_disk_of_one_world_is_not_that_of_the_next() -> None:
    async with await machine(FULL) as world:
        assert "No space" in await run(world, "echo x > /root/a")
    async with await machine() as other:
        assert await run(other, "echo x > /root/a; cat /root/a") == "x\n"


async def test_what_a_lost_write_made_is_gone_and_the_shell_stands_where_it_stood() -> None:
    async with await machine({"kind": "lost-write", "name": "l", "times": 1}) as world:
        assert await run(world, "mkdir /srv/q; cd /srv/q; X=3; echo a > b; ls") == "b\n"
        said = await run(world, "pwd; echo $X; echo z > f")
        assert said == "/srv/q\n3\nbash: line 1: f: No such file or directory\n"
        assert await run(world, "cd; echo ok > f; cat f; ls /srv") == "ok\n"


async def test_paths_that_may_not_be_changed_fail_a_call_as_a_whole() -> None:
    async with await machine(
        {"kind": "permission-denied", "name": "p", "paths": ["/etc"]}
    ) as world:
        assert await run(world, "echo x > /root/a; echo y >> /etc/passwd") == (
            "/etc/passwd: Permission denied\n"
        )
        assert await run(world, "ls /root") == ""
        assert set((await world.state()).values) == {DECLARED, "condition/denied", "control/p"}


async def test_a_shell_tells_a_server_error_as_a_command_that_failed() -> None:
    async with await machine({"kind": "timeout", "name": "t", "times": 1}) as world:
        assert await run(world, "echo hi") == "Request timed out after 30 seconds\n"
        assert await run(world, "date +%T") == "09:00:30\n"


@pytest.mark.parametrize("by_us", [86_400_000_000, -86_400_000_000])
async def test_a_skewed_clock_is_the_one_that_commands_and_files_go_by(by_us: int) -> None:
    async with await machine(
        {"kind": "clock-skew", "name": "c", "by_us": by_us, "times": 1}
    ) as world:
        day = "2026-03-03" if by_us > 0 else "2026-03-01"
        assert await run(world, "date +%F; echo x > /root/a") == f"{day}\n"
        assert await run(world, "date +%F; date -r /root/a +%F") == f"2026-03-02\n{day}\n"
