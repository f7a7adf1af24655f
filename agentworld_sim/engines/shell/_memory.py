"""What a shell remembers, as canonical bytes.

bashkit's snapshot of a shell also counts the commands that its interpreter has ever run, so two equal
shells give different bytes. Only the part that is the shell (variables, functions, aliases, directory)
is kept with a world; a snapshot is made of it again when it is needed.

A snapshot is a 32-byte digest, `BKSNAP`, 8 bytes of version, the id of a commit, and objects: id, length
(8 bytes, little-endian), one byte and a raw deflate stream. An object is one byte for its kind and JSON;
its id is their SHA-256. Read off bashkit 0.20.1 and held by a test.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping

from bashkit import Bash

from agentworld_sim.errors import EngineFailure

_HEADER = 32 + len(b"BKSNAP") + 8 + 32 + 4
_ID = 32
_LENGTH = 8
_CAPABILITIES, _SHELL, _COMMIT = 5, 4, 6


def memory_of(snapshot: bytes) -> bytes:
    """The shell's own part of a snapshot: JSON with sorted keys."""
    for kind, content in _objects(snapshot):
        if kind == _SHELL:
            return content
    raise EngineFailure("the embedded shell's snapshot holds no shell: is it another version?")


def snapshot_of(memory: bytes, bash: Bash, fresh: bytes) -> bytes:
    """A snapshot that restores `memory`.

    Args:
        memory: From `memory_of`.
        bash: An interpreter to make it with; it then holds that memory.
        fresh: Any snapshot of an interpreter with the same commands.
    """
    capabilities = next(content for kind, content in _objects(fresh) if kind == _CAPABILITIES)
    objects: dict[str, bytes] = {}

    def add(kind: int, content: bytes) -> str:
        plain = bytes([kind]) + content
        name = hashlib.sha256(plain).hexdigest()
        packer = zlib.compressobj(wbits=-15)
        objects[name] = b"\x01" + packer.compress(plain) + packer.flush()
        return name

    commit: Mapping[str, object] = {
        "caps": add(_CAPABILITIES, capabilities),
        "meta": {},
        "parents": [],
        "session_commands": 0,
        "session_exec_calls": 0,
        "shell": add(_SHELL, memory),
    }
    name = add(_COMMIT, json.dumps(commit, sort_keys=True, separators=(",", ":")).encode())
    bash.checkout(name, objects)
    return bash.snapshot(exclude_filesystem=True)


def _objects(snapshot: bytes) -> Iterator[tuple[int, bytes]]:
    at = _HEADER
    while at < len(snapshot):
        length = int.from_bytes(snapshot[at + _ID : at + _ID + _LENGTH], "little")
        start = at + _ID + _LENGTH
        plain = zlib.decompress(snapshot[start + 1 : start + length], wbits=-15)
        yield plain[0], plain[1:]
        at = start + length
