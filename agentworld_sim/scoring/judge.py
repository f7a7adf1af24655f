"""A judge: a model behind an OpenAI-compatible server that rates predictions in five dimensions."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from agentworld_sim.errors import UsageError
from agentworld_sim.imagination.parsing import THINKING_TAG
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.chat import ChatMessage, ChatRequest
from agentworld_sim.llm.client import ChatClient
from agentworld_sim.llm.settings import KEY_VARIABLE
from agentworld_sim.scoring.samples import PredictionSample
from agentworld_sim.types.tools import DomainName

DIMENSIONS = ("format", "factuality", "consistency", "realism", "quality")
VERDICT_TAG = "final_evaluation"

_BLOCK = re.compile(rf"<{VERDICT_TAG}>(.*?)</{VERDICT_TAG}>", re.DOTALL)
_OPENING = re.compile(rf"<{VERDICT_TAG}>")
_FENCED = re.compile(r"\s*(`{3,})(?:json)?[ \t]*\n(.*?)\n?[ \t]*\1\s*", re.DOTALL)
_THOUGHT = f"</{THINKING_TAG}>"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Five ratings."""

    scores: Mapping[str, float]
    """Each dimension's, in [1, 5]."""

    @property
    def rubric(self) -> float:
        """The mean of the dimensions times 5, in [5, 25] (arXiv 2606.24597)."""
        return 5.0 * sum(self.scores.values()) / len(self.scores)


def read_judgement(text: str) -> Judgement | str:
    """The ratings in a judge's reply, or why it is unreadable.

    A reply with more than one block is unreadable: one of them may be quoted from the prediction.
    """
    said = text.rpartition(_THOUGHT)[2]
    blocks = _BLOCK.findall(said)
    if len(blocks) != 1 or len(_OPENING.findall(said)) != 1:
        return f"{len(_OPENING.findall(said))} blocks <{VERDICT_TAG}>, and there must be one"
    fenced = _FENCED.fullmatch(blocks[0])
    try:
        value = json.loads(
            fenced[2] if fenced else blocks[0],
            object_pairs_hook=_without_repeats,
            parse_constant=_no_number,
        )
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    scores: Any = cast("dict[str, Any]", value).get("scores") if isinstance(value, dict) else None
    if not isinstance(scores, dict):
        return "there is no object 'scores'"
    return _scores(cast("dict[str, Any]", scores))


def _scores(given: Mapping[str, Any]) -> Judgement | str:
    found: dict[str, float] = {}
    for name in DIMENSIONS:
        value = given.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"the score {name!r} is {'missing' if value is None else 'no number'}"
        if not 1 <= value <= 5:
            return f"the score {name!r} is {value}, and must be from 1 to 5"
        found[name] = float(value)
    return Judgement(found)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands there twice")
    return value


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


JUDGE_TOKENS = 8_192
"""Most tokens of one judgement, thinking included."""

CONTEXT_CHARACTERS = 200_000
"""Of the earlier turns, the newest so many characters are told."""

_FENCES = re.compile(r"`{3,}")
_SEEDS = 2**31


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The judge answered, and what it said is no judgement."""

    why: str


class Judge:
    """Rates predictions. One instance serves any number of rollouts.

    The judge sees the earlier turns, the action, the predicted observation and the real one, each in a
    fence that its content cannot close. It sees nothing else that the policy wrote. Equal questions
    are asked once.
    """

    def __init__(self, settings: ModelSettings, *, prompts: Path | None = None) -> None:
        """
        Args:
            prompts: A folder with `<domain>/judge_system_prompt.txt`, instead of the shipped prompt for
                the domains that it has.

        Raises:
            UsageError: the folder does not exist.
        """
        if prompts is not None and not prompts.is_dir():
            raise UsageError(f"there is no folder of judge prompts at {str(prompts)!r}.")
        self.settings = settings
        self._prompts = prompts
        self._client = ChatClient(settings)

    @classmethod
    def at(cls, url: str, model: str = "", *, prompts: Path | None = None) -> Judge:
        """The judge at a URL; the key comes from the environment variable AGENTWORLD_API_KEY.

        Args:
            url: Base URL of an OpenAI-compatible API.
            model: Its name there; empty for the only one.
            prompts: See the constructor.

        Raises:
            UsageError: the URL is none.
        """
        settings = ModelSettings(
            url=url,
            model=model,
            api_key=os.environ.get(KEY_VARIABLE, ""),
            max_tokens=JUDGE_TOKENS,
        )
        return cls(settings, prompts=prompts)

    async def ready(self) -> str:
        """The judge's name, asked of its server: what is wrong is told before anything is trained.

        Raises:
            ModelFailure: the server is down, refuses the key or does not have the model.
        """
        return (await self._client.served_model()).name

    async def rate(self, sample: PredictionSample, prediction: str) -> Judgement | Unreadable:
        """Rates the text of one predicted observation.

        Raises:
            ModelFailure: the judge's server is down or refuses. That is no judgement, and no zero.
        """
        reply = await self._client.ask(self.request(sample, prediction))
        if reply.finish_reason == "length":
            return Unreadable("the judgement was cut off at its limit")
        found = read_judgement(reply.content)
        return Unreadable(found) if isinstance(found, str) else found

    def request(self, sample: PredictionSample, prediction: str) -> ChatRequest:
        """What the judge is asked."""
        messages = (
            ChatMessage("system", self._instructions(sample.domain)),
            ChatMessage("user", _question(sample, prediction)),
        )
        digest = sha256(f"{sample.id}\n{prediction}".encode("utf-8", "surrogatepass"))
        return ChatRequest(
            messages=messages,
            max_tokens=self.settings.max_tokens,
            seed=int.from_bytes(digest.digest()[:8], "big") % _SEEDS,
            thinking=self.settings.thinking,
        )

    async def close(self) -> None:
        """Closes the connections of the running event loop. It can still be used."""
        await self._client.close()

    def _instructions(self, domain: DomainName) -> str:
        if self._prompts is not None:
            own = self._prompts / domain / "judge_system_prompt.txt"
            if own.is_file():
                return own.read_text(encoding="utf-8")
        return _default_prompt()


@cache
def _default_prompt() -> str:
    return files("agentworld_sim.scoring").joinpath("judge.md").read_text(encoding="utf-8").strip()


def _question(sample: PredictionSample, prediction: str) -> str:
    turns = [one for one in sample.messages if one["role"] != "system"]
    spoken = [f"[{_SPEAKERS[one['role']]}]\n{one['content']}" for one in turns[:-1]]
    earlier = "\n\n".join(spoken)[-CONTEXT_CHARACTERS:] or "(none)"
    return "\n\n".join(
        (
            _part("Earlier turns", earlier),
            _part("The action", turns[-1]["content"] if turns else "(none)"),
            _part("The prediction that you rate", prediction),
            _part("What really happened", sample.observation),
            _REQUEST,
        )
    )


_REQUEST = (
    "Rate the prediction in the five dimensions: format, factuality, consistency, realism, quality. End"
    " with one <final_evaluation> block."
)
_SPEAKERS = {"user": "action", "assistant": "environment", "tool": "environment"}


def _part(title: str, text: str) -> str:
    """A text in a fence that is longer than any in it."""
    longest = max((len(one) for one in _FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"## {title}\n{fence}\n{text}\n{fence}"
