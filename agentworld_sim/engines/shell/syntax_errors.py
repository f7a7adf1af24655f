"""Where bash finds the first syntax error in a script, what has run until then, and what it says.

bashkit says only that a script cannot be parsed. This is bash's own grammar, as far as it is needed to
name the token at which bash stops. Source: the grammar in the bash manual, and `parse.y` of 5.2 for
which construct reports which line. It is asked only about scripts that bashkit refuses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

_BLANKS = re.compile(r"(?:[ \t]|\\\n|#[^\n]*)*")
_DESCRIPTOR = re.compile(r"\d+(?=[<>])|\{\w+\}(?=[<>])")
_OPERATOR = re.compile(
    r"<<<|<<-|&>>|;;&|&&|\|\||;;|;&|<<|>>|<&|>&|<>|>\||&>|\|&|[();&|]|[<>](?!\()"
)
_ASSIGNMENT = re.compile(r"\w+(\[.*\])?\+?=")
_META = " \t\n;&|<>()"
_REDIRECTS = frozenset(["<<<", "<<-", "&>>", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "<", ">"])
_NOT_FIRST = frozenset(["then", "elif", "else", "fi", "do", "done", "esac", "}"])
_IN_DOUBLE_QUOTES = ("`", "$(", "${")
_IN_BRACES = ("'", '"', "`", "$")
_END_OF_FILE = "syntax error: unexpected end of file"


class SyntaxProblem(Exception):
    """A syntax error. `text` is what follows `bash: -c: line N: `."""

    def __init__(self, line: int, text: str, *, shows_line: bool = False) -> None:
        super().__init__(text)
        self.line, self.text, self.shows_line = line, text, shows_line


def first_error(script: str) -> SyntaxProblem | None:
    """The first error, or `None` where bash would find none."""
    try:
        _Parser(script).commands((), top=True)
    except SyntaxProblem as error:
        return error
    except RecursionError:
        return None
    return None


def split_at_syntax_error(
    script: str, error: str, parse: Callable[[str], object]
) -> tuple[str, str]:
    """bash runs whole commands as it reads them: what comes before the error has run.

    Returns:
        The lines that run, and the message that follows.
    """
    lines = script.split("\n")
    found = first_error(script)
    if found is None:
        reported = re.search(r"line (\d+)", error)
        line = int(reported[1]) if reported else len(lines) + 1
        found = SyntaxProblem(line, error.partition(": ")[2] or error)
    last = min(found.line, len(lines) + 1)
    for count in range(min(last, len(lines)) - (last <= len(lines)), 0, -1):
        candidate = "\n".join(lines[:count])
        try:
            parse(candidate)
        except Exception:  # noqa: BLE001, S112 -- any complaint means: not a whole command yet
            continue
        return candidate, complaint(found, lines)
    return "", complaint(found, lines)


def split_at_unclosed_brace(script: str) -> tuple[str, str] | None:
    """The split at a `${` that never ends, which bashkit lets pass; `None` if there is none."""
    if script.count("${") <= script.count("}"):
        return None
    found = first_error(script)
    if found is None or not found.text.endswith("matching `}'"):
        return None
    lines = script.split("\n")
    return "\n".join(lines[: found.line - 1]), complaint(found, lines)


def complaint(found: SyntaxProblem, lines: list[str], name: str = "bash: -c") -> str:
    """The line or two that bash prints for a syntax error in the script `name`."""
    text = f"{name}: line {found.line}: {found.text}\n"
    if found.shows_line and 0 < found.line <= len(lines):
        text += f"{name}: line {found.line}: `{lines[found.line - 1]}'\n"
    return text


class _Token(NamedTuple):
    kind: str
    """`word`, `op`, `newline` or `eof`."""
    text: str
    line: int


class _Parser:
    def __init__(self, script: str) -> None:
        self.text = script if script.endswith("\n") else script + "\n"
        self.at = 0
        self.line = 1
        self.documents: list[tuple[str, bool]] = []
        """Here-documents that begin on the next line: delimiter, and whether tabs are taken away."""
        self.waiting: _Token | None = None

    # Tokens

    def peek(self) -> _Token:
        if self.waiting is None:
            self.waiting = self._read()
        return self.waiting

    def next(self) -> _Token:
        token, self.waiting = self.peek(), None
        return token

    def is_op(self, *texts: str) -> bool:
        token = self.peek()
        return token.kind == "op" and token.text in texts

    def is_word(self, *texts: str) -> bool:
        token = self.peek()
        return token.kind == "word" and token.text in texts

    def problem_here(self) -> SyntaxProblem:
        token = self.peek()
        if token.kind == "eof":
            return SyntaxProblem(token.line, _END_OF_FILE)
        text = f"syntax error near unexpected token `{token.text}'"
        return SyntaxProblem(token.line, text, shows_line=True)

    def expect(self, *, word: str = "", op: str = "") -> None:
        if not (self.is_word(word) if word else self.is_op(op)):
            raise self.problem_here()
        self.next()

    def expect_word(self) -> str:
        if self.peek().kind != "word":
            raise self.problem_here()
        return self.next().text

    def newlines(self) -> None:
        while self.peek().kind == "newline":
            self.next()

    def _read(self) -> _Token:
        self._skip(_BLANKS)
        line = self.line
        if self.at >= len(self.text):
            return _Token("eof", "", self.text.count("\n") + 1)
        if self.char() == "\n":
            self.advance()
            self._skip_documents()
            return _Token("newline", "newline", line)
        self._skip(_DESCRIPTOR)
        operator = self._skip(_OPERATOR)
        if operator:
            return _Token("op", operator, line)
        start = self.at
        while self.at < len(self.text):
            char, after = self.char(), self.char(1)
            if char in "<>" and after == "(":
                self.advance(2)
                self.substitution()
            elif char in _META or (char in "?*+@!" and after == "(" and self.at > start):
                break
            else:
                self.piece()
        return _Token("word", self.text[start : self.at], line)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found:
            self.advance(len(found[0]))
        return found[0] if found else ""

    def _skip_documents(self) -> None:
        """Skips here-documents; one without its end is a warning only."""
        for delimiter, tabs in self.documents:
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                body = self.text[self.at : end]
                self.advance(end + 1 - self.at)
                if (body.lstrip("\t") if tabs else body) == delimiter:
                    break
        self.documents.clear()

    # Characters

    def char(self, ahead: int = 0) -> str:
        return self.text[self.at + ahead : self.at + ahead + 1]

    def advance(self, count: int = 1) -> None:
        self.line += self.text.count("\n", self.at, self.at + count)
        self.at += count

    def piece(self) -> None:
        """One character of a word, or a quoted or expanded part as a whole."""
        line = self.line
        match self.char():
            case "\\":
                self.advance(2)
            case "'":
                self.advance()
                self.until("'", line, escapes=False)
            case '"':
                self.advance()
                self.until('"', line, _IN_DOUBLE_QUOTES)
            case "`":
                self.advance()
                self.until("`", line)
            case "$":
                self.dollar(line)
            case _:
                self.advance()

    def until(
        self, end: str, line: int, nested: tuple[str, ...] = (), *, escapes: bool = True
    ) -> None:
        """Skips to the end of what began on `line`, parts that begin with one of `nested` as a whole."""
        while self.char() != end:
            if self.at >= len(self.text):
                raise SyntaxProblem(line, f"unexpected EOF while looking for matching `{end}'")
            if escapes and self.char() == "\\":
                self.advance(2)
            elif self.text.startswith(nested, self.at):
                self.piece()
            else:
                self.advance()
        self.advance()

    def dollar(self, line: int) -> None:
        after = self.char(1)
        self.advance(2 if after and after in "'({" else 1)
        if after == "'":
            self.until("'", line)
        elif after == "{":
            self.until("}", line, _IN_BRACES)
        elif after == "(" and not (self.char() == "(" and self.arithmetic(1, line)):
            self.substitution()

    def arithmetic(self, opening: int, line: int) -> bool:
        """Skips `((…))` after so many characters; false if it is two nested parentheses after all."""
        start = self.at, self.line
        self.advance(opening)
        depth = 0
        while self.at < len(self.text):
            char = self.char()
            if char == ")" and depth == 0:
                if self.char(1) == ")":
                    self.advance(2)
                    return True
                self.at, self.line = start
                return False
            depth += (char == "(") - (char == ")")
            self.piece()
        raise SyntaxProblem(line, "unexpected EOF while looking for matching `)'")

    def substitution(self) -> None:
        """`$(…)`: a script of its own up to its parenthesis."""
        documents, self.documents, self.waiting = self.documents, [], None
        try:
            self.newlines()
            if not self.is_op(")"):
                self.commands((")",))
            self.expect(op=")")
        except SyntaxProblem as error:
            if error.text == _END_OF_FILE:
                text = "unexpected EOF while looking for matching `)'"
                raise SyntaxProblem(error.line, text) from None
            raise
        self.documents = documents

    # Grammar

    def commands(self, ends: Iterable[str], *, top: bool = False) -> None:
        """Commands up to one of `ends`, at least one unless at the top."""
        self.newlines()
        if top and self.peek().kind == "eof":
            return
        while True:
            self.pipelines()
            token = self.peek()
            if token.kind == "newline" or self.is_op(";", "&"):
                self.next()
            elif token.kind != "eof" and token.text not in ends:
                raise self.problem_here()
            self.newlines()
            token = self.peek()
            if token.kind == "eof" and not top:
                raise self.problem_here()
            if token.kind == "eof" or token.text in ends:
                return

    def pipelines(self) -> None:
        while True:
            while self.is_word("!", "time"):
                self.next()
                if self.peek().kind == "newline" or self.is_op(";"):
                    return
            self.command()
            if not self.is_op("&&", "||", "|", "|&"):
                return
            self.next()
            self.newlines()

    def command(self) -> None:
        token = self.peek()
        refused = token.kind == "op" and token.text not in _REDIRECTS and token.text != "("
        if refused or token.kind in ("eof", "newline"):
            raise self.problem_here()
        if token.kind == "word" and token.text in _NOT_FIRST:
            raise self.problem_here()
        if self.compound():
            self.redirects()
        else:
            self.simple()

    def compound(self) -> bool:
        token = self.peek()
        if self.is_op("("):
            self.parenthesis(token.line)
            return True
        forms: dict[str, Callable[[], None]] = {
            "{": lambda: self.block("}"),
            "if": self.if_,
            "while": self.loop,
            "until": self.loop,
            "for": self.for_,
            "select": self.for_,
            "case": self.case,
            "function": self.function,
            "[[": lambda: self.condition(token.line),
            "coproc": self.coprocess,
        }
        if token.kind != "word" or token.text not in forms:
            return False
        self.next()
        forms[token.text]()
        return True

    def block(self, end: str) -> None:
        self.commands((end,))
        self.next()

    def parenthesis(self, line: int) -> None:
        self.next()
        if self.char() != "(" or not self.arithmetic(1, line):
            self.block(")")

    def coprocess(self) -> None:
        if self.peek().kind == "newline":
            raise self.problem_here()
        self.command()

    def if_(self) -> None:
        self.block("then")
        self.commands(("elif", "else", "fi"))
        word = self.next().text
        if word == "elif":
            self.if_()
        elif word == "else":
            self.block("fi")

    def loop(self) -> None:
        self.block("do")
        self.block("done")

    def for_(self) -> None:
        token = self.peek()
        if self.is_op("(") and self.char() == "(":
            self.parenthesis(token.line)
        else:
            self.expect_word()
            self.newlines()
            if self.is_word("in"):
                self.next()
                while self.peek().kind == "word":
                    self.next()
                if not self.is_op(";") and self.peek().kind != "newline":
                    raise self.problem_here()
        if self.is_op(";"):
            self.next()
        self.newlines()
        if self.is_word("{"):
            self.next()
            self.block("}")
            return
        self.expect(word="do")
        self.block("done")

    def case(self) -> None:
        self.expect_word()
        self.newlines()
        self.expect(word="in")
        self.newlines()
        while not self.is_word("esac"):
            if self.is_op("("):
                self.next()
            self.expect_word()
            while self.is_op("|"):
                self.next()
                self.expect_word()
            self.expect(op=")")
            self.newlines()
            if not self.is_op(";;", ";&", ";;&") and not self.is_word("esac"):
                self.commands((";;", ";&", ";;&", "esac"))
            if not self.is_word("esac"):
                self.next()
            self.newlines()
        self.next()

    def function(self) -> None:
        self.expect_word()
        if self.is_op("("):
            self.next()
            self.expect(op=")")
        self.body()

    def body(self) -> None:
        self.newlines()
        if not self.compound():
            raise self.problem_here()
        self.redirects()

    def condition(self, line: int) -> None:
        words: list[str] = []
        while not self.is_word("]]"):
            token = self.next()
            if token.kind == "eof" and not words:
                raise SyntaxProblem(token.line, "unexpected token `EOF' in conditional command")
            if token.kind == "eof":
                raise SyntaxProblem(line, "unexpected EOF while looking for `]]'")
            if token.kind != "newline":
                words.append(token.text)
        self.next()
        if len(words) == 2 and not words[0].startswith(("-", "!")):
            raise SyntaxProblem(line, "conditional binary operator expected")

    def simple(self) -> None:
        count, named = 0, False
        while True:
            token = self.peek()
            self.redirects()
            if self.peek().kind == "word":
                token = self.next()
                if self.array_assignment(token):
                    continue
                count += 1
                named = _ASSIGNMENT.match(token.text) is None
            elif self.is_op("(") and count == 1 and named:
                self.next()
                self.expect(op=")")
                self.body()
                return
            else:
                return

    def array_assignment(self, token: _Token) -> bool:
        if self.waiting or self.char() != "(" or not _ASSIGNMENT.fullmatch(token.text):
            return False
        self.advance()
        while not self.is_op(")"):
            inner = self.next()
            if inner.kind == "eof":
                raise SyntaxProblem(token.line, "unexpected EOF while looking for matching `)'")
            if inner.kind == "op":
                text = f"syntax error near unexpected token `{inner.text}'"
                raise SyntaxProblem(inner.line, text, shows_line=True)
        self.next()
        return True

    def redirects(self) -> None:
        while self.is_op(*_REDIRECTS):
            operator = self.next().text
            word = self.expect_word()
            if operator in ("<<", "<<-"):
                self.documents.append((re.sub(r"[\\'\"]", "", word), operator == "<<-"))
