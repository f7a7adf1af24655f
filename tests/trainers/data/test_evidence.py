"""Evidence: checks judge a prediction from a row as they judge an answer in the world."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agentworld_sim import ToolCall
from agentworld_sim.checks import judge_all
from agentworld_sim.engines.model import ModelEngine
from agentworld_sim.errors import ObservationRejected
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import ScriptedModelServer, ScriptedReply
from agentworld_sim.scoring import (
    FULL,
    PredictionReward,
    PredictionSample,
    check_input,
    checks_of,
    read_observation,
)
from agentworld_sim.types.turns import Observation
from agentworld_sim.world import World
from agentworld_trainers.data import SourceTrajectory, imagined_tools, samples_of
from tests.scoring.samples import answer
from tests.trainers.data.worlds import CODING, TYPED, computed, scenario

TRUTH = "buy milk\ncall Ann"
ANSWERS = [
    TRUTH,
    "     1\tbuy milk\n     2\tcall Ann",
    "buy bread\ncall Ann",
    "File does not exist.",
    "This output is highly accurate and matches the real file.",
    "As an AI language model, I cannot read files.",
    "main.py\nnotes.txt\n",
    "main.py",
    "sim.py simulated: yes",
    "",
]
LISTED = ToolCall("list_directory", {"path": "/srv/app"})
READ = ToolCall("read_file", {"path": "/srv/app/notes.txt"})
GONE = ToolCall("delete_file", {"path": "/srv/app/notes.txt"})
WRITTEN = ToolCall("write_file", {"path": "/srv/app/sim.py", "content": "simulated: yes\n"})
SIMULATED = ToolCall("read_file", {"path": "/srv/app/sim.py"})


def stored(sample: PredictionSample) -> PredictionSample:
    """As it is after it was written and read."""
    return PredictionSample.from_json(json.loads(json.dumps(sample.to_json())))


def file_tools(*calls: ToolCall) -> list[dict[str, Any]]:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    names = sorted({call.name for call in calls})
    return [{"name": name, "input_schema": schema, "domain": "swe"} for name in names]


async def judged_in_the_world(
    calls: list[ToolCall], answer: str
) -> tuple[set[tuple[str, bool]], PredictionSample]:
    """The verdicts of the run time on an answer to the last call, and that turn's sample."""
    made = scenario(domains=("swe",), tools=file_tools(*calls))
    replies = iter([*["Done."] * (len(calls) - 1), answer])
    with ScriptedModelServer(lambda _: ScriptedReply.observation(next(replies, answer))) as server:
        model = WorldModel(ModelSettings(url=server.url, retries=0, reasks=0))
        async with await World.create(made, engines=[ModelEngine(model.imaginer())]) as world:
            for call in calls[:-1]:
                await world.step(call)
            earlier = (await world.trajectory()).turns
            try:
                turn = await world.step(calls[-1])
                verdicts = {(one.check, one.accepted) for one in turn.checks}
            except ObservationRejected as refused:
                names = [one.name for one in checks_of("swe")]
                verdicts = {(name, f"{name}: " not in str(refused)) for name in names}
            # The turn as the real environment would have made it, which is what a row holds.
            async with await World.create(
                made, engines=[ModelEngine(model.imaginer())], checks=()
            ) as other:
                for call in calls[:-1]:
                    await other.step(call)
                replies = iter([TRUTH])
                target = await other.step(calls[-1])
            source = SourceTrajectory(
                id="t",
                task="t",
                turns=(*earlier, replace(target, parent=earlier[-1].ref if earlier else "")),
                tools=imagined_tools(world.tools, (target,)),
                before=await world.state(world.root),
                blobs=world.store.blobs,
            )
            await model.close()
            return verdicts, samples_of(source)[-1]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize(
    "calls",
    [[READ], [LISTED], [GONE, READ], [GONE, LISTED], [WRITTEN, SIMULATED], [WRITTEN, LISTED]],
    ids=lambda calls: "+".join(call.name for call in calls),
)
async def test_a_row_gives_the_verdicts_of_the_run_time(calls: list[ToolCall], answer: str) -> None:
    verdicts, sample = await judged_in_the_world(calls, answer)
    sample = stored(sample)
    given = check_input(sample, read_observation(sample, answer))
    assert given is not None
    again = judge_all(checks_of("swe"), given)
    assert {(one.check, one.accepted) for one in again} == verdicts


async def test_every_check_accepts_what_the_world_computed() -> None:
    for calls in (CODING, TYPED):
        for sample in map(stored, samples_of(await computed(calls))):
            observation = read_observation(sample, sample.observation)
            given = check_input(sample, observation)
            assert given is not None
            verdicts = judge_all(checks_of(sample.domain), given)
            assert [one for one in verdicts if not one.accepted] == []
            assert sample.evidence is not None
            assert sample.evidence["provenance"] == "computed"


async def test_a_file_that_the_shell_changed_is_known_as_it_was_before_the_turn() -> None:
    calls = (
        ToolCall("Bash", {"command": "echo changed > /srv/app/notes.txt"}),
        ToolCall("Read", {"file_path": "/srv/app/notes.txt"}),
    )
    sample = stored(samples_of(await computed(calls))[-1])
    for text, accepted in (("changed", True), ("buy milk\ncall Ann", False)):
        given = check_input(sample, read_observation(sample, text))
        assert given is not None
        verdicts = {one.check: one.accepted for one in judge_all(checks_of("swe"), given)}
        assert verdicts["state-agreement"] is accepted


async def test_evidence_is_small_and_whole_or_not_there() -> None:
    source = await computed(CODING)
    samples = samples_of(source)
    sizes = [len(json.dumps(one.evidence)) for one in samples]
    assert max(sizes) < 40_000
    limited = samples_of(source, evidence_bytes=sizes[0])
    assert limited[0].evidence is not None
    assert limited[-1].evidence is None
    assert check_input(limited[-1], Observation(text="x", provenance="imagined")) is None
    assert read_observation(limited[-1], "x").text == "x"


async def test_bytes_and_links_are_kept() -> None:
    calls = (
        ToolCall(
            "Bash", {"command": "printf '\\377\\001' > /srv/raw; ln -s app/notes.txt /srv/to"}
        ),
        ToolCall("Read", {"file_path": "/srv/to"}),
        ToolCall("Read", {"file_path": "/srv/raw"}),
    )
    linked, raw = map(stored, samples_of(await computed(calls))[1:])
    given = check_input(linked, Observation(text="wrong", provenance="imagined"))
    assert given is not None
    entry = given.before.files["/srv/app/notes.txt"]
    assert given.blobs.get(entry.content) == b"buy milk\ncall Ann\n"
    given = check_input(raw, Observation(text="wrong", provenance="imagined"))
    assert given is not None
    assert given.blobs.get(given.before.files["/srv/raw"].content) == b"\xff\x01"


async def test_every_observation_of_a_real_session_earns_everything_for_itself() -> None:
    for calls in (CODING, TYPED):
        samples = samples_of(await computed(calls))
        assert len(samples) == len(calls)
        rule = PredictionReward()
        assert [rule.rule(one, answer(one.observation)).value for one in samples] == [FULL] * len(
            calls
        )
        others = [other.observation for other in samples]
        for one in samples:
            wrong = [text for text in others if text != one.observation]
            assert {rule.rule(one, answer(text)).value for text in wrong} == {0.0}
