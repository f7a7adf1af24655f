"""A chat model that says what it was told to say, for tests and examples."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.tool import ToolCallChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr, SkipValidation, field_validator

from agentworld_sim import UsageError
from agentworld_sim.errors import nearest
from agentworld_sim.schema.validate import schema_problem


class ScriptMismatch(UsageError):
    """A conversation left the script: it ran out, a tool answered something else, or the script calls
    what the model was not given."""


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """In a script: what a tool must have answered, where a `ToolMessage` would be too exact."""

    content: str | re.Pattern[str] | Callable[[str], object]
    """The text itself, an expression that is found in it, or a function that is true of it."""
    _: KW_ONLY
    tool_call_id: str
    status: Literal["success", "error"] = "success"

    def fits(self, text: str) -> bool:
        if isinstance(self.content, str):
            return text == self.content
        if isinstance(self.content, re.Pattern):
            return self.content.search(text) is not None
        return bool(self.content(text))

    def describe(self) -> str:
        """For messages."""
        if isinstance(self.content, str):
            return repr(self.content)
        if isinstance(self.content, re.Pattern):
            return f"something with {self.content.pattern!r}"
        return f"what {getattr(self.content, '__name__', 'a function')} takes"


class ScriptedChatModel(BaseChatModel):
    """Answers with the `AIMessage`s of a script, in order.

    A `ToolMessage` or an `ExpectedAnswer` in the script is an expectation: what the tools must have
    answered (content, and `status` when it is an error) when the next reply is asked for. Calls
    without one may answer anything.

    Which reply comes next is read from the conversation (how many `AIMessage`s it has), so the same
    model serves many threads, replays and forks at the same time.

    A scripted call must be one that the bound tools take: its name and its arguments. A model that no
    tools were bound to is not checked.
    """

    script: SkipValidation[Sequence[AIMessage | ToolMessage | ExpectedAnswer | str]]
    """The conversation as the model sees it, without the people's part. A text is a reply."""
    checks_calls: bool = True
    """Whether a scripted call must fit the bound tools. `False` lets a script call what does not exist
    and with wrong arguments, as a model might."""

    _given: set[int] = PrivateAttr(default_factory=set[int])

    @field_validator("script", mode="before")
    @classmethod
    def _as_messages(cls, script: Sequence[object]) -> list[object]:
        """
        Raises:
            UsageError: something in the script can be no part of one.
        """
        made = [AIMessage(one) if isinstance(one, str) else one for one in script]
        for number, one in enumerate(made, start=1):
            if not isinstance(one, AIMessage | ToolMessage | ExpectedAnswer):
                raise UsageError(
                    f"number {number} of the script is a {type(one).__name__}. A script holds replies"
                    " (AIMessage, or a text) and what tools must have answered (ToolMessage,"
                    " ExpectedAnswer)."
                )
        return made

    def unused_messages(self) -> list[AIMessage]:
        """The replies of the script that were never given, in any thread."""
        replies = [message for message in self.script if isinstance(message, AIMessage)]
        return [reply for number, reply in enumerate(replies) if number not in self._given]

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The same model, whose scripted calls must fit these tools."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = self._reply(messages, kwargs.get("tools"))
        return ChatResult(generations=[ChatGeneration(message=reply)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in chunks_of(self._reply(messages, kwargs.get("tools"))):
            generation = ChatGenerationChunk(message=chunk)
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=generation)
            yield generation

    def _reply(
        self, messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]] | None
    ) -> AIMessage:
        said = sum(isinstance(message, AIMessage) for message in messages)
        replies = [
            index for index, message in enumerate(self.script) if isinstance(message, AIMessage)
        ]
        if said >= len(replies):
            raise ScriptMismatch(
                f"the script has {len(replies)} replies and the model was asked for number"
                f" {said + 1}: every AIMessage of a conversation counts as one, those of other agents"
                f" too. The conversation ends with: {_quote(messages[-1:])}."
            )
        start = replies[said - 1] + 1 if said else 0
        for expected in self.script[start : replies[said]]:
            if isinstance(expected, ToolMessage | ExpectedAnswer):
                _require_same(expected, messages)
        reply = self.script[replies[said]]
        assert isinstance(reply, AIMessage)
        if tools is not None and self.checks_calls:
            _require_takes(tools, reply, number=said + 1)
        self._given.add(said)
        # The copy has no id, so that every run gives it one of its own, as a model would.
        return reply.model_copy(deep=True)


def _require_same(expected: ToolMessage | ExpectedAnswer, messages: Sequence[BaseMessage]) -> None:
    answers = [message for message in messages if isinstance(message, ToolMessage)]
    call = expected.tool_call_id
    got = next((one for one in reversed(answers) if one.tool_call_id == call), None)
    if got is None:
        ids = ", ".join(repr(one.tool_call_id) for one in answers) or "none"
        raise ScriptMismatch(f"no tool has answered the call {call!r}. Answered: {ids}.")
    if isinstance(expected, ToolMessage):
        same, shown = got.content == expected.content, repr(expected.content)
    else:
        same, shown = expected.fits(got.text), expected.describe()
    if not same or got.status != expected.status:
        raise ScriptMismatch(
            f"the call {call!r} was answered otherwise than the script says.\n"
            f"expected ({expected.status}): {shown}\n"
            f"got ({got.status}): {got.content!r}"
        )


def _require_takes(tools: Sequence[Mapping[str, Any]], reply: AIMessage, *, number: int) -> None:
    """Every call of a reply is one that the bound tools take."""
    functions = [cast("Mapping[str, Any]", tool.get("function") or {}) for tool in tools]
    schemas: dict[str, Mapping[str, Any]] = {
        one["name"]: one.get("parameters") or {} for one in functions if "name" in one
    }
    for call in reply.tool_calls:
        name = call["name"]
        if name not in schemas:
            raise ScriptMismatch(
                f"reply {number} of the script calls {name!r}, which is not among the tools that were"
                f" bound to the model.{nearest(name, schemas)} Bound: {', '.join(schemas) or 'none'}."
                " A script may call it all the same with checks_calls=False."
            )
        problem = schema_problem(schemas[name], call["args"])
        if problem is not None:
            raise ScriptMismatch(
                f"reply {number} of the script calls {name!r} with arguments that it does not take:"
                f" {problem}. A script may do so all the same with checks_calls=False."
            )


def _quote(messages: Sequence[BaseMessage]) -> str:
    return "; ".join(f"{message.type}: {message.text[:200]!r}" for message in messages) or "nothing"


def chunks_of(reply: AIMessage) -> Iterator[AIMessageChunk]:
    """Words, then each call's name, then its arguments in pieces, then what ends a reply: usage and
    metadata. Added up they are the reply."""
    content = reply.content
    pieces = content.splitlines(keepends=True) if isinstance(content, str) else [content]
    for piece in pieces:
        yield AIMessageChunk(content=piece, id=reply.id)
    for chunk in _calls(reply):
        yield AIMessageChunk(content="", tool_call_chunks=[chunk], id=reply.id)
    yield AIMessageChunk(
        content="",
        id=reply.id,
        name=reply.name,
        chunk_position="last",
        additional_kwargs=reply.additional_kwargs,
        response_metadata=reply.response_metadata,
        usage_metadata=reply.usage_metadata,
    )


def _calls(reply: AIMessage) -> Iterator[ToolCallChunk]:
    written = [(call["name"], json.dumps(call["args"]), call["id"]) for call in reply.tool_calls]
    written += [
        (call["name"] or "", call["args"] or "", call["id"]) for call in reply.invalid_tool_calls
    ]
    for index, (name, text, id) in enumerate(written):
        half = len(text) // 2
        yield ToolCallChunk(name=name, args="", id=id, index=index)
        yield ToolCallChunk(name=None, args=text[:half], id=None, index=index)
        yield ToolCallChunk(name=None, args=text[half:], id=None, index=index)
