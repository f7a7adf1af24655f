"""Agents in worlds, as tasks of rollouts."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agentworld_sim import (
    Answer,
    Control,
    Episode,
    SqliteStore,
    StepContext,
    ToolCall,
    ToolSpec,
    World,
    WorldSpec,
    WorldState,
)
from agentworld_sim.controls import Next
from agentworld_sim.errors import AccessRefused, UsageError
from agentworld_sim.rollouts import (
    RolloutEngine,
    RolloutFailed,
    RolloutRecord,
    RolloutSettings,
    ScriptedPolicy,
    WorldTask,
    WorldTaskSettings,
)
from agentworld_sim.rollouts.world_task import SYSTEM
from agentworld_sim.scoring import Reward
from tests.rollouts.tokenizers import ByteTokenizer
from tests.rollouts.worlds import COUNTS, run, scenario

TOKENIZER = ByteTokenizer()


async def played(
    task: WorldTask, *turns: str, group_size: int = 1, **settings: int
) -> list[RolloutRecord]:
    limits = RolloutSettings(**settings)  # pyright: ignore[reportArgumentType]
    engine = RolloutEngine(ScriptedPolicy(TOKENIZER, turns), TOKENIZER, limits)
    return await engine.run([task], group_size=group_size, seed=1)


def settings(**fields: object) -> WorldTaskSettings:
    return WorldTaskSettings(**fields)  # pyright: ignore[reportArgumentType]


async def test_an_agent_that_meets_all_goals_earns_one() -> None:
    (record,) = await played(WorldTask(scenario()), COUNTS, "Done.")
    assert (record.task, record.reward, record.stop_reason) == ("count", 1.0, "done")
    assert record.reward_parts == {
        "goal/1. /srv/out.txt: contains '5'": 1.0,
        "goal/2. $ wc -l < /srv/out.txt": 1.0,
    }
    assert record.env_metrics["steps"] == 1
    assert record.messages == (
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": "Write the number of lines of /srv/a.txt to /srv/out.txt."},
        {"role": "assistant", "content": COUNTS},
        {"role": "tool", "content": record.messages[3]["content"]},
        {"role": "assistant", "content": "Done."},
    )


@pytest.mark.parametrize(("reward", "worth"), [("all", 0.0), ("share", 0.5)])
async def test_half_the_goals_are_worth_nothing_or_half(reward: str, worth: float) -> None:
    task = WorldTask(scenario(), settings=settings(reward=reward))
    (record,) = await played(task, run("printf '5\\n5\\n' > /srv/out.txt"), "Done.")
    assert record.reward == worth
    assert list(record.reward_parts.values()) == [1.0, 0.0]


async def test_a_function_of_the_world_can_be_the_reward() -> None:
    async def size(world: World) -> Reward:
        return Reward(len(await world.read_file("/srv/out.txt")), {"bytes": 2.0})

    task = WorldTask(scenario(goals=[]), settings=settings(reward=size))
    (record,) = await played(task, COUNTS, "Done.")
    assert (record.reward, record.reward_parts) == (2, {"bytes": 2.0})


async def test_several_calls_of_a_turn_are_answered_in_order() -> None:
    calls = "\n".join([run("echo a"), run("cat /srv/out.txt"), run("echo b")])
    (record,) = await played(WorldTask(scenario()), COUNTS + calls, "Done.")
    answers = [message["content"] for message in record.messages if message["role"] == "tool"]
    assert [answer.strip() for answer in answers] == ["", "a", "5", "b"]


async def test_what_an_agent_gets_wrong_is_a_text_that_it_reads() -> None:
    wrong = (
        "<tool_call>{oops</tool_call>",
        run("ls").replace('"run"', '"runs"'),
        run("ls").replace('"command"', '"comand"'),
    )
    task = WorldTask(scenario(), settings=settings(max_invalid_calls=4))
    (record,) = await played(task, *wrong, COUNTS, "Done.")
    answers = [message["content"] for message in record.messages if message["role"] == "tool"]
    assert answers[0].startswith("Error: the tool call is not valid JSON")
    assert answers[1] == "Error: there is no tool 'runs'. Did you mean 'run'? There are: run."
    assert answers[2].startswith("Error: 'run' does not take these arguments:")
    assert "simulat" not in "".join(answers).lower()
    assert (record.reward, record.env_metrics["invalid_calls"]) == (1.0, 3)
    assert record.env_metrics["steps"] == 1


async def test_wrong_calls_again_and_again_end_the_rollout() -> None:
    wrong = "<tool_call>{oops</tool_call>"
    task = WorldTask(scenario(), settings=settings(max_invalid_calls=3))
    (record,) = await played(task, wrong, wrong + wrong + wrong, "Done.")
    assert (record.stop_reason, record.reward) == ("done", 0.0)
    assert record.env_metrics["invalid_calls"] == 3
    assert len(record.turn_spans) == 2


async def test_a_right_call_between_wrong_ones_starts_the_count_again() -> None:
    wrong = "<tool_call>{oops</tool_call>"
    task = WorldTask(scenario(), settings=settings(max_invalid_calls=2))
    (record,) = await played(task, wrong, run("ls"), wrong, COUNTS, "Done.")
    assert (record.reward, record.env_metrics["invalid_calls"]) == (1.0, 2)


async def test_rollouts_of_a_group_begin_at_one_point_and_do_not_see_each_other() -> None:
    def script(prompt: str, seed: int) -> str:
        if "tool_response" in prompt:
            return "Done."
        return run(f"ls /srv; echo {seed} > /srv/{seed}.txt")

    engine = RolloutEngine(ScriptedPolicy(TOKENIZER, script), TOKENIZER)
    records = await engine.run([WorldTask(scenario())], group_size=6, seed=1)
    looks = {record.messages[3]["content"] for record in records}
    assert len(looks) == 1
    assert looks.pop().split() == ["a.txt"]
    assert len({record.world_ref for record in records}) == 6


async def test_computed_worlds_give_the_same_records_every_time() -> None:
    async def once() -> list[RolloutRecord]:
        return await played(
            WorldTask(scenario()), run("date; echo $RANDOM"), COUNTS, "Done.", group_size=4
        )

    def without_time(records: list[RolloutRecord]) -> list[object]:
        return [
            {name: value for name, value in record.env_metrics.items() if "seconds" not in name}
            | {"rest": record.to_line().partition('"env_metrics"')[0]}
            for record in records
        ]

    assert without_time(await once()) == without_time(await once())


async def test_a_task_can_begin_at_any_point_of_a_world_that_stays_open() -> None:
    async with await World.create(scenario(), model=False) as world:
        await world.step(ToolCall("run", {"command": "echo 5 > /srv/out.txt"}))
        here = world.ref
        await world.step(ToolCall("run", {"command": "rm /srv/out.txt"}))
        (first,) = await played(WorldTask.at(world, here), "Done.")
        (second,) = await played(WorldTask.at(world), "Done.")
        assert (first.reward, second.reward) == (1.0, 0.0)
        assert first.world_ref == here
        assert [one.id for one in world.store.worlds()] == [world.id]
        assert (await world.step(ToolCall("run", {"command": "echo still here"}))).observation


async def test_a_task_may_be_a_spec_and_leaves_no_world_in_its_store(tmp_path: Path) -> None:
    where = tmp_path / "worlds.sqlite"
    spec = WorldSpec(scenario=scenario(), model=False, store=str(where))
    (record,) = await played(WorldTask(spec), COUNTS, "Done.")
    assert record.reward == 1.0
    assert SqliteStore(where).worlds() == []


async def test_a_task_at_a_world_of_a_store_leaves_that_world_there(tmp_path: Path) -> None:
    where = tmp_path / "worlds.sqlite"
    async with await World.create(scenario(), store=SqliteStore(where), model=False) as world:
        await world.step(ToolCall("run", {"command": "wc -l < /srv/a.txt > /srv/out.txt"}))
    spec = WorldSpec(id=world.id, ref=world.ref, store=str(where), model=False)
    (record,) = await played(WorldTask(spec), "Done.")
    assert record.reward == 1.0
    assert [one.id for one in SqliteStore(where).worlds()] == [world.id]


async def test_thousands_of_rollouts_leave_nothing_behind() -> None:
    task = WorldTask(scenario())

    async def rollout() -> Counter[str]:
        await played(task, COUNTS, "Done.", group_size=20, in_flight=10)
        gc.collect()
        return Counter(type(one).__name__ for one in gc.get_objects())

    await rollout()
    before = await rollout()
    after = await rollout()
    grown = {name: after[name] - before[name] for name in after if after[name] > before[name]}
    ours = {"World", "Turn", "WorldState", "FileTree", "LiveShell", "FileEntry", "WorldRecord"}
    # The machines that wait for another world hold the files of their last one.
    assert all(grown.get(name, 0) < 5 for name in ours)
    assert sum(grown.values()) < 200, grown


async def test_only_the_named_tools_are_offered() -> None:
    two = scenario(tools=["shell"], domains=("terminal",))
    names = tuple((await World.create(two, model=False)).tools)
    task = WorldTask(two, settings=settings(tools=names[:1]))
    environment = await task.environment(seed=1)
    opening = await environment.open()
    assert [tool["function"]["name"] for tool in opening.tools] == [names[0]]
    await environment.close()
    await task.close()


async def test_a_tool_that_is_not_there_is_told_with_the_nearest() -> None:
    task = WorldTask(scenario(), settings=settings(tools=("rum",)))
    with pytest.raises(UsageError, match=r"no tool 'rum'. Did you mean 'run'\? It has: run"):
        await played(task, "Done.")


class Renamed(Control):
    """After the first write, `run` is gone and `execute` is there; `sh` is there before."""

    name = "renamed"

    def tools(self, specs: Sequence[ToolSpec], state: WorldState) -> Sequence[ToolSpec]:
        other = "execute" if "/srv/out.txt" in state.files else "sh"
        return [replace(one, name=other, binds_to=None) for one in specs] + (
            [] if other == "execute" else list(specs)
        )

    async def handle(self, step: StepContext, next: Next) -> Answer:
        if step.call.name == "run":
            return await next(step)
        return await next(replace(step, call=replace(step.call, name="run")))


async def test_an_agent_has_the_tools_that_controls_leave_it_at_each_call() -> None:
    async with await World.create(scenario(), model=False, controls=[Renamed()]) as world:
        execute = run("cat /srv/out.txt").replace('"run"', '"execute"')
        task = WorldTask.at(world)
        environment = await task.environment(seed=1)
        opening = await environment.open()
        assert [tool["function"]["name"] for tool in opening.tools] == ["sh", "run"]
        await environment.close()
        (record,) = await played(task, COUNTS, run("ls"), execute, "Done.")
        answers = [message["content"] for message in record.messages if message["role"] == "tool"]
        assert answers[1] == "Error: there is no tool 'run'. There are: execute."
        assert "5" in answers[2] and record.reward == 1.0


async def test_an_episode_has_the_tools_that_controls_leave_it_at_each_step() -> None:
    async with await World.create(scenario(), model=False, controls=[Renamed()]) as world:
        episode = Episode(world)
        await episode.reset()
        assert list(episode.tools) == ["sh", "run"]
        await episode.step(ToolCall("run", {"command": "echo 4 > /srv/out.txt"}))
        assert list(episode.tools) == ["execute"]
        await episode.close()


async def test_a_tool_that_is_refused_cannot_be_offered() -> None:
    refused = scenario(access={"run": "refuse"})
    task = WorldTask(refused, settings=settings(tools=("run",)))
    with pytest.raises(RolloutFailed, match="AccessRefused: 'run' is refused"):
        await played(task, "Done.")
    with pytest.raises(AccessRefused):
        await task.environment(seed=1)
    await task.close()


def test_a_scenario_without_goals_has_nothing_to_reward() -> None:
    with pytest.raises(UsageError, match=r"'count' has no goals.*Add `goals:`"):
        WorldTask(scenario(goals=[]))


async def test_a_task_can_be_used_after_it_was_closed() -> None:
    task = WorldTask(scenario())
    for _ in range(2):
        (record,) = await played(task, COUNTS, "Done.")
        assert record.reward == 1.0
