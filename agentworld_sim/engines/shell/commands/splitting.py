"""`csplit` of GNU coreutils."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands._basic_regex import compiled
from agentworld_sim.engines.shell.commands._options import Options, Parsed, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, tool, why

_OPTIONS = Options(
    "b:f:kn:sqz",
    {
        "suffix-format": "b", "prefix": "f", "keep-files": "k", "suppress-matched": "",
        "digits": "n", "quiet": "s", "silent": "q", "elide-empty-files": "z",
    },
)  # fmt: skip
_PATTERN = re.compile(r"([/%])(.*)\1([-+]?\d+)?\Z", re.DOTALL)


class _Split:
    def __init__(self, running: Tool, given: Parsed) -> None:
        self.tool, self.given = running, given
        self.lines: list[str] = []
        self.at = 0
        self.written: list[str] = []

    def run(self) -> None:
        running, operands = self.tool, list(self.given.operands)
        if not operands:
            raise _OPTIONS.refuse(running.name, "missing operand")
        if len(operands) == 1:
            raise _OPTIONS.refuse(
                running.name, f"missing operand after {running.quote(operands[0])}"
            )
        name = operands.pop(0)
        try:
            data = (
                (running.call.stdin or "")
                if name == "-"
                else running.files.read(running.path(name)).decode("utf-8", "surrogateescape")
            )
        except OSError as error:
            text = (
                f"{running.name}: cannot open {running.name_of(name)} for reading: {why(error)}\n"
            )
            raise UsageError(text) from None
        self.lines = data.splitlines(keepends=True)
        try:
            self._patterns(operands)
        except UsageError:
            if "k" not in self.given:
                for path in self.written:
                    running.files.remove(running.path(path))
            raise
        self._write(self.lines[self.at :])

    def _patterns(self, operands: list[str]) -> None:
        while operands:
            pattern = operands.pop(0)
            repeat = 0
            if operands and (found := re.fullmatch(r"\{(\d+|\*)\}", operands[0])):
                operands.pop(0)
                repeat = -1 if found[1] == "*" else int(found[1])
            self._repeated(pattern, repeat)

    def _repeated(self, pattern: str, repeat: int) -> None:
        done = 0
        while repeat < 0 or done <= repeat:
            if not self._once(pattern, done, forever=repeat < 0):
                return
            done += 1

    def _once(self, pattern: str, repetition: int, *, forever: bool) -> bool:
        running = self.tool
        suffix = f" on repetition {repetition}" if repetition else ""
        if pattern.isdigit():
            goal = int(pattern) * (repetition + 1) - 1
            if goal > len(self.lines) or (goal == len(self.lines) and forever):
                if forever:
                    return False
                self._write(self.lines[self.at :])
                self.at = len(self.lines)
                raise UsageError(
                    f"{running.name}: {running.quote(pattern)}: line number out of range{suffix}\n"
                )
            self._cut(goal)
            return True
        found = _PATTERN.match(pattern)
        if not found:
            raise UsageError(f"{running.name}: {running.quote(pattern)}: invalid pattern\n")
        regex = compiled(found[2])
        start = self.at + (1 if repetition or self.written else 0)
        line = next((i for i in range(start, len(self.lines)) if regex.search(self.lines[i])), None)
        if line is None:
            if forever:
                return False
            if found[1] == "/":
                self._write(self.lines[self.at :])
            self.at = len(self.lines)
            raise UsageError(f"{running.name}: {running.quote(pattern)}: match not found{suffix}\n")
        goal = line + int(found[3] or "0")
        if found[1] == "%":
            self.at = goal
        else:
            self._cut(goal)
        return True

    def _cut(self, goal: int) -> None:
        self._write(self.lines[self.at : goal])
        self.at = goal + 1 if "suppress-matched" in self.given else goal

    def _write(self, lines: list[str]) -> None:
        if not lines and "z" in self.given:
            return
        given = self.given
        digits = int(given.value("n") or "2")
        number = len(self.written)
        form = given.value("b")
        suffix = form % number if form else f"{number:0{digits}d}"
        name = (given.value("f") or "xx") + suffix
        data = "".join(lines).encode("utf-8", "surrogateescape")
        self.tool.files.write(self.tool.path(name), data)
        self.written.append(name)
        if "s" not in given and "q" not in given:
            self.tool.say(str(len(data)))


@tool
def csplit(running: Tool) -> None:
    _Split(running, _OPTIONS.parse(running.name, running.call.argv)).run()


COMMANDS: Mapping[str, Command] = {"csplit": csplit}
