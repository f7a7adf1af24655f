"""What to look up before a command is answered, written down from the true state.

A thought names what the command reads and what that is at the moment: the lines of a file, the names in
a folder, a variable, the working directory, the last status. It never contains the answer as such; the
answer follows from it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.types.files import Blobs, normal_path
from agentworld_sim.types.state import WorldState

NOTHING: Final = "reads nothing"
"""The thought before a command that reads nothing."""

_PIECE: Final = re.compile(r"&&|\|\||>>|[;|>]|[^\s;|>&]+")
_ENDS: Final = frozenset(("&&", "||", ";", "|"))
_KEYWORDS: Final = frozenset(("do", "done", "then", "fi"))
_READERS: Final = frozenset("cat head tail wc grep sort".split())
_TESTERS: Final = frozenset("cp mv rm mkdir rmdir cd test".split())


@dataclass(frozen=True, slots=True)
class Look:
    """The state before a command, as a thought sees it."""

    files: Mapping[str, str | None]
    """Contents by absolute path; `None` for a folder."""
    cwd: str
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    status: int = 0

    @classmethod
    def at(cls, state: WorldState, blobs: Blobs, *, workdir: str) -> Look:
        """What a world's state holds below the working directory.

        Args:
            state: The state.
            blobs: Where contents and sessions are kept.
            workdir: The machine's working directory.
        """
        files: dict[str, str | None] = {"/": None, workdir: None}
        for path, entry in state.files.items():
            if path.startswith(f"{workdir}/"):
                is_file = entry.kind == "file"
                files[path] = blobs.get(entry.content).decode() if is_file else None
        session = ShellSession()
        for blob in state.sessions.values():
            session = ShellSession.from_bytes(blobs.get(blob))
        memory: Any = json.loads(session.memory or b"{}")
        variables = {
            name: str(value)
            for name, value in cast("dict[str, Any]", memory.get("variables", {})).items()
        }
        return cls(files, session.cwd or workdir, variables, session.exit_code)


def thought(command: str, look: Look) -> str:
    """What a command reads, line by line.

    Args:
        command: A command of the templates: words, pipes, lists and loops, without quotes.
        look: The state before it.
    """
    lines: list[str] = []
    loop: dict[str, list[str]] = {}
    for argv in _commands(command):
        if argv[0] == "for":
            loop[argv[1]] = argv[3:]
            continue
        for line in _reads(argv, look, loop):
            if line not in lines:
                lines.append(line)
    return "\n".join(lines) or NOTHING


def _commands(command: str) -> Iterator[list[str]]:
    """The simple commands, without keywords; where they write to follows a `>`."""
    argv: list[str] = []
    for piece in [*_PIECE.findall(command), ";"]:
        if piece not in _ENDS:
            if piece not in _KEYWORDS:
                argv.append(piece)
        elif argv:
            yield argv
            argv = []


def _reads(argv: list[str], look: Look, loop: Mapping[str, list[str]]) -> Iterator[str]:
    target = next((place for place, word in enumerate(argv) if word in (">", ">>")), len(argv))
    name, words = argv[0], argv[1:target]
    for word in argv[:target]:
        if word == "$?":
            yield f"status {look.status}"
        elif "$" in word and word[1:] not in loop:
            yield f"{word[1:]}={look.variables.get(word[1:], '')}"
    if name in _READERS:
        operands = [word for word in words if not word.startswith("-") and not word.isdigit()]
        for operand in operands[1:] if name == "grep" else operands:
            for path in loop.get(operand[1:], [operand]) if operand[0] == "$" else [operand]:
                yield item(_content(path, look))
    elif name in _TESTERS:
        for operand in words:
            if not operand.startswith("-"):
                yield item(_kind(operand, look))
    elif name == "ls":
        yield item(_content(words[0] if words else ".", look))
    elif name == "pwd":
        yield f"at {look.cwd}"


def contents(name: str, text: str) -> str:
    """A file in one line: its name and its lines."""
    return f"{name}: {', '.join(text.splitlines())}"


def item(line: str) -> str:
    """A line of a list. A name behind a space is the same token as in a command."""
    return f"- {line}"


def _path(name: str, look: Look) -> str:
    return normal_path(name if name.startswith("/") else f"{look.cwd}/{name}")


def _kind(name: str, look: Look) -> str:
    path = _path(name, look)
    if path not in look.files:
        return f"{name}: none"
    return f"{name}: {'folder' if look.files[path] is None else 'file'}"


def _content(name: str, look: Look) -> str:
    path = _path(name, look)
    if path not in look.files:
        return _kind(name, look)
    text = look.files[path]
    if text is not None:
        return contents(name, text)
    names = (one[len(path) + 1 :] for one in look.files if one.startswith(f"{path}/"))
    inside = sorted(one for one in names if "/" not in one)
    return contents(name, "\n".join(inside))
