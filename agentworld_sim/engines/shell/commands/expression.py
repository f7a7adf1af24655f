"""`expr` of GNU coreutils."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands._basic_regex import compiled
from agentworld_sim.engines.shell.commands._options import UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, tool

_FAILED = 2
_HOLDS = {
    "<": (-1,), "<=": (-1, 0), "=": (0,), "==": (0,), "!=": (-1, 1), ">=": (0, 1), ">": (1,),
}  # fmt: skip
"""Which orders of two values (-1, 0, 1) each comparison accepts."""


class _Expression:
    def __init__(self, running: Tool) -> None:
        self.tool = running
        self.words = list(running.call.argv)
        self.before = ""

    def refuse(self, text: str) -> UsageError:
        return UsageError(f"{self.tool.name}: {text}\n", _FAILED)

    def run(self) -> None:
        if self.words[:1] == ["--"]:
            self.words.pop(0)
        if not self.words:
            name = self.tool.name
            hint = f"Try '{name} --help' for more information."
            raise UsageError(f"{name}: missing operand\n{hint}\n", _FAILED)
        value = self.either()
        if self.words:
            raise self.refuse(f"syntax error: unexpected argument {self.tool.quote(self.words[0])}")
        self.tool.say(value)
        self.tool.code = 1 if _is_null(value) else 0

    def take(self, *words: str) -> str | None:
        if self.words and self.words[0] in words:
            self.before = self.words.pop(0)
            return self.before
        return None

    def need(self) -> None:
        if not self.words:
            raise self.refuse(
                f"syntax error: missing argument after {self.tool.quote(self.before)}"
            )

    def either(self) -> str:
        left = self.both()
        while self.take("|"):
            right = self.both()
            left = left if not _is_null(left) else ("0" if _is_null(right) else right)
        return left

    def both(self) -> str:
        left = self.compare()
        while self.take("&"):
            right = self.compare()
            left = "0" if _is_null(left) or _is_null(right) else left
        return left

    def compare(self) -> str:
        left = self.add()
        while operator := self.take("<", "<=", "=", "==", "!=", ">=", ">"):
            right = self.add()
            a, b = _number(left), _number(right)
            pair = (a, b) if a is not None and b is not None else None
            order = _order(pair or (left, right))
            left = str(int(order in _HOLDS[operator]))
        return left

    def add(self) -> str:
        left = self.multiply()
        while operator := self.take("+", "-"):
            a, b = self.integers(left, self.multiply())
            left = str(a + b if operator == "+" else a - b)
        return left

    def multiply(self) -> str:
        left = self.match()
        while operator := self.take("*", "/", "%"):
            a, b = self.integers(left, self.match())
            if operator == "*":
                left = str(a * b)
                continue
            if b == 0:
                raise self.refuse("division by zero")
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            left = str(quotient if operator == "/" else a - quotient * b)
        return left

    def integers(self, left: str, right: str) -> tuple[int, int]:
        a, b = _number(left), _number(right)
        if a is None or b is None:
            raise self.refuse("non-integer argument")
        return a, b

    def match(self) -> str:
        left = self.primary()
        while self.take(":"):
            left = self.matched(left, self.primary())
        return left

    def matched(self, text: str, pattern: str) -> str:
        try:
            regex = compiled(pattern)
        except re.error as error:
            raise self.refuse(_complaint(str(error))) from None
        found = regex.match(text)
        if regex.groups:
            return (found[1] or "") if found else ""
        return str(len(found[0])) if found else "0"

    def primary(self) -> str:
        self.need()
        word = self.words.pop(0)
        self.before = word
        if word == "(":
            value = self.either()
            if self.take(")") is None:
                after = self.words[0] if self.words else self.before
                said = "instead of" if self.words else "after"
                raise self.refuse(f"syntax error: expecting ')' {said} {self.tool.quote(after)}")
            return value
        if word == ")":
            raise self.refuse("syntax error: unexpected ')'")
        if word == "+":
            self.need()
            self.before = self.words.pop(0)
            return self.before
        if word == "length":
            return str(len(self.primary()))
        if word == "match":
            return self.matched(self.primary(), self.primary())
        if word == "index":
            text, letters = self.primary(), self.primary()
            return str(next((i for i, c in enumerate(text, 1) if c in letters), 0))
        if word == "substr":
            text, start, length = self.primary(), _number(self.primary()), _number(self.primary())
            if start is None or length is None or start < 1 or length < 1:
                return ""
            return text[start - 1 : start - 1 + length]
        return word


def _order(pair: tuple[int, int] | tuple[str, str]) -> int:
    a, b = pair
    if a == b:
        return 0
    return -1 if min(pair) == a else 1  # pyright: ignore[reportArgumentType] -- of one type


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?[0-9]+", text) else None


def _is_null(text: str) -> bool:
    return text == "" or re.fullmatch(r"-?0+", text) is not None


def _complaint(error: str) -> str:
    if "missing )" in error or "unterminated subpattern" in error:
        return "Unmatched ( or \\("
    if "unbalanced parenthesis" in error:
        return "Unmatched ) or \\)"
    if "unterminated character set" in error:
        return "Unmatched [, [^, [:, [., or [="
    return "Invalid preceding regular expression"


@tool
def expr(running: Tool) -> None:
    _Expression(running).run()


COMMANDS: Mapping[str, Command] = {"expr": expr}
