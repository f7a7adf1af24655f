"""`TapedModel`: a language world model whose answers are recorded, or said again without it.

It stands where the model stands: behind the same bindings, before the same checks, and what it gives is
committed like any answer. While it records, a world is told what is recorded, without secrets: so a
replayed session is the recorded one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from agentworld_sim.cassette._states import StateParts
from agentworld_sim.ports import (
    Briefing,
    Imagined,
    Imaginer,
    Question,
    TurnContext,
    WorldImaginer,
    unjudged,
)

if TYPE_CHECKING:
    from agentworld_sim.cassette._tape import Tape

T = TypeVar("T")


class TapedModel:
    """Implements `WorldImaginer`."""

    def __init__(self, tape: Tape, inner: WorldImaginer | None) -> None:
        """
        Args:
            tape: What records and replays.
            inner: The model to ask; `None` to replay without one.
        """
        self._tape = tape
        self._inner = inner

    @property
    def name(self) -> str:
        return "" if self._inner is None else self._inner.name

    def imaginer(
        self, briefing: Briefing | None = None, limits: Mapping[str, Any] | None = None
    ) -> TapedImaginer:
        inner = None if self._inner is None else self._inner.imaginer(briefing, limits)
        briefing = briefing or Briefing()
        return TapedImaginer(self._tape, inner, StateParts(briefing.files_sum, briefing.seed))

    def acquire(self, user: object) -> None:
        if self._inner is not None:
            self._inner.acquire(user)

    async def release(self, user: object) -> None:
        if self._inner is not None:
            await self._inner.release(user)


class TapedImaginer:
    """Implements `Imaginer`."""

    def __init__(self, tape: Tape, inner: Imaginer | None, parts: StateParts) -> None:
        """
        Args:
            tape: What records and replays.
            inner: Who is asked; `None` to replay.
            parts: What tells the states of a scenario's worlds apart.
        """
        self._tape = tape
        self._inner = inner
        self._parts = parts

    async def ask(self, question: Question[T], context: TurnContext) -> Imagined[T]:
        history = await context.history()
        asked = self._tape.keys.question(question.key, context, history, self._parts)
        given: Imagined[T] | None = None

        async def ask(inner: Imaginer) -> Mapping[str, Any]:
            nonlocal given
            # What is compared with a recording is not what the world goes on with.
            judged = context if self._tape.records else replace(context, judge=unjudged)
            given = await inner.ask(question, judged)
            return question.dump(given.value)

        inner = self._inner
        told = await self._tape.answer(asked, None if inner is None else lambda: ask(inner))
        imagined = Imagined(
            question.load(told.answer),
            "replayed" if told.replayed else "imagined",
            given.exchanges if given else (),
        )
        if given is None or not self._tape.records:
            await question.judge(imagined, context)
        return imagined
