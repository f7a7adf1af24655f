"""The question of a whole call: what does it answer, and what does it change in the world's records?"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, cast

from agentworld_sim.domains import Domain, domain
from agentworld_sim.engines.model_binding import TURN_US
from agentworld_sim.ports import (
    Answer,
    ImaginedValue,
    Part,
    Prompt,
    QuestionKey,
    StepContext,
    whole_answer,
)
from agentworld_sim.schema.validate import schema_problem
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Action, Observation, Turn

_SHARED = ("$defs", "definitions")
"""Keys whose content references point to, from the root of a schema."""


def closed_object(**properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_BLOCK = closed_object(type={"const": "text"}, text={"type": "string"})
ERROR_ENVELOPE = closed_object(
    isError={"const": True}, content={"type": "array", "minItems": 1, "items": _BLOCK}
)
"""What a tool with an output schema says instead when it fails."""

_TABLE = {"type": "string", "minLength": 1}
OPERATIONS_SCHEMA: Mapping[str, Any] = {
    "type": "array",
    "items": {
        "anyOf": [
            closed_object(kind={"const": "put"}, table=_TABLE, record={"type": "object"}),
            closed_object(kind={"const": "delete"}, table=_TABLE, key={}),
        ]
    },
}
"""Typed operations on records."""


class Records(Protocol):
    """The records of worlds, as far as a model works on them; `TableEngine` has them."""

    def view(
        self, state: WorldState, call: ToolCall, tool: ToolSpec, tools: Mapping[str, ToolSpec]
    ) -> str: ...

    def changes(
        self, state: WorldState, tools: Mapping[str, ToolSpec], operations: Sequence[Any]
    ) -> Mapping[str, Any]: ...


@dataclass(frozen=True, kw_only=True)
class CallQuestion:
    """Implements `Question`."""

    call: ToolCall
    tool: ToolSpec
    context: StepContext
    history: tuple[Turn, ...]
    """Of the context."""
    records: Records | None = None
    """What is shown of records and may change in them, for tools of the domain `mcp`."""
    memory: dict[str, Any] = field(default_factory=dict[str, Any])
    """Of the session; see `Prompt.memory`."""

    about = "observation"

    @property
    def key(self) -> QuestionKey:
        return QuestionKey(kind="tool", name=self.call.name, about=self.call.arguments)

    @cached_property
    def _records_text(self) -> str:
        """The records that the model is shown."""
        if self.records is None or domain_of(self.tool).name != "mcp":
            return ""
        return self.records.view(self.context.state, self.call, self.tool, self.context.tools)

    @property
    def schema(self) -> Mapping[str, Any] | None:
        return _schema_with_operations(self.tool) if self._records_text else enforceable(self.tool)

    @property
    def streams(self) -> bool:
        return not self._records_text and self.schema is None

    def prompt(self) -> Prompt:
        return call_prompt(
            self.call,
            self.tool,
            tools=self.context.tools,
            history=self.history,
            records=self._records_text,
            memory=self.memory,
        )

    def read(self, text: str) -> Answer:
        own, operations = domain_of(self.tool), list[Mapping[str, Any]]()
        if self._records_text:
            text, operations = _split_operations(text)
        observation = own.read(text, self.call, self.tool)
        if self.records is None:
            return self._answer(observation, {})
        values = values_of_operations(operations, observation, self.records, self.context)
        return self._answer(observation, values)

    async def judge(self, imagined: ImaginedValue[Answer], context: StepContext) -> None:
        await context.judge(self.call, self.tool, whole_answer(imagined))

    def dump(self, value: Answer) -> Mapping[str, Any]:
        written = value.observation.to_json()
        del written["provenance"]
        if value.change.values:
            written["changes"] = dict(value.change.values)
        return written

    def load(self, answer: Mapping[str, Any]) -> Answer:
        fields = dict(answer)
        values = fields.pop("changes", {})
        return self._answer(Observation.from_json(fields), values)

    def _answer(self, observation: Observation, values: Mapping[str, Any]) -> Answer:
        clock_us = self.context.state.clock_us + TURN_US
        return Answer(observation, StateChange(clock_us=clock_us, values=values))


def values_of_operations(
    operations: Sequence[Mapping[str, Any]],
    observation: Observation,
    records: Records,
    context: StepContext,
) -> Mapping[str, Any]:
    """The values of the state that an answer's operations change. Raises `ValueError` when they cannot be
    carried out."""
    if not operations:
        return {}
    tool = context.tool
    if observation.is_error:
        raise ValueError("a call that fails changes nothing, and `operations` is not empty.")
    if tool.annotations.get("readOnlyHint") is True:
        raise ValueError(f"{tool.name!r} only reads, and `operations` is not empty.")
    problem = schema_problem(OPERATIONS_SCHEMA, operations)
    if problem is not None:
        raise ValueError(f"`operations` is not of the form asked for: {problem}")
    return records.changes(context.state, context.tools, operations)


def domain_of(tool: ToolSpec) -> Domain:
    """The domain that a bound tool is written in."""
    return domain(tool.domain or "mcp")


def call_prompt(
    call: ToolCall,
    tool: ToolSpec,
    *,
    tools: Mapping[str, ToolSpec],
    history: Sequence[Turn],
    records: str = "",
    action: Action | None = None,
    memory: dict[str, Any] | None = None,
) -> Prompt:
    """What a model is told of a call: the turns of its domain, which end with it.

    `action` is the call as it is written: a call read back from a record has lost the order of its arguments.
    """
    own = domain_of(tool)

    def belongs(turn: Turn) -> bool:
        known = tools.get(turn.call.name)
        return known is not None and known.domain == own.name

    return Prompt(
        subject=own.name,
        parts=parts_of(history, action or own.action(call, tool), own, belongs),
        tools=[one for one in tools.values() if one.domain == own.name] or [tool],
        records=records,
        memory={} if memory is None else memory,
    )


def parts_of(
    history: Sequence[Turn], action: Action, domain: Domain, belongs: Callable[[Turn], bool]
) -> tuple[Part, ...]:
    """The parts of a conversation, which `action` ends; `belongs` says whether a turn is of its domain."""
    parts: list[Part] = []
    between: list[Turn] = []
    for turn in history:
        if belongs(turn):
            answer = domain.write(turn.observation)
            parts.append(Part(len(parts) + 1, turn.action, answer, tuple(between)))
            between = []
        else:
            between.append(turn)
    parts.append(Part(len(parts) + 1, action, None, tuple(between)))
    return tuple(parts)


def enforceable(tool: ToolSpec) -> Mapping[str, Any] | None:
    """The schema of all that `tool` may answer; `None` when it promises nothing."""
    if tool.output_schema is None:
        return None
    own = dict(tool.output_schema)
    shared = {key: own.pop(key) for key in _SHARED if key in own}
    if '"$ref":"#' in canonical_json(own) and not shared:
        # It refers to its own root, which would be another one inside of `anyOf`.
        return tool.output_schema
    return {"anyOf": [own, ERROR_ENVELOPE], **shared}


def _schema_with_operations(tool: ToolSpec) -> Mapping[str, Any] | None:
    """What the server can hold an answer to that may change records."""
    result: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    if tool.output_schema is not None:
        promised = dict(enforceable(tool) or {})
        if "anyOf" not in promised:
            # It refers to its own root, which would be another one in here.
            return None
        result = {"anyOf": promised.pop("anyOf")}
        shared = promised
    return {**closed_object(result=result, operations=OPERATIONS_SCHEMA), **shared}


def _split_operations(text: str) -> tuple[str, list[Mapping[str, Any]]]:
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
