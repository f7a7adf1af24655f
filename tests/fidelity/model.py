"""What a session is, what was recorded of it, and how both are written to disk."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

HERE = Path(__file__).resolve().parent
SESSIONS = HERE / "sessions"
CORPUS = HERE / "corpus"

WORKDIR = "/srv/app"
"""Where every session starts, on the recorded machine and in an implementation."""

ROOTS = ("/srv", "/tmp", "/root")
"""The folders whose content is recorded and compared; all but `WORKDIR` start empty."""

ENVIRONMENT: Mapping[str, str] = {
    "HOME": "/root",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "USER": "root",
    "LOGNAME": "root",
    "SHELL": "/bin/bash",
    "TERM": "dumb",
    "TZ": "UTC",
}

INLINE_LIMIT = 2000
"""Files up to this many bytes are recorded as text, larger or binary ones by their hash."""

LINE_LENGTH = 100
"""Corpus values that fit into this are written in one line."""

Kind = Literal["file", "directory", "symlink", "other"]
FileRule = Literal["content", "existence"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FileState(_Record):
    """One path of a file tree. Two are the same when all fields are equal."""

    kind: Kind
    mode: str = ""
    text: str | None = None
    sha256: str | None = None
    target: str | None = None

    @classmethod
    def of_file(cls, data: bytes, mode: int) -> FileState:
        octal = f"{mode & 0o7777:o}"
        if len(data) <= INLINE_LIMIT:
            try:
                return cls(kind="file", mode=octal, text=data.decode())
            except UnicodeDecodeError:
                pass
        return cls(kind="file", mode=octal, sha256=hashlib.sha256(data).hexdigest())

    @classmethod
    def of_directory(cls, mode: int) -> FileState:
        return cls(kind="directory", mode=f"{mode & 0o7777:o}")

    @classmethod
    def of_symlink(cls, target: str) -> FileState:
        return cls(kind="symlink", target=target)

    def without_content(self) -> FileState:
        return self.model_copy(update={"text": None, "sha256": None})


@dataclass(frozen=True)
class CommandOutcome:
    """What a tool call gives back to the agent."""

    stdout: str
    stderr: str
    exit_code: int


@dataclass(frozen=True)
class SessionOutcome:
    """The outcomes of all commands in order, and the tree under `ROOTS` after the last."""

    outcomes: Sequence[CommandOutcome]
    files: Mapping[str, FileState] = field(default_factory=dict[str, FileState])


class Implementation(Protocol):
    """A shell under comparison: files and the working directory persist, nothing else does."""

    @property
    def name(self) -> str: ...

    async def run_session(self, commands: Sequence[str]) -> SessionOutcome: ...


class ScriptCommand(_Record):
    """A command of a session file; `volatile` names the normalisations it needs."""

    run: str
    volatile: tuple[str, ...] = ()


class Script(_Record):
    """A session as a person writes it."""

    name: str
    title: str
    volatile_files: dict[str, FileRule] = Field(default_factory=dict[str, FileRule])
    commands: tuple[ScriptCommand, ...]


class RecordedCommand(_Record):
    """A command with what the real machine answered. A change to None is a deletion."""

    run: str
    volatile: tuple[str, ...] = ()
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    changes: dict[str, FileState | None] = Field(default_factory=dict[str, FileState | None])

    @property
    def outcome(self) -> CommandOutcome:
        return CommandOutcome(self.stdout, self.stderr, self.exit_code)


class RecordedSession(_Record):
    """A session with what the real machine answered."""

    name: str
    title: str
    volatile_files: dict[str, FileRule] = Field(default_factory=dict[str, FileRule])
    commands: tuple[RecordedCommand, ...]

    @property
    def files(self) -> dict[str, FileState]:
        """The tree after the last command: all recorded changes, one after another."""
        tree: dict[str, FileState] = {}
        for command in self.commands:
            for path, state in command.changes.items():
                if state is None:
                    tree.pop(path, None)
                else:
                    tree[path] = state
        return tree

    @property
    def outcome(self) -> SessionOutcome:
        return SessionOutcome([command.outcome for command in self.commands], self.files)


class _WrittenScript(_Record):
    name: str
    title: str
    volatile_files: dict[str, FileRule] = Field(default_factory=dict[str, FileRule])
    commands: tuple[str | ScriptCommand, ...]


_written_scripts = TypeAdapter(tuple[_WrittenScript, ...])
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_LIST = TypeAdapter(list[object])
_DICT = TypeAdapter(dict[str, object])
_recorded_sessions = TypeAdapter(tuple[RecordedSession, ...])


def read_scripts(path: Path) -> tuple[Script, ...]:
    """Reads a session file; a command may be a bare string."""
    written = _written_scripts.validate_python(yaml.safe_load(path.read_text()))
    scripts: list[Script] = []
    for item in written:
        commands = [ScriptCommand(run=c) if isinstance(c, str) else c for c in item.commands]
        stripped = tuple(c.model_copy(update={"run": c.run.rstrip("\n")}) for c in commands)
        scripts.append(
            Script(
                name=item.name,
                title=item.title,
                volatile_files=item.volatile_files,
                commands=stripped,
            )
        )
    return tuple(scripts)


def topics(only: Sequence[str] = ()) -> Iterator[str]:
    """The names of the session files, sorted; `only` keeps those named in it.

    Raises:
        ValueError: a name in `only` is no topic.
    """
    known = sorted(path.stem for path in SESSIONS.glob("*.yaml"))
    unknown = sorted(set(only) - set(known))
    if unknown:
        raise ValueError(f"no topic {unknown[0]!r}; there are {', '.join(known)}")
    yield from (topic for topic in known if not only or topic in only)


def read_corpus(topic: str) -> tuple[RecordedSession, ...]:
    return parse_corpus((CORPUS / f"{topic}.json").read_text())


def parse_corpus(text: str) -> tuple[RecordedSession, ...]:
    """Reads what `corpus_text` wrote."""
    content: object = json.loads(text)
    return _recorded_sessions.validate_python(_join_lines(content))


def corpus_text(sessions: Iterable[RecordedSession]) -> str:
    """The written form: stable order, defaults left out, long texts as lists of lines."""
    plain = [session.model_dump(mode="json", exclude_defaults=True) for session in sessions]
    return _laid_out(_split_lines(plain), "") + "\n"


def _laid_out(value: object, indent: str) -> str:
    """JSON with one line for whatever fits into one."""
    short = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(short) <= LINE_LENGTH or not isinstance(value, dict | list):
        return short
    inner = indent + " "
    if isinstance(value, list):
        items = [_laid_out(item, inner) for item in _LIST.validate_python(value)]
        return f"[\n{inner}" + f",\n{inner}".join(items) + f"\n{indent}]"
    pairs = _DICT.validate_python(value).items()
    members = [f"{json.dumps(key)}: {_laid_out(item, inner)}" for key, item in pairs]
    return f"{{\n{inner}" + f",\n{inner}".join(members) + f"\n{indent}}}"


def _split_lines(value: object) -> object:
    if isinstance(value, str) and value.count("\n") > 1:
        return {"lines": _LINE.findall(value)}
    if isinstance(value, list):
        return [_split_lines(item) for item in _LIST.validate_python(value)]
    if isinstance(value, dict):
        return {key: _split_lines(item) for key, item in _DICT.validate_python(value).items()}
    return value


def _join_lines(value: object) -> object:
    if isinstance(value, list):
        return [_join_lines(item) for item in _LIST.validate_python(value)]
    if isinstance(value, dict):
        items = _DICT.validate_python(value)
        if items.keys() == {"lines"}:
            return "".join(TypeAdapter(list[str]).validate_python(items["lines"]))
        return {key: _join_lines(item) for key, item in items.items()}
    return value
