"""What is answered of commands that the shell does not have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOperation:
    """One change to the files that a command makes."""

    kind: Literal["write", "append", "delete", "move", "chmod", "mkdir"]
    path: str
    """Absolute, or relative to the question's working directory."""
    content: str = ""
    """Of `write` and `append`."""
    target: str = ""
    """Of `move`: the new path."""
    mode: int | None = None
    """Permission bits; needed for `chmod`."""

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {"kind": self.kind, "path": self.path}
        if self.kind in ("write", "append"):
            value["content"] = self.content
        if self.target:
            value["target"] = self.target
        if self.mode is not None:
            value["mode"] = self.mode
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FileOperation:
        return cls(**value)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAnswer:
    """What a command wrote, how it ended and what it changed."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    operations: tuple[FileOperation, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "stdout": self.stdout,
            "stderr": self.stderr,
            "exit_code": self.exit_code,
            "operations": [operation.to_json() for operation in self.operations],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CommandAnswer:
        operations = cast("Sequence[Mapping[str, Any]]", value.get("operations", ()))
        return cls(
            stdout=value["stdout"],
            stderr=value["stderr"],
            exit_code=value["exit_code"],
            operations=tuple(FileOperation.from_json(one) for one in operations),
        )


Validate = Callable[[CommandAnswer], str | None]
"""`None` when the answer can be carried out, otherwise the reason, for whoever must answer again."""
