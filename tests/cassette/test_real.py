"""Real tools that are allowed: they run where nothing is recorded yet, and nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from agentworld_sim import Observation, ToolCall
from agentworld_sim.cassette import CassetteMiss, CassetteMode
from tests.cassette.lab import Recording, Studio, numbered, real, real_call

CLOCK = ToolCall("clock", {"zone": "UTC"})


async def _record(studio: Studio, texts: Sequence[str] = ("noon", "one")) -> list[str]:
    ran: list[str] = []
    async with studio.open("once") as one:
        for text in texts:
            await real_call(one.cassette, CLOCK, one.world, real(text, ran))
        await one.end()
    return ran


async def test_the_first_run_runs_them_and_the_next_replays(studio: Studio) -> None:
    assert await _record(studio) == ["noon", "one"]
    modes: list[CassetteMode] = ["once", "replay", "live", "verify"]
    for mode in modes:
        ran: list[str] = []
        async with studio.open(mode) as one:
            said = [
                await real_call(one.cassette, CLOCK, one.world, real("x", ran)) for _ in range(2)
            ]
            report = await one.end()
        assert [(one.text, one.provenance) for one in said] == [
            ("noon", "replayed"),
            ("one", "replayed"),
        ]
        assert ran == []
        assert (report.unused, report.drift) == ((), ())


async def test_live_keeps_their_answers_beside_what_the_model_says(studio: Studio) -> None:
    async with studio.open("once", numbered) as one:
        await real_call(one.cassette, CLOCK, one.world, real("noon"))
        await real_call(one.cassette, ToolCall("other"), one.world, real("never again"))
        await one.ask()
        await one.end()
    async with studio.open("live", numbered) as one:
        await real_call(one.cassette, CLOCK, one.world, real("x"))
        await one.ask()
        report = await one.end()
    assert [line.partition(" [")[0] for line in report.unused] == ["other({})"]
    async with studio.open("replay") as one:
        assert (await real_call(one.cassette, CLOCK, one.world, real("x"))).text == "noon"


@pytest.mark.parametrize("mode", ["replay", "live", "verify"])
async def test_a_real_tool_does_not_run_for_want_of_a_recording(
    studio: Studio, mode: CassetteMode
) -> None:
    ran: list[str] = []
    async with studio.open(mode) as one:
        with pytest.raises(CassetteMiss, match=r"there is no cassette .* real tools run only"):
            await real_call(one.cassette, CLOCK, one.world, real("x", ran))
    await _record(studio)
    async with studio.open(mode) as one:
        for _ in range(2):
            await real_call(one.cassette, CLOCK, one.world, real("x", ran))
        with pytest.raises(CassetteMiss, match="recorded for time 2, now time 3"):
            await real_call(one.cassette, CLOCK, one.world, real("x", ran))
        with pytest.raises(CassetteMiss, match='zone: recorded "UTC", now "CET"'):
            other = ToolCall("clock", {"zone": "CET"})
            await real_call(one.cassette, other, one.world, real("x", ran))
    assert ran == []


async def test_off_runs_them(studio: Studio) -> None:
    await _record(studio)
    ran: list[str] = []
    async with studio.open("off") as one:
        assert (await real_call(one.cassette, CLOCK, one.world, real("x", ran))).text == "x"
    assert ran == ["x"]


async def test_one_that_raises_is_not_recorded_and_runs_again(studio: Studio) -> None:
    async def broken() -> Observation:
        raise OSError("no network")

    async with studio.open("once") as one:
        with pytest.raises(OSError, match="no network"):
            await real_call(one.cassette, CLOCK, one.world, broken)
        await real_call(one.cassette, CLOCK, one.world, real("noon"))
        assert (await one.end()).recorded == 1
    async with studio.open("replay") as one:
        assert (await real_call(one.cassette, CLOCK, one.world, real("x"))).text == "noon"


async def test_everything_of_an_answer_is_replayed(studio: Studio) -> None:
    said = Observation(
        text="no",
        structured={"code": 404, "tags": [1.5, None]},
        content=({"type": "image", "data": "AAECAw==", "mimeType": "image/png"},),
        is_error=True,
        provenance="real",
    )

    async def run() -> Observation:
        return said

    async def session(one: Recording) -> Observation:
        return await real_call(one.cassette, CLOCK, one.world, run)

    async with studio.open("once") as one:
        assert await session(one) == said
        await one.end()
    async with studio.open("replay") as one:
        again = await session(one)
    assert again.to_json() == {**said.to_json(), "provenance": "replayed"}


async def test_calls_at_the_same_time_get_an_answer_each(studio: Studio) -> None:
    await _record(studio, [f"{number}" for number in range(8)])
    async with studio.open("replay") as one:
        said = await asyncio.gather(
            *(real_call(one.cassette, CLOCK, one.world, real("x")) for _ in range(8))
        )
    assert sorted(one.text for one in said) == [f"{number}" for number in range(8)]
