"""Two replicas behind one URL, as the page on serving puts them there."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import httpx2

from agentworld_sim import ToolCall, World
from agentworld_sim.errors import ModelUnavailable
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.serving import free_port
from tests.vllm.asking import counter
from tests.vllm.server import (
    ENVIRONMENT,
    KEY,
    SCRATCH,
    VllmServer,
    serve_by_command,
    wait_until_healthy,
)
from tests.vllm.tools import ENDLESS, ORDER, order

POLICIES: Final = ("cache_aware", "consistent_hash")
"""Those that the page names."""


@contextmanager
def router(policy: str, *roots: str) -> Generator[str]:
    """A router in front of servers; gives the URL that clients want."""
    port, metrics = free_port(), free_port()
    command = [str(ENVIRONMENT / "bin" / "vllm-router"), "--port", str(port), "--policy", policy]
    # Its own pace is for servers that load for minutes.
    command += ["--worker-startup-check-interval", "1", "--prometheus-port", str(metrics)]
    with (
        SCRATCH.joinpath(f"router-{policy}.log").open("w") as log,
        subprocess.Popen([*command, "--worker-urls", *roots], stdout=log, stderr=log) as process,
    ):
        try:
            wait_until_healthy(process, f"http://127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


class Replica:
    """What one server counts."""

    def __init__(self, http: httpx2.Client) -> None:
        self.http = http
        self._before = self.asked

    @property
    def asked(self) -> float:
        """Tokens of all prompts so far."""
        return counter(self.http, "vllm:prefix_cache_queries_total")

    def is_answering(self) -> bool:
        return counter(self.http, "vllm:num_requests_running") > 0

    def was_asked(self) -> bool:
        """Whether it was asked something since this was last said."""
        before, self._before = self._before, self.asked
        return self._before > before


async def opened(stack: AsyncExitStack, url: str, seed: int, **settings: Any) -> World:
    usual: dict[str, Any] = {"url": url, "api_key": KEY, "model": "tiny", "max_tokens": 300}
    model = WorldModel(ModelSettings(**{**usual, **settings}))
    world = await stack.enter_async_context(await World.create(model=model, seed=seed))
    world.add_tools([ORDER, ENDLESS])
    return world


async def shares_from_the_cache(world: World, first: int) -> list[float]:
    """Of each prompt but the first of a session, how much of the one before it was known."""
    turns = [await world.step(order(first + number)) for number in range(4)]
    used = [turn.exchanges[0].usage for turn in turns]
    pairs = pairwise(used)
    return [now["cached_tokens"] / before["prompt_tokens"] for before, now in pairs]


async def test_a_session_stays_on_its_replica_and_one_that_ends_is_no_answer(
    vllm_server: VllmServer, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        process, url, _ = stack.enter_context(
            serve_by_command(tmp_path, "--served-model-name", "tiny")
        )
        roots = (vllm_server.root, url.removesuffix("/v1"))
        headers = {"Authorization": f"Bearer {KEY}"}
        replicas = [
            Replica(stack.enter_context(httpx2.Client(base_url=root, headers=headers, timeout=60)))
            for root in roots
        ]
        for number, policy in enumerate(POLICIES):
            url = stack.enter_context(router(policy, *roots))
            worlds = [await opened(stack, url, seed) for seed in range(8)]
            shares = await asyncio.gather(
                *(
                    shares_from_the_cache(world, 1000 * number + 10 * place)
                    for place, world in enumerate(worlds)
                )
            )
            assert min(share for one in shares for share in one) >= 0.9
            assert {one.was_asked() for one in replicas} == {True}

        url = stack.enter_context(router("cache_aware", *roots))
        endless = [await opened(stack, url, seed, max_tokens=6000, retries=0) for seed in range(6)]
        steps = [
            asyncio.ensure_future(world.step(ToolCall("chain", {"n": number})))
            for number, world in enumerate(endless)
        ]
        while {await asyncio.to_thread(one.is_answering) for one in replicas} != {True}:
            assert not any(step.done() for step in steps)
        os.killpg(process.pid, signal.SIGKILL)
        ended, others = await asyncio.wait(steps, return_when=asyncio.FIRST_COMPLETED)
        assert {type(step.exception()) for step in ended} == {ModelUnavailable}
        for step in others:
            step.cancel()
        with suppress(ModelUnavailable, asyncio.CancelledError):
            await asyncio.gather(*others)
        assert all(world.ref == world.root for world in endless)

        # Whoever tries again is answered by the other, from wherever its session was.
        worlds = [await opened(stack, url, seed) for seed in range(6)]
        turns = await asyncio.gather(*(world.step(order(9000)) for world in worlds))
        assert {turn.observation.provenance for turn in turns} == {"imagined"}
