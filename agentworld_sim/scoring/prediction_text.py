"""From what a policy wrote to an observation, as a world would read it at run time, or why not."""

from __future__ import annotations

from dataclasses import dataclass

from agentworld_sim.imagination.parsing import ANSWER_TAG, MARKER, THINKING_TAG, parse_reply
from agentworld_sim.imagination.reply_validation import reply_fault
from agentworld_sim.llm.chat import ChatReply
from agentworld_sim.scoring.evidence import read_observation
from agentworld_sim.scoring.samples import PredictionSample
from agentworld_sim.types.turns import Observation

LENGTH_FACTOR, LENGTH_FLOOR = 4, 2_000
"""An answer may have four times the characters of the truth and 2,000 more. Longer ones earn nothing and
reach no judge: one that overflows the judge's context would not be judged at all."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a text earns nothing."""

    name: str
    """`no-tag`, `cut`, `unreadable`, `form`, `too-long`, `empty`, `copied`, or a check's name."""
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


def answer_of(sample: PredictionSample, text: str) -> str | Refused:
    """The text inside the answer's tag, the last one that was opened.

    Stricter than a world is: the tag must be there and closed, and thinking must have ended before it.
    A policy is trained on the whole form, where a world takes what it can get.

    Args:
        sample: What was asked.
        text: What the policy wrote, thinking included.
    """
    if _is_lost_in_thought(text):
        return Refused("cut", "the thinking does not end")
    known = "\n".join(one["content"] for one in sample.messages if one["role"] != "system")
    parsed = parse_reply(text, known=known)
    if not parsed.tagged:
        return Refused("no-tag", f"nothing stands inside <{ANSWER_TAG}>")
    if not parsed.closed:
        return Refused("cut", f"<{ANSWER_TAG}> is not closed")
    fault = reply_fault(ChatReply(content=text, finish_reason="stop"), parsed, known=known)
    if fault is not None:
        return Refused("unreadable", fault)
    most = LENGTH_FACTOR * len(sample.observation) + LENGTH_FLOOR
    if len(parsed.text) > most:
        return Refused("too-long", f"{len(parsed.text)} characters, and {most} are enough")
    return parsed.text


def _is_lost_in_thought(text: str) -> bool:
    lowered = text.lstrip()[: len(THINKING_TAG) + 2].lower()
    return lowered == f"<{THINKING_TAG}>" and f"</{THINKING_TAG}>" not in text.lower()


def observation_of(sample: PredictionSample, text: str) -> Observation | Refused:
    """A text as the domain reads it: its normalisation is the one that a world's answers get."""
    try:
        return read_observation(sample, text)
    except ValueError as error:
        return Refused("form", str(error))


def last_observation(sample: PredictionSample) -> str | None:
    """What the environment said on the turn before; `None` on the first."""
    for message in reversed(sample.messages):
        if message["role"] == "assistant":
            return message["content"].removeprefix(MARKER).removeprefix("\n")
    return None


def is_computed(sample: PredictionSample) -> bool:
    """Whether an engine computed the truth: all of its content is deterministic."""
    return sample.evidence is not None and sample.evidence.get("provenance") == "computed"
