"""`find` of GNU findutils. Directories are read in byte order; a real disk has an order of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands._find_tests import (
    VALUED,
    Test,
    TestReader,
    VisitedFile,
    ls_line,
    printf,
)
from agentworld_sim.engines.shell.commands._options import UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, base_name, join_path, strerror, tool
from agentworld_sim.engines.shell.live_files import FileStat

_REGEX_TYPES = (
    "findutils-default", "ed", "emacs", "gnu-awk", "grep", "posix-awk", "awk", "posix-basic",
    "posix-egrep", "egrep", "posix-extended", "posix-minimal-basic", "sed",
)  # fmt: skip
_PLAIN = (
    "depth d ignore_readdir_race noignore_readdir_race mount nowarn warn xdev noleaf true false empty"
    " executable readable writable nogroup nouser print print0 prune quit delete ls"
)
_NO_ARGUMENT = frozenset(_PLAIN.split())
_ENDS_PRINT = frozenset("print print0 printf ls exec execdir ok okdir delete".split())


class _Quit(Exception):
    """`-quit` was reached."""


class _Actions:
    """What `find` does with what it finds."""

    def __init__(self, running: Tool) -> None:
        self.tool = running
        self.reader = TestReader(running)
        self.follow = ""
        self.depth_first = False
        self.least, self.most = 0, 1 << 30
        self.pruned = False
        self.acts = False
        self.batches: list[tuple[list[str], list[str]]] = []
        self.words: list[str] = []

    def _print(self, end: str) -> Test:
        return self._printing(lambda found: found.path + end)

    def _printing(self, show: Callable[[VisitedFile], str]) -> Test:
        def say(found: VisitedFile) -> bool:
            self.tool.out.append(show(found))
            return True

        return say

    def _empty(self, found: VisitedFile) -> bool:
        if found.stat.kind == "directory":
            return not self.tool.files.listdir(found.place)
        return found.stat.kind == "file" and not found.stat.size

    def _prune(self, found: VisitedFile) -> bool:
        self.pruned = True
        return True

    def _quit(self, found: VisitedFile) -> bool:
        raise _Quit

    def _delete(self, found: VisitedFile) -> bool:
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
            self.tool.complain(f"cannot delete {self.tool.quote(found.path)}: {strerror(error)}")
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
                self.batches.append((command, batch))
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
        def execute(found: VisitedFile) -> bool:
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
        for command, batch in self.batches:
            if batch:
                code = self._execute([*command, *batch])
                self.tool.code = max(self.tool.code, 1 if code else 0)


def _follows(running: Tool, found: VisitedFile, holds: Callable[[FileStat], bool]) -> bool:
    """`access` looks behind links."""
    try:
        return holds(running.files.stat(found.place))
    except OSError:
        return False


class _Find(_Actions):
    # Reading the expression

    def run(self) -> None:
        words = list(self.tool.call.argv)
        while words and words[0] in ("-H", "-L", "-P"):
            self.follow = words.pop(0)[1]
        starts: list[str] = []
        while words and not _is_expression(words[0]):
            starts.append(words.pop(0))
        self.words = words
        test = self._expression() if words else _always
        if self.words:
            raise self._stray(self.words[0])
        if not self.acts:
            test = _and(test, self._print("\n"))
        with suppress(_Quit):
            for start in starts or ["."]:
                self._start(start, test)
        self._finish()

    def _stray(self, word: str) -> UsageError:
        if word == ")":
            return self.reader.refuse("you have too many ')'")
        return self.reader.refuse(f"paths must precede expression: `{word}'")

    def _expression(self) -> Test:
        """Alternatives, of which each is a row of tests that all hold."""
        left = self._both()
        while self.words and self.words[0] in ("-o", "-or"):
            word = self.words.pop(0)
            self._more(word)
            left = _or(left, self._both())
        return left

    def _both(self) -> Test:
        if self.words and self.words[0] in ("-a", "-and", "-o", "-or"):
            raise self.reader.refuse(
                "invalid expression; you have used a binary operator"
                f" '{self.words[0]}' with nothing before it."
            )
        left = self._not()
        while self.words and self.words[0] not in ("-o", "-or", ")"):
            if self.words[0] in ("-a", "-and"):
                self._more(self.words.pop(0))
            left = _and(left, self._not())
        return left

    def _more(self, word: str) -> None:
        if not self.words:
            raise self.reader.refuse(f"expected an expression after '{word}'")

    def _not(self) -> Test:
        word = self.words.pop(0)
        if word in ("!", "-not"):
            self._more(word)
            inner = self._not()
            return lambda found: not inner(found)
        if word == "(":
            if self.words[:1] == [")"]:
                raise self.reader.refuse("invalid expression; empty parentheses are not allowed.")
            inner = self._expression() if self.words else _always
            if not self.words:
                raise self.reader.refuse(
                    "invalid expression; I was expecting to find a ')' somewhere but did not see"
                    " one."
                )
            self.words.pop(0)
            return inner
        if word == ")" or not word.startswith("-"):
            raise self._stray(word)
        return self._primary(word)

    def _primary(self, word: str) -> Test:
        name = word[1:]
        if name in _ENDS_PRINT:
            self.acts = True
        if name in ("exec", "execdir", "ok", "okdir"):
            return self._exec(name)
        if name in _NO_ARGUMENT:
            return self._plain_test(name)
        if name in ("help", "-help", "version", "-version"):
            word = "--" + name.lstrip("-")
            self.tool.out.append(self.tool.call.native([word]).stdout)
            raise UsageError("", 0)
        if not self._takes_value(name):
            raise self.reader.refuse(f"unknown predicate `{word}'")
        if not self.words:
            raise self.reader.refuse(f"missing argument to `{word}'")
        return self._value_test(name, self.words.pop(0))

    def _takes_value(self, name: str) -> bool:
        own = name in VALUED or name in ("maxdepth", "mindepth", "printf", "regextype")
        return own or (name.startswith("newer") and len(name) == len("newermt"))

    def _value_test(self, name: str, value: str) -> Test:
        match name:
            case "maxdepth" | "mindepth":
                if not value.isdigit():
                    quoted = self.tool.quote(value)
                    raise self.reader.refuse(
                        f"Expected a positive decimal integer argument to -{name}, but got {quoted}"
                    )
                if name == "maxdepth":
                    self.most = int(value)
                else:
                    self.least = int(value)
                return _always
            case "regextype":
                if value not in _REGEX_TYPES:
                    quoted = ", ".join(map(self.tool.quote, _REGEX_TYPES))
                    raise self.reader.refuse(
                        f"Unknown regular expression type {self.tool.quote(value)}; valid types are"
                        f" {quoted}."
                    )
                self.reader.regex_type = value
                return _always
            case "printf":
                show, warnings = printf(self.tool, value)
                self.tool.err.append(warnings)
                return self._printing(show)
            case _:
                return self.reader.read(name, value)

    def _plain_test(self, name: str) -> Test:
        match name:
            case "print":
                return self._print("\n")
            case "print0":
                return self._print("\0")
            case "ls":
                return self._printing(lambda found: ls_line(self.tool, found))
            case "depth" | "d":
                self.depth_first = True
                return _always
            case "delete":
                self.depth_first = True
                return self._delete
            case "false" | "nogroup" | "nouser":
                return lambda found: False
            case "empty":
                return self._empty
            case "executable":
                return lambda found: _follows(
                    self.tool,
                    found,
                    lambda stat: stat.kind == "directory" or bool(stat.mode & 0o111),
                )
            case "readable" | "writable":
                return lambda found: _follows(self.tool, found, lambda stat: True)
            case "prune":
                return self._prune
            case "quit":
                return self._quit
            case _:
                return _always

    # Walking

    def _start(self, start: str, test: Test) -> None:
        if not start:
            self.tool.complain(f"{self.tool.quote(start)}: No such file or directory")
            return
        self._visit(start, start, 0, test, frozenset())

    def _visit(self, path: str, start: str, depth: int, test: Test, above: frozenset[str]) -> None:
        files, place = self.tool.files, self.tool.path(path)
        try:
            stat = self.tool.lstat(path) if depth == 0 else files.lstat(place)
            if stat.kind == "symlink" and (
                self.follow == "L" or (self.follow == "H" and not depth)
            ):
                stat = files.stat(place) if files.exists(place) else stat
        except OSError as error:
            self.tool.complain(f"{self.tool.quote(path)}: {strerror(error)}")
            return
        found = VisitedFile(path, start, depth, stat, place)
        chosen = self.least <= depth <= self.most
        self.pruned = False
        if chosen and not self.depth_first:
            test(found)
        pruned = self.pruned and not self.depth_first
        if stat.kind == "directory" and depth < self.most and not pruned:
            real = files.realpath(place)
            if real in above:
                self.tool.complain(
                    f"File system loop detected; {self.tool.quote(path)} is part of the same file"
                    " system loop"
                )
                return
            try:
                names = files.listdir(place)
            except OSError:
                names = []  # removed by an action of this very run
            for name in names:
                self._visit(join_path(path, name), start, depth + 1, test, above | {real})
        if chosen and self.depth_first:
            test(found)


def _is_expression(word: str) -> bool:
    return (word.startswith("-") and len(word) > 1) or word in ("(", ")", "!")


def _always(found: VisitedFile) -> bool:
    return True


def _and(left: Test, right: Test) -> Test:
    return lambda found: left(found) and right(found)


def _or(left: Test, right: Test) -> Test:
    return lambda found: left(found) or right(found)


@tool
def find(running: Tool) -> None:
    _Find(running).run()


COMMANDS: Mapping[str, Command] = {"find": find}
