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
    running.code = int(re.fullmatch(r"(-?0+)?", value) is not None)


def _error(running: Tool, text: str) -> UsageError:
    return UsageError(f"{running.name}: {text}\n", 2)


def _value(running: Tool, words: list[str], level: int) -> str:
    """The value of what `words` begin with; its words are taken away."""
    if level == len(_LEVELS):
        return _operand(running, words)
    left = _value(running, words, level + 1)
    while words and words[0] in _LEVELS[level]:
        operator = words.pop(0)
        right = _value(running, words, level + 1)
        if operator == ":":
            left = _match(running, left, right)
        else:
            left = _reckon(running, left, operator, right)
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
    operands = [_operand(running, words) for _ in range(wanted)]
    if word == "match":
        return _match(running, *operands)
    return _reckon(running, word, *operands)


def _reckon(running: Tool, *words: str) -> str:
    """One operation, by the embedded `expr`."""
    done = running.call.native(words)
    if done.exit_code > 1:
        raise UsageError(done.stderr, done.exit_code)
    return done.stdout.removesuffix("\n")


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
