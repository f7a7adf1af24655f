"""`find` of GNU findutils. Directories are read in byte order; a real disk has an order of its own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands._find_actions import Actions, Quit, follows
from agentworld_sim.engines.shell.commands._find_print import ls_line, printf
from agentworld_sim.engines.shell.commands._find_tests import Found, Test
from agentworld_sim.engines.shell.commands._options import UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, joined, tool, why

_REGEX_TYPES = (
    "findutils-default", "ed", "emacs", "gnu-awk", "grep", "posix-awk", "awk", "posix-basic",
    "posix-egrep", "egrep", "posix-extended", "posix-minimal-basic", "sed",
)  # fmt: skip
_NO_ARGUMENT = frozenset(
    [
        "daystart",
        "depth",
        "d",
        "follow",
        "ignore_readdir_race",
        "noignore_readdir_race",
        "mount",
        "nowarn",
        "warn",
        "xdev",
        "noleaf",
        "true",
        "false",
        "empty",
        "executable",
        "readable",
        "writable",
        "nogroup",
        "nouser",
        "print",
        "print0",
        "prune",
        "quit",
        "delete",
        "ls",
    ]
)
_ENDS_PRINT = frozenset(
    [
        "print",
        "print0",
        "printf",
        "fprint",
        "fprint0",
        "fprintf",
        "ls",
        "fls",
        "exec",
        "execdir",
        "ok",
        "okdir",
        "delete",
    ]
)


class _Find(Actions):
    # Reading the expression

    def run(self) -> None:
        words = list(self.tool.call.argv)
        while words and words[0] in ("-H", "-L", "-P"):
            self.follow = words.pop(0)[1]
        if words and words[0] in ("-D", "-O"):
            option = words.pop(0)
            if not words:
                raise self._usage(f"Missing argument after the {option} option.")
            words.pop(0)
        elif words and words[0].startswith("-O"):
            words.pop(0)
        starts: list[str] = []
        while words and not _is_expression(words[0]):
            starts.append(words.pop(0))
        self.words = words
        test = self._expression() if words else _always
        if self.words:
            raise self._stray(self.words[0])
        if not self.acts:
            test = _and(test, self._print("\n"))
        with suppress(Quit):
            for start in starts or ["."]:
                self._start(start, test)
        self._finish()

    def _usage(self, text: str) -> UsageError:
        name = self.tool.name
        return UsageError(f"{name}: {text}\nTry '{name} --help' for more information.\n")

    def _stray(self, word: str) -> UsageError:
        if word == ")":
            return self.reader.refuse("you have too many ')'")
        return self.reader.refuse(f"paths must precede expression: `{word}'")

    def _expression(self) -> Test:
        """A list of alternatives, separated by commas."""
        tests = [self._either()]
        while self.words and self.words[0] == ",":
            self.words.pop(0)
            tests.append(self._either())
        if len(tests) == 1:
            return tests[0]
        return lambda found: [test(found) for test in tests][-1]

    def _either(self) -> Test:
        left = self._both()
        while self.words and self.words[0] in ("-o", "-or"):
            word = self.words.pop(0)
            self._more(word)
            left = _or(left, self._both())
        return left

    def _both(self) -> Test:
        if self.words and self.words[0] in ("-a", "-and", "-o", "-or", ","):
            raise self.reader.refuse(
                "invalid expression; you have used a binary operator"
                f" '{self.words[0]}' with nothing before it."
            )
        left = self._not()
        while self.words and self.words[0] not in ("-o", "-or", ",", ")"):
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
            return self._plain(name)
        if name in ("help", "-help", "version", "-version"):
            word = "--" + name.lstrip("-")
            self.tool.out.append(self.tool.call.native([word]).stdout)
            raise UsageError("", 0)
        if not self.words:
            if self._takes_value(name):
                raise self.reader.refuse(f"missing argument to `{word}'")
            raise self.reader.refuse(f"unknown predicate `{word}'")
        if not self._takes_value(name):
            raise self.reader.refuse(f"unknown predicate `{word}'")
        return self._valued(name, self.words.pop(0))

    def _takes_value(self, name: str) -> bool:
        return name in [
            "name",
            "iname",
            "path",
            "ipath",
            "wholename",
            "iwholename",
            "lname",
            "ilname",
            "regex",
            "iregex",
            "type",
            "xtype",
            "mtime",
            "atime",
            "ctime",
            "mmin",
            "amin",
            "cmin",
            "newer",
            "anewer",
            "cnewer",
            "user",
            "group",
            "uid",
            "gid",
            "size",
            "perm",
            "links",
            "inum",
            "samefile",
            "used",
            "fstype",
            "maxdepth",
            "mindepth",
            "printf",
            "fprint",
            "fprint0",
            "fprintf",
            "fls",
            "regextype",
            "context",
        ] or (name.startswith("newer") and len(name) == len("newermt"))

    def _valued(self, name: str, value: str) -> Test:
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
                return self._said(show)
            case "fprint" | "fprint0" | "fls":
                end = "\0" if name == "fprint0" else "\n"
                if name == "fls":
                    return self._written(value, lambda found: ls_line(self.tool, found))
                return self._written(value, lambda found: found.path + end)
            case "fprintf":
                if not self.words:
                    raise self.reader.refuse("missing argument to `-fprintf'")
                return self._written(value, printf(self.tool, self.words.pop(0))[0])
            case _:
                return self.reader.read(name, value) or _always

    def _plain(self, name: str) -> Test:
        match name:
            case "print":
                return self._print("\n")
            case "print0":
                return self._print("\0")
            case "ls":
                return self._said(lambda found: ls_line(self.tool, found))
            case "depth" | "d":
                self.depth_first = True
                return _always
            case "delete":
                self.depth_first = True
                return self._delete
            case "daystart":
                self.reader.day_start = True
                return _always
            case "follow":
                self.follow = "L"
                return _always
            case "false" | "nogroup" | "nouser":
                return lambda found: False
            case "empty":
                return self._empty
            case "executable":
                return lambda found: follows(
                    self.tool,
                    found,
                    lambda stat: stat.kind == "directory" or bool(stat.mode & 0o111),
                )
            case "readable" | "writable":
                return lambda found: follows(self.tool, found, lambda stat: True)
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
            self.tool.complain(f"{self.tool.quote(path)}: {why(error)}")
            return
        found = Found(path, start, depth, stat, place)
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
                self._visit(joined(path, name), start, depth + 1, test, above | {real})
        if chosen and self.depth_first:
            test(found)


def _is_expression(word: str) -> bool:
    return (word.startswith("-") and len(word) > 1) or word in ("(", ")", "!", ",")


def _always(found: Found) -> bool:
    return True


def _and(left: Test, right: Test) -> Test:
    return lambda found: left(found) and right(found)


def _or(left: Test, right: Test) -> Test:
    return lambda found: left(found) or right(found)


@tool
def find(running: Tool) -> None:
    _Find(running).run()


COMMANDS: Mapping[str, Command] = {"find": find}
