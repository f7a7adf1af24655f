"""Commands that never end, or that would end the whole process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from agentworld_sim.engines.shell import isolated_process
from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.machine import ShellLimits
from agentworld_sim.engines.shell.stack_guard import call_deep
from agentworld_sim.errors import EngineFailure
from tests.engines.shell.limited import Kept, once


@pytest.mark.parametrize(
    "script",
    [
        "while :; do :; done",
        "awk 'BEGIN { while (1) {} }'",
        "awk 'BEGIN { for (;;) {} }'",
        "echo x | awk '{ do {} while (1) }'",
        "awk 'function f(n) { return f(n) } BEGIN { while (1) {} }'",
        "jq -n 'def f: f; f'",
        "jq -n 'last(repeat(1))'",
        "jq -n '[limit(1; def f: f; f)]'",
        "trap ':' DEBUG; while :; do :; done",
    ],
)
def test_what_burns_for_ever_ends_as_a_timeout_with_what_it_had_written(script: str) -> None:
    began = time.monotonic()
    run = once(f"echo before; {script}; echo after", wall_s=0.15)
    assert (run.stdout, run.stderr, run.ending) == ("before\n", "", "timeout")
    assert time.monotonic() - began < 8


@pytest.mark.parametrize(
    "script",
    ["yes > f", "yes | wc -l", "cat /dev/zero > f", "sudo yes | sort", "tail -f /dev/null"],
)
def test_what_waits_or_writes_for_ever_ends_as_a_timeout(script: str) -> None:
    machine = Kept()
    run = machine(f"echo before; {script}; echo after", timeout_s=60)
    assert (run.stdout, run.ending) == ("before\n", "timeout")
    assert machine.live.files.clock.now_us() % 60_000_000 == 0


def test_yes_without_a_pipe_floods_until_the_timeout() -> None:
    run = once("yes go")
    assert run.ending == "timeout"
    assert run.stdout.startswith("go\ngo\n")


@pytest.mark.parametrize(
    "script",
    [
        'x=\'eval "$x"\'; eval "$x"',
        "echo './x.sh' > x.sh; chmod +x x.sh; ./x.sh",
        "echo 'env ./x.sh' > x.sh; chmod +x x.sh; ./x.sh",
        'x=\'cat <(eval "$x")\'; eval "$x"',
        "f() { f; }; f",
        "echo '. ./x.sh' > x.sh; . ./x.sh",
        "trap 'kill -USR1 $$' USR1; kill -USR1 $$",
    ],
)
def test_a_recursion_without_end_dies_as_a_real_shell_does(script: str) -> None:
    run = once(f"echo before; {script}")
    assert (run.stdout, run.stderr) == ("before\n", "Segmentation fault\n")
    assert (run.exit_code, run.ending) == (139, "finished")


@pytest.mark.parametrize(
    "script",
    [
        ":(){ :|:& };:",
        'x=\'(eval "$x")\'; eval "$x"',
        "echo 'bash x.sh' > x.sh; bash x.sh",
        "echo 'echo a | xargs ./x.sh' > x.sh; chmod +x x.sh; ./x.sh",
    ],
)
def test_a_fork_bomb_runs_out_of_processes(script: str) -> None:
    run = once(script, wall_s=5)
    assert "fork: retry: Resource temporarily unavailable\n" in run.stderr
    assert "limit" not in run.stderr


@pytest.mark.parametrize(
    "script",
    [
        "eval " * 500 + "echo deep",
        f"jq -n '{'(' * 20_000}1{')' * 20_000}'",
        f"find . {'! ' * 20_000} -name a",
        f"test {'! ' * 20_000} a",
        "jq -n 'reduce range(100000) as $i (0; [.]) | length'",
    ],
)
def test_deep_nesting_does_not_end_the_process(script: str) -> None:
    try:
        once(script)
    except EngineFailure as failure:
        assert "not computed faithfully" in str(failure)


@pytest.mark.slow
def test_a_recursion_in_jq_dies_apart() -> None:
    run = once("echo before; jq -n 'def f(x): f(f(x)); f(1)'; echo $?", wall_s=2)
    assert run.stdout in ("before\n139\n", "before\n137\n", "before\n")
    assert run.stdout != "before\n" or run.ending == "timeout"


def test_awk_apart_reads_and_writes_the_worlds_files() -> None:
    machine = Kept()
    machine("printf 'b 2\\na 1\\n' > in.txt")
    run = machine(
        "X=env awk -v f=in.txt 'BEGIN { while ((getline l < f) > 0) n++;"
        ' do print n, ENVIRON["X"] > "out.txt"; while (n++ < 3) }\'; cat out.txt'
    )
    assert (run.stdout, run.stderr, run.exit_code) == ("2 env\n3 env\n", "", 0)
    assert machine.out("cat out.txt; ls") == "2 env\n3 env\nin.txt\nout.txt\n"


@pytest.mark.slow
def test_awk_loops_beyond_the_embedded_limit_are_computed() -> None:
    run = once("awk 'BEGIN { while (i < 12000000) i++; print i }'", wall_s=60)
    assert (run.stdout, run.stderr) == ("12000000\n", "")


def test_helper_processes_are_reused_and_know_nothing_of_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    isolated_process.stop_helpers()
    monkeypatch.setenv("A_SECRET", "s3cret")
    script = "awk 'BEGIN { while (i < 1) i++; for (k in ENVIRON) print k }'; ls /etc"
    assert "A_SECRET" not in once(script).stdout
    (helper,) = isolated_process._idle  # pyright: ignore[reportPrivateUsage]
    with open(f"/proc/{helper.pid}/environ", "rb") as environ:
        assert b"s3cret" not in environ.read()
    once(script)
    assert isolated_process._idle == [helper]  # pyright: ignore[reportPrivateUsage]


def test_a_killed_helper_is_replaced() -> None:
    once("awk 'BEGIN { while (1) {} }'", wall_s=0.15)
    assert once("awk 'BEGIN { while (i < 2) i++; print i }'").stdout == "2\n"


@pytest.mark.parametrize("script", ["while :; do :; done", "awk 'BEGIN { while (1) {} }'"])
def test_a_running_script_is_cancelled_from_another_thread(script: str) -> None:
    machine = Kept()
    timer = threading.Timer(0.15, machine.live.cancel)
    timer.start()
    run = machine(f"echo before; {script}")
    assert (run.stdout, run.ending) == ("before\n", "cancelled")


def _raises(call: CommandCall) -> CommandResult:
    raise EngineFailure("the model is down")


def test_a_command_that_fails_raises_out_of_the_run_and_prints_nothing() -> None:
    machine = Kept(more={"kubectl": _raises})
    with pytest.raises(EngineFailure, match="the model is down"):
        machine("echo a; kubectl get pods || echo b; while :; do :; done")


@pytest.mark.slow
def test_ten_thousand_turns_and_commands_are_no_limit() -> None:
    machine = Kept()
    for _ in range(1_100):
        machine("true")
    assert machine.out("for ((i = 0; i < 10000; i++)); do true; done; echo $i") == "10000\n"


def test_the_wall_limit_is_a_setting() -> None:
    began = time.monotonic()
    assert once("while :; do :; done", limits=ShellLimits(wall_seconds=0.2)).ending == "timeout"
    assert time.monotonic() - began < 3


def test_deep_calls_return_raise_and_are_watched() -> None:
    seen: list[bool] = []
    assert call_deep(lambda: time.sleep(0.1) or 3, watch=seen.append) == 3
    assert seen and not any(seen)
    with pytest.raises(ZeroDivisionError):
        call_deep(lambda: 1 // 0)


@pytest.mark.slow
def test_a_helper_ends_with_the_process_that_started_it() -> None:
    script = (
        "import os, threading, time\n"
        "from tests.engines.shell.limited import once\n"
        "from agentworld_sim.engines.shell import isolated_process\n"
        "once(\"awk 'BEGIN { while (i < 1) i++ }'\")\n"
        "print(isolated_process._idle[0].pid, flush=True)\n"
        "threading.Thread(target=once, args=(\"awk 'BEGIN { while (1) {} }'\",)).start()\n"
        "time.sleep(0.5)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    pid = int(done.stdout)
    deadline = time.monotonic() + 10
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not os.path.exists(f"/proc/{pid}")


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        ("timeout 0.15 bash -c 'echo in; while :; do :; done'; echo $?", "in\n124\n"),
        ("timeout 0.15 awk 'BEGIN { while (1) {} }'; echo $?", "124\n"),
        ("timeout 5 tail -f f; echo $?", "x\n124\n"),
    ],
)
def test_timeout_ends_what_burns_and_the_script_goes_on(script: str, answer: str) -> None:
    assert once(f"echo x > f; {script}; echo after").stdout == answer + "after\n"


def test_a_recursion_behind_another_command_dies_too() -> None:
    run = once('timeout 9 bash -c \'x="eval \\"\\$x\\""; eval "$x"\'; echo $?')
    assert (run.stdout, run.stderr) == ("139\n", "Segmentation fault\n")


def test_after_a_timeout_the_machine_works_as_before() -> None:
    machine = Kept(limits=ShellLimits(wall_seconds=0.5))
    assert machine("x=1; while :; do :; done").ending == "timeout"
    after = machine("awk 'BEGIN { while (i < 2) i++; print i }'; find . -maxdepth 0; jq -n 1; ls")
    assert (after.stdout, after.stderr, after.ending) == ("2\n.\n1\n", "", "finished")
