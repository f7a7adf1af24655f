"""A machine that served another world before answers as a new one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentworld_sim.engines.shell import ShellEngine, ShellLimits, shell_engine
from agentworld_sim.engines.shell.image import base_tree
from agentworld_sim.engines.shell.live_shell import LiveShell
from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.types.files import FileEntry, FileTree, MemoryBlobs
from agentworld_sim.types.state import WorldState
from tests.engines.shell.conftest import CLOCK_US
from tests.properties import examples

LIMITS = ShellLimits(wall_seconds=7.5)
"""No other test's: its machines are a kind of their own."""

SCRIPTS = (
    "echo secret > /tmp/f; mkdir -p d/e; echo x > d/e/f",
    "rm -rf /tmp/* d /etc/motd; mkdir /etc/motd",
    "ln -s /etc/passwd link; chmod 600 /etc/hosts; chown 7:8 /etc/issue",
    "x=1; export y=2; cd /tmp; set -eu; shopt -s nullglob extglob; alias a=b",
    "f() { echo f; }; readonly r=3; declare -A m=([k]=v); umask 077; touch /root/new",
    "trap 'echo bye' EXIT; trap 'echo no' ERR; set -- a b c; false",
    "exec 5> /tmp/log; echo x >&5; echo y > /dev/left; sleep 3 & wait; echo $! $$",
    "touch -d 2001-01-01 /etc/hosts; cp -p /etc/hosts /etc/issue; pushd / ; hash ls",
    "printf '\\377' > raw; git init; echo $RANDOM $SRANDOM; complete -W 'a b' ls",
    "cat /etc/hostname | grep deb && ls -la / > listing",
)
PROBE = (
    "ls -laiR /etc /root /tmp /home /dev /opt; declare -p; declare -F; alias; shopt; set -o; trap; umask;"
    " jobs; dirs; hash; complete; echo $# $! $$ $? $RANDOM $PWD; cat /etc/motd /etc/hosts link; ls /tmp"
)


def engine_and_state(more: dict[str, FileEntry] | None = None) -> tuple[ShellEngine, WorldState]:
    engine = ShellEngine(limits=LIMITS)
    files = base_tree(engine.machine, CLOCK_US, BLOBS).replaced(more or {})
    return engine, WorldState(files=files, clock_us=CLOCK_US, seed=3)


BLOBS = MemoryBlobs()


def answer(live: LiveShell, script: str, session: ShellSession = ShellSession()) -> object:  # noqa: B008
    live.start_turn(CLOCK_US, 3)
    run = live.run(script, session, keep="all")
    return run.stdout, run.stderr, run.exit_code, run.session.to_bytes(), live.collect(BLOBS)


@settings(max_examples=examples(60))
@given(st.lists(st.sampled_from(SCRIPTS), max_size=3))
def test_it_answers_as_a_new_machine(scripts: list[str]) -> None:
    engine, state = engine_and_state()
    live = engine.bring_up(state, BLOBS, None)
    for script in scripts:
        answer(live, script)
    engine.give_back(live)
    again = engine.bring_up(state, BLOBS, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shell_engine, "_idle", [])
        fresh = engine.bring_up(state, BLOBS, None)
    assert answer(again, PROBE) == answer(fresh, PROBE)
    again.close()
    fresh.close()


def test_a_machine_is_taken_over_and_gets_the_other_worlds_files() -> None:
    engine, state = engine_and_state()
    live = engine.bring_up(state, BLOBS, None)
    answer(live, "echo mine > note; mkdir -p a/b; rm /etc/motd")
    engine.give_back(live)
    content = BLOBS.put(b"theirs\n")
    more = {"/root/a": FileEntry("file", 0o640, CLOCK_US, content, 7, "www-data")}
    _, other = engine_and_state(more)
    again = engine.bring_up(other, BLOBS, None)
    assert again is live
    assert again.files.tree == FileTree(dict(other.files))
    _, _, _, _, changes = answer(again, "cat a; stat -c '%a %U' a; ls; :> /tmp/x")  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
    assert set(changes) == {"/tmp/x"}  # pyright: ignore[reportUnknownArgumentType]
    again.close()


@pytest.mark.parametrize(
    "script",
    ["cp -p /etc/hosts h", "sleep 1 &", "echo x > /dev/y", "exec 5>f", "f() { :; }", "f=x; $f"],
)
def test_one_in_which_something_may_be_left_is_not_taken_over(script: str) -> None:
    engine, state = engine_and_state()
    live = engine.bring_up(state, BLOBS, None)
    answer(live, script)
    assert not live.retire()
    live.close()
