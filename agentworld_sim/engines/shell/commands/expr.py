"""`expr` of GNU coreutils: the embedded one reckons wrong when there is more than one operator."""

from __future__ import annotations

import re

from agentworld_sim.engines.shell.commands._options import UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, tool

_LEVELS = (("|",), ("&",), ("<", "<=", "=", "==", "!=", ">=", ">"), ("+", "-"), ("*", "/", "%"),
           (":",))  # fmt: skip
"""Binary operators, from the one that binds least."""

_CLASSES = {"alpha": "A-Za-z", "digit": "0-9", "alnum": "A-Za-z0-9", "upper": "A-Z", "lower": "a-z",
            "space": r"\s", "blank": r" \t", "punct": r"!-/:-@\[-`{-~"}  # fmt: skip


@tool
def expr(running: Tool) -> None:
    words = list(running.call.argv)[running.call.argv[:1] == ["--"] :]
    if not words:
        hint = f"Try '{running.name} --help' for more information."
        raise UsageError(f"{running.name}: missing operand\n{hint}\n", 2)
    value = _value(running, words, 0)
    if words:
        raise _error(running, f"syntax error: unexpected argument {running.quote(words[0])}")
    running.say(value)
    running.code = int(_is_null(value))


def _error(running: Tool, text: str) -> UsageError:
    return UsageError(f"{running.name}: {text}\n", 2)


def _value(running: Tool, words: list[str], level: int) -> str:
    """The value of what `words` begin with; its words are taken away."""
    if level == len(_LEVELS):
        return _operand(running, words)
    left = _value(running, words, level + 1)
    while words and words[0] in _LEVELS[level]:
        operator = words.pop(0)
        left = _apply(running, operator, left, _value(running, words, level + 1))
    return left


def _operand(running: Tool, words: list[str]) -> str:
    if not words:
        last = running.quote(running.call.argv[-1])
        raise _error(running, f"syntax error: missing argument after {last}")
    word = words.pop(0)
    wanted = {"(": 1, "+": 1, "length": 1, "match": 2, "index": 2, "substr": 3}.get(word, 0)
    if word == "(":
        value = _value(running, words, 0)
        if words[:1] != [")"]:
            after = f"instead of {running.quote(words[0])}" if words else (
                f"after {running.quote(running.call.argv[-1])}")  # fmt: skip
            raise _error(running, f"syntax error: expecting ')' {after}")
        words.pop(0)
        return value
    if word == ")":
        raise _error(running, "syntax error: unexpected ')'")
    if not wanted:
        return word
    if word == "+" and words:
        return words.pop(0)
    text, *more = [_operand(running, words) for _ in range(wanted)]
    match word:
        case "length":
            return str(len(text))
        case "match":
            return _apply(running, ":", text, more[0])
        case "index":
            return str(next((n for n, char in enumerate(text, 1) if char in more[0]), 0))
        case _:
            start, length = (max(_number(one) or 0, 0) for one in more)
            return text[start - 1 : start - 1 + length] if start else ""


def _apply(running: Tool, operator: str, left: str, right: str) -> str:
    if operator == "|":
        return left if not _is_null(left) else "0" if _is_null(right) else right
    if operator == "&":
        return "0" if _is_null(left) or _is_null(right) else left
    if operator == ":":
        return _match(running, left, right)
    a, b = _number(left), _number(right)
    if operator in _LEVELS[2]:
        pair = (left, right) if a is None or b is None else (a, b)
        order = "=" if pair[0] == pair[1] else "<" if pair[0] == min(pair) else ">"  # pyright: ignore[reportArgumentType] -- of one type
        return str(int((order in operator) != (operator == "!=")))
    if a is None or b is None:
        raise _error(running, "non-integer argument")
    if operator in "+-*":
        return str(a + b if operator == "+" else a - b if operator == "-" else a * b)
    if b == 0:
        raise _error(running, "division by zero")
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return str(quotient if operator == "/" else a - quotient * b)


def _match(running: Tool, text: str, pattern: str) -> str:
    # Of a basic regular expression: there the backslash gives what it takes away in Python.
    pattern = re.sub(r"\\([(){}|+?])|([(){}|+?])", lambda m: m[1] or f"\\{m[2]}", pattern)
    pattern = re.sub(r"\[:(\w+):\]", lambda m: _CLASSES.get(m[1], m[0]), pattern)
    try:
        regex = re.compile(pattern)
    except re.error as error:
        open_group = "subpattern" in str(error)
        said = "Unmatched ( or \\(" if open_group else "Invalid preceding regular expression"
        raise _error(running, said) from None
    found = regex.match(text)
    if regex.groups:
        return (found[1] or "") if found else ""
    return str(len(found[0])) if found else "0"


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?[0-9]+", text) else None


def _is_null(text: str) -> bool:
    return text == "" or re.fullmatch(r"-?0+", text) is not None
