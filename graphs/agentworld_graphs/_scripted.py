"""A chat model that says what it was told to say, for tests and examples."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.tool import ToolCallChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import SkipValidation

from agentworld_sim import UsageError


class ScriptMismatch(UsageError):
    """A conversation left the script: it ran out, or a tool answered something else."""


class ScriptedChatModel(BaseChatModel):
    """Answers with the `AIMessage`s of a script, in order.

    `ToolMessage`s in the script are expectations: what the tools must have answered (content, and
    `status` when it is an error) when the next reply is asked for. Calls without one may answer
    anything.

    Which reply comes next is read from the conversation (how many `AIMessage`s it has), so the same
    model serves many threads, replays and forks at the same time.
    """

    script: SkipValidation[Sequence[AIMessage | ToolMessage]]
    """The conversation as the model sees it, without the people's part."""

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The same model; the tools are bound as for a real one and change nothing."""
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
        return ChatResult(generations=[ChatGeneration(message=self._reply(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in _chunks(self._reply(messages)):
            generation = ChatGenerationChunk(message=chunk)
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=generation)
            yield generation

    def _reply(self, messages: Sequence[BaseMessage]) -> AIMessage:
        said = sum(isinstance(message, AIMessage) for message in messages)
        replies = [
            index for index, message in enumerate(self.script) if isinstance(message, AIMessage)
        ]
        if said >= len(replies):
            raise ScriptMismatch(
                f"the script has {len(replies)} replies and the model was asked for number"
                f" {said + 1}. The conversation ends with: {_shown(messages[-1:])}."
            )
        start = replies[said - 1] + 1 if said else 0
        for expected in self.script[start : replies[said]]:
            if isinstance(expected, ToolMessage):
                _require_same(expected, messages)
        reply = self.script[replies[said]]
        assert isinstance(reply, AIMessage)
        # The copy has no id, so that every run gives it one of its own, as a model would.
        return reply.model_copy(deep=True)


def _require_same(expected: ToolMessage, messages: Sequence[BaseMessage]) -> None:
    answers = [message for message in messages if isinstance(message, ToolMessage)]
    got = next((one for one in answers if one.tool_call_id == expected.tool_call_id), None)
    if got is None:
        ids = ", ".join(repr(one.tool_call_id) for one in answers) or "none"
        raise ScriptMismatch(
            f"no tool has answered the call {expected.tool_call_id!r}. Answered: {ids}."
        )
    if (got.content, got.status) != (expected.content, expected.status):
        raise ScriptMismatch(
            f"the call {expected.tool_call_id!r} was answered otherwise than the script says.\n"
            f"expected ({expected.status}): {expected.content!r}\n"
            f"got ({got.status}): {got.content!r}"
        )


def _shown(messages: Sequence[BaseMessage]) -> str:
    return "; ".join(f"{message.type}: {message.text[:200]!r}" for message in messages) or "nothing"


def _chunks(reply: AIMessage) -> Iterator[AIMessageChunk]:
    """The reply as a model streams it: words, then each call's name, then its arguments in pieces."""
    for word in reply.text.splitlines(keepends=True):
        yield AIMessageChunk(content=word, id=reply.id)
    for index, call in enumerate(reply.tool_calls):
        text = json.dumps(call["args"])
        half = len(text) // 2
        pieces = [
            ToolCallChunk(name=call["name"], args="", id=call["id"], index=index),
            ToolCallChunk(name=None, args=text[:half], id=None, index=index),
            ToolCallChunk(name=None, args=text[half:], id=None, index=index),
        ]
        for piece in pieces:
            yield AIMessageChunk(content="", tool_call_chunks=[piece], id=reply.id)
    yield AIMessageChunk(
        content="",
        id=reply.id,
        chunk_position="last",
        usage_metadata=reply.usage_metadata,
    )
