"""Where a task is played: in a world, or in the mere text of a model that invents what it has not seen."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agentworld_sim.bench.transfer.transfer_task import TransferTask
from agentworld_sim.errors import ArgumentsError, ModelUnavailable, WorldFailure
from agentworld_sim.goals import check_goals
from agentworld_sim.imagination import WorldModel
from agentworld_sim.scenario import Scenario
from agentworld_sim.store import MemoryStore
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.world import World

_PAGE = re.compile(r"(?s)- Page URL: (?P<url>\S+).*?```yaml\n(?P<snapshot>.*?)\n?```")


@dataclass(frozen=True, slots=True)
class PlaceAnswer:
    """What a tool answered."""

    text: str
    """As the agent reads it."""
    compared: Any
    """What must be equal inside and outside, as JSON."""
    accepted: bool = True
    """Whether the call was one: what no tool takes is not replayed."""


class Place(Protocol):
    """Answers calls, and says in the end what of the task is not met."""

    async def call(self, call: ToolCall) -> PlaceAnswer: ...

    async def problems(self, finished: bool) -> list[str]:
        """Why goals are not met, a line each.

        Args:
            finished: Whether the agent says that it is done.
        """
        ...

    async def close(self) -> None: ...


class WorldPlace:
    """A world that computes."""

    name = "computed"

    def __init__(self, world: World) -> None:
        self.world = world
        self._refs: list[WorldRef] = [world.ref]

    @classmethod
    async def open(cls, task: TransferTask) -> WorldPlace:
        return cls(await World.create(task.scenario, store=MemoryStore(), model=False))

    async def call(self, call: ToolCall) -> PlaceAnswer:
        try:
            said = (await self.world.step(call)).observation
        except ArgumentsError as error:
            return PlaceAnswer(str(error), "error", accepted=False)
        if call.name.startswith("browser_") and not said.is_error:
            # The page itself stands in a file of its own.
            said = (await self.world.step(ToolCall("browser_snapshot", {}))).observation
        self._refs.append(self.world.ref)
        if call.name == "bash":
            full: Mapping[str, Any] = said.structured  # pyright: ignore[reportAssignmentType]
            return shell_answer(full["exit_code"], full["stdout"], full["stderr"])
        if call.name.startswith("browser_") and not said.is_error:
            found = _PAGE.search(said.text)
            assert found is not None, said.text
            return page_answer(found["url"], found["snapshot"] or "")
        return PlaceAnswer(said.text, read_answer(said.text, said.is_error))

    async def problems(self, finished: bool) -> list[str]:
        return [f"{one.goal}: {one.reason}" for one in await check_goals(self.world) if not one.met]

    async def difference(self, number: int) -> str:
        """What call `number`, from 0, changed."""
        return str(await self.world.diff(self._refs[number], at=self._refs[number + 1]))

    async def close(self) -> None:
        await self.world.close()


class ImaginedPlace(WorldPlace):
    """A world whose tools a model answers, with the records kept in code."""

    name = "imagined"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._unanswered: list[str] = []

    @classmethod
    async def open_with(cls, task: TransferTask, model: WorldModel) -> ImaginedPlace:
        """Opens the task's world.

        Args:
            task: One for tools.
            model: Answers every call.
        """
        document = {**task.document, "routes": {"tools": {"*": "imagine"}}}
        scenario = Scenario.model_validate(document)
        return cls(await World.create(scenario, store=MemoryStore(), model=model))

    async def call(self, call: ToolCall) -> PlaceAnswer:
        try:
            return await super().call(call)
        except ModelUnavailable:
            raise
        except WorldFailure as failure:
            self._unanswered.append(f"no answer to {call.name}: {failure}")
            return PlaceAnswer("Error: the tool did not answer.", "error", accepted=False)

    async def problems(self, finished: bool) -> list[str]:
        return self._unanswered + await super().problems(finished)


class TextLoop:
    """A scripted model that has nothing but text: it invents what it is asked for, plausibly, and believes whoever
    says that a task is done. What it knows of a plan is what an agent that reads nothing would say.
    """

    name = "text"

    def __init__(self, task: TransferTask) -> None:
        self._inventions = {
            json.dumps(arguments): step.invented
            for step in task.plan
            for arguments in (step.arguments, step.careless)
            if arguments
        }

    @classmethod
    async def open(cls, task: TransferTask) -> TextLoop:
        return cls(task)

    async def call(self, call: ToolCall) -> PlaceAnswer:
        said = self._inventions.get(json.dumps(call.arguments), "")
        if call.name != "bash":
            return PlaceAnswer(said, read_answer(said, False))
        return shell_answer(0, said and f"{said}\n", "")

    async def problems(self, finished: bool) -> list[str]:
        return [] if finished else ["the agent does not say that it is done"]

    async def close(self) -> None: ...


ENGINES: Mapping[str, type[WorldPlace | TextLoop]] = {"computed": WorldPlace, "text": TextLoop}


def shell_answer(code: int, stdout: str, stderr: str) -> PlaceAnswer:
    """What a command printed. How long tests took is no part of what is compared."""
    told = {"stdout": stdout, "stderr": stderr}
    compared = {name: re.sub(r"\bin \d+\.\d+s\b", "in 0.000s", text) for name, text in told.items()}
    return PlaceAnswer(stdout + stderr, {**compared, "exit_code": code})


def page_answer(url: str, snapshot: str) -> PlaceAnswer:
    """A page as agents see it: its address and its accessibility snapshot."""
    return PlaceAnswer(snapshot, {"url": url, "snapshot": snapshot.strip()})


def read_answer(text: str, is_error: bool) -> Any:
    """An answer to compare: JSON by its values, and of an error that it is one: its wording is the server's own."""
    if is_error:
        return "error"
    try:
        return json.loads(text)
    except ValueError:
        return text
