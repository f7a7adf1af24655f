"""Executable files of the world's own: which of them the shell cannot run itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import relpath

from agentworld_sim.engines.shell._files import LiveFiles
from agentworld_sim.types.files import FileTree, normal_path

SHELLS = frozenset({"bash", "dash", "rbash", "sh"})
"""Interpreters whose scripts the shell runs."""

PROGRAM_FOLDERS = ("/bin", "/sbin", "/usr/bin", "/usr/local/bin", "/usr/local/sbin", "/usr/sbin")
"""Where a program that is called by its whole path may be imagined although no file is there."""

_MACHINE_CODE = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\0asm")


@dataclass(frozen=True, slots=True)
class Program:
    """An executable file."""

    path: str
    interpreter: tuple[str, ...] | None
    """Words of its first line, the interpreter without its folder; `None` for a shell script or a
    text without such a line; empty for machine code."""
    line: str = ""
    """The interpreter as written, for example `/usr/bin/env`."""


def program_at(path: str, files: LiveFiles) -> Program | None:
    """The world's executable file at `path`; `None` for anything else, the system's included."""
    try:
        real = files.realpath(path)
        if real.startswith(("/usr/bin/", "/dev/", "/proc/")):
            return None
        stat = files.lstat(real)
        if stat.kind != "file" or not stat.mode & 0o111:
            return None
        data = files.read(real)
    except OSError:
        return None
    return Program(path, *_interpreter(data))


def _interpreter(data: bytes) -> tuple[tuple[str, ...] | None, str]:
    if data.startswith(_MACHINE_CODE) or b"\0" in data[:1_024]:
        return (), ""
    if not data.startswith(b"#!"):
        return None, ""
    words = data[2:512].partition(b"\n")[0].decode("utf-8", "replace").split()
    if not words:
        return None, ""
    line, words = words[0], [words[0].rpartition("/")[2], *words[1:]]
    if words[0] == "env":
        words = words[1:]
        while words and (words[0].startswith("-") or "=" in words[0]):
            words.pop(0)
        words[:1] = [word.rpartition("/")[2] for word in words[:1]]
    if not words or words[0] in SHELLS:
        return None, line
    return tuple(words), line


def in_path(name: str, env: Mapping[str, str], cwd: str, files: LiveFiles) -> Program | None:
    """The world's own program that `name` finds on the search path."""
    for folder in env.get("PATH", "").split(":"):
        full = folder if folder.startswith("/") else normal_path(f"{cwd}/{folder}")
        if full not in ("/bin", "/usr/bin", "/sbin"):
            found = program_at(f"{full.rstrip('/')}/{name}", files)
            if found is not None:
                return found
    return None


def executables(tree: FileTree) -> Iterable[str]:
    """The world's executable files."""
    return (path for path, entry in tree.items() if entry.kind == "file" and entry.mode & 0o111)


def names_of(path: str, folders: Sequence[str]) -> Iterable[str]:
    """How a script that stands in one of `folders` may call the program at `path`."""
    yield path
    for folder in folders:
        rest = relpath(path, folder)
        if not rest.startswith(".."):
            yield f"./{rest}"
        if "/" in rest:
            yield rest
