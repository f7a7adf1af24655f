"""Where bash finds the first syntax error in a script, and what it says there.

bashkit says only that a script cannot be parsed. This is bash's own grammar, as far as it is needed to
name the token at which bash stops. Source: the grammar in the bash manual, and `parse.y` of 5.2 for
which construct reports which line. It is asked only about scripts that bashkit refuses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
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


__all__ = ["Found", "first_error"]

_REDIRECTS = frozenset(["<<<", "<<-", "&>>", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "<", ">"])
_NOT_FIRST = frozenset(["then", "elif", "else", "fi", "do", "done", "esac", "}"])


def first_error(script: str) -> Found | None:
    """The first error, or `None` where bash would find none."""
    parser = _Parser(script)
    try:
        parser.script()
    except Found as error:
        return error
    except RecursionError:
        return None
    return None


def _inside(lexer: Lexer) -> None:
    parser = _Parser("")
    parser.lexer = lexer
    parser.inside()


class _Parser:
    def __init__(self, script: str) -> None:
        self.lexer = Lexer(script, _inside)

    def script(self) -> None:
        self.commands(frozenset(), top=True)

    def inside(self) -> None:
        """The inside of a command substitution, its parenthesis included."""
        self.newlines()
        try:
            if not self.is_op(")"):
                self.commands(frozenset({")"}))
            if not self.is_op(")"):
                self.unexpected()
        except Found as error:
            if error.text == "syntax error: unexpected end of file":
                text = "unexpected EOF while looking for matching `)'"
                raise Found(error.line, text) from None
            raise
        self.lexer.next()

    # Tokens

    def is_op(self, *texts: str) -> bool:
        token = self.lexer.peek()
        return token.kind == "op" and token.text in texts

    def is_word(self, *texts: str) -> bool:
        token = self.lexer.peek()
        return token.kind == "word" and token.text in texts

    def unexpected(self) -> None:
        token = self.lexer.peek()
        if token.kind == "eof":
            raise Found(token.line, "syntax error: unexpected end of file")
        text = f"syntax error near unexpected token `{token.text}'"
        raise Found(token.line, text, shows_line=True)

    def expect(self, word: str) -> None:
        if not self.is_word(word):
            self.unexpected()
        self.lexer.next()

    def newlines(self) -> None:
        while self.lexer.peek().kind == "newline":
            self.lexer.next()

    # Grammar

    def commands(self, ends: frozenset[str], *, top: bool = False) -> None:
        """Commands up to one of `ends`, at least one unless at the top."""
        self.newlines()
        if top and self.lexer.peek().kind == "eof":
            return
        while True:
            self.and_or()
            token = self.lexer.peek()
            if token.kind == "newline" or self.is_op(";", "&"):
                self.lexer.next()
            elif token.kind != "eof" and token.text not in ends:
                self.unexpected()
            self.newlines()
            token = self.lexer.peek()
            if token.kind == "eof":
                if top:
                    return
                self.unexpected()
            if token.text in ends:
                return

    def and_or(self) -> None:
        self.pipeline()
        while self.is_op("&&", "||"):
            self.lexer.next()
            self.newlines()
            self.pipeline()

    def pipeline(self) -> None:
        while self.is_word("!", "time"):
            self.lexer.next()
            if self.lexer.peek().kind == "newline" or self.is_op(";"):
                return
        self.command()
        while self.is_op("|", "|&"):
            self.lexer.next()
            self.newlines()
            self.command()

    def command(self) -> None:
        token = self.lexer.peek()
        if token.kind in ("eof", "newline") or (
            token.kind == "op" and token.text not in _REDIRECTS and token.text != "("
        ):
            self.unexpected()
        if token.kind == "word" and token.text in _NOT_FIRST:
            self.unexpected()
        if not self.compound():
            self.simple()
            return
        while self.lexer.peek().kind == "op" and self.lexer.peek().text in _REDIRECTS:
            self.redirect()

    def compound(self) -> bool:
        token = self.lexer.peek()
        if self.is_op("("):
            self.parenthesis(token.line)
            return True
        forms: dict[str, Callable[[], None]] = {
            "{": lambda: self.block("}"),
            "if": self.if_,
            "while": self.while_,
            "until": self.while_,
            "for": self.for_,
            "select": self.for_,
            "case": self.case,
            "function": self.function,
            "[[": lambda: self.condition(token.line),
            "coproc": self.coprocess,
        }
        if token.kind != "word" or token.text not in forms:
            return False
        self.lexer.next()
        forms[token.text]()
        return True

    def block(self, end: str) -> None:
        self.commands(frozenset({end}))
        self.lexer.next()

    def parenthesis(self, line: int) -> None:
        lexer = self.lexer
        if lexer.char() == "(" and lexer.text[lexer.at - 1] == "(":
            lexer.waiting.clear()
            lexer.at -= 1
            if lexer.arithmetic(2, line):
                return
            lexer.advance()
        else:
            lexer.next()
        self.commands(frozenset({")"}))
        self.lexer.next()

    def coprocess(self) -> None:
        if self.lexer.peek().kind == "newline":
            self.unexpected()
        self.command()

    def if_(self) -> None:
        self.commands(frozenset({"then"}))
        self.lexer.next()
        self.commands(frozenset({"elif", "else", "fi"}))
        word = self.lexer.next().text
        if word == "elif":
            self.if_()
        elif word == "else":
            self.block("fi")

    def while_(self) -> None:
        self.commands(frozenset({"do"}))
        self.lexer.next()
        self.block("done")

    def for_(self) -> None:
        token = self.lexer.peek()
        if self.is_op("(") and self.lexer.char() == "(":
            self.parenthesis(token.line)
            if self.is_op(";"):
                self.lexer.next()
        elif token.kind == "word":
            self.lexer.next()
            self.newlines()
            if self.is_word("in"):
                self.lexer.next()
                while self.lexer.peek().kind == "word":
                    self.lexer.next()
                if not self.is_op(";") and self.lexer.peek().kind != "newline":
                    self.unexpected()
                self.lexer.next()
            elif self.is_op(";"):
                self.lexer.next()
        else:
            self.unexpected()
        self.newlines()
        if self.is_word("{"):
            self.lexer.next()
            self.block("}")
            return
        self.expect("do")
        self.block("done")

    def case(self) -> None:
        if self.lexer.peek().kind != "word":
            self.unexpected()
        self.lexer.next()
        self.newlines()
        self.expect("in")
        self.newlines()
        while not self.is_word("esac"):
            if self.is_op("("):
                self.lexer.next()
            self.pattern()
            self.newlines()
            if not self.is_op(";;", ";&", ";;&") and not self.is_word("esac"):
                self.commands(frozenset({";;", ";&", ";;&", "esac"}))
            if not self.is_word("esac"):
                self.lexer.next()
            self.newlines()
        self.lexer.next()

    def pattern(self) -> None:
        while True:
            if self.lexer.peek().kind != "word":
                self.unexpected()
            self.lexer.next()
            if self.is_op(")"):
                self.lexer.next()
                return
            if not self.is_op("|"):
                self.unexpected()
            self.lexer.next()

    def function(self) -> None:
        if self.lexer.peek().kind != "word":
            self.unexpected()
        self.lexer.next()
        if self.is_op("("):
            self.lexer.next()
            self.closing()
        self.body()

    def closing(self) -> None:
        if not self.is_op(")"):
            self.unexpected()
        self.lexer.next()

    def body(self) -> None:
        self.newlines()
        if not self.compound():
            self.unexpected()
        while self.lexer.peek().kind == "op" and self.lexer.peek().text in _REDIRECTS:
            self.redirect()

    def condition(self, line: int) -> None:
        words: list[str] = []
        while not self.is_word("]]"):
            token = self.lexer.next()
            if token.kind == "eof" and not [word for word in words if word != "newline"]:
                raise Found(token.line, "unexpected token `EOF' in conditional command")
            if token.kind == "eof":
                raise Found(line, "unexpected EOF while looking for `]]'")
            words.append(token.text)
        self.lexer.next()
        _check_condition(words, line)

    def simple(self) -> None:
        count, named = 0, False
        while True:
            token = self.lexer.peek()
            if token.kind == "op" and token.text in _REDIRECTS:
                self.redirect()
            elif token.kind == "word":
                self.lexer.next()
                if self.assigned_array(token):
                    continue
                count += 1
                named = re.match(r"\w+(\[.*\])?\+?=", token.text) is None
            elif self.is_op("(") and count == 1 and named:
                self.lexer.next()
                self.closing()
                self.body()
                return
            else:
                return

    def assigned_array(self, token: Token) -> bool:
        lexer = self.lexer
        if (
            not re.fullmatch(r"\w+(\[.*\])?\+?=", token.text)
            or lexer.waiting
            or lexer.char() != "("
        ):
            return False
        lexer.advance()
        while not self.is_op(")"):
            inner = lexer.next()
            if inner.kind == "eof":
                raise Found(token.line, "unexpected EOF while looking for matching `)'")
            if inner.kind == "op":
                text = f"syntax error near unexpected token `{inner.text}'"
                raise Found(inner.line, text, shows_line=True, code=1)
        lexer.next()
        return True

    def redirect(self) -> None:
        operator = self.lexer.next().text
        if self.lexer.peek().kind != "word":
            self.unexpected()
        word = self.lexer.next().text
        if operator in ("<<", "<<-"):
            self.lexer.documents.append((re.sub(r"[\\'\"]", "", word), operator == "<<-"))


def _check_condition(words: Sequence[str], line: int) -> None:
    plain = [word for word in words if word != "newline"]
    if len(plain) == 2 and not plain[0].startswith(("-", "!")):
        raise Found(line, "conditional binary operator expected")
