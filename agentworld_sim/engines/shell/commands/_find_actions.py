"""What `find` does with what it finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentworld_sim.engines.shell.commands._find_tests import Found, Test, TestReader
from agentworld_sim.engines.shell.commands._tool import Tool, base_name, why
from agentworld_sim.engines.shell.live_files import FileStat


class Quit(Exception):
    """`-quit` was reached."""


class Actions:
    """What `find` does with what it finds."""

    def __init__(self, running: Tool) -> None:
        self.tool = running
        self.reader = TestReader(running)
        self.follow = ""
        self.depth_first = False
        self.least, self.most = 0, 1 << 30
        self.pruned = False
        self.acts = False
        self.batches: list[tuple[list[str], list[str], str | None]] = []
        self.words: list[str] = []
        self.files: dict[str, list[str]] = {}

    def _print(self, end: str) -> Test:
        return self._said(lambda found: found.path + end)

    def _said(self, show: Callable[[Found], str]) -> Test:
        def say(found: Found) -> bool:
            self.tool.out.append(show(found))
            return True

        return say

    def _written(self, target: str, show: Callable[[Found], str]) -> Test:
        lines = self.files.setdefault(target, [])
        self._write(target, "")

        def write(found: Found) -> bool:
            lines.append(show(found))
            return True

        return write

    def _write(self, target: str, text: str) -> None:
        if target == "/dev/stdout":
            self.tool.out.append(text)
            return
        try:
            data = text.encode("utf-8", "surrogateescape")
            self.tool.files.write(self.tool.path(target), data)
        except OSError as error:
            raise self.reader.refuse(f"{self.tool.quote(target)}: {why(error)}") from None

    def _empty(self, found: Found) -> bool:
        if found.stat.kind == "directory":
            return not self.tool.files.listdir(found.place)
        return found.stat.kind == "file" and not found.stat.size

    def _prune(self, found: Found) -> bool:
        self.pruned = True
        return True

    def _quit(self, found: Found) -> bool:
        raise Quit

    def _delete(self, found: Found) -> bool:
        if found.path == ".":
            return True
        files = self.tool.files
        try:
            if found.stat.kind == "directory" and files.listdir(found.place):
                self.tool.complain(
                    f"cannot delete {self.tool.quote(found.path)}: Directory not empty"
                )
                return False
            files.remove(self.tool.place(found.path), recursive=found.stat.kind == "directory")
        except OSError as error:
            self.tool.complain(f"cannot delete {self.tool.quote(found.path)}: {why(error)}")
            return False
        return True

    def _exec(self, name: str) -> Test:
        command: list[str] = []
        while self.words:
            word = self.words.pop(0)
            if word == ";" and command:
                return self._each(name, command)
            if word == "+" and command and command[-1] == "{}" and not name.startswith("ok"):
                command.pop()
                batch: list[str] = []
                self.batches.append((command, batch, None))
                return lambda found: batch.append(found.path) is None
            if word == "+" and command and "{}" in command[-1] and not name.startswith("ok"):
                quote = self.tool.quote
                raise self.reader.refuse(
                    f"In {quote('-' + name + ' ... {} +')} the {quote('{}')} must appear by itself,"
                    f" but you specified {quote(command[-1])}"
                )
            command.append(word)
        raise self.reader.refuse(f"missing argument to `-{name}'")

    def _each(self, name: str, command: Sequence[str]) -> Test:
        def execute(found: Found) -> bool:
            shown = f"./{base_name(found.path)}" if name.endswith("dir") else found.path
            words = [word.replace("{}", shown) for word in command]
            if name.startswith("ok"):
                self.tool.err.append(f"< {' '.join(command[:1])} ... {found.path} > ? ")
                return False
            return self._execute(words) == 0

        return execute

    def _execute(self, words: Sequence[str]) -> int:
        result = self.tool.call.native(words[1:], program=words[0])
        if result.exit_code == 127 and "command not found" in result.stderr:
            quoted = self.tool.quote(words[0])
            self.tool.err.append(f"{self.tool.name}: {quoted}: No such file or directory\n")
            return 127
        self.tool.out.append(result.stdout)
        self.tool.err.append(result.stderr)
        return result.exit_code

    def _finish(self) -> None:
        for command, batch, _ in self.batches:
            if batch:
                code = self._execute([*command, *batch])
                self.tool.code = max(self.tool.code, 1 if code else 0)
        for target, lines in self.files.items():
            self._write(target, "".join(lines))


def follows(running: Tool, found: Found, holds: Callable[[FileStat], bool]) -> bool:
    """`access` looks behind links."""
    try:
        return holds(running.files.stat(found.place))
    except OSError:
        return False
