"""What recorded answers are found by: never a counter, so that forks and tries again match."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentworld_sim import ModelFailure, ObservationRejected, Scenario, ToolCall
from agentworld_sim.cassette import CassetteMiss
from agentworld_sim.llm.scripted import ErrorReply, ModelRequest, Reply, ScriptedReply
from tests.cassette.lab import MACHINE, Recording, Studio, command, numbered


async def both(studio: Studio, session: Any, **options: Any) -> None:
    """Records a session and replays it: it says the same."""
    said: list[Any] = []
    for mode, answering in (("once", numbered), ("replay", None)):
        async with studio.open(mode, answering, **options) as one:  # pyright: ignore[reportArgumentType]
            said.append(await session(one))
            report = await one.end()
    assert said[0] == said[1]
    assert report.unused == ()


async def test_equal_calls_are_told_apart_by_their_number(studio: Studio) -> None:
    async def session(one: Recording) -> list[str]:
        return [await one.ask(), await one.ask(), await one.bash("tool; tool"), await one.ask()]

    await both(studio, session)
    assert studio.asked == 4  # `tool` is asked once: it is the same question in the same world
    assert "occurrence: 3" in studio.text


async def test_forks_and_time_travel_find_their_answers(studio: Studio) -> None:
    async def session(one: Recording) -> list[str]:
        first = await one.call("weather", city="Bern")
        said = [first.observation.text, await one.ask()]
        fork = await one.world.fork(at=first.ref)
        # The same question at the same point has the same answer; another past has another.
        said += [await one.ask(world=fork), await one.ask("Basel", fork)]
        past = await one.world.step(ToolCall("weather", {"city": "Basel"}), at=first.ref)
        return [*said, past.observation.text, await one.ask("Basel")]

    await both(studio, session)


async def test_a_fork_with_another_seed_has_answers_of_its_own(studio: Studio) -> None:
    async def session(one: Recording) -> list[str]:
        await one.ask("Basel")
        forks = [await one.world.fork(seed=seed) for seed in (7, 8)]
        said = [await one.ask(world=fork) for fork in (one.world, *forks)]
        said += [await one.bash("tool", fork) for fork in (one.world, *forks)]
        assert len(set(said)) == 6
        return said

    await both(studio, session)


async def test_what_came_before_counts_where_it_tells_answers_apart(studio: Studio) -> None:
    async def session(one: Recording) -> list[str]:
        forks = [await one.world.fork() for _ in range(2)]
        await one.call("book", forks[0], city="Chur")
        said = [await one.ask(world=world) for world in (one.world, forks[0])]
        return [*said, await one.ask("Lugano", forks[1])]

    await both(studio, session)
    assert studio.text.count("before: nothing}") == 1
    assert studio.text.count("before:") == 2
    async with studio.open("replay") as one:
        # Recorded without this past; but there is one answer only, so that is the one.
        await one.call("book", city="Chur")
        await one.ask("Lugano")
        # Of the two answers to this, neither has this past.
        with pytest.raises(CassetteMiss, match="there are several answers, for other pasts"):
            await one.ask()


async def test_the_order_of_independent_calls_does_not_matter(studio: Studio) -> None:
    cities = ("Bern", "Basel", "Chur")

    async with studio.open("once", numbered) as one:
        said = {city: await one.ask(city) for city in cities}
        await one.end()
    async with studio.open("replay") as one:
        assert {city: await one.ask(city) for city in reversed(cities)} == dict(
            reversed(said.items())
        )


async def test_concurrent_calls_in_several_worlds_match_and_make_the_same_file(
    studio: Studio,
) -> None:
    async def session(one: Recording) -> list[str]:
        worlds = [one.world, *[await one.world.fork() for _ in range(3)]]

        async def run(number: int) -> list[str]:
            await one.bash(f"echo {number} > own", worlds[number])
            return [
                await one.ask(world=worlds[number]),
                await one.bash("cat own | tool", worlds[number]),
                await one.ask(world=worlds[number]),
            ]

        told = await asyncio.gather(*map(run, range(4)))
        return [text for texts in told for text in texts]

    def steady(request: ModelRequest) -> Reply | str:
        return command("x\n") if "argv:" in request.last_user else ScriptedReply.observation("x")

    await both(studio, session)
    texts: list[str] = []
    for _ in range(3):
        studio.path.unlink()
        async with studio.open("once", steady) as one:
            await session(one)
            await one.end()
        texts.append(studio.text)
    assert len(set(texts)) == 1


async def test_a_step_that_failed_is_tried_again(studio: Studio) -> None:
    down = True

    def sometimes(request: ModelRequest) -> Reply | str:
        if down and 'argv: ["second"]' in request.last_user:
            return ErrorReply(500)
        return numbered(request)

    async with studio.open("once", sometimes) as one:
        with pytest.raises(ModelFailure):
            await one.bash("first; second")
        down = False
        said = await one.bash("first; second")
        await one.end()
    async with studio.open("replay") as one:
        assert await one.bash("first; second") == said
        assert (await one.end()).unused == ()


async def test_an_answer_that_checks_refuse_is_not_the_one_that_is_recorded(studio: Studio) -> None:
    def careless(request: ModelRequest) -> Reply | str:
        text = "This is a simulated answer." if request.index == 0 else "sunny"
        return ScriptedReply.observation(text)

    async with studio.open("once", careless) as one:
        assert await one.ask() == "sunny"
        fork = await one.world.fork(at=one.world.root)
        assert await one.ask(world=fork) == "sunny"
        await one.end()
    assert "simulated" not in studio.text.partition("answers:")[2]
    async with studio.open("replay") as one:
        assert await one.ask() == "sunny"


async def test_a_step_whose_every_answer_checks_refuse_leaves_no_answer(studio: Studio) -> None:
    def careless(_: ModelRequest) -> Reply | str:
        return ScriptedReply.observation("This is a simulated answer.")

    async with studio.open("once", careless) as one:
        with pytest.raises(ObservationRejected):
            await one.ask()
        assert (await one.end()).recorded == 0
    async with studio.open("replay") as one:
        with pytest.raises(CassetteMiss):
            await one.ask()


async def test_another_state_is_another_question(studio: Studio) -> None:
    await studio.record("tool")
    for change in ("echo two > a.txt", "chmod 500 a.txt", "mkdir d", "rm a.txt"):
        async with studio.open("replay") as one:
            await one.bash(change)
            with pytest.raises(CassetteMiss, match="the world's files"):
                await one.ask()
    for script in ("touch a.txt", "sleep 3", "cd /tmp", "ls", "echo two > b; rm b"):
        async with studio.open("replay") as one:
            await one.bash(script)
            assert await one.ask() == "answer 0"


@pytest.mark.parametrize(
    ("script", "differs"),
    [
        ("tool -x", r'argv: recorded \["tool"\], now \["tool","-x"\]'),
        ("echo in | tool", r'stdin: not recorded, now "in\\n"'),
        ("cd /tmp && tool", r'cwd: recorded "/srv/app", now "/tmp"'),
        ("export A=1; tool", "exported variables, user or host"),
        ("echo x > new; tool", "the world's files"),
    ],
)
async def test_what_a_command_sees_is_part_of_the_question(
    studio: Studio, script: str, differs: str
) -> None:
    await studio.record("tool")
    async with studio.open("replay") as one:
        await one.ask()
        with pytest.raises(CassetteMiss, match=differs):
            await one.bash(script)


async def test_neither_seed_nor_clock_nor_the_hosts_umask_matters(studio: Studio) -> None:
    await studio.record("tool")
    other = Scenario.parse(
        "name: other\ndomains: [swe]\nmachine: {workdir: /srv/app}\nseed: 99\n"
        'clock: "2031-01-01T00:00:00Z"\n'
        "files: {/srv/app/a.txt: {text: one, mode: '0664'}}\n"
    )
    async with studio.open("replay", scenario=other, seed=4) as one:
        assert await one.ask() == "answer 0"
        assert await one.bash("tool") == "answer 1"


async def test_a_miss_shows_the_nearest_calls_and_why_they_differ(studio: Studio) -> None:
    async with studio.open("once", numbered) as one:
        for city in ("Bern", "Basel", "Chur", "Genf"):
            await one.ask(city)
        await one.end()
    async with studio.open("replay") as one:
        await one.ask()
        with pytest.raises(CassetteMiss) as missed:
            await one.ask()
        turns = await one.world.trajectory()
    assert str(missed.value) == (
        f'weather({{"city":"Bern"}}), time 2 was not recorded in \'{studio.path}\'.\n'
        "Nearest of 4 recorded:\n"
        '  weather({"city":"Bern"})\n'
        "    differs in how often: recorded for time 1, now time 2\n"
        '  weather({"city":"Basel"})\n'
        '    differs in city: recorded "Basel", now "Bern"; how often: recorded for time 1, now time 2\n'
        '  weather({"city":"Chur"})\n'
        '    differs in city: recorded "Chur", now "Bern"; how often: recorded for time 1, now time 2\n'
        "Nobody else is asked: to have it, record it anew with --sim-mode=live, or delete the file."
    )
    # It raised: no observation, no trace.
    assert len(turns) == 1


async def test_a_miss_says_what_there_is_when_nothing_is_alike(studio: Studio) -> None:
    await studio.record("tool")
    async with studio.open("replay") as one:
        with pytest.raises(CassetteMiss, match=r"Recorded were calls of: tool, weather\."):
            await one.call("book", city="Bern")


async def test_volatile_arguments_are_left_out(studio: Studio) -> None:
    cassette = {"volatile": ["book.password"]}
    async with studio.open("once", numbered, cassette=cassette) as one:
        await one.call("book", city="Bern", password=1)
        await one.end()
    assert "password" not in studio.text
    async with studio.open("replay", cassette=cassette) as one:
        turn = await one.call("book", city="Bern", password=2)
        assert turn.observation.text == "answer 0"


def test_digests_are_the_same_everywhere() -> None:
    """On every host, Python version and day: golden values."""
    from agentworld_sim.cassette._keys import StateParts
    from agentworld_sim.runtime.sync import run_sync
    from agentworld_sim.world import World

    world = run_sync(World.create(MACHINE, model=False))
    state = run_sync(world.state())
    assert StateParts(seed=world.scenario.seed).of(state) == {"files": "xtzktwsoqpmk"}
