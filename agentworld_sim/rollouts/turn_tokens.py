"""From messages to tokens, without ever tokenising again what a policy sampled.

A conversation that is rendered and tokenised anew after every turn drifts: the tokens of a text are not
always those that were sampled, and many chat templates rewrite what was said earlier (Qwen3's drops past
thinking). So a prompt is rendered once. Afterwards only what stands *between* two turns of the policy is
rendered: a dummy conversation ends with the environment's messages, and what the template writes after
the dummy turn is taken. Concatenated, prompt, sampled turns and replies are what the template gives for
the whole conversation where it rewrites nothing; where it does, what was sampled stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any, Protocol, cast

from agentworld_sim.errors import UsageError
from agentworld_sim.rollouts.hermes import parse_calls, response_text, tools_text, write_call
from agentworld_sim.rollouts.tasks import Opening
from agentworld_sim.scoring.samples import Message
from agentworld_sim.types.tools import ToolCall

_DUMMY = "agentworld-dummy-turn"
"""Stands for a turn of the policy. No template changes it, and nothing else has it."""

_DUMMY_ANSWER = "agentworld-dummy-answer"

_CALL = ToolCall("agentworld_dummy_tool", {"text": "agentworld-dummy-text"})
"""Shows how a template writes calls."""


_MOST_REPLIES = 4096
_MOST_OPENINGS = 256


class ChatTokenizer(Protocol):
    """What is used of a tokenizer; those of transformers have it, and `eos_token_id` if there is one."""

    @property
    def all_special_ids(self) -> Any: ...

    def apply_chat_template(self, conversation: Any, **options: Any) -> Any: ...

    def encode(self, text: Any, **options: Any) -> Any: ...

    def decode(self, token_ids: Any, **options: Any) -> Any: ...


class TurnTokens:
    """Renders openings and replies for one tokenizer.

    Tools that the chat template does not show are written into the system message (Hermes form). Where
    the template refuses messages with the role `tool`, they become messages of the user.
    """

    def __init__(self, tokenizer: ChatTokenizer, template: Mapping[str, Any] | None = None) -> None:
        """
        Args:
            tokenizer: With a chat template.
            template: Variables of the template, for example `{"enable_thinking": False}`.

        Raises:
            UsageError: there is no chat template.
        """
        self.tokenizer = tokenizer
        self._variables = dict(template or {})
        self._replies: dict[tuple[tuple[str, str], ...], tuple[int, ...]] = {}
        """Tokens of replies by what they say: rollouts of a group are often told the same."""
        self._openings: dict[str, tuple[int, ...]] = {}
        """Tokens of openings: all rollouts of a group begin with the same."""
        if not getattr(tokenizer, "chat_template", "unknown"):
            raise UsageError(
                "the tokenizer has no chat template, so no conversation can be written for its model."
                " Set `tokenizer.chat_template`, or name a tokenizer that has one."
            )

    def opening_ids(self, opening: Opening) -> tuple[int, ...]:
        """The prompt of a rollout, up to where the policy begins to write.

        Raises:
            UsageError: the chat template refuses the messages, or teaches another form of tool calls than
                the one that is read.
        """
        said = repr(opening)
        ids = self._openings.get(said)
        if ids is None:
            if len(self._openings) >= _MOST_OPENINGS:
                self._openings.clear()
            ids = self._openings[said] = self._render_opening(opening)
        return ids

    def _render_opening(self, opening: Opening) -> tuple[int, ...]:
        messages, tools = list(opening.messages), list(opening.tools)
        if tools and self._render(messages, tools=tools) != self._render(messages):
            # The template shows tools itself.
            self._verify_calls()
        elif tools:
            messages, tools = _with_tools(messages, tools), []
        return self._ids(self._render(messages, tools=tools or None))

    def reply_ids(self, messages: Sequence[Message], *, ended_by: int | None) -> tuple[int, ...]:
        """The tokens between a turn of the policy and its next.

        Args:
            messages: What the environment says.
            ended_by: The last sampled token of the turn, when the policy ended it by that. It stands
                for the template's own end of turn, which is then not written again. `None` for a turn
                without an end: all of the template's is written.

        Raises:
            UsageError: the chat template refuses the messages.
        """
        said = tuple((message["role"], message["content"]) for message in messages)
        ids = self._replies.get(said)
        if ids is None:
            if not self._has_tool_role:
                messages = [_as_user(message) for message in messages]
            ids = self._ids(self._cut([*_dummies(), *messages]))
            if len(self._replies) >= _MOST_REPLIES:
                self._replies.clear()
            self._replies[said] = ids
        return ids[1:] if ids and self._is_end(ended_by, ids[0]) else ids

    def text(self, ids: Sequence[int]) -> str:
        """What a policy wrote, without the token that ended it."""
        if ids and ids[-1] in self._ends:
            ids = ids[:-1]
        return self._decode(ids)

    @cached_property
    def stop_ids(self) -> tuple[int, ...]:
        """The tokens at which a policy stops: the template's end of turn and the tokenizer's end token."""
        ends = (self._turn_end, cast("int | None", getattr(self.tokenizer, "eos_token_id", None)))
        found = tuple(dict.fromkeys(end for end in ends if end is not None))
        if not found:
            raise UsageError(
                "neither the tokenizer nor its chat template has a token that ends a turn, so a policy"
                " would never stop. Set `tokenizer.eos_token`."
            )
        return found

    @cached_property
    def begin(self) -> str:
        """The text after which a policy begins to write."""
        question = _dummies()[:1]
        closed = self._render(question, begins=False)
        return self._render(question).removeprefix(closed)

    @cached_property
    def _turn_end(self) -> int | None:
        """The token that the template writes after a turn, if it writes one."""
        # What stands there whether the conversation ends or goes on: some templates end it with more.
        question: Message = {"role": "user", "content": _DUMMY_ANSWER}
        followed = self._ids(self._cut([*_dummies(), question]))
        last = self._ids(self._cut(_dummies(), begins=False))
        pairs = zip(followed, last, strict=False)
        both = [pair[0] for pair in takewhile(lambda pair: pair[0] == pair[1], pairs)]
        written = self._decode(both).strip()
        return both[0] if written and written == self._decode(both[:1]) else None

    @cached_property
    def _ends(self) -> frozenset[int]:
        return frozenset(cast("Sequence[int]", self.tokenizer.all_special_ids)).union(self.stop_ids)

    @cached_property
    def _has_tool_role(self) -> bool:
        """Whether the template shows messages of the role `tool`."""
        answer: Message = {"role": "tool", "content": _DUMMY_ANSWER}
        try:
            return _DUMMY_ANSWER in self._cut([*_dummies(), answer])
        except UsageError:
            return False

    def _verify_calls(self) -> None:
        if self._written_call and parse_calls(self._written_call) != [_CALL]:
            raise UsageError(
                f"the chat template writes tool calls in a form of its own, {self._written_call!r}, and"
                f" calls are read in the Hermes form only, {write_call(_CALL)!r}: not one call of this"
                " model would be understood. Take a model whose template writes that form (Qwen3's does)."
            )

    @cached_property
    def _written_call(self) -> str:
        """A turn with a call as the template writes it; empty if it writes none."""
        function = {"name": _CALL.name, "arguments": dict(_CALL.arguments)}
        # Mistral's templates want an id of nine letters and digits.
        call = {"id": "agentcall", "type": "function", "function": function}
        turn: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": [call]}
        question = _dummies()[:1]
        try:
            text = self._render([*question, cast("Message", turn)], begins=False)
        except UsageError:
            return ""
        # Before it may stand what the template writes for thinking.
        written = text.partition(question[0]["content"])[2].rpartition("</think>")[2].strip()
        return written if _CALL.name in written else ""

    def _is_end(self, ended_by: int | None, first: int) -> bool:
        if ended_by is None:
            return False
        # Another end token than the template's stands in its place: it is what was sampled.
        return first == ended_by or (first == self._turn_end and ended_by in self._ends)

    def _decode(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False))

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode(text, add_special_tokens=False))

    def _cut(self, messages: list[Message], *, begins: bool = True) -> str:
        """What the template writes after the dummy turn."""
        _, found, after = self._render(messages, begins=begins).rpartition(_DUMMY)
        if not found:
            raise UsageError(
                "the chat template leaves out what the assistant said, so the tokens of an"
                " environment's reply cannot be told. Use another template."
            )
        return after

    def _render(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        begins: bool = True,
    ) -> str:
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    [dict(message) for message in messages],
                    tools=None if tools is None else [dict(tool) for tool in tools],
                    add_generation_prompt=begins,
                    tokenize=False,
                    **self._variables,
                )
            )
        except Exception as error:
            # Jinja's errors, and whatever a template's own expressions raise.
            roles = ", ".join(message["role"] for message in messages)
            raise UsageError(
                f"the chat template refuses a conversation of the roles {roles}: {error}"
            ) from error


def _dummies() -> list[Message]:
    return [
        {"role": "user", "content": "agentworld-dummy-question"},
        {"role": "assistant", "content": _DUMMY},
    ]


def _as_user(message: Message) -> Message:
    if message["role"] != "tool":
        return message
    return {"role": "user", "content": response_text(message["content"])}


def _with_tools(messages: list[Message], tools: Sequence[Mapping[str, Any]]) -> list[Message]:
    text = tools_text(tools)
    if messages and messages[0]["role"] == "system":
        first: Message = {"role": "system", "content": f"{messages[0]['content']}\n\n{text}"}
        return [first, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]
