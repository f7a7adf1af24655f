"""`touch` and `truncate` of GNU coreutils."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands._dates import InvalidDate, parse_date
from agentworld_sim.engines.shell.commands._formats import moment
from agentworld_sim.engines.shell.commands._options import CommandLine, Options, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, strerror, tool

_TOUCH = Options(
    "acd:fhmr:t:",
    {"no-create": "c", "date": "d", "reference": "r", "no-dereference": "h"},
)
_TRUNCATE = Options("cor:s:", {"no-create": "c", "io-blocks": "o", "reference": "r", "size": "s"})
_STAMP = re.compile(r"(?:(\d\d)?(\d\d))?(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d\d))?\Z")


@tool
def touch(running: Tool) -> None:
    given = _TOUCH.parse(running.name, running.call.argv)
    now_us = running.call.clock.now_us()
    when = now_us
    text, reference, stamp = given.value("d"), given.value("r"), given.value("t")
    if stamp is not None and (text is not None or reference is not None):
        raise _TOUCH.refuse(running.name, "cannot specify times from more than one source")
    if reference is not None:
        when = running.reference(reference).mtime_us
    if text is not None:
        when = _require_date(running, text, _parse_date(text, when))
    if stamp is not None:
        when = _require_date(running, stamp, _stamp_time(stamp, now_us))
    if not given.operands:
        raise _TOUCH.refuse(running.name, "missing file operand")
    access_only = "a" in given and "m" not in given
    for operand in given.operands:
        _touch(running, given, operand, when, access_only)


def _touch(running: Tool, given: CommandLine, operand: str, when: int, access_only: bool) -> None:
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
        running.complain(f"cannot touch {running.name_of(operand)}: {strerror(error)}")


def _require_date(running: Tool, text: str, found: int | None) -> int:
    if found is None:
        raise UsageError(f"{running.name}: invalid date format {running.quote(text)}\n")
    return found


def _stamp_time(text: str, now_us: int) -> int | None:
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


def _parse_date(text: str, now_us: int) -> int | None:
    """A date as `date -d` reads it, in microseconds; `None` if it cannot be read."""
    try:
        seconds, nanoseconds = parse_date(text, now_us, UTC)
    except InvalidDate:
        return None
    return seconds * 1_000_000 + nanoseconds // 1000


@tool
def truncate(running: Tool) -> None:
    """The embedded shell's, but for a command line that lacks something."""
    given = _TRUNCATE.parse(running.name, running.call.argv)
    if "s" not in given and "r" not in given:
        either = f"{running.quote('--size')} or {running.quote('--reference')}"
        raise _TRUNCATE.refuse(running.name, f"you must specify either {either}")
    if not given.operands:
        raise _TRUNCATE.refuse(running.name, "missing file operand")
    running.add(running.call.native())


COMMANDS: Mapping[str, Command] = {"touch": touch, "truncate": truncate}
