"""`touch` and `truncate` of GNU coreutils."""

from __future__ import annotations

import errno
import os
from datetime import UTC

from agentworld_sim.engines.shell.commands._dates import InvalidDate, parse_date
from agentworld_sim.engines.shell.commands._options import CommandLine, Options, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, tool
from agentworld_sim.engines.shell.live_files import iso_time

_TOUCH = Options(
    "acd:fhmr:t:",
    {"no-create": "c", "date": "d", "reference": "r", "no-dereference": "h"},
)
_TRUNCATE = Options("cor:s:", {"no-create": "c", "io-blocks": "o", "reference": "r", "size": "s"})


@tool
def touch(running: Tool) -> None:
    """The embedded shell's, but for dates, which count from the world's clock, and for links."""
    given = _TOUCH.parse(running.name, running.call.argv)
    text, reference, stamp = given.value("d"), given.value("r"), given.value("t")
    if stamp is not None and (text is not None or reference is not None):
        raise _TOUCH.refuse(running.name, "cannot specify times from more than one source")
    when = (
        running.call.clock.now_us() if reference is None else running.reference(reference).mtime_us
    )
    if text is not None:
        when = _parse_date(running, text, when)
    if not given.operands:
        raise _TOUCH.refuse(running.name, "missing file operand")
    operands = [one for one in given.operands if _can_be_touched(running, given, one)]
    if "h" in given:
        for operand in operands:
            if running.exists(operand):
                running.files.set_mtime(running.path(operand), when, follow=False)
        return
    if "a" in given and "m" not in given:
        # There is one time for a file, and it is that of its content.
        operands = [one for one in operands if not running.exists(one)]
    time = ["-d", iso_time(when)] if stamp is None else ["-t", stamp]
    if operands:
        words = [*time, *["-c"] * ("c" in given), "--", *operands]
        running.add(running.call.native(words), curly="invalid date")


def _can_be_touched(running: Tool, given: CommandLine, operand: str) -> bool:
    """Whether the embedded shell may do it: of a file it takes a slash at the end, and no name."""
    if not operand:
        running.complain(f"cannot touch {running.name_of(operand)}: {os.strerror(errno.ENOENT)}")
        return False
    if not operand.endswith("/") or running.is_directory(operand):
        return operand != "-"
    if "c" not in given:
        code = errno.ENOTDIR if running.exists(operand.rstrip("/")) else errno.ENOENT
        running.complain(f"setting times of {running.name_of(operand)}: {os.strerror(code)}")
    return False


def _parse_date(running: Tool, text: str, now_us: int) -> int:
    """A date as `date -d` reads it, in microseconds."""
    try:
        seconds, nanoseconds = parse_date(text, now_us, UTC)
    except InvalidDate:
        said = f"{running.name}: invalid date format {running.quote(text)}\n"
        raise UsageError(said) from None
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
