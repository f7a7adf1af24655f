"""From rows to tokens. A tokenizer is given; nothing here needs torch.

What is trained on is what a server would have in the same place: the prompt is the chat template's, up to
where the model begins to write, and the rest is tokenised apart from it, as if it had been sampled.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from agentworld_sim.errors import UsageError
from agentworld_sim.imagination.parsing import ANSWER_TAG, THINKING_TAG, parse_reply
from agentworld_sim.rollouts import ChatTokenizer, Opening, TurnTokens
from agentworld_sim.scoring import Message, PredictionSample
from agentworld_trainers.data._rows import Demonstration, Document

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    # transformers does not declare all that its tokenizers have.
    Tokenizer = ChatTokenizer | PreTrainedTokenizerBase

_OPEN, _CLOSE = f"<{THINKING_TAG}>", f"</{THINKING_TAG}>"
_PLACE = "agentworld-message-{}-"
"""Stands for a message. No template changes it, and nothing else has it."""


class Unrenderable(ValueError):
    """A row that cannot be written so that it would be read back as it is. It is left out."""


@dataclass(frozen=True, slots=True)
class RenderedRow:
    """A conversation in tokens."""

    ids: tuple[int, ...]
    mask: tuple[int, ...]
    """As long as `ids`: 1 where the loss counts."""


def answer_text(observation: str, thinking: str = "") -> str:
    """What a world model writes: its thinking, if there is any, then the observation in its tag."""
    before = f"{_OPEN}\n{thinking.strip()}\n{_CLOSE}\n\n" if thinking.strip() else ""
    return f"{before}<{ANSWER_TAG}>\n{observation}\n</{ANSWER_TAG}>"


def render_prediction(
    tokenizer: Tokenizer, sample: PredictionSample, *, thinking: bool
) -> RenderedRow:
    """Renders a sample: the prompt, and the answer that is right.

    Args:
        tokenizer: With a chat template.
        thinking: Whether the model shall think first, where the sample says what. A sample without
            thinking is rendered with thinking switched off.

    Raises:
        Unrenderable: the answer would not be read back as the observation.
        UsageError: the chat template cannot hold the prompt.
    """
    thoughts = sample.thinking if thinking else ""
    text = answer_text(sample.observation, thoughts)
    parsed = parse_reply(text)
    if not parsed.tagged or parsed.text != sample.observation:
        raise Unrenderable(f"{sample.id}: the observation would not be read back as it is")
    if _CLOSE in thoughts or _OPEN in thoughts:
        raise Unrenderable(f"{sample.id}: a tag of the thinking stands in it")
    turns = _turns(tokenizer, thinking=bool(thoughts.strip()))
    prompt = turns.opening_ids(Opening(messages=sample.messages))
    target = _turn_ids(tokenizer, turns, text)
    return RenderedRow(prompt + target, (0,) * len(prompt) + (1,) * len(target))


def render_demonstration(tokenizer: Tokenizer, row: Demonstration) -> RenderedRow:
    """Renders a demonstration as a rollout would have it: every assistant message is a turn.

    Raises:
        Unrenderable: it does not begin with a prompt, or has no assistant message.
        UsageError: the chat template cannot hold it.
    """
    places = [i for i, message in enumerate(row.messages) if message["role"] == "assistant"]
    if not places or not places[0]:
        raise Unrenderable(f"{row.id}: no assistant message answers a prompt")
    thinks = any(_OPEN in row.messages[i]["content"] for i in places)
    turns = _turns(tokenizer, thinking=thinks)
    ids = list(turns.opening_ids(Opening(messages=row.messages[: places[0]], tools=row.tools)))
    mask = [0] * len(ids)
    for place, after in zip(places, [*places[1:], None], strict=True):
        turn = _turn_ids(tokenizer, turns, row.messages[place]["content"])
        ids += turn
        mask += [1] * len(turn)
        if after is not None:
            reply = turns.reply_ids(row.messages[place + 1 : after], ended_by=turn[-1])
            ids += reply
            mask += [0] * len(reply)
    return RenderedRow(tuple(ids), tuple(mask))


def render_document(tokenizer: Tokenizer, row: Document, seed: int) -> RenderedRow:
    """Renders a whole trajectory. Of each assistant message, the asked fraction of the tokens counts.

    Which tokens is drawn at random, for each message apart, from the seed, the document's id and the
    message's place. The expected number is exactly the fraction's. The token that ends a message is one of
    its tokens.

    Raises:
        Unrenderable: the fractions do not fit the messages, or the chat template changes what they say
            (Qwen3's takes out whatever stands before `</think>`).
        UsageError: the chat template cannot hold it.
    """
    assistants = [i for i, message in enumerate(row.messages) if message["role"] == "assistant"]
    if len(assistants) != len(row.keep):
        raise Unrenderable(
            f"{row.id}: {len(row.keep)} fractions for {len(assistants)} assistant messages"
        )
    text, spans = _place_contents(tokenizer, row.messages)
    encoded = cast("Any", tokenizer)(text, add_special_tokens=False, return_offsets_mapping=True)
    ids, offsets = tuple(encoded["input_ids"]), encoded["offset_mapping"]
    ends = frozenset(_turns(tokenizer).stop_ids)
    mask = [0] * len(ids)
    token = 0
    for turn, (place, keep) in enumerate(zip(assistants, row.keep, strict=True)):
        begin, end = spans[place]
        while token < len(ids) and offsets[token][1] <= begin:
            token += 1
        first = token
        while token < len(ids) and offsets[token][0] < end:
            token += 1
        if token < len(ids) and ids[token] in ends:
            token += 1
        for kept in _draw_places(token - first, keep, f"{seed}/{row.id}/{turn}"):
            mask[first + kept] = 1
    return RenderedRow(ids, tuple(mask))


def verify_template(tokenizer: Tokenizer) -> None:
    """Verifies that a tokenizer can write the conversations of a world model.

    Raises:
        UsageError: it has no chat template, or one that leaves something out; the message says what.
    """
    turns = _turns(tokenizer)
    conversation: list[Message] = [
        {"role": role, "content": f"agentworld-{role}-{number}"}
        for number, role in enumerate(("system", "user", "assistant", "user"))
    ]
    opening = turns.opening_ids(Opening(messages=tuple(conversation)))
    text = str(tokenizer.decode(list(opening), skip_special_tokens=False))
    for message in conversation:
        if message["content"] not in text:
            raise UsageError(
                f"the chat template leaves out messages of the role {message['role']!r}, so a world"
                " model could not be told what it needs. Use another template."
            )
    if not turns.begin:
        raise UsageError(
            "the chat template writes nothing for `add_generation_prompt`, so a model could not tell"
            " where its answer begins. Use another template."
        )
    _ = turns.stop_ids


@lru_cache(maxsize=8)
def _cached_turns(tokenizer: ChatTokenizer, template: str, thinking: bool | None) -> TurnTokens:
    return TurnTokens(tokenizer, {} if thinking is None else {"enable_thinking": thinking})


def _turns(tokenizer: Tokenizer, thinking: bool | None = None) -> TurnTokens:
    # The template is part of the key: a tokenizer may be given another.
    return _cached_turns(
        cast(ChatTokenizer, tokenizer), str(getattr(tokenizer, "chat_template", "")), thinking
    )


def _turn_ids(tokenizer: Tokenizer, turns: TurnTokens, text: str) -> tuple[int, ...]:
    """The tokens of one turn of the model, after what the generation prompt wrote of it."""
    if turns.begin.rstrip().endswith(_OPEN):
        opened = turns.begin[turns.begin.rindex(_OPEN) :]
        closed = "\n" if opened.endswith("\n") else "\n\n"
        # A template that opens the thinking though it is switched off: it is closed at once.
        text = (
            text.removeprefix(opened) if text.startswith(opened) else f"{closed}{_CLOSE}\n\n{text}"
        )
    return (*tokenizer.encode(text, add_special_tokens=False), turns.stop_ids[0])


def _draw_places(count: int, fraction: float, source: str) -> list[int]:
    """Which of `count` tokens count: so many that the expected share is exactly the fraction."""
    if fraction >= 1:
        return list(range(count))
    draw = random.Random(source)
    exact = fraction * count
    return draw.sample(range(count), math.floor(exact) + (draw.random() < exact % 1))


def _place_contents(
    tokenizer: Tokenizer, messages: tuple[Message, ...]
) -> tuple[str, list[tuple[int, int]]]:
    """A conversation as the template writes it, and where in it the messages' contents stand."""
    marked: list[Message] = [
        {"role": message["role"], "content": _PLACE.format(number)}
        for number, message in enumerate(messages)
    ]
    between: list[str] = []
    rest = _apply_template(tokenizer, marked)
    for message in marked:
        before, found, rest = rest.partition(message["content"])
        if not found:
            raise UsageError(
                f"the chat template leaves out messages of the role {message['role']!r}, so no"
                " trajectory can be written with it. Use another template."
            )
        between.append(before)
    text = _apply_template(tokenizer, messages)
    for contents in (
        [message["content"] for message in messages],
        [message["content"].strip() for message in messages],
    ):
        spans: list[tuple[int, int]] = []
        at = 0
        for before, content in zip(between, contents, strict=True):
            at += len(before)
            spans.append((at, at + len(content)))
            at += len(content)
        pieces = zip(between, contents, strict=True)
        if "".join(before + content for before, content in pieces) + rest == text:
            return text, spans
    raise Unrenderable("the chat template changes what its messages say")


def _apply_template(tokenizer: Tokenizer, messages: Sequence[Message]) -> str:
    try:
        return str(
            cast(ChatTokenizer, tokenizer).apply_chat_template(
                [dict(message) for message in messages], tokenize=False, enable_thinking=False
            )
        )
    except Exception as error:
        # Jinja's errors, and whatever a template's own expressions raise.
        raise UsageError(f"the chat template refuses a trajectory: {error}") from error
