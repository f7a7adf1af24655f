"""Programs that try to get out, to take all there is, or never to end: the host is not touched, and the world goes on."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from agentworld_sim import Scenario, ToolCall, ToolSpec, World
from agentworld_sim.engines.shell.machine import Machine, ShellLimits
from agentworld_sim.errors import EngineFailure
from tests.engines.shell.conftest import MachineShell

ESCAPE = """
import os
secret = {secret!r}
def look(path, **more):
    try:
        number = os.open(path, os.O_RDONLY, **more)
        print("OPEN", path, os.read(number, 99))
    except (OSError, ValueError) as error:
        seen.add(type(error).__name__)
seen = set()
root = os.open("/", os.O_RDONLY)
up = "../" * 40
for path in (secret, up + secret[1:], "/proc/self/root" + secret, "/proc/1/root" + secret, "/proc/self/cwd/" + up + secret[1:],
             "//" + secret, "/tmp/./../.." + secret, "/dev/fd/0/.." + secret, "file://" + secret, secret + chr(0)):
    look(path)
    look(path, dir_fd=root)
for number, target in enumerate((secret, up + secret[1:], "/proc/self/root", "/proc/self/cwd")):
    os.symlink(target, "/tmp/link%d" % number)
    look("/tmp/link%d" % number)
    look("/tmp/link%d%s" % (number, secret))
for number in range(3, 64):
    try: print("DESCRIPTOR", number, os.read(number, 9))
    except OSError: pass
for path in ("/dev/mem", "/dev/kmsg", "/proc/self/mem", "/proc/kcore", "/proc/self/environ", "/proc/self/maps"):
    look(path)
try: os.listdir(os.path.dirname(secret)); print("LISTED")
except OSError as error: seen.add(type(error).__name__)
try: open(secret, "w"); print("WRITTEN")
except OSError as error: seen.add(type(error).__name__)
print(sorted(seen))
"""


def test_no_path_and_no_link_leads_out(machine: MachineShell, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the host")
    machine.run(f"cat > /tmp/code.py <<'END'\n{ESCAPE.format(secret=str(secret))}\nEND")
    said = machine.run("python3 /tmp/code.py; cat /tmp/link0; find / -name secret 2>/dev/null")
    assert said.stdout == "['FileNotFoundError', 'ValueError']\n"
    assert said.stderr == "cat: /tmp/link0: No such file or directory\n"
    assert secret.read_text() == "of the host"
    assert os.listdir(tmp_path) == ["secret"]
    code = "import os; print(len(os.environ), sorted(os.listdir('/proc'))[:1], os.path.exists('/proc/%d' % PID))"
    shown = machine.out(f'python3 -c "{code.replace("PID", str(os.getpid()))}"')
    assert shown.endswith("False\n")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os\nwhile True: os.fork()", "BlockingIOError: [Errno 11] Resource temporarily unavailable"),
        ("import subprocess, sys\nwhile True: subprocess.run([sys.executable, __file__], check=True)", "Resource temporarily unavailable"),
        ("import threading\ndef f():\n  threading.Thread(target=f).start()\nf()", "Error"),
        ("x = 'a' * 10 ** 9", "MemoryError"),
        ("for n in range(300): open('/tmp/f%d' % n, 'wb').write(bytes(9_000_000))", "No space left on device"),
    ],
)  # fmt: skip
def test_who_takes_all_there_is_gets_an_error(machine: MachineShell, code: str, said: str) -> None:
    machine.run(f"cat > /root/code.py <<'END'\n{code}\nEND")
    began = time.monotonic()
    result = machine.run("python3 /root/code.py; echo $?; rm -f /tmp/f*; echo alive")
    assert said in result.stderr
    assert result.stdout.endswith("\nalive\n")
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    "code",
    ["while True: print('x' * 1000)", "import os\nwhile True: os.write(1, bytes(100_000))"],
)
def test_output_without_end_is_ended(code: str) -> None:
    machine = MachineShell(Machine())
    machine.live.limits = ShellLimits(wall_seconds=4)
    machine.run(f"cat > /root/code.py <<'END'\n{code}\nEND")
    with pytest.raises(EngineFailure, match="wrote more than 8,388,608 bytes"):
        machine.run("python3 /root/code.py; echo after")
    assert (
        machine.out("python3 /root/code.py 2>/dev/null | head -c 3 | wc -c; echo alive")
        == "3\nalive\n"
    )


def test_a_program_in_its_own_loop_of_the_library_is_ended() -> None:
    """No call of the kernel in between, and none of Python's own checks."""
    machine = MachineShell(Machine())
    machine.live.limits = ShellLimits(wall_seconds=2)
    for code in (
        "import re; re.match('(a+)+$', 'a' * 60 + 'b')",
        "2 ** 10 ** 9",
        "import time\nwhile 1: time.sleep(0)",
    ):
        machine.run(f"cat > /root/code.py <<'END'\n{code}\nEND")
        result = machine.run("python3 /root/code.py")
        assert (result.stderr, result.exit_code) == ("Killed\n", 137)
        assert machine.out("echo alive") == "alive\n"


async def test_cancelling_a_program_commits_nothing() -> None:
    async with await World.create(Scenario(name="machine", domains=("terminal",))) as world:
        world.add_tools([ToolSpec(name="run", binds_to="shell/run")])
        await world.step(ToolCall("run", {"command": "python3 -c 'print(1)'"}))
        before = world.ref
        code = 'open("half", "w").write("x")\nwhile True: pass'
        for wait_s in (0.0, 0.05, 0.5):
            running = asyncio.ensure_future(
                world.step(ToolCall("run", {"command": f"touch made; python3 -c '{code}'"}))
            )
            await asyncio.sleep(wait_s)
            running.cancel()
            began = time.monotonic()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert time.monotonic() - began < 2
            assert world.ref == before
        turn = await world.step(ToolCall("run", {"command": "ls; python3 -c 'print(2)'"}))
        assert turn.observation.structured["stdout"] == "2\n"
