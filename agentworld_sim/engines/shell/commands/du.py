"""`du` of GNU coreutils: the embedded one counts bytes, not the blocks that a disk gives."""

from __future__ import annotations

from fnmatch import fnmatchcase

from agentworld_sim.engines.shell.commands import _formats
from agentworld_sim.engines.shell.commands._options import CommandLine, Options
from agentworld_sim.engines.shell.commands._tool import Tool, join_path, strerror, tool
from agentworld_sim.engines.shell.live_files import FileStat

_OPTIONS = Options(
    "abd:chklmsxP",
    {
        "all": "a", "apparent-size": "", "bytes": "b", "count-links": "l", "exclude": ":",
        "human-readable": "h", "max-depth": "d", "no-dereference": "P", "one-file-system": "x",
        "summarize": "s", "total": "c",
    },
)  # fmt: skip
_UNITS = {"k": 1024, "m": 1 << 20, "b": 1}


class _Usage:
    def __init__(self, running: Tool, given: CommandLine) -> None:
        self.tool, self.given = running, given
        self.apparent = "apparent-size" in given or "b" in given
        unit = given.last("h", "k", "m", "b") or "k"
        self.unit = _UNITS.get(unit, 0)
        """Bytes in one of what is counted; 0 where sizes are written for people."""
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
        self.seen: set[str] = set()

    def run(self) -> None:
        total = 0
        for operand in self.given.operands or ["."]:
            try:
                found = self.tool.lstat(operand)
            except OSError as error:
                self.tool.complain(f"cannot access {self.tool.name_of(operand)}: {strerror(error)}")
                continue
            total += self._visit(operand, found, 0)
        if "c" in self.given:
            self._show(total, "total")

    def _visit(self, name: str, found: FileStat, level: int) -> int:
        folder = found.kind == "directory"
        if folder:
            path = self.tool.files.realpath(self.tool.path(name))
            if path in self.seen:
                return 0
            self.seen.add(path)
        size = self._size(found)
        for child in self.tool.files.listdir(self.tool.path(name)) if folder else ():
            full = join_path(name, child)
            if not any(
                fnmatchcase(child, pattern) or fnmatchcase(full, pattern)
                for pattern in self.given.values("exclude")
            ):
                inner = self.tool.files.lstat(self.tool.path(full))
                size += self._visit(full, inner, level + 1)
        shown = folder or "a" in self.given or level == 0
        if shown and (self.depth is None or level <= self.depth):
            self._show(size, name)
        return size

    def _size(self, found: FileStat) -> int:
        if self.apparent:
            return found.size if found.kind != "fifo" else 0
        return _formats.disk_size(found.kind, found.size)

    def _show(self, size: int, name: str) -> None:
        self.tool.say(f"{-(-size // self.unit) if self.unit else _formats.human(size)}\t{name}")


@tool
def du(running: Tool) -> None:
    _Usage(running, _OPTIONS.parse(running.name, running.call.argv)).run()
