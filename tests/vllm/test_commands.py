"""`agentworld serve` and `agentworld doctor`, run as a user runs them, with the real server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest

from agentworld_sim import ToolCall, World
from agentworld_sim.errors import ModelUnavailable
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from tests.vllm.asking import counter
from tests.vllm.server import AGENTWORLD, KEY, VllmServer, serve_by_command
from tests.vllm.tools import ENDLESS, ORDER, order


@pytest.fixture
def serving(tmp_path: Path) -> Generator[tuple[subprocess.Popen[str], ModelSettings]]:
    """A running `agentworld serve`, and the settings that it prints."""
    with serve_by_command(tmp_path) as (process, url, model):
        yield process, ModelSettings(url=url, model=model, api_key=KEY, max_tokens=6000, retries=0)


async def test_a_served_world_model_answers_until_it_is_stopped(
    serving: tuple[subprocess.Popen[str], ModelSettings],
) -> None:
    process, settings = serving
    async with await World.create(model=WorldModel(settings), seed=1) as world:
        world.add_tools([ORDER, ENDLESS])
        turn = await world.step(order(1))
        assert turn.observation.provenance == "imagined"
        step = asyncio.ensure_future(world.step(ToolCall("chain", {})))
        root = settings.url.removesuffix("/v1")
        with httpx2.Client(base_url=root, timeout=60) as http:
            while await asyncio.to_thread(counter, http, "vllm:num_requests_running") == 0:
                assert not step.done()
        # As a supervisor ends it: with a request under way vLLM waits for the client at a SIGTERM.
        os.killpg(process.pid, signal.SIGKILL)
        with pytest.raises(ModelUnavailable):
            await step
        assert world.ref == turn.ref
        assert await asyncio.to_thread(process.wait, 60) == -signal.SIGKILL
        with pytest.raises(ModelUnavailable, match="cannot be reached"):
            await world.step(order(2))
        assert world.ref == turn.ref


def test_the_doctor_finds_the_server_as_it_is(vllm_server: VllmServer) -> None:
    done = subprocess.run(
        [AGENTWORLD, "doctor", "--json", "--model-url", vllm_server.url],
        env={**os.environ, "AGENTWORLD_API_KEY": vllm_server.api_key},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["ok"] and told["model"] == "tiny"
    assert "vLLM" in [one["summary"] for one in told["checks"]]
    assert {one["check"]: one["verdict"] for one in told["checks"]} == {
        "server": "ok",
        "model": "ok",
        # The tiny model has too little of it for a real one's thinking.
        "context length": "warning",
        "kind": "ok",
        "reasoning parser": "ok",
        "observation": "ok",
        "log-probabilities": "ok",
        "structured output": "ok",
        "prefix caching": "ok",
        "thinking off": "ok",
        "seeds": "ok",
        "parameters": "ok",
    }
