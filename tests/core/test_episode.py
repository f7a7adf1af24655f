"""An episode: the same task again and again, with rewards."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim import Episode, Scenario, SqliteStore, ToolCall, UsageError, World, WorldSpec
from agentworld_sim.errors import EngineFailure
from agentworld_sim.scoring import Reward


def scenario(**fields: Any) -> Scenario:
    return Scenario.model_validate(
        {
            "name": "count",
            "instruction": "Write the number of lines of /srv/a.txt to /srv/out.txt.",
            "domains": ["swe"],
            "files": {"/srv/a.txt": "1\n2\n"},
            "goals": [{"file": "/srv/out.txt", "contains": "2"}],
            **fields,
        }
    )


def bash(command: str) -> ToolCall:
    return ToolCall("Bash", {"command": command})


SOLVED = bash("wc -l < /srv/a.txt > /srv/out.txt")


async def test_it_ends_when_the_goals_are_met() -> None:
    episode = Episode(scenario())
    first = await episode.reset()
    assert (first.observation.text, first.done) == (scenario().instruction, False)
    looked = await episode.step(bash("ls /srv"))
    assert (looked.observation.text, looked.done, looked.reward) == ("a.txt", False, None)
    last = await episode.step(SOLVED)
    assert last.reward is not None and last.reward.value == 1
    assert (last.terminated, last.truncated, last.steps) == (True, False, 2)
    assert episode.done and episode.observe() is last
    with pytest.raises(UsageError, match="the episode is over"):
        await episode.step(bash("ls"))
    await episode.close()


async def test_it_is_cut_off_at_its_most_steps() -> None:
    episode = Episode(scenario(), max_steps=2)
    await episode.reset()
    await episode.step(bash("ls"))
    last = await episode.step(bash("ls"))
    assert last.reward is not None and last.reward.value == 0
    assert (last.terminated, last.truncated) == (False, True)
    await episode.close()


async def test_an_agent_that_calls_nothing_more_ends_it() -> None:
    episode = Episode(scenario())
    await episode.reset()
    last = await episode.step(None)
    assert last.reward is not None and "it is not there" in last.reward.reason
    assert (last.terminated, last.steps) == (True, 0)
    await episode.close()


async def test_a_reset_begins_again_at_the_same_point() -> None:
    episode = Episode(scenario())
    texts: list[list[str]] = []
    for seed in (1, 2, 1):
        await episode.reset(seed=seed)
        await episode.step(bash("echo changed >> /srv/a.txt"))
        step = await episode.step(bash("cat /srv/a.txt; echo $RANDOM"))
        texts.append(step.observation.text.split("\n"))
    assert texts[0] == texts[2] != texts[1]
    assert texts[0][:3] == ["1", "2", "changed"]
    await episode.close()


async def test_an_agents_own_mistakes_are_read_by_it_and_move_nothing() -> None:
    episode = Episode(scenario())
    await episode.reset()
    before = episode.world.ref
    unknown = await episode.step(ToolCall("Bahs", {}))
    wrong = await episode.step(ToolCall("Bash", {"comand": "ls"}))
    assert unknown.observation.is_error and "Did you mean 'Bash'" in unknown.observation.text
    assert wrong.observation.is_error and wrong.turn is None
    assert episode.world.ref == before
    assert episode.observe().steps == 2
    await episode.close()


async def test_a_world_as_it_stands_stays_its_owners(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "w.sqlite")
    async with await World.create(scenario(), store=store, model=False) as world:
        await world.step(bash("echo 3 >> /srv/a.txt"))
        here = world.ref
        episode = Episode(world)
        await episode.reset()
        await world.step(bash("rm /srv/a.txt"))
        await episode.reset(seed=4)
        assert "3" in (await episode.step(bash("cat /srv/a.txt"))).observation.text
        assert world.ref != here
        await episode.close()
        assert [one.id for one in store.worlds()] == [world.id]


async def test_the_worlds_of_a_spec_are_removed_at_the_end(tmp_path: Path) -> None:
    where = tmp_path / "w.sqlite"
    episode = Episode(WorldSpec(scenario=scenario(), model=False, store=str(where)))
    for seed in (None, 1, None):
        await episode.reset(seed=seed)
        await episode.step(SOLVED)
    await episode.close()
    assert SqliteStore(where).worlds() == []


async def test_a_reward_function_may_stand_in_for_goals() -> None:
    async def lines(world: World) -> Reward:
        return Reward(float((await world.read_file("/srv/a.txt")).count(b"\n")))

    episode = Episode(scenario(goals=[]), reward=lines, max_steps=1)
    await episode.reset()
    last = await episode.step(bash("echo 3 >> /srv/a.txt"))
    assert last.reward == Reward(3.0)
    await episode.close()


async def test_a_reward_that_fails_leaves_the_episode_as_it_was() -> None:
    fails = [True]

    async def judge(world: World) -> Reward:
        if fails.pop():
            raise EngineFailure("the judge is down")
        return Reward(1.0)

    episode = Episode(scenario(goals=[]), reward=judge)
    await episode.reset()
    with pytest.raises(EngineFailure):
        await episode.step(None)
    assert not episode.done
    fails.append(False)
    assert (await episode.step(None)).reward == Reward(1.0)
    await episode.close()


@pytest.mark.parametrize("error", [EngineFailure("the judge is down"), asyncio.CancelledError()])
async def test_a_step_whose_reward_fails_moves_neither_episode_nor_world(
    error: BaseException,
) -> None:
    async def judge(world: World) -> Reward:
        raise error

    episode = Episode(scenario(goals=[]), reward=judge)
    await episode.reset()
    with pytest.raises(type(error)):
        await episode.step(SOLVED)
    assert episode.observe().steps == 0 and len(await episode.world.trajectory()) == 0
    await episode.close()


def test_it_is_used_without_an_event_loop_too() -> None:
    episode = Episode(scenario())
    episode.reset_sync(seed=1)
    assert episode.step_sync(SOLVED).done
    reward = episode.reward_sync()
    assert reward is not None and reward.value == 1
    episode.close_sync()


async def test_a_reward_of_goals_needs_goals() -> None:
    with pytest.raises(UsageError, match="has no goals"):
        Episode(scenario(goals=[]))
    with pytest.raises(UsageError, match="max_steps must be 1 or more"):
        Episode(scenario(), max_steps=0)
    with pytest.raises(UsageError, match="has not begun"):
        Episode(scenario()).observe()
