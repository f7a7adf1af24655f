"""How sure an imagined answer is, and what is done with one that is not: asked several times, looked at by a second
model, or refused."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from agentworld_sim.errors import ObservationRejected, UnusableReply, UsageError, WorldFailure
from agentworld_sim.ports import ImaginedValue, Imaginer, Question, StepContext
from agentworld_sim.types.exchanges import Exchange
from agentworld_sim.types.json import canonical_json

T = TypeVar("T")

logger = logging.getLogger(__name__)

OUTVOTED = "more of the answers to the same question agreed on another one"
"""Why an answer was not used that another one outnumbered."""

SECOND_LOOK = 2**20
"""Between the seeds of first and second look."""

USUAL_LOGPROB = -0.3

ROUNDS = 5000
DECAY = 1e-4
"""Of the regression: enough to settle, and so little that only what nothing speaks for stays small."""


class UnsureAnswer(WorldFailure):
    """The answer is less sure than it was asked to be, and nobody could be asked instead."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of an answer without knowing the truth."""

    logprob: float | None
    """Mean over its tokens; `None` where the server does not tell."""
    agreement: float
    """Share of the answers to the same question that say this; 1 where it was asked once."""
    refused: int
    """Answers before it that could not be used."""

    @classmethod
    def of(cls, exchanges: Sequence[Exchange]) -> Signals:
        """Of the last of the exchanges, which gave the answer."""
        outvoted = sum(one.problem == OUTVOTED for one in exchanges)
        agreed = sum(not one.problem for one in exchanges)
        return cls(
            logprob=exchanges[-1].logprob if exchanges else None,
            agreement=agreed / max(1, agreed + outvoted),
            refused=sum(bool(one.problem) for one in exchanges) - outvoted,
        )

    def numbers(self, usual_logprob: float) -> tuple[float, ...]:
        """As a regression takes them; `usual_logprob` where the server does not tell one."""
        # A logarithm below -3 is no less sure than one of -3: both are guesses.
        logprob = usual_logprob if self.logprob is None else max(self.logprob, -3.0)
        return (logprob, self.agreement, float(min(self.refused, 3)))


@dataclass(frozen=True, slots=True)
class Calibration:
    """From signals to the share of such answers that were right: a logistic regression."""

    weights: tuple[float, ...] = (2.0, 3.0, -0.7)
    bias: float = -1.0
    usual_logprob: float = USUAL_LOGPROB
    """Taken for an answer of which the server does not tell it: the mean of those it was fitted on."""
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The model and the transitions it was fitted on, for people."""

    def confidence(self, signals: Signals) -> float:
        """From 0 to 1."""
        sum_ = self.bias + sum(map(_product, self.weights, signals.numbers(self.usual_logprob)))
        return 1.0 / (1.0 + math.exp(-sum_))

    @classmethod
    def fit(cls, observed: Sequence[tuple[Signals, bool]], **about: Any) -> Calibration:
        """The regression on answers of which is known whether they were right.

        Raises:
            UsageError: all of them were right, or none.
        """
        if len({right for _, right in observed}) < 2:
            raise UsageError(
                "a calibration needs right answers and wrong ones, and all of these are alike."
            )
        told = [signals.logprob for signals, _ in observed if signals.logprob is not None]
        usual = sum(told) / len(told) if told else USUAL_LOGPROB
        rows = [((1.0, *signals.numbers(usual)), float(right)) for signals, right in observed]
        values = [0.0] * len(rows[0][0])
        for _ in range(ROUNDS):
            slopes = [DECAY * value for value in values]
            for numbers, right in rows:
                error = 1.0 / (1.0 + math.exp(-sum(map(_product, values, numbers)))) - right
                slopes = [
                    slope + error * one / len(rows)
                    for slope, one in zip(slopes, numbers, strict=True)
                ]
            values = [value - slope for value, slope in zip(values, slopes, strict=True)]
        return cls(tuple(values[1:]), values[0], usual, about)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Calibration:
        """Reads what `write` wrote.

        Raises:
            UsageError: it is not that.
        """
        try:
            value = cast("dict[str, Any]", json.loads(path.read_text("utf-8")))
            weights, bias, usual = value["weights"], value["bias"], value["usual_logprob"]
            return cls(tuple(map(float, weights)), float(bias), float(usual), value["about"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{str(path)!r} is no calibration ({error}). `agentworld bench calibrate` writes one."
            ) from None


class AgreementImaginer:
    """Implements `Imaginer`: has a question answered several times and takes what most of the answers say."""

    def __init__(self, inner: Imaginer, samples: int) -> None:
        self._inner = inner
        self._samples = samples

    async def ask(self, question: Question[T], context: StepContext) -> ImaginedValue[T]:
        asked = (
            self._inner.ask(question, replace(context, seed=context.seed + number, on_delta=None))
            for number in range(self._samples)
        )
        given = await asyncio.gather(*asked, return_exceptions=True)
        answers = [one for one in given if isinstance(one, ImaginedValue)]
        for one in given:
            if isinstance(one, BaseException) and (
                not answers or not isinstance(one, (UnusableReply, ObservationRejected))
            ):
                raise one
        said = [canonical_json(question.dump(answer.value)) for answer in answers]
        best = max(said, key=said.count)
        chosen = answers[said.index(best)]
        others = [
            replace(exchange, problem=exchange.problem or ("" if text == best else OUTVOTED))
            for answer, text in zip(answers, said, strict=True)
            if answer is not chosen
            for exchange in answer.exchanges
        ]
        return replace(chosen, exchanges=(*others, *chosen.exchanges))


class ConfidenceImaginer:
    """Implements `Imaginer`: notes how sure an answer is; has a second one asked, or refuses, below a threshold."""

    def __init__(
        self,
        inner: Imaginer,
        calibration: Calibration,
        *,
        threshold: float = 0.0,
        second: Imaginer | None = None,
    ) -> None:
        """
        Args:
            threshold: Below it an answer is not taken.
            second: Answers then; without one the step fails.
        """
        self._inner = inner
        self._calibration = calibration
        self._threshold = threshold
        self._second = second
        self._told = False

    async def ask(self, question: Question[T], context: StepContext) -> ImaginedValue[T]:
        first = self._rate(await self._inner.ask(question, context))
        sure = first.exchanges[-1].confidence if first.exchanges else None
        if sure is None or sure >= self._threshold:
            return first
        reason = f"its confidence of {sure:.2f} is below {self._threshold:g}"
        passed = tuple(replace(one, problem=one.problem or reason) for one in first.exchanges)
        if self._second is None:
            failure = UnsureAnswer(
                f"the model's answer about {question.about!r} is not sure enough: {reason}. Lower the"
                " threshold, or name a second model. The world is unchanged."
            )
            failure.exchanges = passed
            raise failure
        # With another seed: the same model would say the same again.
        context = replace(context, seed=context.seed + SECOND_LOOK, on_delta=None)
        second = await self._second.ask(question, context)
        return replace(second, exchanges=(*passed, *second.exchanges))

    def _rate(self, answer: ImaginedValue[T]) -> ImaginedValue[T]:
        if not answer.exchanges:
            return answer
        signals = Signals.of(answer.exchanges)
        if signals.logprob is None and not self._told:
            self._told = True
            logger.warning(
                "the model server tells no log-probabilities: confidence rests on agreement and on"
                " answers that were refused"
            )
        sure = round(self._calibration.confidence(signals), 4)
        last = replace(answer.exchanges[-1], confidence=sure)
        return replace(answer, exchanges=(*answer.exchanges[:-1], last))


def _product(one: float, other: float) -> float:
    return one * other
