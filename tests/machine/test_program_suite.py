"""The conformance suite for programs, over ours and over those of a package; and which programs a machine has."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest
import wasmtime

from agentworld_sim import Scenario, UsageError, World
from agentworld_sim.engines.shell import Machine, commands
from agentworld_sim.errors import EngineFailure
from agentworld_sim.testing import check_program
from agentworld_sim.types.tools import ToolCall, ToolSpec
from tests.engines.shell.conftest import MachineShell

SNIPPET = Path("docs/snippets/write_a_program.py")

Install = Callable[..., None]

OURS = {
    "python3": (
        [
            "python3 -c 'print(1)'",
            "python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)))'",
            "python3 -c 'import os, random, time; print(os.urandom(3), random.random(), time.time(), hash(str()))'",
            "python3 -c 'open(\"f\", \"w\").write(\"x\"); import os; print(os.listdir(), dict(os.environ))'",
            "echo a | python3 -c 'print(input()); raise SystemExit(3)'",
        ],
        "python3 -c 'while True: pass'",
    ),
    "openssl": (["openssl rand -hex 4", "echo a | openssl dgst -binary -sha256", "openssl nosuch"], None),
    "sqlite3": (
        [
            "sqlite3 a.db 'create table t(a); insert into t values (random()); select * from t'",
            "sqlite3 a.db 'select * from nosuch'",
            "echo 'select 1;' | sqlite3",
        ],
        "sqlite3 :memory: 'with recursive t(a) as (select 1 union all select a + 1 from t) select count(*) from t'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OURS)
async def test_ours_are_programs(name: str) -> None:
    scripts, endless = OURS[name]
    await check_program(name, scripts, endless=endless)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a package with programs; its module is forgotten afterwards."""
    names = "programs programs_of readers plain_commands names_in_path missing_on".split()
    held = [getattr(commands, name) for name in names]

    def install(package: str, source: str, *names: str) -> None:
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        (tmp_path / f"{package}.py").write_text(source)
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        points = "".join(f"{name} = {package}:{name.replace('-', '_')}\n" for name in names)
        (info / "entry_points.txt").write_text(f"[agentworld.programs]\n{points}")
        for one in held:
            one.cache_clear()

    yield install
    monkeypatch.undo()
    for one in held:
        one.cache_clear()
    for name in ("acme_programs", "bad_programs", "wasm_programs"):
        sys.modules.pop(name, None)


async def test_the_program_of_the_guide_is_one(install: Install) -> None:
    install("acme_programs", SNIPPET.read_text(), "stamp")
    scripts = ["echo a | stamp f", "stamp", "stamp /nosuch/f", "cat f; printf '\\377' | stamp g"]
    turns = await check_program("stamp", scripts)
    seen = [turn.observation.structured for turn in turns]
    assert [one["stdout"] for one in seen][:2] == ["wrote /root/f\n", ""]
    assert [one["exit_code"] for one in seen] == [0, 2, 1, 0]
    assert seen[2]["stderr"] == "stamp: /nosuch/f: No such file or directory\n"
    assert seen[3]["stdout"].startswith("1772442000 a\n")
    shell = MachineShell(Machine())
    assert shell.out("echo x | xargs stamp; echo 5 | sh -c 'stamp y'; cat y") == (
        "wrote /root/x\nwrote /root/y\n1772442000 5\n"
    )
    code = 'import subprocess; print(subprocess.run(["stamp", "z"], capture_output=True).stdout)'
    assert shell.out(f"python3 -c '{code}'") == "b'wrote /root/z\\n'\n"


WAT = """
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\\40\\00\\00\\00\\20\\00\\00\\00")
  (func (export "_start")
    (drop (call $args (i32.const 16) (i32.const 20)))
    (if (i32.gt_u (i32.load (i32.const 16)) (i32.const 1)) (then (loop $ever (br $ever))))
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
    (i32.store (i32.const 4) (i32.load (i32.const 8)))
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
    (call $exit (i32.const 5))))
"""
"""Copies up to 32 bytes, and exits with 5; with an argument it never ends."""


async def test_a_module_of_webassembly_is_one(install: Install, tmp_path: Path) -> None:
    module = bytes(wasmtime.wat2wasm(WAT))
    (tmp_path / "copy.wasm").write_bytes(module)
    source = f"""
from pathlib import Path
from agentworld_sim.engines.shell import WasmModule, run_process
MODULE = WasmModule("copy", lambda: Path(__file__).with_name("copy.wasm"), "{sha256(module).hexdigest()}")
def copy(call):
    return run_process(MODULE, call, [call.name, *call.argv])
"""
    install("wasm_programs", source, "copy")
    turns = await check_program(
        "copy", ["echo one | copy", "printf '\\377\\000' | copy"], endless="copy x"
    )
    assert turns[0].observation.structured["stdout"] == "one\n"
    assert turns[0].observation.structured["exit_code"] == 5


BAD = """
import itertools, socket, subprocess, time
from agentworld_sim.engines.shell import CommandResult
count = itertools.count()
def counts(call): return CommandResult(f"{next(count)}\\n")
def writes(call): open("written", "w").close(); return CommandResult()
def starts(call): subprocess.run(["true"]); return CommandResult()
def exits(call): return CommandResult(exit_code=-1)
def pipes(call): return CommandResult("a" if call.stdin is None and call.streams else "b")
def crashes(call): return 1 / len(call.argv)
not_callable = 1
"""


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("counts", "two worlds differ"),
        ("writes", r"does not reach for the host.*written"),
        ("starts", r"does not reach for the host.*subprocess"),
        ("exits", "exit code"),
    ],
)
async def test_a_program_that_breaks_a_rule_is_named_with_it(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, rule: str
) -> None:
    install("bad_programs", BAD, name)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match=f"the program '{name}' breaks a rule: .*{rule}"):
        await check_program(name, [name])


async def create(*programs: str, **machine: object) -> World:
    given = {"name": "some", "domains": ["terminal"]}
    return await World.create(
        Scenario.model_validate({**given, "machine": {"programs": programs, **machine}})
    )


async def test_a_machine_has_the_programs_that_its_scenario_names() -> None:
    shell = MachineShell(Machine(programs=("sqlite3",)))
    assert shell.out(
        "which sqlite3 python3 openssl python; ls /usr/lib; type openssl 2>&1; compgen -c openssl; true"
    ) == ("/usr/bin/sqlite3\nos-release\nbash: line 1: type: openssl: not found\n")
    result = shell.run(
        "python3 -c 1; openssl version; env openssl; ls /usr/lib/python3.12; grep -c Package.*python /var/lib/dpkg/status"
    )
    assert result.stdout == "0\n"
    assert result.stderr.splitlines()[:3] == [
        "bash: line 1: python3: command not found",
        "bash: line 1: openssl: command not found",
        "env: 'openssl': No such file or directory",
    ]  # fmt: skip
    bare = Scenario(name="some", domains=("terminal",))
    assert "programs" not in bare.canonical()
    async with await create("python3") as world:
        assert world.ref != (await World.create(bare)).ref


async def test_a_program_that_raises_is_named_with_its_package(install: Install) -> None:
    install("bad_programs", BAD, "crashes")
    python = "python3 -c 'import subprocess; subprocess.run([\"crashes\"])'"
    async with await create("crashes", "python3") as world:
        world.add_tools([ToolSpec(name="run", binds_to="shell/run")])
        before = world.ref
        for script in ("crashes", "echo 1 > f; crashes | cat", "xargs crashes < /dev/null", python):
            with pytest.raises(
                EngineFailure,
                match=r"'crashes' of the package 'bad_programs' failed \(ZeroDivisionError: division by zero\)",
            ):
                await world.step(ToolCall("run", {"command": script}))
            assert world.ref == before


async def test_a_program_that_is_not_there_is_one_error(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"no program 'pythn3'\. Did you mean 'python3'\?"):
        await create("pythn3")
    install("bad_programs", BAD, "not-callable")
    with pytest.raises(
        UsageError, match=r"'not-callable' of the package 'bad_programs' cannot be used"
    ):
        await create("not-callable")
    with pytest.raises(ValueError, match="lacks 'python3', which `packages` need"):
        await create("sqlite3", packages=["pytest"])
    monkeypatch.delitem(commands.PACKAGE_OF_COMMAND, "python3")
    commands.programs.cache_clear()
    commands.programs_of.cache_clear()
    with pytest.raises(
        UsageError, match=r"'python3' is not installed.*pip install 'agentworld-sim\[machine\]'"
    ):
        await create("python3")
