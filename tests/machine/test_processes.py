"""A program runs on the world's files, reads and writes any bytes, starts others, and ends at the limits of a machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentworld_sim.engines.shell.machine import Machine, ShellLimits
from agentworld_sim.engines.shell.wasi import wasm_module
from agentworld_sim.engines.shell.wasi.python.python_program import interpreter
from agentworld_sim.errors import EngineFailure
from agentworld_sim.types.conditions import Conditions
from tests.engines.shell.conftest import MachineShell

ASK = """
import json, os, sys
def ask(do, data=b"", **fields):
    place = os.open("/dev/.machine", os.O_RDWR)
    os.write(place, json.dumps({"do": do, **fields}).encode() + b"\\n" + data)
    answer = b"".join(iter(lambda: os.read(place, 65536), b""))
    os.close(place)
    line, _, rest = answer.partition(b"\\n")
    return json.loads(line), rest
def spawn(*argv, stdin=b"", **more):
    return ask("spawn", stdin, argv=argv, cwd="/tmp", env=dict(os.environ), **more)
"""

ALL_BYTES = "import sys; sys.stdout.buffer.write(bytes(range(256)))"


def python(machine: MachineShell, code: str) -> str:
    machine.run(f"cat > /tmp/code.py <<'END'\n{ASK}{code}\nEND")
    return machine.out("python3 /tmp/code.py")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"python3 -c '{ALL_BYTES}' | od -An -tx1 | tail -1", " f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 fa fb fc fd fe ff\n"),
        (f"python3 -c '{ALL_BYTES}' > f; wc -c < f; cmp f f && echo same", "256\nsame\n"),
        (f"timeout 9 python3 -c '{ALL_BYTES}' > f; wc -c < f", "256\n"),
        ("printf '\\377\\000\\200' > f; cat f | python3 -c 'import sys; print(sys.stdin.buffer.read())'", "b'\\xff\\x00\\x80'\n"),
        ("printf '\\377' > f; python3 -c 'import sys; print(sys.stdin.buffer.read())' < f", "b'\\xff'\n"),
        ("python3 -c 'print(7)' | python3 -c 'print(int(input()) + 1)'", "8\n"),
        ("ls -d /tmp | python3 -c 'print(input())'", "/tmp\n"),
        ("printf 'a\\nb\\n' | while read x; do python3 -c 'print(1)'; echo $x; done", "1\na\n1\nb\n"),
        ("python3 - <<< 'print(3)'", "3\n"),
        ("python3 -c 'while 1: print(1)' 2>/dev/null | head -1", "1\n"),
        ("python3 -c 'import sys; print(1, flush=True); print(2, file=sys.stderr); print(3)' 2>&1", "1\n2\n3\n"),
        ("f() { python3 -c 'print(input())' | python3 -c 'print(input())'; }; echo a | f", "a\n"),
        ("python3 -c 'open(\"/dev/stdout\", \"w\").write(\"out\\n\")'", "out\n"),
    ],
)  # fmt: skip
def test_any_bytes_pass(machine: MachineShell, script: str, expected: str) -> None:
    assert machine.out(script) == expected


def test_bytes_that_cannot_pass_are_no_silent_damage(machine: MachineShell) -> None:
    with pytest.raises(EngineFailure, match="no text"):
        machine.run(f"python3 -c '{ALL_BYTES}' | python3 -c 'import sys; sys.stdin.read()'")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("which python3; command -v python3", "/usr/bin/python3\n/usr/bin/python3\n"),
        ("head -c4 /usr/bin/python3 | od -An -c; test -x /usr/bin/python3 && echo x", " 177   E   L   F\nx\n"),
        ("echo 'print(1)' > a.py; find . -name a.py -exec python3 {} \\;", "1\n"),
        ("echo a b | xargs -n1 python3 -c 'import sys; print(sys.argv[1])'", "a\nb\n"),
        ("env A=5 python3 -c 'import os; print(os.environ[\"A\"])'", "5\n"),
        ("python3 -c 'raise SystemExit(3)'; echo $?", "3\n"),
        ("cd /etc; python3 -c 'import os; print(os.getcwd())'", "/etc\n"),
        ("printf '#!/usr/bin/env python3\\nimport sys; print(sys.argv, input())\\n' > s; chmod +x s; echo i | ./s a", "['./s', 'a'] i\n"),
        ("/usr/bin/python3 -c 'print(1)'; x=$(python3 -c 'print(2)'); echo $x", "1\n2\n"),
        ("python3 -c 'print(1)' && ! python3 -c 'raise SystemExit(1)' && echo both", "1\nboth\n"),
    ],
)  # fmt: skip
async def test_a_program_is_a_command_as_any(tmp_path: Path, script: str, expected: str) -> None:
    from agentworld_sim import Scenario, ToolCall, ToolSpec, World

    async with await World.create(Scenario(name="machine", domains=("terminal",))) as world:
        world.add_tools([ToolSpec(name="run", binds_to="shell/run")])
        turn = await world.step(ToolCall("run", {"command": script}))
        assert turn.observation.structured["stdout"] == expected
        assert turn.observation.provenance == "computed"
        assert list(tmp_path.iterdir()) == []


def test_files_written_by_a_program_are_the_turns_change(machine: MachineShell) -> None:
    code = """
from pathlib import Path
os.makedirs("/tmp/a/b"); Path("/tmp/a/b/c").write_text("one"); os.symlink("b/c", "/tmp/a/link")
print(Path("/tmp/a/link").read_text(), sorted(os.listdir("/tmp/a")))
os.rename("/tmp/a/b", "/tmp/a/d"); print(os.path.exists("/tmp/a/link"), Path("/tmp/a/d/c").read_text())
with open("/tmp/a/d/c", "a+") as f: f.write(" two"); f.seek(0); print(f.read())
os.link("/tmp/a/d/c", "/tmp/a/hard"); print(open("/tmp/a/hard").read())
with open("/tmp/a/x", "wb") as f: f.truncate(3)
kept = open("/tmp/a/x", "rb"); os.unlink("/tmp/a/x"); print(kept.read(), os.path.exists("/tmp/a/x"))
for wrong in (lambda: os.rmdir("/tmp/a"), lambda: os.mkdir("/tmp/a"), lambda: open("/tmp/a"), lambda: os.unlink("/tmp/nix")):
    try: wrong()
    except OSError as error: print(error)
"""
    assert python(machine, code) == (
        "one ['b', 'link']\nFalse one\none two\none two\nb'\\x00\\x00\\x00' False\n"
        "[Errno 39] Directory not empty: '/tmp/a'\n[Errno 17] File exists: '/tmp/a'\n"
        "[Errno 21] Is a directory: '/tmp/a'\n[Errno 2] No such file or directory: '/tmp/nix'\n"
    )
    assert machine.out("cat /tmp/a/d/c; readlink /tmp/a/link") == "one twob/c\n"


def test_a_program_starts_others(machine: MachineShell) -> None:
    code = """
held = open("/tmp/held", "w"); held.write("before "); held.flush()
print(spawn("sh", "-c", "cat /tmp/held; cat; echo more >> /tmp/held; exit 4", stdin=bytes([200, 255])))
held.write("after"); held.close(); print(open("/tmp/held").read())
print(spawn("python3", "-c", "import os, sys; print(os.getcwd(), sys.stdin.buffer.read())", stdin=b"x"))
print(spawn("sh", "-c", "echo 1; echo 2 >&2", merge=True), spawn("nosuch")[0]["exit"])
print(ask("chmod", path="/tmp/held", mode=0o751), oct(os.stat("/tmp/held").st_mode), ask("nothing"))
"""
    seen = python(machine, code).splitlines()
    assert seen[0] == "({'exit': 4, 'out': 9, 'err': 0}, b'before \\xc8\\xff')"
    assert seen[1] == "before after"
    assert seen[2] == "({'exit': 0, 'out': 10, 'err': 0}, b\"/tmp b'x'\\n\")"
    assert seen[3] == "({'exit': 0, 'out': 4, 'err': 0}, b'1\\n2\\n') 127"
    assert seen[4].startswith("({}, b'') 0o100751 ({'errno': 22}, b'')")
    assert machine.out("stat -c %a /tmp/held; ls -A /dev | grep spawn || true") == "751\n"


def test_programs_that_start_each_other_reach_an_end(machine: MachineShell) -> None:
    code = "answer = spawn('python3', '/tmp/code.py'); print(answer[0], end=' '); print(answer[1].decode()[-40:])"
    assert "{'errno': 11}" in python(machine, code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("held = []\nwhile 1: held.append(bytearray(10 ** 7))", "MemoryError\n"),
        ("def f(): return f()\nf()", "RecursionError: maximum recursion depth exceeded\n"),
        ("open('/tmp/f', 'wb').write(bytes(11_000_000))", "OSError: [Errno 27] File too large\n"),
        ("held = [open('/etc/passwd') for _ in range(2000)]", "OSError: [Errno 24] Too many open files: '/etc/passwd'\n"),
    ],
)  # fmt: skip
def test_a_program_meets_the_limits_of_a_machine(
    machine: MachineShell, code: str, expected: str
) -> None:
    machine.run(f"cat > code.py <<'END'\n{code}\nEND")
    result = machine.run("python3 code.py; echo $?; echo alive")
    assert (result.stdout, result.stderr.rpartition("\n")[0].rpartition("\n")[2] + "\n") == (
        "1\nalive\n",
        expected,
    )


def test_a_full_disk_is_an_error_of_the_write(machine: MachineShell) -> None:
    machine.live.obey(Conditions(free_bytes=1_000))
    code = "open('small', 'w').write('x' * 500)\nopen('large', 'w').write('x' * 9000)"
    result = machine.run(
        f"python3 -c '{code.replace(chr(39), chr(34))}'; ls -s small; cat /etc/hostname"
    )
    assert "OSError: [Errno 28] No space left on device" in result.stderr
    assert result.stdout.endswith("small\ndebian\n")


ENDLESS = "python3 -c 'print(1, flush=True)\nwhile True: pass'"


def test_a_program_without_end_is_killed_and_keeps_what_it_wrote() -> None:
    machine = MachineShell(Machine())
    machine.live.limits = ShellLimits(wall_seconds=2)
    result = machine.run(f"echo before; {ENDLESS}; echo $?")
    assert (result.ending, result.stdout, result.stderr) == (
        "finished",
        "before\n1\n137\n",
        "Killed\n",
    )
    assert machine.out("echo alive") == "alive\n"


def test_a_program_without_end_is_out_of_time_for_who_has_a_time_limit() -> None:
    machine = MachineShell(Machine())
    machine.live.limits = ShellLimits(wall_seconds=2)
    assert machine.run(f"timeout 9 {ENDLESS}; echo $?").stdout.endswith("124\n")


def test_output_that_fills_the_disk_is_an_error_of_the_write(machine: MachineShell) -> None:
    write = "import os; os.write(1, bytes(9_999_000)); os.write(1, bytes({}))"
    result = machine.run(f"python3 -c '{write.format(20_000)}' > f; echo $?; wc -c < f")
    assert result.stderr.endswith("OSError: [Errno 28] No space left on device\n")
    assert result.stdout == "1\n9999000\n"
    late = machine.run(f"python3 -c '{write.format(2_000)}' > f; echo $?; wc -c < f")
    assert late.stderr.endswith(": write error: No space left on device\n")
    assert late.stdout == "1\n9999000\n"
    both = machine.run(f"python3 -c '{write.format(2_000)}' > f 2>&1; echo $?")
    assert (both.stdout, both.stderr) == ("1\n", "")


def test_a_folder_is_another_one_after_each_change(machine: MachineShell) -> None:
    code = """
import os
def seen(): return os.stat("/tmp/d").st_mtime_ns
times = [os.mkdir("/tmp/d") or seen()]
for change in [lambda: open("/tmp/d/a", "w").close(), lambda: os.mkdir("/tmp/d/b"),
               lambda: os.rename("/tmp/d/a", "/tmp/d/c"), lambda: os.remove("/tmp/d/c")]:
    change()
    times.append(seen())
print(len(set(times)), times == sorted(times))
"""
    assert python(machine, code) == "5 True\n"


def test_a_damaged_cache_is_built_again(
    machine: MachineShell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path))
    python_module = interpreter()
    monkeypatch.setattr(python_module, "_idle", [])
    monkeypatch.setattr(python_module, "_compiled", None)
    assert machine.out("python3 -c 'print(1)'") == "1\n"
    (compiled,) = (tmp_path / "cache" / "machine").glob("*.cwasm")
    whole = compiled.read_bytes()
    for damage in (whole[:1000], whole[:-40] + b"x" + whole[-39:], b""):
        # Another file: the one before is still mapped, as in a process that runs on.
        compiled.unlink()
        compiled.write_bytes(damage)
        monkeypatch.setattr(python_module, "_idle", [])
        monkeypatch.setattr(python_module, "_compiled", None)
        assert machine.out("python3 -c 'print(1)'") == "1\n"
        assert len(compiled.read_bytes()) == len(whole)


def test_another_file_than_the_one_that_was_tested_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path))
    (tmp_path / "other.wasm").write_bytes(b"\0asm\1\0\0\0")
    other = wasm_module.WasmModule("CPython", lambda: tmp_path / "other.wasm", "0" * 64)
    with (
        pytest.raises(EngineFailure, match=r"not the file that was tested.*pip install"),
        other.lend(),
    ):
        pass
    gone = wasm_module.WasmModule("CPython", lambda: tmp_path / "gone.wasm", "0" * 64)
    with pytest.raises(EngineFailure, match=r"not whole.*pip install"), gone.lend():
        pass
