"""Limits are answered as a real machine would, or fail aloud; nothing is cut silently."""

from __future__ import annotations

import pytest

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.bash_shims import make_ready, surely_ends
from agentworld_sim.engines.shell.bash_texts import faithful
from agentworld_sim.engines.shell.machine import ShellLimits
from agentworld_sim.errors import EngineFailure
from tests.engines.shell.limited import Kept, once


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        ("seq 1 250000 | tail -1", "250000\n"),
        ("seq 250000 > f; wc -l f", "250000 f\n"),
        ("seq 10 -4 1", "10\n6\n2\n"),
        ("seq 1200 | sed ':a;N;$!ba;s/\\n/ /g' | wc", "      1    1200    4893\n"),
        ("seq -w 8 10", "08\n09\n10\n"),
        ("seq 5 1", ""),
        ("head -c 5000000 /dev/zero | wc -c", "5000000\n"),
        ("n=3000000; head -c $n /dev/zero > f; wc -c f", "3000000 f\n"),
        ("dd if=/dev/zero of=f bs=1M count=5 status=none; wc -c f", "5242880 f\n"),
        ("dd if=/dev/urandom of=f bs=1K count=200 2>/dev/null; wc -c f", "204800 f\n"),
        ("printf a > f; dd if=/dev/zero of=f bs=1 seek=3 count=1 2>/dev/null; od -c f | head -1",
         "0000000   a  \\0  \\0  \\0\n"),
        ("yes | head -n 12000 | wc -l", "12000\n"),
        ("yes ab | head -c 600000 | wc -c", "600000\n"),
        ("echo {1..9999} | wc -w", "9999\n"),
        ("while :; do echo y; done | head -2", "y\ny\n"),
        ("echo 'yes | wc' \"{1..99999}\"", "yes | wc {1..99999}\n"),
    ],
)  # fmt: skip
def test_large_requests_are_answered(script: str, answer: str) -> None:
    run = once(script)
    assert (run.stdout, run.stderr, run.exit_code) == (answer, "", 0)


@pytest.mark.parametrize(
    ("script", "named"),
    [
        ("echo {1..10001} | wc -w", "10,000 words"),
        ("echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "words"),
        ("printf '%0500000d' 1 | wc -c", "format width"),
        ("seq 100000000 | wc -l", "100,000,000 lines"),
        ("echo a | sed ':a;s/a/aa/;ta'", "branch/label loop limit"),
        ("jq -n '[range(9000000)] | length'", "value size limit"),
        ("awk 'BEGIN { printf \"%99999d\", 1 }'", "format width"),
        ("f() { (( $1 > 20 )) && return; f $(($1 + 1)); }; f 1", "function depth"),
        ("for ((i = 0; i < 12000; i++)); do eval v$i=1; done", "variable count"),
        ("for i in $(seq 150000); do :; done", "word split"),
        ("head -c 100000 /dev/urandom > f", "100000 bytes of /dev/urandom"),
        ("yes | head -c 3000000 | wc -c", "3000000 bytes"),
        ("dd if=/dev/zero of=f bs=1M count=50", "52,428,800 bytes"),
    ],
)
def test_what_cannot_be_computed_faithfully_fails_and_says_why(script: str, named: str) -> None:
    with pytest.raises(EngineFailure, match="not computed faithfully") as failure:
        once(script)
    assert named in str(failure.value)


def test_a_failure_is_not_hidden_by_a_redirection_of_messages() -> None:
    with pytest.raises(EngineFailure, match="jq"):
        once("jq -n '[range(9000000)] | length' 2>/dev/null")


def test_output_over_the_limit_fails_and_names_the_setting() -> None:
    with pytest.raises(EngineFailure, match=r"more than 1,000 bytes \(ShellLimits.output_bytes\)"):
        once("seq 1000", limits=ShellLimits(output_bytes=1_000))


def test_an_endless_flood_ends_as_a_timeout_or_names_the_setting() -> None:
    limits = ShellLimits(output_bytes=10_000, wall_seconds=0.3)
    try:
        run = once("while :; do echo xxxxxxxxxxxxxxxxxx; done", limits=limits)
    except EngineFailure as failure:
        assert "ShellLimits.output_bytes" in str(failure)
    else:
        assert run.ending == "timeout" and len(run.stdout) <= 10_000


def test_memory_that_is_used_up_is_said_in_bashs_words() -> None:
    run = once("x=a; while :; do x=$x$x; done")
    assert (run.stderr, run.exit_code) == ("bash: xrealloc: cannot allocate 4294967296 bytes\n", 2)


def test_a_full_disk_is_said_in_the_systems_words() -> None:
    script = (
        "dd if=/dev/zero of=a bs=1M count=8 status=none; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13;"
    )
    run = once(script + " do cat a > b$i || break; done; echo $i")
    assert "No space left on device\n" in run.stderr
    assert "limit" not in run.stderr


def test_output_that_fills_the_disk_is_the_commands_error_and_the_script_goes_on() -> None:
    def find(_: CommandCall) -> CommandResult:
        return CommandResult("x" * 11_000_000)

    shell = Kept(more={"find": find})
    run = shell("find > f; echo $?")
    shell.close()
    assert (run.stdout, run.stderr) == ("1\n", "find: write error: No space left on device\n")


def test_a_name_that_is_too_long_is_said_in_the_systems_words() -> None:
    run = once("echo x > " + "n" * 300)
    assert run.stderr.endswith(": File name too long\n")


@pytest.mark.parametrize(
    "text",
    [
        "seq: line limit (100000) exceeded; output truncated",
        "sed: warning: branch/label loop limit (1000) reached on line 1; output may be truncated",
        "jq: JSON nesting too deep (101 levels, max 100)",
        "bash: line 1: mapfile: -C: callbacks are not supported",
        "parallel: not supported in virtual environment",
        "bash: line 1: resource limit exceeded: maximum file descriptors exceeded (1024)",
        "touch: RuntimeError: cannot enter context: <_contextvars.Context object at 0x7f33> is already entered",
    ],
)
def test_the_embedded_shells_own_limits_are_recognised(text: str) -> None:
    with pytest.raises(EngineFailure, match="not computed faithfully"):
        faithful(f"before\n{text}\nafter\n")


@pytest.mark.parametrize(
    "text",
    ["ls: cannot access 'x': No such file or directory\n", "make: *** [all] Error 1\n", ""],
)
def test_ordinary_messages_pass(text: str) -> None:
    assert faithful(text) == text


@pytest.mark.parametrize(
    "program",
    [
        "{ print $1 }",
        "/a/ { n++ } END { print n }",
        "{ for (i = 1; i <= NF; i++) s += $i } END { print s }",
        "{ a[$1] += $2 } END { for (k in a) print k, a[k] }",
        '{ print "while (1)" }',
        "BEGIN { for (i = 10; i > 0; i--) print i } # while",
    ],
)
def test_programs_that_surely_end_are_known(program: str) -> None:
    assert surely_ends(program)


@pytest.mark.parametrize(
    "program",
    [
        "BEGIN { while (1) {} }",
        "BEGIN { for (;;) {} }",
        "BEGIN { for (i = 0; i < 3; i++) i = 0 }",
        "BEGIN { for (i = 0; i < 3; j++) {} }",
        "function f(n) { return f(n) } BEGIN { f(1) }",
        'BEGIN { while ((getline l < "f") > 0) n++ }',
    ],
)
def test_programs_that_may_not_end_are_known(program: str) -> None:
    assert not surely_ends(program)


@pytest.mark.parametrize(
    "script",
    [
        "ls -la | head -3",
        "for f in *.py; do wc -l $f; done",
        "awk '{print $1}' f",
        "tail -n 5 log",
        "cat /dev/null > f",
        "echo {a,b,c}",
        "grep 'yes -r' .",
    ],
)
def test_ordinary_scripts_are_left_as_they_are(script: str) -> None:
    assert make_ready(script) == script
