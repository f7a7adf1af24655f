"""`xargs` of GNU findutils."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands._options import CommandLine, Options, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, tool

_OPTIONS = Options(
    "0d:i::I:L:n:rs:txP:",
    {
        "null": "0", "delimiter": "d", "replace": "i", "max-lines": "L",
        "max-args": "n", "no-run-if-empty": "r", "max-chars": "s", "verbose": "t", "exit": "x",
        "max-procs": "P",
    },
    in_order=True,
)  # fmt: skip
_LENGTH = 131_072
"""Characters of a command line, as GNU's default."""

_ESCAPES = {"n": "\n", "t": "\t", "0": "\0", "\\": "\\", "r": "\r", "a": "\a", "b": "\b", "f": "\f"}


class _Stop(Exception):
    """No further command runs."""


@dataclass(frozen=True, slots=True)
class _Item:
    text: str
    ends_line: bool
    """Whether it is the last of its line."""


class _Xargs:
    def __init__(self, running: Tool, given: CommandLine) -> None:
        self.tool, self.given = running, given
        self.command = list(given.operands) or ["echo"]
        self.failed = 0

    def number(self, name: str) -> int | None:
        value = self.given.value(name)
        if value is None:
            return None
        if not re.fullmatch(r"\d+", value):
            letter = f"-{name}"
            raise UsageError(
                f'{self.tool.name}: invalid number "{value}" for {letter} option\n'
                f"Try '{self.tool.name} --help' for more information.\n"
            )
        return int(value)

    def run(self) -> None:
        replace = self._replace()
        count, lines, length = self.number("n"), self.number("L"), self.number("s")
        try:
            text = self.tool.call.stdin or ""
            if replace is not None:
                for line in self._lines(text):
                    self._execute([word.replace(replace, line) for word in self.command])
            else:
                items = list(self._items(text))
                for batch in self._batches(items, count, lines, length or _LENGTH):
                    self._execute([*self.command, *batch])
                if not items and "r" not in self.given:
                    self._execute(self.command)
        except _Stop:
            pass
        self.tool.code = self.tool.code or self.failed

    def _replace(self) -> str | None:
        last = self.given.last("i", "I", "n", "L")
        if last == "n" and self.given.value("n") == "1":
            last = self.given.last("i", "I")
        if last not in ("i", "I"):
            return None
        for letter, name in (("L", "max-lines"), ("n", "max-args")):
            if letter in self.given:
                self.tool.err.append(
                    f"{self.tool.name}: warning: options --{name} and --replace/-I/-i are mutually"
                    f" exclusive, ignoring previous --{name} value\n"
                )
        return self.given.value(last) or "{}"

    def _delimiter(self) -> str | None:
        last = self.given.last("0", "d")
        if last == "0":
            return "\0"
        value = self.given.value("d") if last else None
        if value and value.startswith("\\"):
            return _ESCAPES.get(value[1:2], value[1:2])
        return value

    def _lines(self, text: str) -> list[str]:
        delimiter = self._delimiter()
        if delimiter is not None:
            return [part for part in text.split(delimiter) if part or delimiter != "\0"][
                : -1 if text.endswith(delimiter) and delimiter != "\0" else None
            ]
        lines = (line.lstrip(" \t") for line in text.split("\n"))
        return [word for line in lines for word in _words(self.tool, line, blanks="") if word]

    def _items(self, text: str) -> Iterator[_Item]:
        delimiter = self._delimiter()
        if delimiter is not None:
            parts = text.split(delimiter)
            if parts and not parts[-1]:
                parts.pop()
            yield from (_Item(part, True) for part in parts)
            return
        for line in text.split("\n"):
            words = list(_words(self.tool, line))
            for index, word in enumerate(words):
                last = index == len(words) - 1 and not line.endswith((" ", "\t"))
                yield _Item(word, last)

    def _batches(
        self, items: Sequence[_Item], count: int | None, lines: int | None, length: int
    ) -> Iterator[list[str]]:
        base = sum(len(word) + 1 for word in self.command)
        batch: list[str] = []
        size, ended = base, 0
        for item in items:
            longer = size + len(item.text) + 1
            if batch and (
                (count is not None and len(batch) >= count)
                or (lines is not None and ended >= lines)
                or longer > length
            ):
                yield batch
                batch, size, ended = [], base, 0
                longer = size + len(item.text) + 1
            if longer > length:
                raise UsageError(f"{self.tool.name}: argument line too long\n")
            batch.append(item.text)
            size = longer
            ended += item.ends_line
        if batch:
            yield batch

    def _execute(self, words: Sequence[str]) -> None:
        running = self.tool
        if "t" in self.given:
            running.err.append(" ".join(words) + "\n")
        result = running.call.native(words[1:], "", program=words[0])
        missing = "command not found", f"{words[0]}: No such file"
        if result.exit_code == 127 and any(text in result.stderr for text in missing):
            running.err.append(f"{running.name}: {words[0]}: {os.strerror(2)}\n")
            running.code = 127
            raise _Stop
        running.out.append(result.stdout)
        running.err.append(result.stderr)
        if result.exit_code == 255:
            running.err.append(f"{running.name}: {words[0]}: exited with status 255; aborting\n")
            running.code = 124
            raise _Stop
        if result.exit_code:
            self.failed = 123


def _words(running: Tool, line: str, *, blanks: str = " \t") -> Iterator[str]:
    """Words between blanks; quotes and backslashes protect them."""
    at, word, found = 0, "", False
    while at < len(line):
        char = line[at]
        if char in blanks:
            if found:
                yield word
            word, found = "", False
        elif char in "\"'":
            end = line.find(char, at + 1)
            if end < 0:
                raise _quote_error(running, char)
            word, found, at = word + line[at + 1 : end], True, end
        else:
            if char == "\\":
                at += 1
                char = line[at : at + 1]
            word, found = word + char, True
        at += 1
    if found:
        yield word


def _quote_error(running: Tool, char: str) -> UsageError:
    kind = "double" if char == '"' else "single"
    return UsageError(
        f"{running.name}: unmatched {kind} quote; by default quotes are special to xargs unless"
        " you use the -0 option\n"
    )


@tool
def xargs(running: Tool) -> None:
    _Xargs(running, _OPTIONS.parse(running.name, running.call.argv)).run()


COMMANDS: Mapping[str, Command] = {"xargs": xargs}
