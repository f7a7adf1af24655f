"""`touch` and `truncate` of GNU coreutils."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands._dates import InvalidDate, parse_date
from agentworld_sim.engines.shell.commands._figures import moment
from agentworld_sim.engines.shell.commands._options import Options, Parsed, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, tool, why

_TOUCH = Options(
    "acd:fhmr:t:",
    {"time": ":", "no-create": "c", "date": "d", "reference": "r", "no-dereference": "h"},
)
_TRUNCATE = Options("cor:s:", {"no-create": "c", "io-blocks": "o", "reference": "r", "size": "s"})
_STAMP = re.compile(r"(?:(\d\d)?(\d\d))?(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d\d))?\Z")
_SIZE = re.compile(r"([-+<>/%]?)\s*(\d+)([KMGTPEZYkm]?)(iB|B)?\Z")


@tool
def touch(running: Tool) -> None:
    given = _TOUCH.parse(running.name, running.call.argv)
    now_us = running.call.clock.now_us()
    when = now_us
    text, reference, stamp = given.value("d"), given.value("r"), given.value("t")
    if stamp is not None and (text is not None or reference is not None):
        raise _TOUCH.refuse(running.name, "cannot specify times from more than one source")
    if reference is not None:
        try:
            when = running.stat(reference).mtime_us
        except OSError as error:
            quoted = running.name_of(reference)
            said = f"{running.name}: failed to get attributes of {quoted}: {why(error)}\n"
            raise UsageError(said) from None
    if text is not None:
        found = parsed_date(text, when)
        if found is None:
            said = f"{running.name}: invalid date format {running.quote(text)}\n"
            raise UsageError(said)
        when = found
    if stamp is not None:
        found = stamp_time(stamp, now_us)
        if found is None:
            raise UsageError(f"{running.name}: invalid date format {running.quote(stamp)}\n")
        when = found
    if not given.operands:
        raise _TOUCH.refuse(running.name, "missing file operand")
    access_only = "a" in given and "m" not in given
    if given.value("time") in ("access", "atime", "use"):
        access_only = "m" not in given
    for operand in given.operands:
        _touch(running, given, operand, when, access_only)


def _touch(running: Tool, given: Parsed, operand: str, when: int, access_only: bool) -> None:
    files = running.files
    if operand == "-":
        return
    try:
        path = running.path(operand)
        link = "h" in given and running.exists(operand)
        if not link and not files.exists(path):
            if operand.endswith("/"):
                reason = os.strerror(
                    errno.ENOENT if not running.exists(operand[:-1]) else errno.ENOTDIR
                )
                if "c" not in given:
                    running.complain(f"setting times of {running.name_of(operand)}: {reason}")
                return
            if "c" in given or "h" in given:
                return
            files.write(path, b"", mode=0o666 & ~running.umask)
            access_only = False if when == running.call.clock.now_us() else access_only
        elif operand.endswith("/") and not running.is_directory(operand):
            running.complain(
                f"setting times of {running.name_of(operand)}: {os.strerror(errno.ENOTDIR)}"
            )
            return
        if not access_only:
            files.set_mtime(path, when, follow=not link)
    except OSError as error:
        running.complain(f"cannot touch {running.name_of(operand)}: {why(error)}")


def stamp_time(text: str, now_us: int) -> int | None:
    """`[[CC]YY]MMDDhhmm[.ss]` as a moment in microseconds."""
    found = _STAMP.match(text)
    if not found:
        return None
    century, short, month, day, hour, minute, second = found.groups()
    if short is None:
        year = moment(now_us).year
    elif century is None:
        year = int(short) + (1900 if int(short) >= 69 else 2000)
    else:
        year = int(century + short)
    try:
        when = datetime(
            year, int(month), int(day), int(hour), int(minute), int(second or "0"), tzinfo=UTC
        )
    except ValueError:
        return None
    return int(when.timestamp()) * 1_000_000


def parsed_date(text: str, now_us: int) -> int | None:
    """A date as `date -d` reads it, in microseconds; `None` if it cannot be read."""
    try:
        seconds, nanoseconds = parse_date(text, now_us, UTC)
    except InvalidDate:
        return None
    return seconds * 1_000_000 + nanoseconds // 1000


@tool
def truncate(running: Tool) -> None:
    given = _TRUNCATE.parse(running.name, running.call.argv)
    text, reference = given.value("s"), given.value("r")
    if text is None and reference is None:
        either = f"{running.quote('--size')} or {running.quote('--reference')}"
        raise _TRUNCATE.refuse(running.name, f"you must specify either {either}")
    how, amount = "", 0
    if text is not None:
        how, amount = _size(running, text)
        if reference is not None and not how:
            both = f"{running.quote('--size')} with {running.quote('--reference')}"
            raise _TRUNCATE.refuse(running.name, f"you must specify a relative {both}")
    if not given.operands:
        raise _TRUNCATE.refuse(running.name, "missing file operand")
    base: int | None = None
    if reference is not None:
        try:
            base = running.stat(reference).size
        except OSError as error:
            said = f"{running.name}: cannot stat {running.name_of(reference)}: {why(error)}\n"
            raise UsageError(said) from None
    if text is None and base is not None:
        how, amount = "", base
    amount *= 4096 if "o" in given else 1
    for operand in given.operands:
        _truncate(running, given, operand, (how, amount), base)


def _truncate(
    running: Tool, given: Parsed, operand: str, size: tuple[str, int], base: int | None
) -> None:
    files = running.files
    try:
        path = running.path(operand)
        new = not files.exists(path)
        if new and "c" in given:
            return
        if not new and files.stat(path).kind == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), operand)
        old = b"" if new else files.read(path)
        length = _wanted(size, len(old) if base is None else base)
        data = old[:length] + bytes(max(0, length - len(old)))
        files.write(path, data, mode=0o666 & ~running.umask if new else None)
    except OSError as error:
        running.complain(f"cannot open {running.name_of(operand)} for writing: {why(error)}")


def _wanted(size: tuple[str, int], old: int) -> int:
    how, amount = size
    match how:
        case "+":
            return old + amount
        case "-":
            return max(0, old - amount)
        case "<":
            return min(old, amount)
        case ">":
            return max(old, amount)
        case "/":
            return old // amount * amount
        case "%":
            return -(-old // amount) * amount
        case _:
            return amount


def _size(running: Tool, text: str) -> tuple[str, int]:
    found = _SIZE.match(text.strip())
    if not found:
        raise UsageError(
            f"{running.name}: Invalid number: {running.quote(text.lstrip('+-<>/% '))}\n"
        )
    how, digits, letter, rest = found.groups()
    base = 1000 if rest == "B" else 1024
    unit = base ** ("KMGTPEZY".index(letter.upper()) + 1) if letter else 1
    if how in ("/", "%") and int(digits) == 0:
        raise UsageError(f"{running.name}: division by zero\n")
    return how, int(digits) * unit


COMMANDS: Mapping[str, Command] = {"touch": touch, "truncate": truncate}
