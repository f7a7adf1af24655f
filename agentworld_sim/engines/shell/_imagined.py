"""Commands that the shell does not have and somebody else answers, in the middle of a turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast

from agentworld_sim.errors import AccessRefused
from agentworld_sim.ports import TurnContext
from agentworld_sim.types.exchanges import Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandQuestion:
    """One invocation of a command, with all that its answer may depend on."""

    argv: tuple[str, ...]
    """The name and its arguments, expanded by the shell."""
    stdin: str | None
    """What the pipe or redirection delivers; `None` when nothing is connected. A long input is cut
    and says so; bytes that are no UTF-8 have become U+FFFD on their way through the pipe."""
    cwd: str
    env: Mapping[str, str]
    """The exported variables."""
    user: str
    hostname: str
    clock_us: int
    """The world's time, microseconds since the epoch."""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Text by absolute path: files that the arguments name, and those in the working directory that
    such a command reads without being told (`package.json`). Long ones are cut and say so."""
    listing: tuple[str, ...] = ()
    """What is in the working directory, as lines of `ls -lA`."""
    script: str = ""
    """The script it stands in."""
    digest: str = ""
    """Hash of everything the answer may depend on: the above without clock and script, all files,
    and the other commands imagined before that may have changed what no file tells."""
    files_sum: int = 0
    """Hash of all files: `content_sum`."""


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


@dataclass(frozen=True, slots=True)
class ImaginedCommand:
    """An answer, and what a model was asked for it."""

    answer: CommandAnswer
    exchanges: tuple[Exchange, ...] = ()
    replayed: bool = False
    """Nobody was asked: it was recorded."""


Validate = Callable[[CommandAnswer], str | None]
"""`None` when the answer can be carried out, otherwise the reason, for whoever must answer again."""


class NobodyImagines:
    """Implements `CommandImaginer` where there is no model: refuses."""

    async def answer(
        self,
        question: CommandQuestion,
        earlier: Sequence[tuple[CommandQuestion, CommandAnswer]],
        context: TurnContext,
        validate: Validate,
    ) -> ImaginedCommand:
        words = " ".join(question.argv)
        raise AccessRefused(
            f"the command {words[:300]!r} has the route 'imagine', and this world has no language"
            " world model. Name one (AGENTWORLD_MODEL_URL, or `model=`), or take the route away."
        )


class CommandImaginer(Protocol):
    """Answers commands that the shell does not have."""

    async def answer(
        self,
        question: CommandQuestion,
        earlier: Sequence[tuple[CommandQuestion, CommandAnswer]],
        context: TurnContext,
        validate: Validate,
    ) -> ImaginedCommand:
        """Answers one command.

        Args:
            question: The command.
            earlier: The commands of the same turn that were answered so before it, in order.
            context: The turn.
            validate: Says whether an answer can be carried out.

        Raises:
            EngineFailure: no answer that can be used.
        """
        ...
