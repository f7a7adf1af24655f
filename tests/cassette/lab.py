"""Worlds with a cassette and a scripted model server, for the tests of this folder."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agentworld_sim import Observation, Scenario, ToolCall, ToolSpec, Turn, World
from agentworld_sim.cassette import CassetteMode, CassetteReport, CassetteSession
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import ModelRequest, Reply, ScriptedModelServer, ScriptedReply

MACHINE = Scenario.parse(
    "name: repo\ndomains: [swe]\nmachine: {workdir: /srv/app}\nfiles: {/srv/app/a.txt: one}\n"
)

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolSpec(name="weather", description="The weather in a city.", input_schema=CITY)
BOOK = ToolSpec(
    name="book", input_schema={"type": "object", "properties": {"city": {}, "password": {}}}
)

Answering = Callable[[ModelRequest], Reply | str]


def numbered(request: ModelRequest) -> Reply:
    """Another answer to each request."""
    if "argv:" in request.last_user:
        return command(f"answer {request.index}\n")
    return ScriptedReply.observation(f"answer {request.index}")


def command(stdout: str, *operations: dict[str, Any], **others: Any) -> Reply:
    """What a command does."""
    answer = {"stdout": stdout, "stderr": "", "exit_code": 0, "operations": list(operations)}
    return ScriptedReply(content=json.dumps({**answer, **others}))


def real(text: str, ran: list[str] | None = None) -> Callable[[], Awaitable[Observation]]:
    """Runs a real tool that says this."""

    async def run() -> Observation:
        (ran if ran is not None else []).append(text)
        return Observation(text=text, provenance="real")

    return run


class Recording:
    """A world of one test, and its cassette."""

    def __init__(self, world: World, cassette: CassetteSession) -> None:
        self.world = world
        self.cassette = cassette
        self.report: CassetteReport | None = None

    async def call(self, name: str, world: World | None = None, **arguments: Any) -> Turn:
        return await (world or self.world).step(ToolCall(name, arguments))

    async def bash(self, script: str, world: World | None = None) -> str:
        return (await self.call("Bash", world, command=script)).observation.text

    async def ask(self, city: str = "Bern", world: World | None = None) -> str:
        return (await self.call("weather", world, city=city)).observation.text

    async def end(self, *, passed: bool = True) -> CassetteReport:
        await self.cassette.watch(self.world)
        return self.cassette.finish(passed=passed)


class Studio:
    """Opens worlds with a cassette. `asked` counts what reached the model."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.requests: list[ModelRequest] = []

    @property
    def asked(self) -> int:
        return len(self.requests)

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @asynccontextmanager
    async def open(
        self,
        mode: CassetteMode,
        answering: Answering | None = None,
        *,
        scenario: Scenario = MACHINE,
        tools: tuple[ToolSpec, ...] = (WEATHER, BOOK),
        cassette: dict[str, Any] | None = None,
        **world: Any,
    ) -> AsyncGenerator[Recording]:
        """A world whose model says what `answering` says; without it there is no model."""

        def script(request: ModelRequest) -> Reply | str:
            assert answering is not None
            self.requests.append(request)
            return answering(request)

        session = CassetteSession(self.path, mode, **(cassette or {}))
        with ScriptedModelServer(script) as server:
            settings = ModelSettings(url=server.url, retries=0)
            model = session.model(WorldModel(settings) if answering else None)
            made = await World.create(scenario, model=model or False, **world)
            async with made:
                made.add_tools(tools)
                yield Recording(made, session)

    async def record(self, *scripts: str, answering: Answering = numbered, **options: Any) -> None:
        """A cassette of a session that asks for the weather, and runs scripts."""
        async with self.open("once", answering, **options) as one:
            await one.ask()
            for script in scripts:
                await one.bash(script)
            await one.end()


async def real_call(
    session: CassetteSession,
    call: ToolCall,
    world: World,
    run: Callable[[], Awaitable[Observation]],
) -> Observation:
    """What a real tool that is allowed answers, as an adapter asks for it."""
    depth = len(await world.trajectory())
    if not session.runs_real_tools:
        return session.replay_real(call, depth)
    observation = await run()
    session.record_real(call, depth, observation)
    return observation
