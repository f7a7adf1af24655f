"""`ModelEngine`: imagines what no engine computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from agentworld_sim.imagination._records import VIEW_CHARACTERS, Records, RecordsQuestion
from agentworld_sim.imagination._schemas import enforceable
from agentworld_sim.imagination.ask_loop import Interview, Question, known_messages, spent_before
from agentworld_sim.imagination.binding import TURN_US, bound, refusal
from agentworld_sim.imagination.briefing import Briefing
from agentworld_sim.imagination.conversation import Conversation
from agentworld_sim.imagination.prompt_writer import PromptWriter, domain_of
from agentworld_sim.llm.chat import ChatMessage, ChatRequest
from agentworld_sim.ports import Answer, OnDelta, TurnContext
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation, Turn

if TYPE_CHECKING:
    from agentworld_sim.imagination.world_model import WorldModel

_Read = tuple[Observation, Mapping[str, Any]]
"""An observation, and the values of the state that the call changes."""


class ModelEngine:
    """Implements `Engine` for every domain: a language world model answers."""

    name = "model"
    route: Literal["imagine"] = "imagine"

    def __init__(
        self,
        model: WorldModel,
        briefing: Briefing | None = None,
        records: Records | None = None,
    ) -> None:
        """
        Args:
            model: The model; shared by any number of engines.
            briefing: What the scenario tells it.
            records: What it is shown of records and may change in them, for tools of the domain `mcp`.
        """
        self.model = model
        self.briefing = briefing or Briefing()
        self.records = records

    @property
    def reasks(self) -> int:
        return self.model.settings.reasks

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        return bound(tool)

    def refusal(self, tool: ToolSpec) -> str:
        return refusal(tool)

    async def open(self, state: WorldState, blobs: Blobs) -> ModelEngineSession:
        return ModelEngineSession(self.model, self.briefing, self.records)


class ModelEngineSession:
    """Implements `EngineSession`. All it knows is the history it is given."""

    def __init__(self, model: WorldModel, briefing: Briefing, records: Records | None) -> None:
        self._model = model
        self._records = records
        self._writer = PromptWriter(model.prompts, briefing)
        self._asked = 0
        self._used: ChatRequest | None = None

    async def answer(self, call: ToolCall, tool: ToolSpec, context: TurnContext) -> Answer:
        history = await context.history()
        question = self._question(call, tool, context, history)
        interview = Interview(
            model=self._model,
            question=question,
            blobs=context.blobs,
            seed=context.seed,
            known=known_messages(history),
            spent=lambda: spent_before(context),
            on_delta=_reader(question, context),
        )
        if not context.refused:
            self._asked = 0
        elif self._used is not None:
            # A step that fails may be tried again, and is not answered from memory then.
            await self._model.client.forget(self._used)
        reasons = "; ".join(context.refused[-1].reasons) if context.refused else ""
        observation, values = await interview.usable(asked=self._asked, reason=reasons)
        self._asked += len(interview.exchanges)
        self._used = interview.asked
        return Answer(
            replace(observation, provenance="imagined"),
            StateChange(clock_us=context.state.clock_us + TURN_US, values=values),
            exchanges=tuple(interview.exchanges),
        )

    def close(self) -> None:
        pass

    def _question(
        self, call: ToolCall, tool: ToolSpec, context: TurnContext, history: tuple[Turn, ...]
    ) -> Question[_Read]:
        own, records = domain_of(tool), self._records
        shown = ""
        if records is not None and own.name == "mcp":
            shown = records.view(
                context.state, call, tool, context.tools, max_characters=VIEW_CHARACTERS
            )
        conversation = self._writer.conversation(
            call,
            tool,
            tools=context.tools,
            history=history,
            records=shown,
            instruction=context.instruction,
        )
        if records is None or not shown:
            return _ObservationQuestion(call, tool, conversation, enforceable(tool))
        return RecordsQuestion(call, tool, own, conversation, records, context.state, context.tools)


@dataclass(frozen=True, slots=True)
class _ObservationQuestion:
    """Implements `Question`: what does this call return?"""

    call: ToolCall
    tool: ToolSpec
    conversation: Conversation
    schema: Mapping[str, Any] | None
    about: str = "observation"

    def messages(self, *, budget_tokens: int, correction: str) -> tuple[ChatMessage, ...]:
        return self.conversation.messages(budget_tokens=budget_tokens, correction=correction)

    def read(self, text: str) -> _Read:
        return domain_of(self.tool).read(text, self.call, self.tool), {}


def _reader(question: Question[_Read], context: TurnContext) -> OnDelta | None:
    """Who reads along: only where what is written is the observation, and not yet refused."""
    if context.refused or not isinstance(question, _ObservationQuestion):
        return None
    return None if question.schema is not None else context.on_delta
