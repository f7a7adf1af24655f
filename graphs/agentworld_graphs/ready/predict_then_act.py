"""`predict_then_act`: look before you leap.

The agent names a few alternatives for its next call. Each is tried on a fork of the world, and from there
the agent goes on alone for some steps (look-ahead). A scorer compares where that leads. The best call is
then really made, and the prediction of its answer is graded against the answer that came.

A fork of a world that can compute predicts exactly, so there the score is what matters. With a language
world model the predictions are imagined, and the grades say how far it can be trusted.
"""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs] -- it has none
    START,
    MessagesState,
    StateGraph,
)
from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from agentworld_graphs._demo._demo_agent import alternatives_script
from agentworld_graphs._interruption import SimulationInterrupted, interrupting
from agentworld_graphs.ready._agent import (
    TURNED_DOWN,
    Agent,
    RealSettings,
    State,
    Steps,
    agent_of,
    call_of,
    name_of,
    temporary_fork,
)
from agentworld_sim import (
    AccessRefused,
    AgentworldError,
    ObservationRejected,
    Turn,
    World,
)
from agentworld_sim.goals import check_goals

__all__ = ["Grade", "Prediction", "build", "goals_then_errors", "graph"]

PROPOSE = """\
Name up to {k} alternative calls for the very next step, best first, as parallel tool calls. They are
compared before one of them is made; the others never happen."""

MADE_BEFORE = """\
this very call of {name!r} was really made before, and going back in time does not undo that. It is not \
made again. Go on from a later checkpoint, or leave {name!r} out of allow_real."""

NO_TURN = (*TURNED_DOWN, ObservationRejected)
"""What a prediction may end with that is the call's fault, or the prediction's."""

NO_ANSWER = -1000.0
"""The score of a call that cannot be answered at all."""

Scorer = Callable[[World, Sequence[Turn]], Awaitable[float]]
"""Says how good the end of a look-ahead is: the fork there, and the turns that led to it."""


class Prediction(TypedDict):
    """What a call was predicted to answer."""

    call: Mapping[str, Any]
    text: str
    is_error: bool
    refused: list[str]
    """Why checks refused answers that the model gave before this one."""
    score: float


class Grade(TypedDict):
    """How good a prediction was."""

    tool: str
    exact: bool
    similarity: float
    """Of the texts, between 0 and 1."""
    same_outcome: bool
    """Whether success or failure was foreseen."""
    passed_checks: bool
    """Whether no check refused an answer on the way to it."""


async def goals_then_errors(fork: World, turns: Sequence[Turn]) -> float:
    """A scorer: the scenario's goals that are met in the end, less the calls that failed."""
    met = sum(goal.met for goal in await check_goals(fork))
    return met + await fewest_errors(fork, turns)


async def fewest_errors(fork: World, turns: Sequence[Turn]) -> float:
    """A scorer for what is imagined, which changes no files that goals could be checked in."""
    return -float(sum(turn.observation.is_error for turn in turns))


def grade(prediction: Prediction, answer: ToolMessage) -> Grade:
    """Holds a prediction against the answer that came."""
    # A model writes no newlines at the end.
    foreseen, came = prediction["text"].rstrip("\n"), str(answer.text).rstrip("\n")
    return Grade(
        tool=prediction["call"]["name"],
        exact=foreseen == came,
        similarity=SequenceMatcher(None, foreseen, came, autojunk=False).ratio(),
        same_outcome=prediction["is_error"] == (answer.status == "error"),
        passed_checks=not prediction["refused"],
    )


class Choosing(RealSettings):
    """The configuration of `predict_then_act`."""

    k: int = Field(default=3, ge=1, le=16)
    """How many alternatives are compared at most."""
    depth: int = Field(default=2, ge=1, le=16)
    """How many steps each is followed, itself included."""
    predictor: Literal["computed", "imagined"] | None = None
    """Whether forks compute their answers as the world does, or a language world model imagines all of
    them. Imagined when there is such a model, by default."""


class Thread(State):
    """A thread of `predict_then_act`."""

    said: str
    candidates: list[Any]
    """What the agent named for its next call."""
    compared: list[Prediction]
    """The alternatives of the last step, best first."""
    grades: NotRequired[Annotated[list[Grade], operator.add]]
    summary: NotRequired[dict[str, Any]]


@dataclass(frozen=True)
class PredictSteps(Steps):
    """The nodes."""

    scorer: Scorer | None

    async def propose(self, state: Thread, runtime: Runtime[Choosing]) -> dict[str, Any]:
        settings = Choosing.of(runtime)
        asked = [SystemMessage(PROPOSE.format(k=settings.k)), *state["messages"]]
        reply = await self.who.think(asked, settings)
        if not reply.tool_calls:
            return {"messages": [reply], "candidates": []}
        return {"said": reply.text, "candidates": reply.tool_calls[: settings.k]}

    async def predict(self, state: Thread, runtime: Runtime[Choosing]) -> dict[str, Any]:
        settings = Choosing.of(runtime)
        world = await self.who.world(state, settings)
        found = [
            await self.look_ahead(world, call, state, settings) for call in state["candidates"]
        ]
        # Of equals the one that was named first: the sort is stable.
        found.sort(key=lambda one: -one["score"])
        chosen = AIMessage(state["said"], tool_calls=[found[0]["call"]])
        return {"messages": [chosen], "compared": found}

    async def look_ahead(
        self, world: World, first: Any, state: Thread, settings: Choosing
    ) -> Prediction:
        computed = (settings.predictor or ("imagined" if world.model else "computed")) == "computed"
        judged = self.scorer or (goals_then_errors if computed else fewest_errors)
        call, turns, said = first, list[Turn](), list[BaseMessage](state["messages"])
        at = state.get("sim_ref", world.root)
        async with temporary_fork(world, at, imagined=not computed) as fork:
            try:
                for step in range(settings.depth):
                    with interrupting(but=NO_TURN):
                        turns.append(await fork.step(call_of(call)))
                    text = turns[-1].observation.text
                    said += [
                        AIMessage("", tool_calls=[call]),
                        ToolMessage(text, tool_call_id=call["id"]),
                    ]
                    further = step + 1 < settings.depth
                    following = (await self.who.think(said, settings)).tool_calls if further else []
                    if not following:
                        break
                    call = following[0]
            except NO_TURN as error:
                if not turns:
                    why = str(error)
                    return Prediction(
                        call=first, text=why, is_error=True, refused=[why], score=NO_ANSWER
                    )
            with interrupting(AgentworldError):
                score = await judged(fork, turns)
        seen = turns[0].observation
        refused = [verdict.reason for verdict in turns[0].checks if not verdict.accepted]
        return Prediction(
            call=first, text=seen.text, is_error=seen.is_error, refused=refused, score=score
        )

    async def act(self, state: Thread, config: RunnableConfig, runtime: Runtime[Choosing]) -> Any:
        settings = Choosing.of(runtime)
        prediction = state["compared"][0]
        call = prediction["call"]
        real = call["name"] in self.who.allowed_tools(settings.allow_real)
        if real and not await self.who.claim(name_of(call, state), state, settings):
            raise SimulationInterrupted(AccessRefused(MADE_BEFORE.format(name=call["name"])))
        update = await self.who.answer(call, state, config, settings, real=real)
        return {**update, "grades": [grade(prediction, update["messages"][-1])]}

    def summarise(self, state: Thread) -> dict[str, Any]:
        grades = state.get("grades", [])
        parts = ("exact", "similarity", "same_outcome", "passed_checks") if grades else ()
        means = {part: sum(one[part] for one in grades) / len(grades) for part in parts}
        return {"summary": {"predictions": len(grades), **means}}

    def goes_on(self, state: Thread) -> str:
        return "predict" if state["candidates"] else "summarise"


def build(agent: Agent | None = None, *, scorer: Scorer | None = None) -> Any:
    """The graph.

    Args:
        agent: Your own; the one that fixes a failing test by default.
        scorer: What compares; `goals_then_errors` by default, or `fewest_errors` for what is imagined.
    """
    steps = PredictSteps(agent_of(agent, script=alternatives_script()), scorer)
    made: Any = StateGraph(Thread, context_schema=Choosing, input_schema=MessagesState)
    made.add_sequence([steps.begin, steps.propose])
    made.add_sequence([steps.predict, steps.act])
    made.add_node("summarise", steps.summarise)
    made.add_edge(START, "begin")
    made.add_conditional_edges("propose", steps.goes_on, ["predict", "summarise"])
    made.add_edge("act", "propose")
    return made.compile(name="predict_then_act")


graph = build()
