"""`agentworld serve` and `agentworld doctor`, run as a user runs them, with the real server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest

from agentworld_sim import ToolCall, World
from agentworld_sim.errors import ModelUnavailable
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.serving import free_port
from tests.vllm.asking import counter
from tests.vllm.server import CONTEXT, ENVIRONMENT, EXTRA, KEY, MODEL, VllmServer, variables
from tests.vllm.tools import ENDLESS, ORDER, order

AGENTWORLD = str(Path(sys.executable).with_name("agentworld"))


def children(pid: int) -> list[int]:
    """All processes below one, by what the kernel says of each."""
    below: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        below.setdefault(parent, []).append(int(stat.parent.name))
    found = below.get(pid, [])
    return [*found, *(grandchild for child in found for grandchild in children(child))]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def serving(tmp_path: Path) -> Generator[tuple[subprocess.Popen[str], ModelSettings]]:
    """A running `agentworld serve`, and the settings that it prints."""
    command = [AGENTWORLD, "serve", "--model", str(MODEL), "--environment", str(ENVIRONMENT)]
    command += ["--port", str(free_port()), "--max-model-len", str(CONTEXT), "--", *EXTRA]
    with subprocess.Popen(
        command,
        env={**os.environ, **variables(), "AGENTWORLD_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(f"serving {MODEL} at http://127.0.0.1:")
            printed = [process.stdout.readline().split("=", 1)[1].strip() for _ in range(2)]
            url, model = printed
            yield (
                process,
                ModelSettings(url=url, model=model, api_key=KEY, max_tokens=6000, retries=0),
            )
        finally:
            process.terminate()


async def test_a_served_world_model_answers_until_it_is_stopped_and_leaves_nothing(
    serving: tuple[subprocess.Popen[str], ModelSettings],
) -> None:
    process, settings = serving
    async with await World.create(model=WorldModel(settings), seed=1) as world:
        world.add_tools([ORDER, ENDLESS])
        turn = await world.step(order(1))
        assert turn.observation.provenance == "imagined"
        started = children(process.pid)
        # The guard, the server and its engine.
        assert len(started) >= 3
        step = asyncio.ensure_future(world.step(ToolCall("chain", {})))
        root = settings.url.removesuffix("/v1")
        with httpx2.Client(base_url=root, timeout=60) as http:
            while await asyncio.to_thread(counter, http, "vllm:num_requests_running") == 0:
                assert not step.done()
        process.send_signal(signal.SIGTERM)
        with pytest.raises(ModelUnavailable):
            await step
        assert world.ref == turn.ref
        assert await asyncio.to_thread(process.wait, 60) == 128 + signal.SIGTERM
        assert not [pid for pid in started if alive(pid)]
        with pytest.raises(ModelUnavailable, match="cannot be reached"):
            await world.step(order(2))
        assert world.ref == turn.ref


def test_the_doctor_finds_the_server_as_it_is(vllm_server: VllmServer) -> None:
    done = subprocess.run(
        [AGENTWORLD, "doctor", "--json", "--quick", "--model-url", vllm_server.url],
        env={**os.environ, "AGENTWORLD_API_KEY": vllm_server.api_key},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["ok"] and told["model"] == "tiny"
    assert {one["check"]: one["verdict"] for one in told["checks"]} == {
        "reachable": "ok",
        "model": "ok",
        # The tiny model has too little of it for a real one's thinking.
        "context length": "warning",
        "reasoning parser": "ok",
        "tag": "ok",
        "prefix caching": "ok",
    }
