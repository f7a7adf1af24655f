"""Nothing of the host is read, written, started or reached from inside a world."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim import Scenario, ToolCall, ToolSpec, World

MACHINE = Scenario.model_validate({"name": "machine", "domains": ("terminal",)})


class Shell:
    """Runs scripts in a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def __call__(self, script: str) -> dict[str, Any]:
        turn = await self._world.step(ToolCall("run", {"command": script}))
        return turn.observation.structured


@pytest.fixture
async def shell() -> AsyncIterator[Shell]:
    async with await World.create(MACHINE) as world:
        world.add_tools([ToolSpec(name="run", binds_to="shell/run")])
        yield Shell(world)


@pytest.mark.promise("host-files")
@pytest.mark.parametrize(
    "script",
    [
        "cat {file}",
        "cat < {file}",
        ". {file}",
        "bash {file}",
        "awk '{{print}}' {file}",
        "awk 'BEGIN {{ while ((getline line < \"{file}\") > 0) print line }}'",
        "grep -r . {folder}",
        "ln -s {file} /tmp/link; cat /tmp/link",
        "cat /proc/self/root{file} /proc/1/root{file} //{file} /..{file}",
        "tar cf - {file} | tar xOf -",
        "cp {file} /tmp/copy; cat /tmp/copy",
        "sqlite3 {file} .dump; python3 -c 'print(open(\"{file}\").read())'",
    ],
)
async def test_no_file_of_the_host_can_be_read(shell: Shell, tmp_path: Path, script: str) -> None:
    file = tmp_path / "host"
    file.write_text("echo host-secret-content")
    result = await shell(script.format(file=file, folder=tmp_path))
    assert "host-secret-content" not in result["stdout"] + result["stderr"]


@pytest.mark.promise("host-files")
@pytest.mark.parametrize(
    "script",
    [
        "mkdir -p {folder}; echo changed > {file}",
        "mkdir -p {folder}; ln -s {file} /tmp/link; echo changed > /tmp/link",
        "mkdir -p {folder}; awk 'BEGIN {{ while (i++ < 3) print i > \"{file}\" }}'",
        "mkdir -p {folder}; cp /etc/passwd {file}; rm -rf {folder}",
        "rm -rf / --no-preserve-root; rm -rf /*",
    ],
)
async def test_no_file_of_the_host_can_be_written(
    shell: Shell, tmp_path: Path, script: str
) -> None:
    file = tmp_path / "host"
    file.write_text("as it was")
    await shell(script.format(file=file, folder=tmp_path))
    assert file.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.promise("host-environment")
async def test_the_hosts_environment_is_not_visible(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_API_KEY", "host-secret-value")
    result = await shell(
        "env; set; export -p; declare -p; printenv; cat /proc/self/environ /proc/1/environ;"
        " awk 'BEGIN { for (name in ENVIRON) print name, ENVIRON[name]; while (0) ; }';"
        " echo $AGENT_API_KEY; hostname; pwd; whoami"
    )
    said = result["stdout"] + result["stderr"]
    assert "host-secret-value" not in said
    assert "AGENT_API_KEY" not in said
    assert os.getcwd() not in said
    assert socket.gethostname() not in said.split()


@pytest.mark.promise("no-network")
@pytest.mark.parametrize(
    "script",
    [
        "curl -s http://127.0.0.1:{port}/",
        "wget -qO- http://127.0.0.1:{port}/",
        "echo hi > /dev/tcp/127.0.0.1/{port}",
        "exec 3<>/dev/tcp/127.0.0.1/{port}; echo hi >&3",
        "nc 127.0.0.1 {port} < /dev/null",
        "ssh -p {port} 127.0.0.1",
        'awk \'BEGIN {{ s = "/inet/tcp/0/127.0.0.1/{port}"; print "hi" |& s; while (0) ; }}\'',
        "http http://127.0.0.1:{port}; bash -c 'curl 127.0.0.1:{port}'",
    ],
)
async def test_no_connection_is_opened(shell: Shell, script: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        await shell(script.format(port=server.getsockname()[1]))
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.promise("host-processes")
async def test_no_program_of_the_host_is_started(shell: Shell, tmp_path: Path) -> None:
    marker = tmp_path / "started"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    await shell(
        f"{program}; bash {program}; exec {program}; sudo {program}; env {program};"
        f" find / -maxdepth 0 -exec {program} \\; ; echo | xargs {program};"
        f" awk 'BEGIN {{ system(\"{program}\"); while (0) ; }}'; nohup {program} &"
    )
    assert not marker.exists()
