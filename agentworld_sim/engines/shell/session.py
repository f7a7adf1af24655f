"""What a shell keeps between two calls."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class ShellSession:
    """A shell between two calls. `ShellSession()` is a fresh login shell in the working directory."""

    cwd: str | None = None
    """Where the next call starts; `None` for the machine's working directory."""
    memory: bytes | None = None
    """Variables, functions and aliases, as canonical JSON; `None` for a fresh shell's."""
    options: tuple[str, ...] = ()
    """What `set -o` has switched on."""
    traps: tuple[tuple[str, str], ...] = ()
    exit_code: int = 0
    """What `$?` says at the start of the next call."""
    positional: tuple[str, ...] = ()
    """`$1`, `$2`, … of the shell itself."""
    redirects: tuple[str, ...] = ()
    """What `exec` redirected for good, as redirections to be made again."""
    started_us: int | None = None
    """When `SECONDS` was 0, on the world's clock; `None` for a shell that starts now."""

    def to_bytes(self) -> bytes:
        return json.dumps(
            {
                "cwd": self.cwd,
                "exit_code": self.exit_code,
                "memory": None if self.memory is None else self.memory.decode(),
                "options": self.options,
                "positional": self.positional,
                "redirects": self.redirects,
                "started_us": self.started_us,
                "traps": self.traps,
            },
            sort_keys=True,
            separators=(",", ":"),
        ).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> ShellSession:
        value = cast("dict[str, Any]", json.loads(data))
        memory = value["memory"]
        return cls(
            cwd=value["cwd"],
            memory=None if memory is None else memory.encode(),
            options=tuple(value["options"]),
            traps=tuple((name, command) for name, command in value["traps"]),
            exit_code=value["exit_code"],
            positional=tuple(value.get("positional", ())),
            redirects=tuple(value.get("redirects", ())),
            started_us=value.get("started_us"),
        )
