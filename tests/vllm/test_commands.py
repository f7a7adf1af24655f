"""`agentworld serve` and `agentworld doctor`, run as a user runs them, with the real server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import httpx2
import pytest

from agentworld_sim import ToolCall, World
from agentworld_sim.errors import ModelUnavailable
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.serving import free_port
from tests.vllm.asking import counter
from tests.vllm.server import (
    CONTEXT,
    ENVIRONMENT,
    EXTRA,
    KEY,
    MODEL,
    START_LIMIT,
    VllmServer,
    variables,
)
from tests.vllm.tools import ENDLESS, ORDER, order

AGENTWORLD = str(Path(sys.executable).with_name("agentworld"))


def wait_until_healthy(process: subprocess.Popen[str], root: str) -> None:
    """Returns when the server answers; fails when it ends or takes too long."""
    deadline = time.monotonic() + START_LIMIT
    while True:
        with suppress(httpx2.HTTPError):
            if httpx2.get(f"{root}/health").status_code == 200:
                return
        assert time.monotonic() < deadline
        with suppress(subprocess.TimeoutExpired):
            pytest.fail(f"the server ended with {process.wait(0.25)}")


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
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(f"{MODEL} will answer at http://127.0.0.1:")
            printed = [process.stdout.readline().split("=", 1)[1].strip() for _ in range(2)]
            url, model = printed
            # What follows is the server's log; nobody reads it, so it must not fill the pipe.
            Thread(target=process.stdout.read, daemon=True).start()
            wait_until_healthy(process, url.removesuffix("/v1"))
            yield (
                process,
                ModelSettings(url=url, model=model, api_key=KEY, max_tokens=6000, retries=0),
            )
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


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
    assert {one["check"]: one["verdict"] for one in told["checks"]} == {
        "server": "ok",
        "model": "ok",
        # The tiny model has too little of it for a real one's thinking.
        "context length": "warning",
        "reasoning parser": "ok",
        "observation": "ok",
        "structured output": "ok",
        "prefix caching": "ok",
    }
