"""Words and operators of bash, with the errors of what is never closed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_OPERATORS = (
    "<<<", "<<-", "&>>", ";;&", "&&", "||", ";;", ";&", "<<", ">>", "<&", ">&", "<>", ">|", "&>",
    "|&", "(", ")", ";", "&", "|", "<", ">",
)  # fmt: skip
_BLANK = " \t"
_META = " \t\n;&|<>()"


class Found(Exception):
    """A syntax error. `text` is what follows `bash: -c: line N: `."""

    def __init__(self, line: int, text: str, *, shows_line: bool = False, code: int = 2) -> None:
        super().__init__(text)
        self.line, self.text, self.shows_line, self.code = line, text, shows_line, code


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    """`word`, `op`, `newline` or `eof`."""
    text: str
    line: int


class Lexer:
    def __init__(self, script: str, inside: Callable[[Lexer], None]) -> None:
        """
        Args:
            script: What to read.
            inside: Reads a command substitution up to its parenthesis, with a lexer standing there.
        """
        self._inside = inside
        self.text = script if script.endswith("\n") else script + "\n"
        self.at = 0
        self.line = 1
        self.documents: list[tuple[str, bool]] = []
        self.waiting: list[Token] = []

    @property
    def last_line(self) -> int:
        return self.text.count("\n") + 1

    def peek(self) -> Token:
        if not self.waiting:
            self.waiting.append(self._read())
        return self.waiting[0]

    def next(self) -> Token:
        token = self.peek()
        self.waiting.pop(0)
        return token

    def char(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.text[place] if place < len(self.text) else ""

    def advance(self, count: int = 1) -> None:
        self.line += self.text.count("\n", self.at, self.at + count)
        self.at += count

    def _blanks(self) -> None:
        while self.at < len(self.text):
            if self.char() in _BLANK:
                self.advance()
            elif self.text.startswith("\\\n", self.at):
                self.advance(2)
            elif self.char() == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def _read(self) -> Token:
        self._blanks()
        line = self.line
        if self.at >= len(self.text):
            return Token("eof", "", self.last_line)
        if self.char() == "\n":
            self.advance()
            self._bodies()
            return Token("newline", "newline", line)
        found = re.compile(r"\d+(?=[<>])|\{\w+\}(?=[<>])").match(self.text, self.at)
        if found:
            self.advance(len(found[0]))
        for operator in _OPERATORS:
            if self.text.startswith(operator, self.at):
                if operator in "<>" and self.char(1) == "(":
                    break
                self.advance(len(operator))
                return Token("op", operator, line)
        return Token("word", self.word(), line)

    def _bodies(self) -> None:
        """Skips here-documents; one without its end is a warning only."""
        for delimiter, tabs in self.documents:
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                body = self.text[self.at : end]
                self.advance(end + 1 - self.at)
                if (body.lstrip("\t") if tabs else body) == delimiter:
                    break
        self.documents.clear()

    def word(self) -> str:
        start = self.at
        while self.at < len(self.text):
            char = self.char()
            if char in "<>" and self.char(1) == "(":
                self.advance(2)
                self.substitution()
            elif char in "?*+@!" and self.char(1) == "(" and self.at > start:
                return self.text[start : self.at]
            elif char in _META:
                break
            else:
                self.piece()
        return self.text[start : self.at]

    def piece(self) -> None:
        """One character of a word, or a quoted or expanded part as a whole."""
        char, line = self.char(), self.line
        if char == "\\":
            self.advance(2)
        elif char == "'":
            self.until("'", line)
        elif char == '"':
            self.double(line)
        elif char == "`":
            self.backquoted(line)
        elif char == "$":
            self.dollar(line)
        else:
            self.advance()

    def until(self, quote: str, line: int) -> None:
        end = self.text.find(quote, self.at + 1)
        if end < 0:
            raise Found(line, f"unexpected EOF while looking for matching `{quote}'")
        self.advance(end + 1 - self.at)

    def backquoted(self, line: int) -> None:
        self.advance()
        while self.char() != "`":
            if self.at >= len(self.text):
                raise Found(line, "unexpected EOF while looking for matching ``'")
            self.advance(2 if self.char() == "\\" else 1)
        self.advance()

    def double(self, line: int) -> None:
        self.advance()
        while self.char() != '"':
            if self.at >= len(self.text):
                raise Found(line, "unexpected EOF while looking for matching `\"'")
            if self.char() == "\\":
                self.advance(2)
            elif self.char() == "`":
                self.backquoted(self.line)
            elif self.char() == "$" and self.char(1) in "({":
                self.dollar(self.line)
            else:
                self.advance()
        self.advance()

    def dollar(self, line: int) -> None:
        after = self.char(1)
        if after == "'":
            self.advance()
            self.advance()
            while self.char() != "'":
                if self.at >= len(self.text):
                    raise Found(line, "unexpected EOF while looking for matching `''")
                self.advance(2 if self.char() == "\\" else 1)
            self.advance()
        elif self.text.startswith("$((", self.at):
            if not self.arithmetic(3, line):
                self.advance(2)
                self.substitution()
        elif after == "(":
            self.advance(2)
            self.substitution()
        elif after == "{":
            self.advance(2)
            self.braced(line)
        else:
            self.advance()

    def braced(self, line: int) -> None:
        while self.char() != "}":
            if self.at >= len(self.text):
                raise Found(line, "unexpected EOF while looking for matching `}'")
            self.piece()
        self.advance()

    def arithmetic(self, opening: int, line: int) -> bool:
        """Skips `((…))`; false if it is two nested parentheses after all."""
        start, start_line = self.at, self.line
        self.advance(opening)
        depth = 0
        while self.at < len(self.text):
            char = self.char()
            if char == "(":
                depth += 1
            elif char == ")":
                if depth == 0:
                    if self.char(1) == ")":
                        self.advance(2)
                        return True
                    self.at, self.line = start, start_line
                    return False
                depth -= 1
            if char in "\"'`$\\":
                self.piece()
            else:
                self.advance()
        raise Found(line, "unexpected EOF while looking for matching `)'")

    def substitution(self) -> None:
        """`$(…)`: a script of its own up to its parenthesis."""
        lexer = Lexer("", self._inside)
        lexer.text, lexer.at, lexer.line = self.text, self.at, self.line
        self._inside(lexer)
        self.at, self.line = lexer.at, lexer.line
