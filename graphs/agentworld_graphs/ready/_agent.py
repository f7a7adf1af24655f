"""The worlds of threads: made once, found again by their id, forked and thrown away.

A graph's state holds the world's id and a ref. This module holds nothing that cannot be found again by
them: a server that is restarted goes on where its threads stood, if its worlds are kept on disk.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NotRequired, Self, cast
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.graph import MessagesState  # pyright: ignore[reportMissingTypeStubs] -- it has none
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationError,
    ValidatorFunctionWrapHandler,
    model_validator as checks,
)

from agentworld_graphs._demo._demo_agent import TOOLS, chat_model, fix_script
from agentworld_graphs._interruption import SimulationInterrupted, interrupting
from agentworld_graphs._scripted_chat_model import ScriptedChatModel
from agentworld_graphs._thread_refs import SimState
from agentworld_graphs._tool_node import SimToolNode
from agentworld_sim import (
    Access,
    AgentworldError,
    ArgumentsError,
    MemoryStore,
    Scenario,
    ScenarioError,
    ToolCall,
    UnknownToolError,
    UnknownWorldError,
    UsageError,
    World,
    WorldModel,
    WorldRef,
    WorldStore,
)
from agentworld_sim.controls import Control
from agentworld_sim.engines.model import ModelEngine
from agentworld_sim.errors import nearest
from agentworld_sim.llm.transport import is_loopback
from agentworld_sim.runtime.world_history import off_loop
from agentworld_sim.scenario import shipped_scenarios
from agentworld_sim.store.home import open_store
from agentworld_sim.types.json import canonical_json

OPEN = 256
"""How many worlds stay open. One that is not is opened again by its id when its thread goes on."""


class OpenWorlds:
    """The worlds that this process has open."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held: OrderedDict[tuple[str, str, str | None], World] = OrderedDict()

    async def open(
        self, id: str | Scenario, model_url: str | None, seed: int | None = None, **options: Any
    ) -> World:
        """The world of a thread that was begun before, or a new one of a scenario, with other options of
        `World.create`.

        Raises:
            UnknownWorldError: it is gone.
        """
        model, store = await asyncio.to_thread(lambda: (model_at(model_url), store_of_process()))
        options |= {"store": store, "model": model}
        if isinstance(id, Scenario):
            return self._hold(await World.create(id, seed=seed, **options), model_url)
        with self._guard:
            held = self._held.get((_where(), id, model_url))
        try:
            return self._hold(held or await World.open(id, **options), model_url)
        except UnknownWorldError:
            raise UnknownWorldError(
                f"the world {id!r} of this thread is not in the store any more. Worlds are kept in"
                " memory, and end with the process, unless AGENTWORLD_STORE names a file or a"
                " database for them. Begin a new thread."
            ) from None

    async def close(self) -> None:
        """Closes all. Their threads open them again when they go on."""
        with self._guard:
            held = list(self._held.values())
            self._held.clear()
        for world in held:
            await world.close()

    def _hold(self, world: World, model_url: str | None) -> World:
        key = (_where(), world.id, model_url)
        with self._guard:
            # Of two that opened it at the same time, the first one's is everybody's.
            world = self._held.setdefault(key, world)
            self._held.move_to_end(key)
            if len(self._held) > OPEN:
                self._held.popitem(last=False)[1].rest()
        return world


worlds = OpenWorlds()
"""Of this process."""


@asynccontextmanager
async def temporary_fork(
    world: World,
    at: WorldRef,
    *,
    imagined: bool = False,
    controls: Sequence[Control] | None = None,
) -> AsyncGenerator[World]:
    """A fork that is thrown away afterwards, with the world's own controls by default. If it is `imagined`, the
    language world model answers everything."""
    with interrupting():
        if imagined and world.model is None:
            raise UsageError(
                "nothing can be imagined without a language world model: name its URL (model_url, or"
                " AGENTWORLD_MODEL_URL), or choose predictor='computed'."
            )
        fork = made = await world.fork(at=at, controls=controls)
    try:
        if imagined and world.model:
            with interrupting():
                scenario = world.scenario
                imaginer = world.model.imaginer(
                    scenario.to_prompt_context(), scenario.model.limits()
                )
                fork = await World.open(
                    made.id,
                    store=world.store,
                    engines=[ModelEngine(imaginer)],
                    controls=made.controls,
                )
                # The agent's own tools, which no scenario names.
                fork.add_tools([one for name, one in world.tools.items() if name not in fork.tools])
        async with fork:
            yield fork
    finally:
        await made.close()
        await off_loop(world.store, lambda: world.store.remove(made.id))


def call_of(call: Any) -> ToolCall:
    """A call of an `AIMessage`, as a world takes it."""
    return ToolCall(call["name"], call["args"], call["id"] or "")


def scenario_of(named: str | None, default: Scenario | Path | str) -> Scenario:
    """The scenario of a new world: the one that the configuration names, or what the graph was built with. The
    configuration may come from anybody who reaches the server, so it can name what is installed, and no file.

    Raises:
        ScenarioError: there is none of that name, or it is invalid.
    """
    if named is None:
        return default if isinstance(default, Scenario) else Scenario.load(default)
    known = shipped_scenarios()
    if named not in known:
        raise ScenarioError(
            f"there is no installed scenario {named!r}.{nearest(named, known)} There are:"
            f" {', '.join(known)}. For a file of your own, build the graph with it:"
            " build(Agent(scenario=Path('…')))."
        )
    return Scenario.load(known[named])


def model_at(url: str | None) -> WorldModel | None:
    """The language world model at a URL; by default what AGENTWORLD_MODEL_URL names, if anything.

    Raises:
        UsageError: that is no URL.
    """
    variables = dict(os.environ)
    if url and url != variables.get("AGENTWORLD_MODEL_URL"):
        # The configuration may come from anybody who reaches the server: a server that it names is not
        # given the key that was meant for another.
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            host = ""
        if not is_loopback(host):
            variables.pop("AGENTWORLD_API_KEY", None)
    return WorldModel.find(url=url, environment=variables)


def store_of_process() -> WorldStore:
    """Where worlds are kept: what AGENTWORLD_STORE names, otherwise memory."""
    return _store(_where())


def _where() -> str:
    return os.environ.get("AGENTWORLD_STORE", "")


@lru_cache(maxsize=8)
def _store(where: str) -> WorldStore:
    return open_store(where) if where else MemoryStore()


TURNED_DOWN = (ArgumentsError, UnknownToolError)
"""How a world turns down what no tool would take: the agent is told, as its tools tell it."""

SCRIPTED = "scripted"
SCENARIO = "failing-test"
"""What the shipped scripts are written for."""


class Settings(BaseModel):
    """The configuration of a run: LangGraph's `context`. Nothing of it needs to be given."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    scenario: str | None = None
    """The installed scenario that a new thread's world is made of; 'failing-test' by default. A thread
    keeps the world that it began with."""
    seed: int | None = None
    """Of a new thread's world, instead of the scenario's own."""
    agent_model: str = SCRIPTED
    """The agent's chat model as 'provider:model', for example 'openai:gpt-5'; its package and key are
    needed. 'scripted' follows the graph's script."""
    model_url: str | None = None
    """Base URL of the language world model that imagines what cannot be computed. By default what
    AGENTWORLD_MODEL_URL names, otherwise none."""

    @checks(mode="wrap")
    @classmethod
    def _in_one_message(cls, value: Any, handler: ValidatorFunctionWrapHandler) -> Self:
        try:
            return handler(value)
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in error.errors()
            )
            known = ", ".join(cls.model_fields)
            # What a server tells its client of an error of another kind is only that there was one.
            raise SimulationInterrupted(
                UsageError(f"this is no configuration: {problems}. It has: {known}.")
            ) from None

    @classmethod
    def of(cls, runtime: Runtime[Self]) -> Self:
        """Those of a run; the defaults when it was given none."""
        return cls() if runtime.context is None else runtime.context  # pyright: ignore[reportUnnecessaryComparison]  it is None then


class RealSettings(Settings):
    """The configuration of a graph in which real tools may run."""

    allow_real: frozenset[str] = frozenset()
    """Tools whose calls run for real, by whole name, among those that the server allows. Calls of all others
    happen in the world."""


class State(MessagesState, SimState):
    """A thread: its conversation, and where it stands in its world."""

    world: NotRequired[str]
    """The world's id."""


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent and where it works. The ready graphs differ in what they do with it."""

    tools: Sequence[BaseTool] = field(default_factory=lambda: TOOLS)
    """Its own, real tools. Their bodies run only where a graph says so."""
    scenario: Scenario | Path | str = SCENARIO
    """What the world of a new thread is made of, unless the configuration names another."""
    script: Sequence[AIMessage | ToolMessage] = field(default_factory=fix_script)
    """What it says when its model is 'scripted'."""
    chat_model: BaseChatModel | None = None
    """What speaks instead of the script, when the configuration names no other."""
    allow_real: frozenset[str] | None = None
    """The tools that may run for real where a graph lets them, by their whole names. By default those that
    the environment variable AGENTWORLD_ALLOW_REAL lists, split at commas: none, usually."""

    access: Mapping[str, Access] | None = None
    """By exact tool name, as for `SimToolNode`. A graph may ask for more, where it lets real tools run."""
    answers: Mapping[str, object] | None = None
    """Stubs, by tool name, as for `World.create`."""
    controls: Sequence[Control] = ()
    """Perturbations of the worlds of threads, around those that the scenario declares."""

    async def world(self, state: Mapping[str, Any], settings: Settings | None = None) -> World:
        """The world of a thread, of whose state the graph gave the id."""
        url = settings.model_url if settings else None
        with interrupting():
            return await self._open(state.get("world", ""), url)

    async def _open(self, id: str | Scenario, url: str | None, seed: int | None = None) -> World:
        return await worlds.open(id, url, seed, controls=self.controls, answers=self.answers)

    def allowed_tools(self, asked: frozenset[str]) -> frozenset[str]:
        """The tools that may run for real in a run whose configuration asks for some.

        Raises:
            SimulationInterrupted: it asks for more than is allowed. It may come from anybody who reaches
                the server, and so it only chooses among what the one who runs the server allows.
        """
        allowed = self.allow_real
        if allowed is None:
            listed = os.environ.get("AGENTWORLD_ALLOW_REAL", "").split(",")
            allowed = frozenset(name.strip() for name in listed if name.strip())
        more = sorted(asked - allowed)
        if more:
            raise SimulationInterrupted(
                UsageError(
                    f"allow_real names {more[0]!r}, which may not run for real here. Whoever runs this"
                    " process allows tools, by their whole names:"
                    f" AGENTWORLD_ALLOW_REAL={','.join(more)}. Allowed are:"
                    f" {', '.join(sorted(allowed)) or 'none'}."
                )
            )
        return asked & allowed

    async def begin(self, state: State, settings: Settings) -> dict[str, Any]:
        """Makes the world of a new thread, and sets the task if nobody did."""
        if state.get("world"):
            return {}
        with interrupting():
            scenario = await asyncio.to_thread(scenario_of, settings.scenario, self.scenario)
            scripted = settings.agent_model == SCRIPTED and self.chat_model is None
            if scripted and settings.scenario not in (None, self.scenario):
                raise UsageError(
                    f"the scripted agent does not know the scenario {settings.scenario!r}: its script"
                    f" is for {self.scenario!r}. Name a model that can act: agent_model='openai:gpt-5',"
                    " for example."
                )
            world = await self._open(scenario, settings.model_url, settings.seed)
        update: dict[str, Any] = {"world": world.id, "sim_ref": world.ref}
        if not state["messages"]:
            update["messages"] = [HumanMessage(scenario.instruction)]
        return update

    def node_in(self, world: World, *, access: Mapping[str, Access] | None = None) -> SimToolNode:
        """The agent's tools, answered by a world."""
        with interrupting():
            return SimToolNode(
                self.tools, world=world, access={**(self.access or {}), **(access or {})}
            )

    async def think(self, messages: Sequence[BaseMessage], settings: Settings) -> AIMessage:
        """What the agent says next."""
        model: Any = await self.model(settings)
        # A script that does not fit is ours; a provider that fails is not.
        with interrupting(AgentworldError):
            return await model.bind_tools(self.tools).ainvoke(list(messages))

    async def model(self, settings: Settings) -> BaseChatModel:
        """The agent's chat model."""
        if settings.agent_model == SCRIPTED:
            return self.chat_model or ScriptedChatModel(script=self.script)
        with interrupting():
            # Finding a provider imports its package and reads files.
            return await asyncio.to_thread(chat_model, settings.agent_model)

    async def answer(
        self, call: Any, state: State, config: RunnableConfig, settings: Settings, *, real: bool
    ) -> dict[str, Any]:
        """Answers one call of the last message, and gives what changes in the state. The real tool runs if
        `real`; the world answers otherwise."""
        world = await self.world(state, settings)
        access: dict[str, Access] = {}
        followed = ""
        if real:
            # The world goes along, so that it stays what the agent believes it to be. First, because
            # nothing has happened yet if that fails; and what it turns down does not happen for real.
            with interrupting(but=TURNED_DOWN), suppress(*TURNED_DOWN):
                here = state.get("sim_ref", world.root)
                followed = (await world.step(call_of(call), at=here)).ref
                access = {call["name"]: "real"}
        alone = AIMessage("", tool_calls=[call])
        given = {**state, "messages": [*state["messages"], alone]}
        result: Any = await self.node_in(world, access=access).ainvoke(given, config)
        update: dict[str, Any] = {}
        for part in cast("list[Any]", result if isinstance(result, list) else [result]):
            changes: Any = cast("Any", part).update if isinstance(part, Command) else part
            update.update(changes)
        return {**update, "sim_ref": followed} if followed else update

    async def claim(self, once: str, state: State, settings: Settings) -> bool:
        """Whether this is the first time that `once` is claimed: by any run, thread or process.

        What is really done cannot be undone by going back in time, and so it must not be done again by
        that. The claim is outside of the graph's state: a world that is forked under a name of its own,
        which the store gives only once. It shows what the real call was expected to find.
        """
        world, name = await self.world(state, settings), f"really-{once}"
        with interrupting():
            try:
                await (await world.fork(at=state.get("sim_ref", world.root), id=name)).close()
            except UsageError:
                # Raises, if that was another mistake than the one that the name is taken.
                await off_loop(world.store, lambda: world.store.world(name))
                return False
        return True


@dataclass(frozen=True)
class Steps:
    """The nodes that the ready graphs have in common."""

    who: Agent

    async def begin(self, state: State, runtime: Runtime[Settings]) -> dict[str, Any]:
        settings = Settings.of(runtime)
        if isinstance(settings, RealSettings):
            self.who.allowed_tools(settings.allow_real)
        return await self.who.begin(state, settings)

    async def think(self, state: State, runtime: Runtime[Settings]) -> dict[str, Any]:
        return {"messages": [await self.who.think(state["messages"], Settings.of(runtime))]}


def agent_of(given: object, **defaults: Any) -> Agent:
    """The agent that a ready graph was given to be built with; one of `defaults` otherwise.

    Raises:
        UsageError: it is no `Agent`.
    """
    if given is None:
        return Agent(**defaults)
    if isinstance(given, Agent):
        return given
    raise UsageError(
        f"build takes an Agent, not {type(given).__name__!r}: the ready graph asks the agent's model and"
        " its tools itself. Give them: build(Agent(tools=[…], chat_model=…)). A compiled graph is"
        " simulated as it is by simulate_graph(graph)."
    )


def name_of(call: Mapping[str, Any], state: State, *more: object) -> str:
    """A name of a call where it stands: of the tool, the arguments, the world, the point of its history,
    and whatever else belongs to it. With anything changed it is another."""
    point = (state.get("world"), state.get("sim_ref"))
    parts = [*point, call["id"], call["name"], call["args"], *more]
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()[:32]
