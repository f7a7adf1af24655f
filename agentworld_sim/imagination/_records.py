"""What a model is shown of a world's records, and how it says what a call changes in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from agentworld_sim.domains import Domain
from agentworld_sim.imagination._schemas import enforceable
from agentworld_sim.imagination.conversation import Conversation
from agentworld_sim.llm.chat import ChatMessage
from agentworld_sim.schema.validate import schema_problem
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

VIEW_CHARACTERS = 24_000
"""Most of the records that one prompt shows."""

OPERATIONS_SCHEMA: Mapping[str, Any] = {
    "type": "array",
    "items": {
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "kind": {"const": "put"},
                    "table": {"type": "string", "minLength": 1},
                    "record": {"type": "object"},
                },
                "required": ["kind", "table", "record"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {
                    "kind": {"const": "delete"},
                    "table": {"type": "string", "minLength": 1},
                    "key": {},
                },
                "required": ["kind", "table", "key"],
                "additionalProperties": False,
            },
        ]
    },
}
"""Typed operations on records."""


class Records(Protocol):
    """The records of worlds, as far as a model works on them."""

    def view(
        self,
        state: WorldState,
        call: ToolCall,
        tool: ToolSpec,
        tools: Mapping[str, ToolSpec],
        *,
        max_characters: int,
    ) -> str:
        """The records that matter for a call, as text; empty when the world keeps none."""
        ...

    def changes(
        self,
        state: WorldState,
        tools: Mapping[str, ToolSpec],
        operations: Sequence[Mapping[str, Any]],
    ) -> Mapping[str, Any]:
        """The values of the state that operations change.

        Raises:
            ValueError: one cannot be carried out; the text is for the model.
        """
        ...


@dataclass(frozen=True, slots=True)
class RecordsQuestion:
    """Implements `Question`: what does this call return, and what does it do to the records?"""

    call: ToolCall
    tool: ToolSpec
    domain: Domain
    conversation: Conversation
    records: Records
    state: WorldState
    tools: Mapping[str, ToolSpec]
    about: str = "observation"
    schema: Mapping[str, Any] | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", _answer_schema(self.tool))

    def messages(self, *, budget_tokens: int, correction: str) -> tuple[ChatMessage, ...]:
        return self.conversation.messages(budget_tokens=budget_tokens, correction=correction)

    def read(self, text: str) -> tuple[Observation, Mapping[str, Any]]:
        """The observation and the changed values.

        Raises:
            ValueError: they cannot be used; the text says why.
        """
        result, operations = _parted(text)
        observation = self.domain.read(result, self.call, self.tool)
        if not operations:
            return observation, {}
        if observation.is_error:
            raise ValueError("a call that fails changes nothing, and `operations` is not empty.")
        if self.tool.annotations.get("readOnlyHint") is True:
            raise ValueError(f"{self.tool.name!r} only reads, and `operations` is not empty.")
        problem = schema_problem(OPERATIONS_SCHEMA, operations)
        if problem is not None:
            raise ValueError(f"`operations` is not of the form asked for: {problem}")
        return observation, self.records.changes(self.state, self.tools, operations)


def _parted(text: str) -> tuple[str, list[Mapping[str, Any]]]:
    """The result's own text, and the operations. A model may answer without any, as it was trained."""
    try:
        value: object = json.loads(text)
    except ValueError:
        return text, []
    if not isinstance(value, dict) or "result" not in value:
        return text, []
    answer = cast("dict[str, Any]", value)
    if not answer.keys() <= {"result", "operations"} or "operations" not in answer:
        return text, []
    operations: object = answer["operations"]
    if not isinstance(operations, list):
        raise ValueError("`operations` must be a list.")  # noqa: TRY004 -- it is the text that is wrong
    result: object = answer["result"]
    written = (
        result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, indent=2)
    )
    return written, cast("list[Mapping[str, Any]]", operations)


def _answer_schema(tool: ToolSpec) -> Mapping[str, Any] | None:
    """What the server can hold the answer to."""
    result: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    if tool.output_schema is not None:
        promised = dict(enforceable(tool) or {})
        if "anyOf" not in promised:
            # It refers to its own root, which would be another one in here.
            return None
        result = {"anyOf": promised.pop("anyOf")}
        shared = promised
    return {
        "type": "object",
        "properties": {"result": result, "operations": OPERATIONS_SCHEMA},
        "required": ["result", "operations"],
        "additionalProperties": False,
        **shared,
    }
