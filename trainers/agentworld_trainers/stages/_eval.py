"""How well a world model predicts what an environment says next, on samples that it was not trained on.

The rule that counts is the one that rewards in reinforcement learning, without a judge. The most probable
token is taken always, so the same model and samples give the same report.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import sqrt
from pathlib import Path
from typing import Any, Literal, cast

from agentworld_sim.errors import UsageError, WorldFailure
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.chat import ChatMessage, ChatRequest, Role
from agentworld_sim.llm.client import ChatClient
from agentworld_sim.llm.settings import KEY_VARIABLE
from agentworld_sim.plain_text import text_table
from agentworld_sim.rollouts import (
    UNFINISHED,
    PredictionTask,
    RolloutEngine,
    RolloutSettings,
    TurnTokens,
    opening_tag,
)
from agentworld_sim.scoring import PredictionReward, PredictionSample, Reward, is_computed
from agentworld_sim.whole_file import write_file

IN_FLIGHT = 64
"""Samples that are answered at a time."""

_Z = 1.959964
"""Of a two-sided interval of 95 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One sample, and what the model made of it."""

    id: str
    task: str
    domain: str
    computed: bool
    """Whether an engine computed the truth, so that all of it is deterministic."""
    form: bool
    """A world could read the answer and would accept it."""
    exact: bool
    """It is what the environment said. Times that could not be known need only be possible."""
    agreement: float
    """How much of the truth it tells beyond the observation before, from 0 to 1."""
    tokens: int | None
    """Of the answer, thinking included; `None` where a server does not say."""
    reason: str
    text: str
    """What the model wrote."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share, with Wilson's interval of 95 %. It takes samples as independent of each other: turns of
    one trajectory are not quite, so it is rather too narrow where there are several of each."""

    count: int
    of: int

    @property
    def share(self) -> float:
        return self.count / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        if not self.of:
            return 0.0, 1.0
        square = _Z**2 / self.of
        centre = (self.share + square / 2) / (1 + square)
        spread = self.share * (1 - self.share) + square / 4
        half = _Z * sqrt(spread / self.of) / (1 + square)
        return max(0.0, centre - half), min(1.0, centre + half)

    def to_json(self) -> dict[str, Any]:
        return {"count": self.count, "of": self.of, "share": self.share, "interval": self.interval}

    def __str__(self) -> str:
        low, high = self.interval
        return f"{100 * self.share:.1f} % ({100 * low:.1f}-{100 * high:.1f})"


@dataclass(frozen=True, slots=True)
class Scores:
    """What is said of some samples together."""

    form: Rate
    exact: Rate
    agreement: float
    tokens: float | None

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Scores:
        tokens = [one.tokens for one in outcomes if one.tokens is not None]
        return cls(
            Rate(sum(one.form for one in outcomes), len(outcomes)),
            Rate(sum(one.exact for one in outcomes), len(outcomes)),
            sum(one.agreement for one in outcomes) / max(1, len(outcomes)),
            sum(tokens) / len(tokens) if tokens else None,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "form": self.form.to_json(),
            "exact": self.exact.to_json(),
            "agreement": self.agreement,
            "tokens": self.tokens,
        }


@dataclass(frozen=True, slots=True)
class EvalReport:
    """How a model did on samples."""

    model: str
    thinking: bool
    outcomes: tuple[Outcome, ...]

    @property
    def overall(self) -> Scores:
        return Scores.of(self.outcomes)

    @property
    def computed(self) -> Scores:
        """Of the samples whose truth was computed: deterministic content."""
        return Scores.of([one for one in self.outcomes if one.computed])

    def by(self, what: Literal["domain", "task"]) -> dict[str, Scores]:
        """Of each domain or task, in the order of their names."""
        groups: dict[str, list[Outcome]] = {}
        for one in self.outcomes:
            groups.setdefault(one.domain if what == "domain" else one.task, []).append(one)
        return {name: Scores.of(groups[name]) for name in sorted(groups)}

    def to_json(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "thinking": self.thinking,
            "overall": self.overall.to_json(),
            "computed": self.computed.to_json(),
            "domains": {name: one.to_json() for name, one in self.by("domain").items()},
            "tasks": {name: one.to_json() for name, one in self.by("task").items()},
            "outcomes": [asdict(one) for one in self.outcomes],
        }

    def write(self, path: Path) -> None:
        """Writes it as JSON, all or nothing."""
        write_file(path, json.dumps(self.to_json(), indent=1) + "\n")

    def table(self) -> str:
        """The same for reading, with intervals of 95 %."""
        groups = {"all": self.overall, "computed": self.computed}
        groups |= {f"domain {name}": one for name, one in self.by("domain").items()}
        groups |= {f"task {name}": one for name, one in self.by("task").items()}
        rows = [("", "samples", "exact", "form valid", "agreement", "tokens")]
        rows += [
            (
                name,
                str(one.exact.of),
                str(one.exact),
                str(one.form),
                f"{one.agreement:.3f}",
                "" if one.tokens is None else f"{one.tokens:.0f}",
            )
            for name, one in groups.items()
            if one.exact.of
        ]
        return "\n".join(text_table(rows))


def evaluate(
    checkpoint: str | Path,
    samples: Iterable[PredictionSample],
    *,
    thinking: bool = True,
    max_tokens: int = 1024,
    served_as: str = "",
    told: Callable[[int], None] | None = None,
) -> EvalReport:
    """Has a model predict samples and compares.

    Args:
        checkpoint: A checkpoint's folder, which is loaded here, or the base URL of an OpenAI-compatible
            server (`http://…/v1`), whose key is in AGENTWORLD_API_KEY.
        thinking: Whether the model thinks first.
        max_tokens: Of an answer, thinking included. One that is cut there is no answer.
        served_as: The model's name at the server; the only one there by default.
        told: Is told how many samples are done.

    Raises:
        UsageError: there are no samples, or the checkpoint cannot be used.
        WorldFailure: the server is down. That is no wrong answer.
    """
    chosen = list(samples)
    if not chosen:
        raise UsageError("there are no samples to evaluate on.")
    told = told or (lambda _done: None)
    if str(checkpoint).startswith(("http://", "https://")):
        work = _eval_server(str(checkpoint), served_as, chosen, thinking, max_tokens, told)
    else:
        work = _eval_checkpoint(str(checkpoint), chosen, thinking, max_tokens, told)
    return EvalReport(str(checkpoint), thinking, tuple(asyncio.run(work)))


async def _eval_checkpoint(
    checkpoint: str,
    samples: Sequence[PredictionSample],
    thinking: bool,
    max_tokens: int,
    told: Callable[[int], None],
) -> list[Outcome]:
    import torch

    from agentworld_trainers.in_process_policy import InProcessPolicy
    from agentworld_trainers.recipes.schema import ModelPart
    from agentworld_trainers.stages._models import load_model, load_tokenizer, verify_vocabulary

    model = load_model(checkpoint)
    tokenizer: Any = load_tokenizer(ModelPart(path=checkpoint))
    verify_vocabulary(model, tokenizer)
    if torch.cuda.is_available():
        cast(torch.nn.Module, model).to("cuda")
    turns = TurnTokens(tokenizer, {"enable_thinking": thinking})
    opened = opening_tag(turns.begin)
    rule, texts = PredictionReward().rule, dict[int, tuple[str, Reward]]()

    async def judge_sample(place: int, sample: PredictionSample, text: str) -> Reward:
        texts[place] = text, rule(sample, text)
        return texts[place][1]

    # Prompts of about one length are read together, with little padding.
    order = sorted(range(len(samples)), key=lambda at: sum(map(_length, samples[at].messages)))
    tasks = [PredictionTask(samples[at], partial(judge_sample, at), opened=opened) for at in order]
    settings = RolloutSettings(
        max_turns=1,
        max_turn_tokens=max_tokens,
        max_rollout_tokens=2**31,
        in_flight=IN_FLIGHT,
        rollout_seconds=24 * 3600.0,
        template={"enable_thinking": thinking},
    )
    policy = InProcessPolicy(model, stop_ids=turns.stop_ids, temperature=0.0)
    done = 0

    def count(_record: object) -> None:
        nonlocal done
        done += 1
        told(done)

    engine = RolloutEngine(policy, tokenizer, settings)
    records = await engine.run(tasks, group_size=1, seed=0, on_rollout=count)
    outcomes: dict[int, Outcome] = {}
    for at, record in zip(order, records, strict=True):
        if record.reward is None:
            raise WorldFailure(f"sample {samples[at].id!r} could not be asked: {record.error}")
        cut = opened + turns.text(record.response_ids), UNFINISHED
        text, reward = texts.get(at, cut)
        outcomes[at] = _outcome(samples[at], text, reward, len(record.response_ids))
    return [outcomes[at] for at in range(len(samples))]


async def _eval_server(
    url: str,
    served_as: str,
    samples: Sequence[PredictionSample],
    thinking: bool,
    max_tokens: int,
    told: Callable[[int], None],
) -> list[Outcome]:
    settings = ModelSettings(
        url=url,
        model=served_as,
        api_key=os.environ.get(KEY_VARIABLE, ""),
        temperature=0.0,
        top_p=1.0,
        top_k=-1,
        thinking=thinking,
        max_tokens=max_tokens,
        concurrency=IN_FLIGHT,
    )
    client, rule = ChatClient(settings), PredictionReward().rule
    done = 0

    async def ask(sample: PredictionSample) -> Outcome:
        nonlocal done
        messages = [
            ChatMessage(cast("Role", one["role"]), one["content"]) for one in sample.messages
        ]
        reply = await client.ask(
            ChatRequest(messages=tuple(messages), max_tokens=max_tokens, seed=0, thinking=thinking)
        )
        reward = UNFINISHED if reply.finish_reason == "length" else rule(sample, reply.content)
        done += 1
        told(done)
        return _outcome(sample, reply.content, reward, reply.usage.get("completion_tokens"))

    try:
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(ask(sample)) for sample in samples]
    except* WorldFailure as failures:
        # All fail for the same reason when a server is down.
        first = failures.exceptions[0]
        while isinstance(first, ExceptionGroup):
            first = first.exceptions[0]
        failure = first
    else:
        return [one.result() for one in asked]
    finally:
        await client.close()
    raise failure


def _outcome(sample: PredictionSample, text: str, reward: Reward, tokens: int | None) -> Outcome:
    return Outcome(
        id=sample.id,
        task=sample.task,
        domain=sample.domain,
        computed=is_computed(sample),
        form=bool(reward.parts["form"]),
        exact=bool(reward.parts["exact"]),
        agreement=reward.parts["agreement"],
        tokens=tokens,
        reason=reward.reason,
        text=text,
    )


def _length(message: Any) -> int:
    return len(message["content"])
