"""`expr`, which the embedded shell reckons without precedence; `seq`, `yes` and `dd`, which it ends early."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from agentworld_sim.engines.shell._command import CommandCall, CommandResult, Endless
from agentworld_sim.engines.shell.bash_shims import YES_BYTES
from agentworld_sim.engines.shell.bash_texts import FORK_BOMB, unfaithful
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


SEQ_NATIVE = 100_000
"""Lines that bashkit's own `seq` prints."""

SEQ_MOST = 3_000_000

DD_MOST = 9_000_000
"""Bytes: the embedded file system holds no larger file."""

_UNITS = {
    "": 1, "c": 1, "w": 2, "b": 512, "kB": 10**3, "K": 2**10, "k": 2**10, "KiB": 2**10,
    "MB": 10**6, "M": 2**20, "MiB": 2**20, "GB": 10**9, "G": 2**30, "GiB": 2**30,
}  # fmt: skip


def seq(call: CommandCall) -> CommandResult:
    numbers = [word for word in call.argv if re.fullmatch(r"[-+]?(?:\d+\.?\d*|\.\d+)", word)]
    try:
        first = Decimal(numbers[0]) if len(numbers) > 1 else Decimal(1)
        step = Decimal(numbers[1]) if len(numbers) > 2 else Decimal(1)
        last = Decimal(numbers[-1])
        count = int((last - first) / step) + 1
    except (IndexError, InvalidOperation, ArithmeticError):
        return call.native()
    plain = len(numbers) == len(call.argv) <= 3
    whole = plain and all("." not in word for word in numbers)
    if whole and not any(re.match(r"[-+]?0\d", word) for word in numbers) and count <= SEQ_MOST:
        lines = range(int(first), int(last) + (1 if step > 0 else -1), int(step))
        return CommandResult("\n".join(map(str, lines)) + "\n" if lines else "")
    if count > SEQ_NATIVE:
        raise unfaithful(f"seq prints {count:,} lines", " ".join(("seq", *call.argv)))
    return call.native()


def yes(call: CommandCall) -> CommandResult:
    if call.argv[:1] in (["--help"], ["--version"]):
        return call.native()
    words = call.argv[1:] if call.argv[:1] == ["--"] else call.argv
    line = " ".join(words or ["y"]) + "\n"
    return CommandResult(line * (YES_BYTES // len(line.encode()) + 1), "", 0)


def dd(call: CommandCall) -> CommandResult:
    """`dd` from `/dev/zero` or a random device; every other one is the embedded shell's."""
    operands: dict[str, str] = {}
    for word in call.argv:
        name, _, value = word.partition("=")
        operands[name] = value
    said_block = operands.get("bs", operands.get("ibs", "512"))
    block, count = _size(said_block), _size(operands.get("count", "0"))
    if not block or count is None:
        bad = operands.get("count", "") if block else said_block
        return CommandResult("", f"dd: invalid number: \u2018{bad}\u2019\n", 1)
    if "count" not in operands:
        raise Endless
    in_bytes = "count_bytes" in operands.get("iflag", "") or operands["count"].endswith("B")
    total = count if in_bytes else block * count
    if total > DD_MOST:
        raise unfaithful(f"dd copies {total:,} bytes", " ".join(("dd", *call.argv)))
    words, data = list(call.argv), None
    if operands.get("if") != "/dev/zero" or in_bytes:
        words = [word for word in words if not word.startswith(("if=", "iflag=", "count="))]
        source = bytes if operands.get("if") == "/dev/zero" else call.random.randbytes
        data = source(total).decode("utf-8", "surrogateescape")
    done = call.native(words, data, program="dd")
    said = re.sub(
        r"error writing ('.*'): io error: parent directory not found",
        r"failed to open \1: No such file or directory",
        done.stderr,
    )
    return CommandResult(done.stdout, said, done.exit_code)


def _size(text: str) -> int | None:
    found = re.fullmatch(r"(\d+)([a-zA-Z]*)", text)
    if not found:
        return None
    unit = _UNITS.get(found[2], 1 if found[2] == "B" else None)
    return None if unit is None else int(found[1]) * unit


def endless(call: CommandCall) -> CommandResult:
    """Stands where a real machine would never come to an end."""
    raise Endless


def forks(call: CommandCall) -> CommandResult:
    """Stands for processes that start each other until the machine can hold no more."""
    return CommandResult("", FORK_BOMB.said, FORK_BOMB.exit_code)
