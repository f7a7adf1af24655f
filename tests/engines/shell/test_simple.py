"""Simple scripts take a short way; they answer what the long way answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agentworld_sim.engines.shell.live_shell import ShellRun
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.script_analysis import is_simple
from agentworld_sim.engines.shell.session import ShellSession
from tests.engines.shell.conftest import MachineShell, MakeMachine
from tests.properties import examples

SETUP = (
    "mkdir -p /srv/d/e /srv/empty; cd /srv; echo 1 > a; echo 12345 > b.txt; echo x > d/.hidden;"
    " ln -s a link; ln -s nope broken; ln -s d folder; echo > '-l'; echo > 'a b'; chmod 700 d/e;"
    " chown daemon:mail a; touch -d 2001-02-03 b.txt; ln -s loop loop"
)
OPTIONS = (
    "-l",
    "-a",
    "-la",
    "-R",
    "-lR",
    "-F",
    "-1",
    "-d",
    "-s",
    "-i",
    "-t",
    "-S",
    "-r",
    "-A",
    "-p",
)
MORE = (
    "--color=always",
    "--zero",
    "--",
    "-C",
    "-m",
    "-n",
    "-L",
    "-H",
    "--nope",
    "-Z",
    "--sort=size",
)
OPERANDS = (
    "/srv",
    "/srv/a",
    "/srv/link",
    "/srv/broken",
    "/srv/folder",
    "/srv/folder/",
    "/",
    "/bin",
)
OTHERS = (
    "/nope",
    "/srv/d/",
    "/srv/loop",
    ".",
    "..",
    "nope",
    "/srv/empty",
    "/proc",
    "/dev",
    "/usr/",
)


def _run(machine: MachineShell, script: str, *, merge: bool) -> ShellRun:
    machine.live.start_turn(machine.clock_us, machine.seed)
    return machine.live.run(script, ShellSession(), keep="nothing", merge=merge)


def _said(run: ShellRun) -> ShellRun:
    """Without the pieces: the long way tells them as they were written, the short way in one."""
    return replace(run, written=(), moments=())


@given(
    words=st.lists(st.sampled_from(OPTIONS + MORE + OPERANDS + OTHERS), max_size=4),
    merge=st.booleans(),
)
@settings(
    max_examples=examples(150),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
def test_a_command_alone_answers_as_in_a_shell(
    make_machine: MakeMachine, words: list[str], merge: bool
) -> None:
    machine = _MACHINES.get(make_machine)
    if machine is None:
        machine = _MACHINES[make_machine] = make_machine()
        machine.out(SETUP)
    script = " ".join(["ls", *words])
    short = _run(machine, script, merge=merge)
    long = _run(machine, f"{{ {script}; }}", merge=merge)
    assert _said(short) == _said(long)
    assert "".join(out for out, _ in short.written) == "".join(out for out, _ in long.written)


_MACHINES: dict[MakeMachine, MachineShell] = {}


@pytest.mark.parametrize("workdir", ["/nope", "/srv/d/..", "/srv/", "/srv/folder", "/"])
@pytest.mark.parametrize("script", ["ls", "ls -la .", "ls nope e", "ls ../d"])
def test_a_command_alone_stands_where_a_shell_would(
    make_machine: MakeMachine, workdir: str, script: str
) -> None:
    machine = make_machine(machine=Machine(workdir=workdir))
    machine.run(SETUP)
    short = _run(machine, script, merge=False)
    assert _said(short) == _said(_run(machine, f"{{ {script}; }}", merge=False))


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize(
    "script",
    [
        *(
            "ls *",
            "ls ~",
            "ls '/srv/a b'",
            "ls /srv | wc -l",
            "ls /srv;",
            "ls /srv\nls /nope /srv/a",
        ),
        *(
            "cat /srv/a",
            "head -n 1 /srv/nope /srv/b.txt",
            "wc /srv/a /srv/b.txt",
            "grep -n 1 /srv/a",
        ),
        *("false", "pwd", "echo a; false"),
    ],
)
def test_simple_scripts_answer_as_others_do(
    make_machine: MakeMachine, script: str, merge: bool
) -> None:
    machine = make_machine()
    machine.out(SETUP)
    assert is_simple(script)
    short = _run(machine, script, merge=merge)
    assert _said(short) == _said(_run(machine, f"{{ {script}\n}}", merge=merge))
