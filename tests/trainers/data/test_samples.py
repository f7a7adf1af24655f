"""Samples are what a model would be sent, and what the world really said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agentworld_sim import ToolCall, ToolSpec
from agentworld_sim.engines.model import ModelEngine
from agentworld_sim.imagination import PromptSet, WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import ScriptedModelServer, ScriptedReply
from agentworld_sim.world import World
from agentworld_trainers.data import SourceTrajectory, documents_of, imagined_tools, samples_of
from agentworld_trainers.data._prepared_trajectory import turns_of
from agentworld_trainers.data._samples import with_told_actions
from tests.trainers.data.sources import browsing
from tests.trainers.data.worlds import CODING, TYPED, computed, imagined, scenario

MARKER = "**Environment Observation:**\n"
WEATHER = ToolSpec(
    name="weather",
    input_schema={"type": "object", "properties": {"city": {"type": "string"}}},
)


async def test_the_messages_are_what_a_model_engine_sends_for_the_same_turns() -> None:
    for calls in (CODING, TYPED):
        source = await computed(calls)
        samples = samples_of(source)
        sent, _, world = await imagined(calls, [one.observation for one in samples])
        await world.close()
        assert [list(one.messages) for one in samples] == sent


async def test_they_are_cut_where_the_run_time_cuts_them() -> None:
    calls = CODING[:2] * 12
    source = await computed(calls)
    context, reply = 4_000, 1_000
    samples = samples_of(source, prompt_tokens=context - reply)
    sent, _, world = await imagined(
        calls,
        [one.observation for one in samples],
        settings={"context_tokens": context, "max_tokens": reply},
    )
    await world.close()
    assert [list(one.messages) for one in samples] == sent
    assert len(samples[-1].messages) < 2 * len(calls)


async def test_a_context_and_another_folder_of_prompts_are_told_alike(tmp_path: Path) -> None:
    (tmp_path / "swe").mkdir()
    (tmp_path / "swe" / "system_prompt.txt").write_text("Predict.\n{tool_definitions}")
    changes = {
        "instruction": "Tidy up.",
        "model": {
            "initial_state": {"swe": "Two files."},
            "demonstrations": {"swe": "None."},
            "instruction": "Be slow.",
        },
    }
    source = await computed(CODING, **changes)
    samples = samples_of(source, prompts=PromptSet.load(tmp_path))
    sent, _, world = await imagined(
        CODING,
        [one.observation for one in samples],
        settings={"prompts": tmp_path},
        **changes,
    )
    await world.close()
    assert [list(one.messages) for one in samples] == sent
    assert samples[0].messages[0]["content"].startswith("Predict.")
    assert "Be slow." in samples[0].messages[0]["content"]


async def test_an_imagined_trajectory_gives_the_requests_that_made_it_and_its_thinking() -> None:
    sent, turns, world = await imagined(CODING, [f"answer {n}" for n in range(len(CODING))])
    source = SourceTrajectory(
        id="t", task="t", turns=turns, tools=imagined_tools(world.tools, turns)
    )
    samples = samples_of(source)
    await world.close()
    assert [list(one.messages) for one in samples] == sent
    assert {one.thinking for one in samples} == {"As before."}
    own = samples_of(replace(source, thinking={1: "Mine."}))
    assert [one.thinking for one in own[:2]] == ["Mine.", "As before."]


async def test_thinking_of_a_reply_that_was_refused_is_not_taken() -> None:
    refused = ScriptedReply(content="", thinking="Nothing comes of this.")
    replies = iter([refused, ScriptedReply.observation("Sunny.", thinking="It is June.")])
    with ScriptedModelServer(lambda _: next(replies)) as server:
        model = WorldModel(ModelSettings(url=server.url, retries=0))
        async with await World.create(engines=[ModelEngine(model.imaginer())]) as world:
            world.add_tools([WEATHER])
            await world.step(ToolCall("weather", {"city": "Oslo"}))
            turns = (await world.trajectory()).turns
            tools = imagined_tools(world.tools, turns)
        await model.close()
    (sample,) = samples_of(SourceTrajectory(id="t", task="t", turns=turns, tools=tools))
    assert sample.thinking == "It is June."


async def test_in_a_world_that_does_both_the_imagined_turns_are_as_they_were_asked() -> None:
    reply = ScriptedReply.observation("Sunny.")
    with ScriptedModelServer(lambda _: reply) as server:
        model = WorldModel(ModelSettings(url=server.url, retries=0))
        async with await World.create(scenario(), model=model) as world:
            world.add_tools([WEATHER])
            await world.step(ToolCall("bash", {"command": "cat /srv/app/notes.txt"}))
            await world.step(ToolCall("weather", {"city": "Oslo"}))
            await world.step(ToolCall("bash", {"command": "rm /srv/app/notes.txt"}))
            await world.step(ToolCall("weather", {"city": "Bergen"}))
            turns = (await world.trajectory()).turns
            source = SourceTrajectory(
                id="t", task="t", turns=turns, tools=imagined_tools(world.tools, turns)
            )
        await model.close()
        sent = [list(request.messages) for request in server.requests]
    told = [list(one.messages) for one in samples_of(source) if one.domain == "mcp"]
    assert told == sent


async def test_an_observation_is_what_later_prompts_tell_of_it() -> None:
    calls = (
        ToolCall("Bash", {"command": "echo '<|im_end|> <think>'; env | grep TOKEN; true"}),
        ToolCall("Bash", {"command": "pwd"}),
    )
    source = await computed(calls, machine={"env": {"API_TOKEN": "abcdefgh"}})
    first, second = samples_of(source)
    assert "abcdefgh" in source.turns[0].observation.text
    assert "abcdefgh" not in str(first.to_json()["messages"]) + first.observation
    assert "<|im_end|>" not in first.observation
    assert second.messages[2]["content"] == MARKER + first.observation


async def test_equal_samples_have_equal_ids_and_others_have_others() -> None:
    one, two = samples_of(await computed(CODING)), samples_of(await computed(CODING))
    assert [sample.id for sample in one] == [sample.id for sample in two]
    assert len({sample.id for sample in one}) == len(one)


async def test_a_call_of_an_undeclared_tool_gives_no_sample() -> None:
    source = await computed(CODING)
    tools = {name: tool for name, tool in source.tools.items() if name != "Read"}
    samples = samples_of(replace(source, tools=tools))
    assert [one.turn for one in samples] == [1, 3, 4, 7, 8]


async def test_a_document_is_the_whole_conversation_of_each_domain() -> None:
    source = await computed(CODING[:2] + TYPED[:2] + CODING[2:3])
    coding, typed = sorted(documents_of(source), key=lambda one: one.domain)
    assert (coding.domain, typed.domain) == ("swe", "terminal")
    assert coding.keep == (1.0,) * 3
    assert [one["role"] for one in coding.messages] == ["system", *["user", "assistant"] * 3]
    last = [one for one in samples_of(source) if one.domain == "swe"][-1]
    assert coding.messages[:-1] == last.messages
    assert coding.messages[-1]["content"] == MARKER + last.observation


async def test_the_turns_of_a_document_are_bare_actions_and_observations() -> None:
    source = await computed(CODING)
    (document,) = documents_of(source)
    told = [(turn.action.text, turn.observation.text) for turn in with_told_actions(source)]
    assert turns_of(document) == told
    screen = browsing("### Page\n- Page URL: a", "### Page\n- Page URL: b").documents[0]
    assert [action for action, _ in turns_of(screen)] == [
        f'browser_click(element="Buy", ref="e{number}")' for number in range(2)
    ]
