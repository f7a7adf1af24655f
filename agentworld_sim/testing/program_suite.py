"""What holds for every program of the machine, ours or a package's.

```python
await check_program("greet", ["greet world", "greet < names.txt"], endless="greet --forever")
```
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from agentworld_sim.scenario import Scenario, empty_scenario
from agentworld_sim.store.memory_store import MemoryStore
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Turn
from agentworld_sim.world import World

_TOOL = ToolSpec(name="run", binds_to="shell/run")

_REACHES_OUT = ("os.", "shutil.", "socket.bind", "socket.connect", "socket.get", "subprocess.")
"""Python's audit events that begin so are calls to the host."""


async def check_program(
    name: str,
    scripts: Sequence[str],
    *,
    endless: str | None = None,
    scenario: Scenario | None = None,
) -> list[Turn]:
    """The turns of the scripts. A program that is no program of the machine breaks a rule.

    Args:
        scripts: Commands of the shell that call it, one after another; better some that read standard input, write
            files, bytes that are no text, and fail.
        endless: A command that never ends, if the program has one.
        scenario: What the machine holds at the beginning; nothing by default.

    Raises:
        AssertionError: the program breaks a rule, which is named.
    """
    suite = _Suite(name, scenario or empty_scenario(), MemoryStore())
    async with await suite.begin() as world:
        await suite.check_place(world)
        turns = [await suite.run(world, script) for script in scripts]
        for script in scripts:
            await suite.check_bytes(world, script)
    await suite.check_again(world, scripts, turns)
    await suite.check_cancelling(scripts[0])
    if endless is not None:
        await suite.check_limits(endless)
    return turns


class _Suite:
    def __init__(self, name: str, scenario: Scenario, store: MemoryStore) -> None:
        self.name, self._scenario, self._store = name, scenario, store

    def require(self, holds: bool, rule: str, seen: object = "") -> None:
        if not holds:
            detail = f" Seen: {seen}" if seen != "" else ""
            raise AssertionError(f"the program {self.name!r} breaks a rule: {rule}.{detail}")

    async def begin(self) -> World:
        world = await World.create(self._scenario, store=self._store, model=False)
        world.add_tools([_TOOL])
        return world

    async def run(self, world: World, script: str) -> Turn:
        return await world.step(ToolCall("run", {"command": script}))

    async def out(self, world: World, script: str) -> str:
        return (await self.run(world, script)).observation.structured["stdout"]

    async def check_place(self, world: World) -> None:
        place = await self.out(
            world, f"command -v {self.name}; test -x $(which {self.name}) && echo x"
        )
        self.require(place == f"/usr/bin/{self.name}\nx\n", "it is found and can be run", place)

    async def check_bytes(self, world: World, script: str) -> None:
        """The same bytes go into a pipe and into a file, and a reader may go away."""
        filed: list[str] = []
        for seed in (1, 2):
            async with await world.fork(seed=seed) as fork:
                into = f"sleep {seed}; ( {script} ) > /tmp/.out 2>/dev/null; cksum < /tmp/.out"
                filed.append(await self.out(fork, into))
        async with await world.fork() as fork:
            piped = await self.out(fork, f"( {script} ) 2>/dev/null | cksum")
            rule = f"the same bytes go into a pipe and a file, here {script!r}"
            # What prints the time, or chance, is another each time.
            self.require(filed[0] != filed[1] or piped == filed[0], rule, (piped, filed[0]))
            gone = await self.out(fork, f"( {script} ) 2>/dev/null | true; echo alive")
            self.require(gone.endswith("alive\n"), "it may lose its reader", gone)

    async def check_again(
        self, world: World, scripts: Sequence[str], turns: Sequence[Turn]
    ) -> None:
        """The same in another world, in a fork and after reopening, and nothing of the host is asked."""
        rule = "it depends on the world alone, and on its files, clock and chance"
        async with await self.begin() as other:
            await self.check_place(other)
            with _host_calls() as seen:
                again = [await self.run(other, script) for script in scripts]
            self.require(not seen, "it does not reach for the host", seen[:3])
            self._same(again, turns, f"{rule}; two worlds differ")
        async with await World.open(world.id, store=self._store, model=False) as opened:
            opened.add_tools([_TOOL])
            for turn in turns:
                async with await opened.fork(at=turn.parent) as fork:
                    forked = [await fork.step(turn.call)]
                self._same(forked, [turn], f"{rule}; a fork of a reopened world differs")
        for turn in turns:
            code = turn.observation.structured["exit_code"]
            self.require(code in range(256), "its exit code is one of a machine", code)

    def _same(self, turns: Sequence[Turn], others: Sequence[Turn], rule: str) -> None:
        differing = [(one, two) for one, two in zip(turns, others, strict=True) if one != two]
        if differing:
            one, two = differing[0]
            said = f"{one.observation!r}, {one.change!r} and {two.observation!r}, {two.change!r}"
            self.require(False, f"{rule} at {one.call.arguments['command']!r}", said)

    async def check_cancelling(self, script: str) -> None:
        """A turn that is cancelled leaves no trace."""
        async with await self.begin() as world:
            before = world.ref
            running = asyncio.ensure_future(self.run(world, f"echo 1 > /tmp/kept; {script}"))
            await asyncio.sleep(0.01)
            running.cancel()
            (ended,) = await asyncio.gather(running, return_exceptions=True)
            if isinstance(ended, asyncio.CancelledError):
                self.require(world.ref == before, "a cancelled turn leaves no trace")
                left = await self.out(world, "ls /tmp")
                self.require(left == "", "a cancelled turn leaves no files", left)

    async def check_limits(self, endless: str) -> None:
        """What never ends is killed, or ends the turn by timeout, and the machine goes on."""
        async with await self.begin() as world:
            killed = await self.out(world, f"timeout -s KILL 1 {endless} > /dev/null; echo $?")
            self.require(killed == "137\n", "it can be killed", killed)
            alive = await self.out(world, "echo alive")
            self.require(alive == "alive\n", "the machine goes on after a kill", alive)


_listeners: list[list[str]] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    mode = arguments[1] if event == "open" else ""
    writes = isinstance(mode, str) and not set("wax+").isdisjoint(mode)
    if writes or event.startswith(_REACHES_OUT):
        for seen in _listeners:
            seen.append(f"{event}{arguments!r}")


@cache
def _listen() -> None:
    """Once: nobody can take such a hook away."""
    sys.addaudithook(_note)


@contextmanager
def _host_calls() -> Generator[list[str]]:
    """Collects what is asked of the host meanwhile: files written, programs started, connections."""
    _listen()
    seen: list[str] = []
    _listeners.append(seen)
    try:
        yield seen
    finally:
        _listeners.remove(seen)
