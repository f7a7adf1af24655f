"""Chance, drawn from the world's random source: `shuf` and `mktemp`."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from random import Random

from agentworld_sim.engines.shell.commands._options import Options
from agentworld_sim.engines.shell.commands._tool import Tool, strerror, tool

_SHUF = Options("ei:n:r", {
    "echo": "e", "input-range": "i", "head-count": "n", "repeat": "r",
})  # fmt: skip


@tool
def shuf(t: Tool) -> None:
    parsed = _SHUF.parse(t.name, t.call.argv)
    count: int | None = None
    for text in parsed.values("n"):
        if not text.isdigit():
            t.complain(f"invalid line count: {t.quote(text)}")
            return
        count = int(text) if count is None else min(count, int(text))
    spread = parsed.value("i")
    if spread is not None and "e" in parsed:
        raise _SHUF.refuse(t.name, "cannot combine -e and -i options")
    lines = _lines(t, parsed.operands, spread, echo="e" in parsed)
    if lines and "r" in parsed:
        # Without a count the real one never ends; a pipe's reader would stop it.
        count = 10_000 if count is None else count
        t.out += [f"{line}\n" for line in t.call.random.choices(lines, k=count)]
    elif lines is not None:
        size = len(lines) if count is None else min(count, len(lines))
        t.out += [f"{line}\n" for line in t.call.random.sample(lines, size)]


def _lines(
    t: Tool, operands: Sequence[str], spread: str | None, *, echo: bool
) -> Sequence[str | int] | None:
    if echo:
        return operands
    if len(operands) > (spread is None):
        raise _SHUF.refuse(t.name, f"extra operand {t.quote(operands[spread is None])}")
    if spread is not None:
        low, dash, high = spread.partition("-")
        if not (dash and low.isdigit() and high.isdigit() and int(low) <= int(high) + 1):
            t.complain(f"invalid input range: {t.quote(spread)}")
            return None
        return range(int(low), int(high) + 1)
    try:
        named = operands and operands[0] != "-"
        text = t.text(operands[0]) if named else t.call.stdin or ""
    except OSError as error:
        t.complain(f"{operands[0]}: {strerror(error)}")
        return None
    return text.removesuffix("\n").split("\n") if text else []


def random_sort(lines: list[str], random: Random, *, unique: bool) -> list[str]:
    """`sort -R`: equal lines stay together, groups come in random order."""
    groups: dict[str, list[str]] = {}
    for line in lines:
        groups.setdefault(line, []).append(line)
    order = sorted(groups)
    random.shuffle(order)
    return [line for key in order for line in (groups[key][:1] if unique else groups[key])]


_MKTEMP = Options("dqp:tuV", {
    "directory": "d", "quiet": "q", "tmpdir": "::", "dry-run": "u", "suffix": ":",
})  # fmt: skip

_LETTERS = string.ascii_letters + string.digits
_RUN_OF_X = re.compile(r"X{3,}(?=[^X/]*$)")


@tool
def mktemp(t: Tool) -> None:
    parsed = _MKTEMP.parse(t.name, t.call.argv)
    if len(parsed.operands) > 1:
        raise _MKTEMP.refuse(t.name, "too many templates")
    template = parsed.operands[0] if parsed.operands else "tmp.XXXXXXXXXX"
    suffix = parsed.value("suffix")
    if suffix is not None and not template.endswith("X"):
        t.complain(f"with --suffix, template {t.quote(template)} must end in X")
        return
    name = template + (suffix or "")
    if not _RUN_OF_X.search(name):
        t.complain(f"too few X's in template {t.quote(template)}")
        return
    folder = parsed.value("p") or parsed.value("tmpdir") or ""
    if not folder and (not parsed.operands or parsed.last("p", "t", "tmpdir")):
        folder = t.call.env.get("TMPDIR") or "/tmp"
    if folder and name.startswith("/"):
        t.complain(f"invalid template, {t.quote(name)}; with --tmpdir, it may not be absolute")
        return
    full = f"{folder.rstrip('/')}/{name}" if folder else name
    kind = "directory" if "d" in parsed else "file"
    for _ in range(100):
        made = _RUN_OF_X.sub(lambda m: "".join(t.call.random.choices(_LETTERS, k=len(m[0]))), full)
        if not t.exists(made):
            break
    else:
        made = full
    try:
        path = t.path(made)
        if "u" not in parsed:
            t.files.stat(path.rpartition("/")[0] or "/")
            if kind == "directory":
                t.files.mkdir(path, mode=0o700)
            else:
                t.files.write(path, b"", mode=0o600)
    except OSError as error:
        if "q" not in parsed:
            t.complain(f"failed to create {kind} via template {t.quote(full)}: {strerror(error)}")
        t.code = 1
        return
    t.say(made)
