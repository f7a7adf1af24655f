"""Work of the bench on a Ray cluster: the same functions, in more processes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import cycle
from typing import Any, TypeVar

from agentworld_sim.bench.predict import Row
from agentworld_sim.bench.run import play_session
from agentworld_sim.bench.transitions import Transition
from agentworld_sim.errors import UsageError
from agentworld_sim.extras import require
from agentworld_sim.imagination import WorldModel

Item = TypeVar("Item")
Result = TypeVar("Result")

AT_ONCE = 8
"""Calls that one process works on at a time: it waits for a model most of the time."""


@dataclass(frozen=True)
class ModelPlay:
    """Has a model answer the calls of one session; it can be sent to another process."""

    model: WorldModel
    with_records: bool
    whole_sessions: bool
    seed: int

    async def __call__(self, asked: Sequence[Transition]) -> list[Row]:
        rows = play_session(
            asked,
            self.model.imaginer(),
            with_records=self.with_records,
            whole_sessions=self.whole_sessions,
            seed=self.seed,
        )
        return [row async for row in rows]


@asynccontextmanager
async def on_ray(
    work: Callable[[Item], Awaitable[Result]], *, address: str = ""
) -> AsyncGenerator[tuple[Callable[[Item], Awaitable[Result]], int]]:
    """A function that does the same in processes of a cluster, one for each core, and how many calls of it keep them
    busy. It raises what `work` raises.

    Args:
        work: Can be pickled, with what it is given and returns; every process has one copy.
        address: Of a cluster: `auto`, `ray://HOST:PORT`, `HOST:PORT`. One on this machine is started without it.

    Raises:
        UsageError: Ray is not installed, or nothing answers at the address.
    """
    ray: Any = require("ray", extra="ray")
    try:
        ray.init(address=address or "local", log_to_driver=False)
    except (ConnectionError, ValueError) as error:
        raise UsageError(f"no Ray cluster answers at {address!r}: {error}") from None
    try:
        cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        worker = ray.remote(_Worker).options(max_concurrency=AT_ONCE)
        workers = cycle([worker.remote(work) for _ in range(cores)])

        async def call(item: Item) -> Result:
            try:
                return await next(workers).run.remote(item)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None

        yield call, AT_ONCE * cores
    finally:
        ray.shutdown()


class _Worker:
    def __init__(self, work: Callable[[Any], Awaitable[Any]]) -> None:
        self._work = work

    async def run(self, item: Any) -> Any:
        return await self._work(item)
