"""What an imaginer is told, which answers are used again, and what a turn keeps of them."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from pathlib import Path

import pytest

from agentworld_sim import EngineFailure, MemoryStore, SqliteStore, Turn, World
from agentworld_sim.engines.shell import (
    CommandAnswer,
    CommandQuestion,
    FileOperation,
    ShellEngine,
    ShellLimits,
)
from agentworld_sim.engines.shell.command_question import MOST_FILE, MOST_STDIN
from agentworld_sim.errors import AgentworldError, ModelUnavailable
from tests.engines.shell.imagining import (
    MACHINE,
    TOOLS,
    FunctionImaginer,
    ImaginedWorld,
    Unasked,
    called,
    exchange,
    written,
)


async def test_a_question_tells_all_that_the_command_sees() -> None:
    async with await ImaginedWorld.create() as here:
        await here.turn("mkdir -p p; echo text > p/f; echo {} > p/package.json; touch -d @0 p/*")
        script = "cd p; export A=1; B=2; echo in | C=3 npm run x --file=f"
        await here.turn(script)
        (question,) = here.imaginer.asked
        assert question.argv == ("npm", "run", "x", "--file=f")
        assert (question.stdin, question.cwd) == ("in\n", "/root/p")
        assert (question.user, question.hostname) == ("root", "debian")
        assert question.env["A"] == "1"
        assert question.env["C"] == "3"
        assert "B" not in question.env
        assert question.files == {"/root/p/f": "text\n", "/root/p/package.json": "{}\n"}
        assert question.listing == (
            "total 8",
            "-rw-r--r-- 1 root root 5 Jan  1  1970 f",
            "-rw-r--r-- 1 root root 3 Jan  1  1970 package.json",
        )
        assert question.script == script
        assert question.clock_us == (await here.world.state()).clock_us - 100_000


async def test_a_question_sees_what_the_turn_changed_before_it() -> None:
    async with await ImaginedWorld.create() as here:
        await here.turn("kit; echo new > f; sleep 5; kit f")
        before, after = here.imaginer.asked
        assert after.files == {"/root/f": "new\n"}
        assert after.clock_us == before.clock_us + 5_000_000
        assert after.digest != before.digest
        assert here.imaginer.earlier[-1] == [("kit",)]


async def test_long_texts_are_cut_and_say_so() -> None:
    async with await ImaginedWorld.create(lambda _: "") as here:
        await here.turn(f"seq {MOST_STDIN} > f; kit f < f; echo x >> f; kit f < f")
        first, second = here.imaginer.asked
        assert first.stdin is not None
        assert len(first.stdin) < MOST_STDIN + 100
        assert first.stdin.startswith("1\n2\n")
        assert first.stdin.endswith(f"\n{MOST_STDIN}\n")
        assert "characters left out" in first.stdin
        assert MOST_FILE < len(first.files["/root/f"]) < MOST_FILE + 100
        assert first.digest != second.digest


async def test_bytes_that_are_no_text_are_told_as_such() -> None:
    async with await ImaginedWorld.create(lambda _: "") as here:
        await here.turn("printf 'a\\000b' > f; printf '\\377' | kit f")
        (question,) = here.imaginer.asked
        assert question.files == {"/root/f": "[binary, 3 bytes]"}
        assert question.stdin == "\ufffd"


async def test_a_pure_command_is_asked_once_in_a_turn_and_not_again_later() -> None:
    async with await ImaginedWorld.create() as here:
        turn = await here.turn("for i in 1 2 3; do hg status; done; hg log; hg status | cat")
        assert here.imaginer.argvs == ["hg status", "hg log"]
        assert called(turn.inner) == ["hg status"] * 3 + ["hg log", "hg status"]
        assert [one.occurrence for one in turn.inner] == [0, 1, 2, 0, 3]
        later = await here.turn("hg status", tool="session")
        assert here.imaginer.asked == []
        assert (later.observation.text, later.observation.provenance) == (
            "<hg status|>\n",
            "imagined",
        )
        assert called(later.inner) == ["hg status"]


@pytest.mark.parametrize(
    "change",
    [
        "echo x > f",
        "chmod 600 f",
        "cd /tmp",
        "export A=1",
        "hg commit",
        "kit",
        "rm f",
        "mv f g",
        "touch -d @5 g; cp -p g h; echo b > i; touch -r h i; cp -p i h",
    ],
)
async def test_what_may_change_an_answer_has_it_asked_again(change: str) -> None:
    async with await ImaginedWorld.create() as here:
        await here.turn("echo a > f; echo a > g")
        await here.turn(f"hg status; {change}; hg status")
        assert here.imaginer.argvs.count("hg status") == 2


@pytest.mark.parametrize(
    "nothing", ["sleep 9", "touch f", "a=1", "hg log", "cat f; cp -p f f2; rm f2"]
)
async def test_what_changes_no_answer_does_not(nothing: str) -> None:
    async with await ImaginedWorld.create() as here:
        await here.turn("echo a > f")
        await here.turn(f"hg status; {nothing}; hg status")
        assert here.imaginer.argvs.count("hg status") == 1


async def test_an_answer_that_changed_files_is_not_used_again() -> None:
    operations = (FileOperation(kind="append", path="log", content="x"),)
    async with await ImaginedWorld.create(lambda _: CommandAnswer(operations=operations)) as here:
        turn = await here.turn("kit; kit; cat log; echo")
        assert turn.observation.text == "xx\n"
        assert len(here.imaginer.asked) == 2
        assert await here.out("rm log; kit; cat log; echo") == "x\n"


async def test_a_turn_keeps_answers_and_exchanges_in_the_order_of_calling() -> None:
    async with await ImaginedWorld.create() as here:
        turn = await here.turn("kit 1 | kit 2 -e 2> /dev/null | cat; kit 0 -x")
        assert called(turn.inner) == ["kit 1", "kit 2 -e", "kit 0 -x"]
        assert turn.inner[1].answer["stderr"] == "kit: said\n"
        assert turn.inner[2].answer["exit_code"] == 3
        assert [one.about for one in turn.exchanges] == ["kit 1", "kit 2 -e", "kit 0 -x"]
        assert Turn.from_line(turn.to_line()) == turn


async def test_a_reopened_world_knows_the_answers_of_its_history(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "w.sqlite")
    async with await ImaginedWorld.create(store=store) as here:
        first = await here.turn("hg commit; hg status")
        fork = await here.world.fork()
        live = await fork.step(first.call)
        await fork.close()
    engine = ShellEngine(imaginer=Unasked())
    async with await World.open("w", store=store, engines=[engine]) as again:
        again.add_tools(TOOLS)
        assert (await again.step(first.call)).ref == live.ref


async def test_too_many_commands_in_a_turn_fail_loudly() -> None:
    limits = ShellLimits(imagined_commands=3)
    async with await ImaginedWorld.create(limits=limits) as here:
        before = here.world.ref
        with pytest.raises(EngineFailure, match=r"more than 3 .*ShellLimits\.imagined_commands"):
            await here.turn("touch f; for i in 1 2 3 4; do kit $i; done")
        assert here.world.ref == before
        assert await here.out("ls; for i in 1 1 2 2 3 3; do kit $i; done | wc -l") == "6\n"


async def test_a_failing_imaginer_fails_the_step_and_keeps_what_was_said() -> None:
    def breaks(question: CommandQuestion) -> str:
        if question.argv[-1] == "2":
            failure = ModelUnavailable("down")
            failure.exchanges = (exchange("kit 2"),)
            raise failure
        return ""

    store = MemoryStore()
    async with await ImaginedWorld.create(breaks, store=store) as here:
        before = here.world.ref
        with pytest.raises(ModelUnavailable, match="down") as failed:
            await here.turn("touch f; kit 1; kit 2")
        assert [one.about for one in failed.value.exchanges] == ["kit 1", "kit 2"]
        assert here.world.ref == before
        assert await here.out("ls") == ""


async def test_what_was_said_is_kept_when_another_part_of_the_step_fails() -> None:
    limits = ShellLimits(imagined_commands=1)
    async with await ImaginedWorld.create(limits=limits, routes={"ssh": "refuse"}) as here:
        for script in ("kit 1; kit 2", "kit 1; sed s/a/ls/e <<< a", "kit 1; ssh"):
            with pytest.raises(AgentworldError) as failed:
                await here.turn(script)
            assert [one.about for one in failed.value.exchanges] == ["kit 1"]
        kept = await here.world.failures()
        assert [one.exchanges[0].about for one in kept] == ["kit 1"] * 3


async def test_an_answer_that_cannot_be_used_is_a_failure_of_the_imaginer() -> None:
    careless = FunctionImaginer(lambda _: CommandAnswer(exit_code=256), careful=False)
    engine = ShellEngine(imaginer=careless)
    async with await World.create(MACHINE, engines=[engine]) as world:
        world.add_tools(TOOLS)
        with pytest.raises(
            EngineFailure, match=r"'kit a' cannot be used: the exit code is 256.*record it anew"
        ):
            await ImaginedWorld(world, FunctionImaginer()).turn("kit a")


async def test_no_thread_is_held_while_an_imaginer_thinks() -> None:
    """More worlds wait than the shell has threads, and a shell still computes."""
    waiting, go = 0, asyncio.Event()

    async def wait(_: CommandQuestion) -> None:
        nonlocal waiting
        waiting += 1
        if waiting == 80:
            go.set()
        await go.wait()

    imaginer = FunctionImaginer()
    imaginer.before = wait
    engine = ShellEngine(imaginer=imaginer)
    worlds = [await World.create(MACHINE, id=f"w{n}", engines=[engine]) for n in range(80)]
    for world in worlds:
        world.add_tools(TOOLS)
    steps = [ImaginedWorld(world, imaginer).turn("kit a | cat") for world in worlds]
    turns = await asyncio.gather(*steps)
    assert {turn.observation.text for turn in turns} == {"<kit a|>\n"}
    for world in worlds:
        await world.close()


def open_descriptors() -> int:
    gc.collect()
    return len(list(Path("/dev/fd").iterdir()))


async def test_no_interpreter_is_held_while_an_imaginer_thinks() -> None:
    """An interpreter has some 15 file descriptors."""
    descriptors: list[int] = []

    imaginer = FunctionImaginer()
    engine = ShellEngine(imaginer=imaginer)
    worlds = [await World.create(MACHINE, id=f"w{n}", engines=[engine]) for n in range(4)]
    async with contextlib.AsyncExitStack() as stack:
        for world in worlds:
            await stack.enter_async_context(world)
            world.add_tools(TOOLS)
        before = open_descriptors()
        waiting = asyncio.Barrier(len(worlds))

        async def together(_: CommandQuestion) -> None:
            await waiting.wait()
            descriptors.append(open_descriptors())
            await waiting.wait()

        imaginer.before = together
        await asyncio.gather(
            *(ImaginedWorld(world, imaginer).turn("kit a | cat") for world in worlds)
        )
    # What a process opens with its first machine is among them; one each would be 60.
    assert max(descriptors) < before + 30


async def test_a_cancelled_step_leaves_no_trace() -> None:
    thinking = asyncio.Event()

    async def think(_: CommandQuestion) -> None:
        thinking.set()
        await asyncio.Event().wait()

    async with await ImaginedWorld.create() as here:
        before = here.world.ref
        here.imaginer.before = think
        step = asyncio.ensure_future(here.turn("touch f; kit a"))
        await thinking.wait()
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        assert here.world.ref == before
        here.imaginer.before = None
        assert await here.out("ls; kit a") == "<kit a|>\n"


async def test_a_world_closed_while_an_imaginer_thinks_ends_the_step() -> None:
    async with await ImaginedWorld.create() as here:

        async def close(_: CommandQuestion) -> None:
            await here.world.close()

        here.imaginer.before = close
        with pytest.raises(EngineFailure, match="closed while one of its commands"):
            await here.turn("kit a")


async def test_an_answer_is_fed_back_by_its_own_call() -> None:
    """The same words with the same input may be answered differently when files changed between."""
    answers = iter(("one\n", "two\n"))

    def once(_: CommandQuestion) -> CommandAnswer:
        return CommandAnswer(stdout=next(answers), operations=(written("f", "x"),))

    async with await ImaginedWorld.create(once) as here:
        turn = await here.turn("kit; kit")
        assert turn.observation.text == "one\ntwo\n"
        assert [one.occurrence for one in turn.inner] == [0, 1]
