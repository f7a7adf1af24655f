"""What all ready graphs share: the agent, its configuration, and the state of a thread."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NotRequired, Self, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.graph import MessagesState  # pyright: ignore[reportMissingTypeStubs] -- it has none
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import BaseModel, ConfigDict, ValidationError, ValidatorFunctionWrapHandler
from pydantic import model_validator as checks

from agentworld_graphs._demo._agent import TOOLS
from agentworld_graphs._demo._agent import script as fixes_the_test
from agentworld_graphs._interruption import SimulationInterrupted
from agentworld_graphs._scripted import ScriptedChatModel
from agentworld_graphs._thread_refs import SimState
from agentworld_graphs._tool_node import SimToolNode
from agentworld_graphs.ready._worlds import (
    call_of,
    claim,
    interrupting,
    really_allowed,
    scenario_of,
    worlds,
)
from agentworld_sim import (
    Access,
    AgentworldError,
    ArgumentsError,
    Scenario,
    UnknownToolError,
    UsageError,
    World,
)
from agentworld_sim.controls import Control
from agentworld_sim.types.json import canonical_json

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
    script: Sequence[AIMessage | ToolMessage] = field(default_factory=fixes_the_test)
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

    @property
    def _of_world(self) -> dict[str, Any]:
        return {"controls": self.controls, "answers": self.answers}

    async def world(self, state: Mapping[str, Any], settings: Settings | None = None) -> World:
        """The world of a thread, of whose state the graph gave the id."""
        url = settings.model_url if settings else None
        return await worlds.find(state.get("world", ""), model_url=url, **self._of_world)

    def allowed_tools(self, asked: frozenset[str]) -> frozenset[str]:
        """The tools that may run for real in a run whose configuration asks for some.

        Raises:
            SimulationInterrupted: it asks for more than is allowed. It may come from anybody who reaches
                the server, and so it only chooses among what the one who runs the server allows.
        """
        with interrupting():
            return really_allowed(asked, self.allow_real)

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
            world = await worlds.create(
                scenario, seed=settings.seed, model_url=settings.model_url, **self._of_world
            )
        update: dict[str, Any] = {"world": world.id, "sim_ref": world.ref}
        if not state["messages"]:
            update["messages"] = [HumanMessage(scenario.instruction)]
        return update

    async def node(
        self, state: State, settings: Settings, *, access: Mapping[str, Access] | None = None
    ) -> SimToolNode:
        """The agent's tools, answered by the world of its thread."""
        with interrupting():
            return self.node_in(await self.world(state, settings), access=access)

    def node_in(self, world: World, *, access: Mapping[str, Access] | None = None) -> SimToolNode:
        """The agent's tools, answered by a world."""
        return SimToolNode(
            self.tools, world=world, access={**(self.access or {}), **(access or {})}
        )

    async def think(self, messages: Sequence[BaseMessage], settings: Settings) -> AIMessage:
        """What the agent says next."""
        model = await self.model(settings)
        # A script that does not fit is ours; a provider that fails is not.
        with interrupting(AgentworldError):
            return await model.ainvoke(list(messages))

    async def model(self, settings: Settings) -> Any:
        """The agent's chat model, with its tools."""
        model = self.chat_model or ScriptedChatModel(script=self.script)
        if settings.agent_model != SCRIPTED:
            with interrupting():
                # Finding a provider imports its package and reads files.
                model = await asyncio.to_thread(_model, settings.agent_model)
        return model.bind_tools(self.tools)  # pyright: ignore[reportUnknownMemberType]

    async def answer(
        self,
        call: Mapping[str, Any],
        state: State,
        config: RunnableConfig,
        settings: Settings,
        *,
        real: bool = False,
    ) -> dict[str, Any]:
        """Answers one call, and gives what changes in the state.

        Args:
            call: The call; one of the last message's.
            state: Where the thread stands.
            config: Of the node that asks.
            settings: Of the run.
            real: Whether the real tool runs. The world answers otherwise.
        """
        node = await self.node(state, settings)
        followed = ""
        if real:
            # The world goes along, so that it stays what the agent believes it to be. First, because
            # nothing has happened yet if that fails; and what it turns down does not happen for real.
            with interrupting(but=TURNED_DOWN), suppress(*TURNED_DOWN):
                here = state.get("sim_ref", node.world.root)
                followed = (await node.world.step(call_of(call), at=here)).ref
                node = self.node_in(node.world, access={call["name"]: "real"})
        alone = AIMessage("", tool_calls=[cast("Any", call)])
        given = {**state, "messages": [*state["messages"], alone]}
        result: Any = await node.ainvoke(given, config)
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
        world = (await self.node(state, settings)).world
        with interrupting():
            return await claim(world, once, at=state.get("sim_ref", world.root))


def agent_of(given: object) -> Agent | None:
    """What a ready graph was given to be built with.

    Raises:
        UsageError: it is no `Agent`.
    """
    if given is None or isinstance(given, Agent):
        return given
    raise UsageError(
        f"build takes an Agent, not {type(given).__name__!r}: the ready graph asks the agent's model and"
        " its tools itself. Give them: build(Agent(tools=[…], chat_model=…)). A compiled graph is"
        " simulated as it is by simulate_graph(graph)."
    )


def name_of(call: Mapping[str, Any], state: State, *more: object) -> str:
    """A name of a call where it stands: of the tool, the arguments, the world, the point of its history,
    and whatever else belongs to it. With anything changed it is another."""
    parts = [
        state.get("world"),
        state.get("sim_ref"),
        call["id"],
        call["name"],
        call["args"],
        *more,
    ]
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()[:32]


@lru_cache(maxsize=16)
def _model(name: str) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    try:
        return init_chat_model(name)
    except (ImportError, ValueError) as error:
        raise UsageError(
            f"cannot make the chat model {name!r}: {error}. Write it as provider:model, for example"
            " 'openai:gpt-5', with the provider's package installed."
        ) from None
