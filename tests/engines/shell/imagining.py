"""A world whose unknown commands a Python function answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

from agentworld_sim import EngineFailure, Scenario, ToolCall, ToolSpec, Turn, World, WorldStore
from agentworld_sim.engines.shell import (
    CommandAnswer,
    CommandQuestion,
    FileOperation,
    ShellEngine,
    ShellLimits,
)
from agentworld_sim.ports import ImaginedValue, Question, StepContext
from agentworld_sim.types.exchanges import Exchange
from agentworld_sim.types.tools import Route
from agentworld_sim.types.turns import InnerAnswer

MACHINE = Scenario.model_validate({"name": "machine", "domains": ("terminal",)})

TOOLS = (
    ToolSpec(name="session", binds_to="shell/session"),
    ToolSpec(name="run", binds_to="shell/run"),
)

T = TypeVar("T")

Told = CommandAnswer | str
Function = Callable[[CommandQuestion], Told]


def echoed(question: CommandQuestion) -> CommandAnswer:
    """Says what it was called with; `-x` fails, `-e` writes a message too."""
    argv = question.argv
    return CommandAnswer(
        stdout=f"<{' '.join(argv)}|{question.stdin or ''}>\n",
        stderr=f"{argv[0]}: said\n" if "-e" in argv else "",
        exit_code=3 if "-x" in argv else 0,
    )


def exchange(about: str) -> Exchange:
    return Exchange(about=about, messages=(), parameters={}, content="{}")


class FunctionImaginer:
    """Implements `Imaginer` for commands."""

    def __init__(self, function: Function = echoed, *, careful: bool = True) -> None:
        self.function = function
        self.careful = careful
        self.asked: list[CommandQuestion] = []
        self.earlier: list[list[tuple[str, ...]]] = []
        self.problems: list[str] = []
        self.before: Callable[[CommandQuestion], Awaitable[None]] | None = None

    @property
    def argvs(self) -> list[str]:
        return [" ".join(question.argv) for question in self.asked]

    async def ask(self, question: Question[T], context: StepContext) -> ImaginedValue[T]:
        load, command = question.load, command_of(question)
        self.asked.append(command)
        self.earlier.append([argv for argv, _ in command.earlier])
        if self.before is not None:
            await self.before(command)
        told = self.function(command)
        answer = CommandAnswer(stdout=told) if isinstance(told, str) else told
        problem = command.validate(answer) if self.careful else None
        if problem is not None:
            self.problems.append(problem)
            raise EngineFailure(f"no usable answer: {problem}")
        exchanges = (exchange(" ".join(command.argv)),)
        return ImaginedValue(load(answer.to_json()), "imagined", exchanges)


def command_of(question: object) -> CommandQuestion:
    """The question, which a shell asks."""
    assert isinstance(question, CommandQuestion)
    return question


class Unasked:
    """Implements `Imaginer`: must not be asked."""

    async def ask(self, question: Question[T], context: StepContext) -> ImaginedValue[T]:
        raise EngineFailure(f"nobody is there to answer {question.about!r}")


class ImaginedWorld:
    """A world and the imaginer behind it."""

    def __init__(self, world: World, imaginer: FunctionImaginer) -> None:
        self.world = world
        self.imaginer = imaginer

    @classmethod
    async def create(
        cls,
        function: Function = echoed,
        *,
        routes: Mapping[str, Route] | None = None,
        limits: ShellLimits | None = None,
        store: WorldStore | None = None,
        tools: Sequence[ToolSpec] = TOOLS,
    ) -> Self:
        imaginer = FunctionImaginer(function)
        engine = ShellEngine(limits=limits, imaginer=imaginer, routes=routes)
        world = await World.create(MACHINE, seed=5, id="w", store=store, engines=[engine])
        world.add_tools(tools)
        return cls(world, imaginer)

    async def turn(self, command: str, *, tool: str = "run", **more: Any) -> Turn:
        self.imaginer.asked.clear()
        return await self.world.step(ToolCall(tool, {"command": command, **more}))

    async def out(self, command: str, *, tool: str = "run") -> str:
        return (await self.turn(command, tool=tool)).observation.text

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.world.close()


def written(path: str, content: str = "", **more: Any) -> FileOperation:
    return FileOperation(kind="write", path=path, content=content, **more)


def called(inner: Sequence[InnerAnswer]) -> list[str]:
    return [" ".join(answer.argv) for answer in inner]
