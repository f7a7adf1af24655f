"""`du` of GNU coreutils."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands import _figures
from agentworld_sim.engines.shell.commands._options import Options, Parsed, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, joined, tool, why
from agentworld_sim.engines.shell.live_files import FileStat

_OPTIONS = Options(
    "0abd:chHklmst:xB:DLPSX:",
    {
        "all": "a", "apparent-size": "", "block-size": "B", "bytes": "b", "count-links": "l",
        "dereference": "L", "dereference-args": "D", "exclude": ":", "exclude-from": "X",
        "files0-from": ":", "human-readable": "h", "inodes": "", "si": "", "max-depth": "d",
        "null": "0", "no-dereference": "P", "one-file-system": "x", "separate-dirs": "S",
        "summarize": "s", "total": "c", "threshold": "t", "time": "::", "time-style": ":",
    },
)  # fmt: skip


class _Usage:
    def __init__(self, running: Tool, given: Parsed) -> None:
        self.tool, self.given = running, given
        self.apparent = "apparent-size" in given or "b" in given
        self.unit: tuple[int, str] = (1024, "")
        self.human = 0
        self._units()
        depth = given.value("d")
        if depth is not None and not depth.isdigit():
            raise _OPTIONS.refuse(running.name, f"invalid maximum depth {running.quote(depth)}")
        self.depth = int(depth) if depth is not None else None
        if "s" in given and "a" in given:
            raise _OPTIONS.refuse(running.name, "cannot both summarize and show all entries")
        if "s" in given:
            if self.depth:
                said = f"warning: summarizing conflicts with --max-depth={self.depth}"
                raise _OPTIONS.refuse(running.name, said)
            self.depth = 0
        self.end = "\0" if "0" in given else "\n"
        self.seen: set[str] = set()

    def _units(self) -> None:
        for name, value in self.given.options:
            if name in ("h", "si"):
                self.human = 1024 if name == "h" else 1000
            elif name in ("k", "m", "b", "B"):
                self.human = 0
                self.unit = {"k": (1024, ""), "m": (1 << 20, ""), "b": (1, "")}.get(
                    name, (1024, "")
                )
            if name == "B":
                size = _figures.block_size(value)
                if size is None:
                    shown = self.tool.name_of(value)
                    raise UsageError(f"{self.tool.name}: invalid -B argument {shown}\n")
                self.unit = size

    def run(self) -> None:
        total = 0
        for operand in self.given.operands or ["."]:
            try:
                follow = any(name in self.given for name in ("L", "D", "H"))
                found = self.tool.stat(operand) if follow else self.tool.lstat(operand)
            except OSError as error:
                self.tool.complain(f"cannot access {self.tool.name_of(operand)}: {why(error)}")
                continue
            total += self._visit(operand, found, 0)
        if "c" in self.given:
            self._show(total, "total")

    def _visit(self, name: str, found: FileStat, level: int) -> int:
        path = self.tool.files.realpath(self.tool.path(name)) if found.kind == "directory" else ""
        if path and path in self.seen:
            return 0
        if path:
            self.seen.add(path)
        size = self._size(found)
        below = size
        if found.kind == "directory":
            for child in self.tool.files.listdir(self.tool.path(name)):
                full = joined(name, child)
                if any(_excluded(full, child, p) for p in self.given.values("exclude")):
                    continue
                inner = self.tool.files.lstat(self.tool.path(full))
                if "L" in self.given and inner.kind == "symlink":
                    try:
                        inner = self.tool.files.stat(self.tool.path(full))
                    except OSError as error:
                        quoted = self.tool.name_of(full)
                        self.tool.complain(f"cannot access {quoted}: {why(error)}")
                        continue
                added = self._visit(full, inner, level + 1)
                below += added
                if not ("S" in self.given and inner.kind == "directory"):
                    size += added
        shown = found.kind == "directory" or "a" in self.given or level == 0
        if shown and (self.depth is None or level <= self.depth):
            self._show(size, name)
        return below

    def _size(self, found: FileStat) -> int:
        if "inodes" in self.given:
            return 1
        if self.apparent:
            return found.size if found.kind != "fifo" else 0
        return _figures.allocated(found.kind, found.size)

    def _show(self, size: int, name: str) -> None:
        if "inodes" in self.given and not self.human:
            text = str(size)
        elif self.human:
            text = _figures.human(size, base=self.human)
        else:
            text = f"{-(-size // self.unit[0])}{self.unit[1]}"
        self.tool.out.append(f"{text}\t{name}{self.end}")


def _excluded(path: str, name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or fnmatchcase(path, pattern)


@tool
def du(running: Tool) -> None:
    _Usage(running, _OPTIONS.parse(running.name, running.call.argv)).run()


COMMANDS: Mapping[str, Command] = {"du": du}
