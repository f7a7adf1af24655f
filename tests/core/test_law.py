"""The law: reopening or forking at any ref gives exactly the state that was live there.

A probe is run at each point while it is live, and again after the world was reopened from its store
at that point. A turn's ref is a hash of all that was answered and changed, so equal refs mean equal
files, modes, times, directory, variables, functions, options, traps, `$?`, clock and random numbers.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from agentworld_sim import MemoryStore, Scenario, SqliteStore, ToolCall, ToolSpec, Turn, World
from agentworld_sim.engines.shell import (
    CommandAnswer,
    FileOperation,
    ShellEngine,
)
from agentworld_sim.ports import ImaginedValue, Question, StepContext
from agentworld_sim.types.state import WorldState
from tests.engines.shell.imagining import command_of
from tests.properties import FULL, examples

MACHINE = Scenario.model_validate({"name": "machine", "domains": ("terminal",)})

TOOLS = (
    ToolSpec(name="session", binds_to="shell/session"),
    ToolSpec(name="run", binds_to="shell/run"),
)

PROBE = ToolCall(
    "session",
    {
        "command": "echo $? $PWD; declare -p a b list map 2>&1; declare -f f; alias; trap -p;"
        " set -o; shopt; echo $RANDOM $RANDOM $SRANDOM; date +%s.%N; umask; echo $#-$*;"
        " find / -xdev -path /usr/lib -prune -o -newermt 2020-01-01 -printf '%p %m %T@ %s %l\\n' 2>/dev/null | sort;"
        " cat /root/* 2>/dev/null"
    },
)

COMMANDS = (
    "echo one > one",
    "echo more >> one",
    "mkdir -p deep/er; echo $RANDOM > deep/er/file",
    "cd deep 2>/dev/null || cd /tmp",
    "cd",
    "rm -rf deep",
    "ln -sf one link",
    "chmod 600 one",
    "chmod +x one; umask 077",
    "mv one two",
    "cp -p one three",
    "touch -d 2021-02-03T04:05:06 one",
    "a=1; b='two words'; export b",
    "list=(x y 'z w'); declare -A map=([k]=v)",
    "f() { echo f:$1 $a; }; alias ll='ls -l'",
    "f hello",
    "set -u -o pipefail",
    "set +u; shopt -s nullglob",
    "trap 'echo interrupted' INT",
    "set -- p q",
    "sleep 3; date > now",
    "false",
    "(exit 7)",
    "echo $RANDOM; mktemp",
    "nosuch",
    "true & echo $!; (echo $BASHPID); ls | wc -l",
    "echo 'unfinished",
    "ls -l",
    "umask 022; echo new > fresh; sed -i s/n/m/ fresh",
)


def call_of(tool: str, command: str) -> ToolCall:
    return ToolCall(tool, {"command": command})


TOOL_NAMES = st.sampled_from(["session", "session", "run"])

calls = st.builds(call_of, TOOL_NAMES, st.sampled_from(COMMANDS))

IMAGINED = (
    "hg status; hg status | cat",
    "kit one > made; echo $RANDOM",
    "f() { kit f; }; f; f",
    "kit write; kit append; cat /root/log",
    "x=ki; ${x}t dynamic; echo $?",
    "for i in 1 2; do echo $i | kit -; done; kit -x",
)

T = TypeVar("T")

imagined_calls = st.builds(call_of, TOOL_NAMES, st.sampled_from((*IMAGINED, *COMMANDS)))


class Imaginer:
    """Implements `Imaginer`."""

    def __init__(self, *, at_hand: bool = True) -> None:
        self.at_hand = at_hand

    async def ask(self, question: Question[T], context: StepContext) -> ImaginedValue[T]:
        load, command = question.load, command_of(question)
        assert self.at_hand, command.argv
        words = command.argv
        said = f"{' '.join(words)} {command.stdin} {len(command.earlier)} {command.digest}\n"
        operations: tuple[FileOperation, ...] = ()
        if words[1:] == ("write",):
            operations = (FileOperation(kind="write", path="/root/log", content=said),)
        if words[1:] == ("append",):
            operations = (FileOperation(kind="append", path="/root/log", content=said),)
        answer = CommandAnswer(stdout=said, exit_code=3 * ("-x" in words), operations=operations)
        assert command.validate(answer) is None
        return ImaginedValue(load(answer.to_json()), "imagined")


def imagining(*, at_hand: bool = True) -> tuple[ShellEngine]:
    return (ShellEngine(imaginer=Imaginer(at_hand=at_hand)),)


async def probed(world: World, ref: str) -> Turn:
    return await world.step(PROBE, at=ref)


@settings(
    max_examples=examples(10),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(session=st.lists(calls, min_size=1, max_size=8), branch=st.integers(0, 7))
async def test_every_point_reopens_as_it_was(session: list[ToolCall], branch: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "w.sqlite"
        store = SqliteStore(path)
        live: dict[str, Turn] = {}
        async with await World.create(MACHINE, store=store, id="w", seed=5) as world:
            world.add_tools(TOOLS)
            refs = [world.ref]
            for call in session:
                # The probe is a branch of its own at the point where the world stands.
                fork = await world.fork()
                live[world.ref] = await fork.step(PROBE)
                await fork.close()
                await world.step(call)
                refs.append(world.ref)
            other = await world.step(
                ToolCall("run", {"command": "ls -la"}), at=refs[branch % len(refs)]
            )
            live[other.ref] = await probed(world, other.ref)
        store.close()

        again = SqliteStore(path)
        for ref, turn in live.items():
            async with await World.open("w", store=again, at=ref) as reopened:
                reopened.add_tools(TOOLS)
                repeated = await probed(reopened, ref)
            assert repeated.observation.text == turn.observation.text
            assert repeated.ref == turn.ref
        again.close()


@settings(
    max_examples=4 if FULL else 2, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(session=st.lists(imagined_calls, min_size=1, max_size=4))
@example(session=[call_of("session", "chmod 600 one")] * 3)
@example(session=[call_of("session", command) for command in IMAGINED])
@example(
    session=[
        call_of("session", "f() { kit f; }; f; f"),
        call_of("session", "umask 022; echo new > fresh; sed -i s/n/m/ fresh"),
        call_of("run", "kit write; kit append; cat /root/log"),
        call_of("session", "mkdir -p deep/er; echo $RANDOM > deep/er/file"),
        call_of("session", "for i in 1 2; do echo $i | kit -; done; kit -x"),
    ]
)
async def test_every_point_with_imagined_commands_reopens_with_nobody_to_ask(
    session: list[ToolCall],
) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "w.sqlite"
        store = SqliteStore(path)
        live: dict[str, tuple[Turn, WorldState]] = {}
        async with await World.create(
            MACHINE, store=store, id="w", seed=5, engines=imagining()
        ) as world:
            world.add_tools(TOOLS)
            for call in session:
                await world.step(call)
                fork = await world.fork()
                live[world.ref] = await fork.step(PROBE), await world.state()
                await fork.close()
        store.close()

        again = SqliteStore(path)
        for ref, (turn, state) in live.items():
            engines = imagining(at_hand=False)
            async with await World.open("w", store=again, at=ref, engines=engines) as reopened:
                reopened.add_tools(TOOLS)
                assert (await reopened.state(ref)).to_json() == state.to_json()
                repeated = await probed(reopened, ref)
                assert repeated.observation.text == turn.observation.text
                assert repeated.ref == turn.ref
        again.close()


@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(before=st.lists(imagined_calls, max_size=3), call=imagined_calls)
@example(
    before=[call_of("session", "hg status; hg status | cat"), call_of("run", "kit one > made")],
    call=call_of("session", "hg status; hg status | cat"),
)
@example(
    before=[call_of("session", "f() { kit f; }; f; f"), call_of("session", "x=ki; ${x}t dynamic")],
    call=call_of("session", "f; kit write; kit append; cat /root/log"),
)
async def test_a_reopened_world_asks_and_answers_as_the_live_one(
    before: list[ToolCall], call: ToolCall
) -> None:
    store = MemoryStore()
    async with await World.create(
        MACHINE, store=store, id="w", seed=5, engines=imagining()
    ) as world:
        world.add_tools(TOOLS)
        for earlier in before:
            await world.step(earlier)
        base = world.ref
        here = await world.step(call)
    async with await World.open("w", store=store, at=base, engines=imagining()) as reopened:
        reopened.add_tools(TOOLS)
        there = await reopened.step(call, at=base)
    assert there.ref == here.ref


@settings(max_examples=examples(15), deadline=None)
@given(session=st.lists(calls, min_size=1, max_size=8))
async def test_a_session_run_twice_gives_the_same_bytes(session: list[ToolCall]) -> None:
    lines: list[list[str]] = []
    # The shared engine's machine has been through the sessions before this one.
    for engines in ([ShellEngine()], None):
        async with await World.create(MACHINE, seed=11, engines=engines) as world:
            world.add_tools(TOOLS)
            lines.append([(await world.step(call)).to_line() for call in session])
    assert lines[0] == lines[1]


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_live_machine_and_a_fresh_one_go_on_alike(command: str) -> None:
    async with await World.create(MACHINE, seed=2) as world:
        world.add_tools(TOOLS)
        await world.step(ToolCall("session", {"command": "echo one > one; a=1"}))
        await world.step(ToolCall("session", {"command": command}))
        fork = await world.fork()
        assert (await fork.step(PROBE)).ref == (await world.step(PROBE)).ref


async def test_a_machine_that_was_used_elsewhere_is_as_a_new_one() -> None:
    """Its world is closed, and its machine goes to worlds whose files are of another kind."""
    ways: tuple[dict[str, str], ...] = (
        {"/srv/a": "1", "/srv/b/c": "2", "/srv/d/e/f": "3"},
        {"/srv/a/x": "1", "/srv/b": "2", "/srv/d/e": "3", "/etc/motd": "hello"},
        {},
    )
    mess = ToolCall(
        "session",
        {
            "command": "head -c9 /dev/urandom | wc -c; a=1; cd /srv; f() { :; };"
            " [ -e a ] || echo leak > /dev/shm/leak;"
            " rm -rf b; echo q > b; ln -s /etc l; chmod 700 a; trap 'echo t' INT; set -u; false"
        },
    )
    look = ToolCall("session", {"command": "ls -laR /srv /dev /root; cat /etc/motd /proc/uptime"})
    used: dict[int, list[str]] = {}
    for fresh in (True, False):
        for number, files in [*enumerate(ways), *enumerate(ways)]:
            scenario = Scenario.model_validate(
                {"name": "machine", "domains": ["terminal"], "files": files}
            )
            engines = [ShellEngine()] if fresh else None
            async with await World.create(scenario, engines=engines) as world:
                world.add_tools(TOOLS)
                lines = [(await world.step(call)).to_line() for call in (look, PROBE, mess, PROBE)]
            assert used.setdefault(number, lines) == lines
