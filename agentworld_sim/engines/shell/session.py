"""What a shell keeps between two calls, how it is taken at the end of a script, and how it is put back.

bashkit forgets some of a shell's state between two calls (positional parameters, what `exec`
redirected, `SECONDS`), and it fires the EXIT trap at the end of each. So a script of a shell that goes
on is followed by an epilogue: it writes these down and takes the EXIT trap away. A script that leaves
the shell (`exit`, `set -e`, a signal) never reaches it; the trap fires as it should, and the next call
starts a new shell.

bashkit's snapshot of a shell also counts the commands that its interpreter has ever run, so two equal
shells give different bytes. Only the part that is the shell (variables, functions, aliases, directory)
is kept with a world; a snapshot is made of it again when it is needed.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, cast

from bashkit import Bash

from agentworld_sim.engines.shell.live_files import quote_word
from agentworld_sim.errors import EngineFailure
from agentworld_sim.regex import lazy_compile


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
            asdict(self), default=bytes.decode, sort_keys=True, separators=(",", ":")
        ).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> ShellSession:
        value = cast("dict[str, Any]", json.loads(data))
        value |= {
            name: tuple(value.get(name, ())) for name in ("options", "positional", "redirects")
        }
        value["traps"] = tuple((name, command) for name, command in value["traps"])
        value["memory"] = value["memory"] and value["memory"].encode()
        return cls(**value)


NOTES = "/dev/.kept"
"""Where the epilogue writes. `/dev` is no part of a world's files."""

_MARK = ":kept:"

_REDIRECT = r"\d*(?:>>|>\||<>|>&|<&|&>>|&>|>|<)(?![(])\s*(?:'[^']*'|\"[^\"]*\"|[^\s;&|<>()'\"]+)+"
_EXEC = lazy_compile(
    rf"(?:^|[;&|{{\n]|\b(?:then|do|else)\b)\s*exec((?:\s+{_REDIRECT})+)\s*(?=$|[;&|\n#}}])"
)
_ONE = lazy_compile(_REDIRECT)
_PARTS = lazy_compile(r"(\d*)(>>|>\||<>|>&|<&|&>>|&>|>|<)\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirection that `exec` made for the rest of the shell's life."""

    descriptor: str
    operator: str
    target: str
    """As written; the epilogue expands it."""

    @property
    def names_file(self) -> bool:
        return "&" not in self.operator or self.operator.startswith("&")

    def again(self, target: str, folder: str) -> str:
        """The redirection to make in the next call. A file that was opened is not emptied again."""
        if self.names_file and not target.startswith("/"):
            target = f"{folder.rstrip('/')}/{target}"
        operator = {">": ">>", ">|": ">>", "&>": "&>>"}.get(self.operator, self.operator)
        return f"{self.descriptor}{operator}{quote_word(target) if self.names_file else target}"


@dataclass(frozen=True, slots=True)
class Notes:
    """What the epilogue wrote down."""

    exit_code: int
    seconds: int
    positional: tuple[str, ...]
    redirects: tuple[str, ...]
    exit_trap: str
    """Empty for none."""


def redirects_in(script: str) -> list[Redirect]:
    """The redirections that `exec` makes in `script`, as far as they are written out in it."""
    if "exec" not in script:
        return []
    return [
        Redirect(*parts.groups())
        for found in _EXEC.finditer(script)
        for one in _ONE.finditer(found[1])
        if (parts := _PARTS.fullmatch(one[0].strip()))
    ]


def epilogue(redirects: list[Redirect]) -> str:
    """The script that follows a script of a shell that goes on."""
    targets = "".join(f" {one.target}" for one in redirects)
    return (
        f'\n\n{{ builtin printf \'%s\\0\' {_MARK} "$?" "$SECONDS" "$PWD" "$#" "$@"{targets};'
        f" builtin trap -p EXIT; builtin trap - EXIT; }} >{NOTES} 2>/dev/null"
    )


def read_notes(data: bytes, redirects: list[Redirect]) -> Notes:
    """What the epilogue of `redirects` wrote."""
    text = data.decode("utf-8", "surrogateescape").rpartition(_MARK + "\0")[2]
    exit_code, seconds, folder, count, rest = text.split("\0", 4)
    fields = rest.split("\0")
    positional, fields = fields[: int(count)], fields[int(count) :]
    targets, tail = fields[: len(redirects)], fields[-1]
    trap = re.search(r"(?s)^trap -- '(.*)' EXIT$", tail, re.MULTILINE)
    return Notes(
        exit_code=int(exit_code),
        seconds=int(seconds),
        positional=tuple(positional),
        redirects=tuple(
            one.again(target, folder) for one, target in zip(redirects, targets, strict=False)
        ),
        exit_trap=trap[1].replace("'\\''", "'") if trap else "",
    )


def descriptors(redirects: tuple[str, ...]) -> set[str]:
    """The descriptors beside the standard ones that `redirects` open."""
    return {
        found[1] for one in redirects if (found := re.match(r"(\d+)", one)) and int(found[1]) > 2
    }


def redirects_in_force(before: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """All redirections in force; one that a later one replaces and none refers to is left out."""
    everything = [*before, *new]
    kept: list[str] = []
    for index, one in enumerate(everything):
        number = _descriptor(one)
        later = everything[index + 1 :]
        replaced = any(_descriptor(other) == number for other in later)
        referred = any(re.search(rf"&{number}-?$", other) for other in later)
        closed = one.endswith("&-") and int(number) > 2
        if not (replaced or closed) or (replaced and referred):
            kept.append(one)
    return tuple(kept)


def _descriptor(redirect: str) -> str:
    number = re.match(r"\d+", redirect)
    return number[0] if number else ("0" if redirect.startswith("<") else "1")


_CAPABILITIES, _SHELL, _COMMIT = 5, 4, 6

Commit = tuple[str, dict[str, bytes]]
"""The id of a commit of bashkit, and the objects by id that it is made of."""


def capture(bash: Bash) -> Commit:
    """What `bash` holds now, its files excepted."""
    commit = bash.commit(exclude_filesystem=True)
    return commit.id, dict(commit.objects)


def memory_of(commit: Commit) -> bytes:
    """The shell's own part of a commit: JSON with sorted keys.

    An object is a byte and a raw deflate stream of its kind, one byte, and JSON; its id is their SHA-256.
    Read off bashkit 0.20.1 and held by a test.
    """
    return _content(commit, _SHELL)


def commit_of(memory: bytes, fresh: Commit) -> Commit:
    """A commit that restores `memory`, made of any commit of an interpreter with the same commands."""
    objects: dict[str, bytes] = {}

    def add(kind: int, content: bytes) -> str:
        plain = bytes([kind]) + content
        name = hashlib.sha256(plain).hexdigest()
        packer = zlib.compressobj(wbits=-15)
        objects[name] = b"\x01" + packer.compress(plain) + packer.flush()
        return name

    described: Mapping[str, object] = {
        "caps": add(_CAPABILITIES, _content(fresh, _CAPABILITIES)),
        "meta": {},
        "parents": [],
        "session_commands": 0,
        "session_exec_calls": 0,
        "shell": add(_SHELL, memory),
    }
    text = json.dumps(described, sort_keys=True, separators=(",", ":"))
    return add(_COMMIT, text.encode()), objects


def _content(commit: Commit, kind: int) -> bytes:
    for packed in commit[1].values():
        plain = zlib.decompress(packed[1:], wbits=-15)
        if plain[0] == kind:
            return plain[1:]
    raise EngineFailure("the embedded shell's commit holds no shell: is it another version?")


LONGEST_VALUE = 500
"""Characters of a variable that may name a command."""

_OF_THE_SHELL = frozenset(
    "BASHOPTS EPOCHREALTIME EPOCHSECONDS EUID HOME HOSTNAME HOSTTYPE LANG LOGNAME MACHTYPE OLDPWD"
    " OPTIND OSTYPE PATH PPID PS4 PWD SHELL SHELLOPTS SHLVL TERM UID USER _".split()
)


@dataclass(frozen=True, slots=True)
class ShellTexts:
    """What a script may use of the calls before it."""

    functions: Mapping[str, str] = field(default_factory=dict[str, str])
    """Their sources by name."""
    always: tuple[str, ...] = ()
    """Aliases and traps, which show in no script."""
    values: tuple[str, ...] = ()
    """Of variables."""
    path: str = ""
    """The search path; empty for a fresh shell's."""


def texts_kept_by(session: ShellSession) -> ShellTexts:
    """What `session` brings into the next script."""
    traps = tuple(command for _, command in session.traps)
    if session.memory is None:
        return ShellTexts(always=traps)
    kept = _read(session.memory)
    return ShellTexts(kept.functions, (*kept.always, *traps), kept.values, kept.path)


@lru_cache(maxsize=32)
def _read(memory: bytes) -> ShellTexts:
    held = cast("dict[str, dict[str, Any]]", json.loads(memory))
    values = {**held.get("env", {}), **held.get("variables", {})}
    return ShellTexts(
        functions={name: str(one.get("source", "")) for name, one in held["functions"].items()},
        always=tuple(map(str, held.get("aliases", {}).values())),
        values=tuple(
            value
            for name, value in values.items()
            if name not in _OF_THE_SHELL and isinstance(value, str) and len(value) <= LONGEST_VALUE
        ),
        path=str(held.get("env", {}).get("PATH", "")),
    )
