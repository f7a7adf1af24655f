"""Samples are what a model would be sent and what the world really said."""

from __future__ import annotations

from agentworld_trainers.data import samples_of
from tests.trainers.data.worlds import CODING, TYPED, computed, imagined


async def test_the_messages_are_what_a_model_engine_sends_for_the_same_turns() -> None:
    for calls in (CODING, TYPED):
        source = await computed(calls)
        samples = samples_of(source)
        sent, _, world = await imagined(calls, [one.observation for one in samples])
        await world.close()
        assert [list(one.messages) for one in samples] == sent
