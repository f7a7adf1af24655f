"""What settings put around a model's answers: similar calls, several samples, confidence, a second model."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim import Scenario, ToolCall
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
from tests.imagination.conftest import WEATHER, Open, always
from tests.properties import examples

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
    assert [message["role"] for message in first.messages[1:]] == ["user", "assistant"] * 2 + [
        "user"
    ]
    assert "Bergen" in told[1]
    assert told[4] == "<predicted_observation>\nSnow.\n</predicted_observation>"
    assert told[5].startswith("### Turn 1\n")
    # Told with the last turn alone: what a server has in its prefix cache does not change.
    assert second.messages[1]["content"] == told[5]
    assert len(second.messages) == 1 + 2 + 4 + 1


def recorded(number: int, name: str = "weather") -> Example:
    call = json.dumps({"name": name, "arguments": {"city": f"city {number}"}})
    return Example(name=name, call=call, answer=f"answer {number}")


def test_fixed_examples_are_the_same_for_all_calls_of_a_tool() -> None:
    library = ExampleLibrary(recorded(number) for number in range(9))
    one = library.choose("weather", "city 8", choice="fixed")
    assert one == library.choose("weather", "city 1", choice="fixed")
    assert [example.answer for example in one] == ["answer 0", "answer 3", "answer 6"]
    assert one != library.choose("weather", "city 8")


def test_examples_of_another_version_of_a_tool_are_left_out_and_named_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    old = Example(
        name="weather", call='{"name": "weather", "arguments": {"town": "Oslo"}}', answer="x"
    )
    library = ExampleLibrary([old, recorded(1)])
    for _ in range(2):
        assert library.choose("weather", "Oslo", tool=WEATHER) == [recorded(1)]
    (told,) = (record.message for record in caplog.records)
    assert told == (
        "1 of 2 examples of 'weather' do not fit its arguments any more and are left out; the first:"
        " 'city' is a required property"
    )
    newer = replace(WEATHER, input_schema={"type": "object", "required": ["town"]})
    assert library.choose("weather", "Oslo", tool=newer) == [old]


def test_an_example_that_would_take_the_room_of_the_call_is_not_told() -> None:
    long = replace(recorded(1), answer="x" * 2000)
    assert ExampleLibrary([long, recorded(2)]).choose("weather", "city 1") == [recorded(2)]


def test_tools_that_are_left_out_are_told_none(tmp_path: Path) -> None:
    path = tmp_path / "examples.jsonl"
    write_examples(path, [recorded(1), recorded(2, "clock")], ["weather"])
    library = ExampleLibrary.load(path)
    assert library.choose("weather", "city 1") == []
    assert library.choose("clock", "city 1") == [recorded(2, "clock")]


def test_a_library_is_searched_from_several_threads() -> None:
    library = ExampleLibrary(recorded(number) for number in range(100))

    def likest(number: int) -> str:
        return library.choose("weather", f"city {number}", tool=WEATHER)[-1].answer

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(likest, range(100))) == [f"answer {number}" for number in range(100)]


def test_a_model_that_works_on_records_is_told_what_changed() -> None:
    opened = {"kind": "put", "table": "orders", "record": {"id": 2}}
    example = replace(recorded(1), answer='{"id": 2}', operations=[opened], records='{"id": 1}')
    assert example.to_prompt(with_operations=False).reply == '{"id": 2}'
    told = example.to_prompt(with_operations=True)
    assert json.loads(told.reply) == {"result": {"id": 2}, "operations": [opened]}
    assert told.records == '{"id": 1}'
    quoted = replace(example, answer='"cup"').to_prompt(with_operations=True)
    assert json.loads(quoted.reply)["result"] == '"cup"'


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@settings(max_examples=examples(150))
@given(
    st.lists(st.builds(Example, name=TEXTS, call=TEXTS, answer=TEXTS, records=TEXTS)),
    st.sets(TEXTS),
)
def test_examples_are_read_as_they_were_written(written: list[Example], left_out: set[str]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "examples.jsonl"
        write_examples(path, written, left_out)
        library = ExampleLibrary.load(path)
    for one in written:
        fitting = [other for other in written if other.name == one.name]
        found = library.choose(one.name, "", choice="fixed")
        assert (
            found == []
            if one.name in left_out
            else set(map(repr, found)) <= set(map(repr, fitting))
        )


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


async def test_a_second_look_of_the_same_model_thinks_and_is_drawn_anew(
    imagining: Open, tmp_path: Path
) -> None:
    path = tmp_path / "sure.json"
    Calibration(bias=-5.0, weights=(0.0, 0.0, 0.0)).write(path)
    unsure = {"calibration": path, "threshold": 0.5}
    opened = await imagining(
        [SUNNY, RAIN],
        server={"model": "small"},
        model="small",
        second_model="small",
        thinking=False,
        **unsure,
    )
    turn = await opened.world.step(OSLO)
    assert turn.observation.text == "Rain."
    first, second = (request.body for request in opened.server.requests)
    assert first["seed"] != second["seed"]
    thinks = [body["chat_template_kwargs"]["enable_thinking"] for body in (first, second)]
    assert thinks == [False, True]


async def test_the_second_model_may_be_served_elsewhere(imagining: Open, tmp_path: Path) -> None:
    path = tmp_path / "sure.json"
    Calibration(bias=-5.0, weights=(0.0, 0.0, 0.0)).write(path)
    large = await imagining(always(RAIN), server={"model": "large"})
    opened = await imagining(
        always(SUNNY),
        second_url=large.server.url,
        second_model="large",
        calibration=path,
        threshold=0.5,
    )
    assert (await opened.world.step(OSLO)).observation.text == "Rain."


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


async def test_a_server_without_log_probabilities_is_asked_without_and_named_once(
    imagining: Open, caplog: pytest.LogCaptureFixture
) -> None:
    def refuses(request: ModelRequest) -> Reply | str:
        if "logprobs" in request.body:
            return ErrorReply(400, "Unsupported parameter: logprobs")
        return SUNNY

    opened = await imagining(refuses, threshold=0.01)
    turns = [await opened.world.step(OSLO) for _ in range(2)]
    assert turns[0].exchanges[-1].logprob is None
    assert turns[0].exchanges[-1].confidence is not None
    told = [record.message for record in caplog.records if "tells no log-prob" in record.message]
    assert len(told) == 1


def test_an_answer_without_log_probability_is_as_sure_as_the_usual_one() -> None:
    calibration = Calibration(usual_logprob=-0.7)
    unknown, usual = (Signals(one, 1.0, 0) for one in (None, -0.7))
    assert calibration.confidence(unknown) == calibration.confidence(usual)


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


SHOP = Scenario.parse(
    """
    name: shop
    domains: [mcp]
    tables:
      orders:
        records: [{id: 1, article: cup}]
    """
)


@pytest.mark.parametrize(("scenario", "messages"), [(SHOP, 2), (None, 4)])
async def test_history_is_left_out_where_records_say_what_is_needed(
    imagining: Open, scenario: Scenario | None, messages: int
) -> None:
    answer = ScriptedReply('{"result": "Sunny.", "operations": []}')
    opened = await imagining(always(answer), scenario=scenario, history=False)
    await opened.world.step(OSLO)
    await opened.world.step(OSLO)
    second = opened.server.requests[1]
    assert len(second.messages) == messages
    assert "### Turn 2" in second.last_user


async def test_records_that_a_small_context_does_not_take_are_cut_and_counted(
    imagining: Open,
) -> None:
    orders = [{"id": number, "article": "cup " * 20} for number in range(500)]
    scenario = SHOP.model_validate(
        {"name": "shop", "domains": ["mcp"], "tables": {"orders": {"records": orders}}}
    )
    opened = await imagining(
        always(SUNNY),
        scenario=scenario,
        max_tokens=200,
        context_tokens=6000,
        server={"max_model_len": 6000},
    )
    await opened.world.step(ToolCall("weather", {"city": "Oslo"}))
    asked = opened.server.requests[0].last_user
    assert "lines more are not shown)" in asked
    assert asked.count("cup cup") < asked.count("cup") < 500 * 20


async def test_a_server_that_takes_schemas_and_does_not_hold_answers_to_them_is_named_once(
    imagining: Open, caplog: pytest.LogCaptureFixture
) -> None:
    tool = replace(WEATHER, output_schema={"type": "object", "required": ["sky"]}, domain="mcp")
    held = ScriptedReply.observation('{"sky": "blue"}')
    opened = await imagining(["The sky is blue.", held, held], tools=(tool,))
    for _ in range(2):
        assert (await opened.world.step(OSLO)).observation.structured == {"sky": "blue"}
    assert ["response_format" in one.body for one in opened.server.requests] == [True, False, False]
    told = [one.message for one in caplog.records if "does not hold answers to them" in one.message]
    assert len(told) == 1
