"""A machine that served another world before answers as a new one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.engines.shell import ShellEngine, ShellLimits
from agentworld_sim.engines.shell.image import base_tree
from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.engines.shell.shell_engine import ShellEngineSession
from agentworld_sim.types.files import FileEntry, MemoryBlobs
from agentworld_sim.types.state import WorldState
from tests.engines.shell.conftest import CLOCK_US
from tests.properties import examples

SCRIPTS = (
    "echo secret > /tmp/f; mkdir -p d/e; echo x > d/e/f",
    "rm -rf /tmp/* d /etc/motd; mkdir /etc/motd",
    "ln -s /etc/passwd link; chmod 600 /etc/hosts; chown 7:8 /etc/issue",
    "x=1; export y=2; cd /tmp; set -eu; shopt -s nullglob extglob; alias a=b",
    "f() { echo f; }; readonly r=3; declare -A m=([k]=v); umask 077; touch /root/new",
    "trap 'echo bye' EXIT; trap 'echo no' ERR; set -- a b c; false",
    "exec 5> /tmp/log; echo x >&5; echo y > /dev/left; sleep 3 & wait; echo $! $$",
    "touch -d 2001-01-01 /etc/hosts; cp -p /etc/hosts /etc/issue; pushd / ; hash ls",
    "printf '\\377' > raw; echo $RANDOM $SRANDOM; complete -W 'a b' ls",
    "cat /etc/hostname | grep deb && ls -la / > listing",
)
PROBE = (
    "ls -laiR /etc /root /tmp /home /dev /opt; declare -p; declare -F; alias; shopt; set -o; trap; umask;"
    " jobs; dirs; hash; complete; echo $# $! $$ $? $RANDOM $PWD; cat /etc/motd /etc/hosts link; ls /tmp"
)


BLOBS = MemoryBlobs()
ENGINE = ShellEngine()


def state_with(**more: FileEntry) -> WorldState:
    files = base_tree(ENGINE.machine, CLOCK_US, BLOBS)
    files = files.with_changes({f"/root/{name}": entry for name, entry in more.items()})
    return WorldState(files=files, clock_us=CLOCK_US, seed=3)


def answer(session: ShellEngineSession, script: str, keep: ShellSession) -> tuple[Any, ...]:
    live = session._live  # pyright: ignore[reportPrivateUsage]
    assert live is not None
    live.start_turn(CLOCK_US, 3)
    run = live.run(script, keep, keep="all")
    return run.stdout, run.stderr, run.exit_code, run.session, live.collect(BLOBS)


@settings(max_examples=examples(60))
@given(st.lists(st.sampled_from(SCRIPTS), max_size=3))
async def test_it_answers_as_a_new_machine(scripts: list[str]) -> None:
    theirs = FileEntry("file", 0o640, CLOCK_US, BLOBS.put(b"theirs\n"), 7, "www-data")
    other = state_with(link=theirs, d=theirs)
    session, keep = await ENGINE.open(state_with(), BLOBS), ShellSession()
    for script in scripts:
        keep = answer(session, script, keep)[3]
    fresh = await ENGINE.open(other, BLOBS)
    if await session.move(other, BLOBS):
        assert answer(session, PROBE, ShellSession()) == answer(fresh, PROBE, ShellSession())
    session.close()
    fresh.close()


async def test_only_what_differs_is_written() -> None:
    session = await ENGINE.open(state_with(), BLOBS)
    answer(
        session, "echo mine > note; mkdir -p a/b; cp -p /etc/hosts h; f() { :; }", ShellSession()
    )
    live = session._live  # pyright: ignore[reportPrivateUsage]
    other = state_with(a=FileEntry("file", 0o640, CLOCK_US, BLOBS.put(b"theirs\n"), 7, "www-data"))
    assert await session.move(other, BLOBS)
    assert session._live is live  # pyright: ignore[reportPrivateUsage]
    said, _, _, _, changes = answer(
        session, "cat a; stat -c '%a %U' a; ls; :> /tmp/x", ShellSession()
    )
    assert (said, set(changes)) == ("theirs\n640 www-data\na\n", {"/tmp/x"})
    session.close()


@pytest.mark.parametrize(
    "script", ["sleep 1 &", "echo x > /dev/y", "exec 5>f", "while :; do :; done"]
)
async def test_one_in_which_something_may_be_left_does_not_move(script: str) -> None:
    engine = ShellEngine(limits=ShellLimits(wall_seconds=0.2))
    session = await engine.open(state_with(), BLOBS)
    answer(session, script, ShellSession())
    assert not await session.move(state_with(), BLOBS)
    session.close()
