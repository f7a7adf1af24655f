"""Running a turn again gives what it would have given if the command had always been there."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agentworld_sim import ToolCall, Turn
from agentworld_sim.engines.shell import Machine, ShellEngine, shell_engine
from agentworld_sim.engines.shell._command import Command, CommandCall, CommandResult
from agentworld_sim.engines.shell.commands import commands_of
from agentworld_sim.engines.shell.image import base_tree
from agentworld_sim.ports import Answer, StepContext
from agentworld_sim.types.files import MemoryBlobs
from agentworld_sim.types.state import WorldState
from tests.engines.shell.conftest import CLOCK_US
from tests.engines.shell.imagining import (
    TOOLS,
    FunctionImaginer,
    ImaginedWorld,
    echoed,
)
from tests.properties import examples


def kit(call: CommandCall) -> CommandResult:
    """The same as `echoed`, as a command of the shell."""
    said = f"<{' '.join((call.name, *call.argv))}|{call.stdin or ''}>\n"
    message = f"{call.name}: said\n" if "-e" in call.argv else ""
    return CommandResult(said, message, 3 if "-x" in call.argv else 0)


@contextmanager
def with_commands(commands: Mapping[str, Command]) -> Generator[None]:
    """Every machine brought up here has some commands more."""
    with pytest.MonkeyPatch.context() as patch:

        def all_of(machine: Machine) -> Mapping[str, Command]:
            return {**commands_of(machine), **commands}

        patch.setattr(shell_engine, "commands_of", all_of)
        yield


SCRIPTS = (
    "echo $RANDOM; kit a; echo $RANDOM; date +%s.%N",
    "mktemp; kit; mktemp; shuf -i 1-50 | head -3",
    "sleep 3; date > f; kit f; sleep 2; date >> f; cat f",
    "for i in 1 2 3; do echo $RANDOM > f$i; kit $i; done; find . -type f -printf '%p %T@ %m\\n'",
    "echo a b c | xargs -n1 kit | sort -R",
    "uuid=$(cat /proc/sys/kernel/random/uuid); kit $uuid; echo $uuid $SRANDOM",
    "umask 077; kit a > made; umask 022; kit b > also; ls -l made also",
    "trap 'kit bye' EXIT; f() { kit -x || echo $?; }; f; set -o pipefail; kit -x | cat; echo $?",
    "head -c 8 /dev/urandom | od -An -tx1; kit; head -c 8 /dev/urandom | od -An -tx1",
    "touch -d '1 hour ago' f; kit; cp -p f g; mv f h; kit; rm g",
    "(sleep 5; kit slept) & wait; echo $SECONDS; bash -c 'kit $RANDOM'",
    "a=1; b=(x y); cd /tmp; kit; export c=3; set -u; alias l=ls",
    "timeout 5 sh -c 'kit a; sleep 9; kit b'; echo $?",
    "kit -e a 2>&1 | tee log; kit -e b > both 2>&1; cat both",
)

calls = st.lists(
    st.tuples(st.sampled_from(("run", "session")), st.sampled_from(SCRIPTS)), min_size=1, max_size=4
)


def without_answers(answer: Answer | Turn) -> tuple[str, object]:
    return answer.observation.text, answer.change.to_json()


async def answers(engine: ShellEngine, session: list[tuple[str, str]]) -> list[Answer]:
    """What an engine answers, one call after another, with a random source of its own for each."""
    blobs, machine = MemoryBlobs(), Machine()
    tree = base_tree(machine, CLOCK_US, blobs)
    state = WorldState(files=tree, clock_us=CLOCK_US, seed=5)
    tools = {tool.name: engine.bind(tool) or tool for tool in TOOLS}
    found: list[Answer] = []

    async def none() -> tuple[Any, ...]:
        return ()

    async def there(_: object) -> WorldState:
        return state

    live = await engine.open(state, blobs)
    for seed, (tool, script) in enumerate(session):
        context = StepContext(
            call=ToolCall(tool, {"command": script}),
            tool=tools[tool],
            state=state,
            seed=seed,
            blobs=blobs,
            history=none,
            failures=none,
            state_at=there,
        )
        found.append(await live.answer(context))
        state = state.after(found[-1].change)
    live.close()
    return found


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(session=calls)
async def test_a_world_with_imagined_commands_is_one_that_had_them_all_along(
    session: list[tuple[str, str]],
) -> None:
    imagined = await answers(ShellEngine(imaginer=FunctionImaginer()), session)
    with with_commands({"kit": kit}):
        computed = await answers(ShellEngine(), session)
    assert [*map(without_answers, imagined)] == [*map(without_answers, computed)]
    assert any(answer.inner for answer in imagined)
    assert not any(answer.inner for answer in computed)


@pytest.mark.parametrize("script", SCRIPTS)
async def test_each_script_runs_again_exactly(script: str) -> None:
    (imagined,) = await answers(ShellEngine(imaginer=FunctionImaginer()), [("run", script)])
    with with_commands({"kit": kit}):
        (computed,) = await answers(ShellEngine(), [("run", script)])
    assert without_answers(imagined) == without_answers(computed)
    assert imagined.inner


async def test_the_same_session_gives_the_same_bytes() -> None:
    lines: list[list[str]] = []
    for _ in range(2):
        async with await ImaginedWorld.create(echoed) as here:
            turns = [await here.turn(script, tool="session") for script in SCRIPTS]
            lines.append([turn.to_line() for turn in turns])
    assert lines[0] == lines[1]
