"""Time in the machine is the world's: it stands still unless somebody sleeps."""

from __future__ import annotations

import sys
import time
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import reset_tzpath

import pytest

from agentworld_sim import EngineFailure, World
from agentworld_sim.engines.shell import ShellEngine
from agentworld_sim.engines.shell._command import Command, CommandCall, CommandResult
from agentworld_sim.engines.shell.commands._formats import zone_named
from agentworld_sim.engines.shell.image import zone_files
from agentworld_sim.engines.shell.script_analysis import runs_side_by_side
from agentworld_sim.types.tools import ToolCall
from tests.engines.shell.test_imagined_exactness import answers, with_commands, without_answers

from .conftest import MachineShell

# From GNU date 9.1 at 2026-03-02 09:00:00 UTC.
DATES = {
    "date": "Mon Mar  2 09:00:00 UTC 2026",
    "date -u +%FT%TZ": "2026-03-02T09:00:00Z",
    "date +'%s %e %j %U %V %-d %N %3N'": "1772442000  2 061 09 10 2 000000000 000",
    "date -I": "2026-03-02",
    "date -Iseconds": "2026-03-02T09:00:00+00:00",
    "date -R": "Mon, 02 Mar 2026 09:00:00 +0000",
    "date --rfc-3339=seconds": "2026-03-02 09:00:00+00:00",
    "date -d yesterday +%F": "2026-03-01",
    "date -d '2 days ago' +%F": "2026-02-28",
    "date -d '2024-02-28 +2 days' +%F": "2024-03-01",
    "date -d '2024-01-31 +1 month' +%F": "2024-03-02",
    "date -d @86400 '+%F %T'": "1970-01-02 00:00:00",
    "date -d 'next monday' +%F": "2026-03-09",
    "date -d 'last friday' +%F": "2026-02-27",
    "date -d '2024-07-04T12:00:00Z' +%s": "1720094400",
    "date -d 'Jan 5 2024 3pm' '+%F %R'": "2024-01-05 15:00",
    "date -d '10:30 tomorrow' '+%F %R'": "2026-03-03 10:30",
    "TZ=America/New_York date": "Mon Mar  2 04:00:00 EST 2026",
    "TZ=Asia/Tokyo date -d '2024-07-04 12:00' +%z": "+0900",
    "TZ=EST5EDT date +%Z": "EST",
    "date -d 'TZ=\"Europe/Berlin\" 2024-07-04 12:00' +%H": "10",
}


JOBS = "(sleep 1; touch ready) & for i in 1 2 3; do [ -f ready ] && break; sleep 1; done; wait"


@pytest.mark.parametrize("form", [JOBS, "bash jobs.sh", ". ./jobs.sh 2>/dev/null", "f"])
async def test_jobs_call_commands_at_the_same_moment(form: str) -> None:
    for _ in range(5):
        async with await World.create() as world:
            for script in (
                f"cat > jobs.sh <<'EOF'\n{JOBS}\nEOF\nf() {{ {JOBS}; }}",
                form,
                "ls ready",
            ):
                turn = await world.step(ToolCall("bash", {"command": script}))
            assert turn.observation.text == "ready\n"


async def test_jobs_that_meet_again_are_told_what_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    def always(calls: object) -> bool:
        return True

    monkeypatch.setattr("agentworld_sim.engines.shell.live_shell.close_lost", always)
    async with await World.create() as world:
        with pytest.raises(EngineFailure, match="write `wait` between them"):
            await world.step(ToolCall("bash", {"command": JOBS}))


def test_an_ampersand_in_quotes_is_no_job() -> None:
    assert not runs_side_by_side("echo 'a & b' && ls nope 2>&1")
    assert runs_side_by_side("sleep 1 & wait")


def test_zones_are_those_of_the_package_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Asia").mkdir()
    (tmp_path / "Asia/Tokyo").write_bytes(zone_files()["Etc/UTC"])
    reset_tzpath([str(tmp_path)])
    try:
        tokyo = zone_named.__wrapped__("Asia/Tokyo")
    finally:
        reset_tzpath()
    assert tokyo.utcoffset(datetime(2026, 3, 2)) == timedelta(hours=9)
    monkeypatch.setitem(sys.modules, "tzdata", None)
    assert zone_files.__wrapped__() == {}


@pytest.mark.parametrize("script", DATES)
def test_date_prints_as_gnu_date_does(machine_shell: MachineShell, script: str) -> None:
    assert machine_shell.out(script) == DATES[script] + "\n"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("date -d nonsense", "date: invalid date \u2018nonsense\u2019\n"),
        ("date -d 2024-13-01", "date: invalid date \u20182024-13-01\u2019\n"),
        (
            "date +%Y foo",
            "date: extra operand \u2018foo\u2019\nTry 'date --help' for more information.\n",
        ),
        (
            "date --bad",
            "date: unrecognized option '--bad'\nTry 'date --help' for more information.\n",
        ),
        (
            "sleep x",
            "sleep: invalid time interval \u2018x\u2019\nTry 'sleep --help' for more information.\n",
        ),
        ("sleep", "sleep: missing operand\nTry 'sleep --help' for more information.\n"),
    ],
)
def test_mistakes_are_told_as_gnu_tells_them(
    machine_shell: MachineShell, script: str, message: str
) -> None:
    assert machine_shell.fails(script) == (message, 1)


def test_a_files_date_is_its_modification_time(machine_shell: MachineShell) -> None:
    assert machine_shell.out("touch -d 2020-05-06T07:08:09Z f; date -r f +%FT%T") == (
        "2020-05-06T07:08:09\n"
    )


def test_sleep_moves_the_clock_and_does_not_wait(machine_shell: MachineShell) -> None:
    assert machine_shell.out("sleep 0.5 1m; date +%T.%1N; sleep 1d; date +%d") == "09:01:00.5\n03\n"
    assert machine_shell.out("date +%F") == "2026-03-03\n"


def test_seconds_follow_the_clock(machine_shell: MachineShell) -> None:
    script = "echo $SECONDS; sleep 90; echo $SECONDS $EPOCHSECONDS; printf '%(%T)T\\n' -1"
    assert machine_shell.out(script) == "0\n90 1772442090\n09:01:30\n"


def test_printf_formats_the_worlds_time(machine_shell: MachineShell) -> None:
    script = "printf -v now '%(%F)T' -1; echo $now; printf '%s %(%H)T %5d|%%\\n' a 0 7"
    assert machine_shell.out(script) == "2026-03-02\na 00     7|%\n"


def test_awk_and_jq_read_the_worlds_clock(machine_shell: MachineShell) -> None:
    assert machine_shell.out("awk 'BEGIN{print systime()}'; jq -n 'now|floor'") == (
        "1772442000\n1772442000\n"
    )


def test_timeout_ends_what_sleeps_too_long(machine_shell: MachineShell) -> None:
    assert machine_shell.out("timeout 1 sleep 10; echo $?; date +%T") == "124\n09:00:01\n"
    assert machine_shell.out("timeout 10 sleep 1; echo $?; date +%T") == "0\n09:00:02\n"
    script = "timeout 5 bash -c 'while true; do date +%T; sleep 2; done'; echo $?; date +%T"
    assert machine_shell.out(script) == "09:00:02\n09:00:04\n09:00:06\n124\n09:00:07\n"


def test_timeouts_nest(machine_shell: MachineShell) -> None:
    assert machine_shell.out("timeout 9 bash -c 'timeout 2 sleep 5; echo $?'; date +%T") == (
        "124\n09:00:02\n"
    )
    assert machine_shell.out("timeout 1 timeout 5 sleep 9; echo $?; date +%T") == "124\n09:00:03\n"


def test_timeout_passes_on_input_output_and_codes(machine_shell: MachineShell) -> None:
    script = "echo ab | timeout 5 tr a b; export V=3; timeout 1 bash -c 'echo $V; exit 7'; echo $?"
    assert machine_shell.out(script) == "bb\n3\n7\n"
    assert machine_shell.out("timeout -s KILL 1 sleep 5; echo $?") == "137\n"
    assert machine_shell.fails("timeout 1 nosuch") == (
        "timeout: failed to run command \u2018nosuch\u2019: No such file or directory\n",
        127,
    )
    assert machine_shell.fails("timeout x ls") == (
        "timeout: invalid time interval \u2018x\u2019\nTry 'timeout --help' for more information.\n",
        125,
    )


def test_time_tells_the_worlds_time(machine_shell: MachineShell) -> None:
    result = machine_shell.run("time sleep 75; time -p true")
    assert result.stderr == (
        "\nreal\t1m15.002s\nuser\t0m0.001s\nsys\t0m0.001s\nreal 0.00\nuser 0.00\nsys 0.00\n"
    )


def test_a_file_holds_what_time_told(machine_shell: MachineShell) -> None:
    machine_shell.run("{ time sleep 2; } 2> spent")
    assert machine_shell.out("od -c spent | grep -c u; wc -c < spent") == "1\n42\n"


@pytest.mark.slow
async def test_what_a_shell_keeps_does_not_depend_on_the_hosts_speed() -> None:
    """The embedded shell's `SECONDS` moves with the host's clock."""

    def slow(seconds: float) -> Command:
        def command(_: CommandCall) -> CommandResult:
            time.sleep(seconds)
            return CommandResult()

        return command

    session = [
        ("session", "slow; true"),
        ("session", "slow; sleep 2"),
        ("session", "echo $SECONDS"),
    ]
    found: list[object] = []
    for seconds in (0.0, 1.1):
        with with_commands({"slow": slow(seconds)}):
            given = await answers(ShellEngine(), session)
            found.append([without_answers(answer) for answer in given])
            assert given[-1].observation.text == "2\n"
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        (("sleep 3", "sleep 4"), 7),
        (("sleep 3", "SECONDS=50", "sleep 4"), 54),
        (("sleep 3", "SECONDS=0", "sleep 4"), 4),
        (("sleep 3; SECONDS=0", "sleep 4"), 4),
        (("sleep 3; SECONDS=20; sleep 1; true $SECONDS", "sleep 4"), 25),
    ],
)
async def test_a_kept_shell_counts_its_seconds_on(lines: tuple[str, ...], seconds: int) -> None:
    session = [("session", line) for line in (*lines, "echo $SECONDS")]
    assert (await answers(ShellEngine(), session))[-1].observation.text == f"{seconds}\n"
