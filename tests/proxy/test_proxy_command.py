"""`agentworld proxy`, as a user runs it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from agentworld_sim.llm.scripted import ScriptedModelServer, ScriptedReply
from tests.cli.in_process import run_command


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_ended_and_says_what_struck(tmp_path: Path, end: int) -> None:
    file = tmp_path / "faults.yaml"
    file.write_text("faults:\n- {kind: cut-stream, nth: [1]}\n- {kind: empty, model: other}\n")
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    with ScriptedModelServer(lambda _: ScriptedReply("the answer"), model="m") as server:
        command = [sys.executable, "-m", "agentworld_sim.cli", "proxy", "--port", "0"]
        options = ["--upstream", server.url, "--faults", str(file)]
        with subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            url = process.stdout.readline().strip() + "/chat/completions"
            came = b""
            with (
                pytest.raises(httpx2.RemoteProtocolError),
                httpx2.stream("POST", url, json=body, timeout=30) as cut,
            ):
                for piece in cut.iter_raw():
                    came += piece
            assert came.count(b"\n\n") == 3
            whole = httpx2.post(url, json=body, timeout=30)
            assert whole.content.endswith(b"data: [DONE]\n\n")
            process.send_signal(end)
            _, said = process.communicate(timeout=30)
    assert said.strip() == "cut-stream: struck 1\nempty: never struck"
    assert process.returncode == 130


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--upstream", "localhost:8000"), "--upstream is the base URL"),
        (("--upstream", "http://x/v1", "--faults", "none.yaml"), "cannot be read: No such file"),
    ],
)
def test_a_mistake_is_one_clear_error(arguments: tuple[str, ...], message: str) -> None:
    done = run_command(("proxy", *arguments), environment=dict(os.environ))
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        arguments = ("proxy", "--upstream", "http://x/v1", "--port", port)
        done = run_command(arguments, environment=dict(os.environ))
    assert (done.returncode, f"--port {port} cannot be listened on" in done.stderr) == (2, True)
