"""What settings put around a model's answers: similar calls, several samples, confidence, a second model."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentworld_sim import ToolCall
from agentworld_sim.errors import ModelUnavailable, UsageError
from agentworld_sim.imagination.confidence import (
    OUTVOTED,
    Calibration,
    Signals,
    UnsureAnswer,
)
from agentworld_sim.imagination.examples import Example, ExampleLibrary, write_examples
from agentworld_sim.imagination.usage import usage_of
from agentworld_sim.llm.scripted import ErrorReply, ModelRequest, Reply, ScriptedReply
from tests.imagination.conftest import Open, always

OSLO = ToolCall("weather", {"city": "Oslo"})
SUNNY, RAIN = ScriptedReply.observation("Sunny."), ScriptedReply.observation("Rain.")

EXAMPLES = [
    Example(name="weather", call='{"city": "Bergen"}', answer="Rain, as always."),
    Example(name="weather", call='{"city": "Oslo"}', answer="Snow.", records='{"city": "Oslo"}'),
    Example(name="time", call='{"zone": "Oslo"}', answer="12:00"),
]


def test_the_likest_examples_of_the_same_tool_come_last() -> None:
    library = ExampleLibrary(EXAMPLES)
    found = library.choose("weather", '{"city": "Oslo"}')
    assert [one.answer for one in found] == ["Rain, as always.", "Snow."]
    assert [one.answer for one in library.choose("clock", '{"zone": "x"}')] == ["12:00"]
    assert library.choose("clock", '"quoted" AND (odd)') == []


async def test_a_model_is_told_similar_calls_and_the_prefix_stays(
    imagining: Open, tmp_path: Path
) -> None:
    path = tmp_path / "examples.jsonl"
    write_examples(path, EXAMPLES)
    opened = await imagining(always(SUNNY), examples=path)
    await opened.world.step(OSLO)
    await opened.world.step(OSLO)
    first, second = opened.server.requests
    told = [message["content"] for message in first.messages]
    assert [message["role"] for message in first.messages[1:]] == ["user", "assistant"] * 2 + ["user"]
    assert "Bergen" in told[1]
    assert told[4] == "<predicted_observation>\nSnow.\n</predicted_observation>"
    assert told[5].startswith("### Turn 1\n")
    # Told with the last turn alone: what a server has in its prefix cache does not change.
    assert second.messages[1]["content"] == told[5]
    assert len(second.messages) == 1 + 2 + 4 + 1


def test_a_file_that_holds_no_examples_is_named(tmp_path: Path) -> None:
    path = tmp_path / "examples.jsonl"
    path.write_text('{"name": "weather"}\n')
    for wrong in (path, tmp_path / "none"):
        with pytest.raises(UsageError, match="holds no examples"):
            ExampleLibrary.load(wrong)


async def test_what_most_answers_say_is_taken(imagining: Open) -> None:
    opened = await imagining([RAIN, SUNNY, SUNNY], samples=3)
    turn = await opened.world.step(OSLO)
    assert turn.observation.text == "Sunny."
    assert [one.problem for one in turn.exchanges].count(OUTVOTED) == 1
    assert len({request.body["seed"] for request in opened.server.requests}) == 3
    assert turn.exchanges[-1].confidence is not None


async def test_agreement_says_how_sure_an_answer_is(imagining: Open) -> None:
    agreed = await imagining(always(SUNNY), samples=3)
    torn = await imagining([RAIN, SUNNY, SUNNY], samples=3)
    sure = (await agreed.world.step(OSLO)).exchanges[-1].confidence
    less = (await torn.world.step(OSLO)).exchanges[-1].confidence
    assert sure is not None
    assert less is not None
    assert sure > less


async def test_one_sample_that_cannot_be_used_is_no_failure_and_a_server_that_is_down_is(
    imagining: Open,
) -> None:
    opened = await imagining(["", SUNNY, SUNNY], samples=3, reasks=0)
    assert (await opened.world.step(OSLO)).observation.text == "Sunny."
    gone = await imagining([SUNNY, ErrorReply(503, "overloaded"), SUNNY], samples=3)
    with pytest.raises(ModelUnavailable):
        await gone.world.step(OSLO)
    assert len(await gone.world.trajectory()) == 0


def by_model(request: ModelRequest) -> ScriptedReply:
    return RAIN if request.body["model"] == "large" else SUNNY


async def test_an_answer_that_is_not_sure_is_asked_of_the_second_model(
    imagining: Open, tmp_path: Path
) -> None:
    path = tmp_path / "sure.json"
    Calibration(bias=-5.0, weights=(0.0, 0.0, 0.0)).write(path)
    both = {"model": ("small", "large")}
    opened = await imagining(
        by_model, server=both, model="small", second_model="large", calibration=path, threshold=0.5
    )
    turn = await opened.world.step(OSLO)
    assert turn.observation.text == "Rain."
    assert "below 0.5" in turn.exchanges[0].problem
    assert usage_of([turn]).requests == 2


async def test_without_a_second_model_an_unsure_answer_fails_the_step(
    imagining: Open, tmp_path: Path
) -> None:
    path = tmp_path / "sure.json"
    Calibration(bias=-5.0, weights=(0.0, 0.0, 0.0)).write(path)
    opened = await imagining(always(SUNNY), calibration=path, threshold=0.5)
    with pytest.raises(UnsureAnswer, match=r"its confidence of 0\.01 is below 0\.5"):
        await opened.world.step(OSLO)
    assert opened.world.ref == opened.world.root
    assert len((await opened.world.failures())[0].exchanges) == 1


async def test_log_probabilities_are_asked_for_only_where_they_are_used(imagining: Open) -> None:
    plain = await imagining(always(SUNNY))
    await plain.world.step(OSLO)
    assert "logprobs" not in plain.server.requests[0].body
    asked = await imagining(always(SUNNY), threshold=0.01)
    turn = await asked.world.step(OSLO)
    assert asked.server.requests[0].body["logprobs"] is True
    assert turn.exchanges[-1].logprob == pytest.approx(-0.1)


async def test_a_server_without_log_probabilities_is_asked_without(imagining: Open) -> None:
    def refuses(request: ModelRequest) -> Reply | str:
        if "logprobs" in request.body:
            return ErrorReply(400, "Unsupported parameter: logprobs")
        return SUNNY

    opened = await imagining(refuses, threshold=0.01)
    turn = await opened.world.step(OSLO)
    assert turn.exchanges[-1].logprob is None
    assert turn.exchanges[-1].confidence is not None


def test_a_calibration_finds_what_tells_right_from_wrong(tmp_path: Path) -> None:
    def signals(agreement: float) -> Signals:
        return Signals(logprob=None, agreement=agreement, refused=0)

    observed = [(signals(1.0), number % 10 != 0) for number in range(100)]
    observed += [(signals(0.25), number % 10 == 0) for number in range(100)]
    path = tmp_path / "sure.json"
    Calibration.fit(observed, model="small").write(path)
    found = Calibration.load(path)
    assert found.confidence(signals(1.0)) == pytest.approx(0.9, abs=0.05)
    assert found.confidence(signals(0.25)) == pytest.approx(0.1, abs=0.05)
    with pytest.raises(UsageError, match="all of these are alike"):
        Calibration.fit(observed[:1])
    path.write_text("{}")
    with pytest.raises(UsageError, match="is no calibration"):
        Calibration.load(path)
