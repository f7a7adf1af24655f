"""The world's clock: `date`, `sleep`, `timeout`."""

from __future__ import annotations

import re
from datetime import UTC, tzinfo

from agentworld_sim.engines.shell._command import CommandResult
from agentworld_sim.engines.shell.commands._dates import InvalidDate, parse_date
from agentworld_sim.engines.shell.commands._formats import at, strftime, zone_of
from agentworld_sim.engines.shell.commands._options import Options
from agentworld_sim.engines.shell.commands._tool import Tool, strerror, tool

_DATE = Options("d:f:I::r:Rs:u", {
    "date": "d", "debug": "", "file": "f", "iso-8601": "I", "reference": "r", "resolution": "",
    "rfc-2822": "R", "rfc-email": "R", "rfc-3339": ":", "set": "s", "universal": "u", "utc": "u",
    "uct": "u",
})  # fmt: skip

_PRECISIONS = ("date", "hours", "minutes", "seconds", "ns")
_RFC_EMAIL = "%a, %d %b %Y %H:%M:%S %z"
_DEFAULT = "%a %b %e %H:%M:%S %Z %Y"


@tool
def date(t: Tool) -> None:
    parsed = _DATE.parse(t.name, t.call.argv)
    zone = UTC if "u" in parsed else zone_of(t.call)
    template = _date_template(t, parsed.last("I", "R", "rfc-3339"), parsed.value("I"),
                              parsed.value("rfc-3339"))  # fmt: skip
    chosen = [name for name in ("d", "f", "r") if name in parsed]
    if len(chosen) > 1:
        raise _DATE.refuse(t.name, "the options to specify dates for printing are mutually"
                           " exclusive")  # fmt: skip
    for operand in parsed.operands[:1]:
        if operand.startswith("+"):
            if template is not None:
                t.complain("multiple output formats specified")
                return
            template = operand[1:]
        elif chosen:
            t.err.append(f"{t.name}: the argument {t.quote(operand)} lacks a leading '+';\nwhen"
                         " using an option to specify date(s), any non-option\nargument must be a"
                         " format string beginning with '+'\nTry 'date --help' for more"
                         " information.\n")  # fmt: skip
            t.code = 1
            return
        else:
            t.complain(f"invalid date {t.quote(operand)}")
            return
    if len(parsed.operands) > 1:
        raise _DATE.refuse(t.name, f"extra operand {t.quote(parsed.operands[1])}")
    source = chosen[0] if chosen else ""
    _print_dates(t, source, parsed.value(source) or "", template, zone)
    if "s" in parsed:
        t.complain("cannot set date: Operation not permitted")


def _print_dates(t: Tool, source: str, value: str, template: str | None, zone: tzinfo) -> None:
    form = _DEFAULT if template is None else template
    now_us = t.call.clock.now_us()
    texts = [value]
    try:
        if source == "r":
            now_us = t.stat(value).mtime_us
        elif source == "f":
            texts = (t.call.stdin or "" if value == "-" else t.text(value)).splitlines()
    except OSError as error:
        t.complain(f"{value}: {strerror(error)}")
        return
    for text in texts:
        try:
            seconds, nanoseconds = now_us // 1_000_000, now_us % 1_000_000 * 1000
            if source in ("d", "f"):
                seconds, nanoseconds = parse_date(text, now_us, zone)
            shown = at(seconds, zone)
        except (InvalidDate, OverflowError, ValueError):
            t.complain(f"invalid date {t.quote(text)}")
            continue
        t.say(strftime(form, shown, nanoseconds))


def _date_template(t: Tool, kind: str | None, precision: str | None, rfc: str | None) -> str | None:
    if kind is None:
        return None
    if kind == "R":
        return _RFC_EMAIL
    given = (precision if kind == "I" else rfc) or "date"
    allowed = _PRECISIONS if kind == "I" else ("date", "seconds", "ns")
    found = next((name for name in allowed if name.startswith(given)), None)
    if found is None:
        option = "--iso-8601" if kind == "I" else "--rfc-3339"
        raise t.bad_argument(given, option, map(t.quote, allowed))
    between = "T" if kind == "I" else " "
    clock = {"date": "", "hours": "%H", "minutes": "%H:%M", "seconds": "%H:%M:%S",
             "ns": "%H:%M:%S,%N" if kind == "I" else "%H:%M:%S.%N"}[found]  # fmt: skip
    return f"%Y-%m-%d{between}{clock}%:z" if clock else "%Y-%m-%d"


_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d+))?([smhd]?)")
_SUFFIX = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_FOREVER_US = 10**15
"""About thirty years: what `infinity` comes to."""


def duration_us(text: str) -> int | None:
    """A `sleep` or `timeout` duration in microseconds; `None` if it is none."""
    if text.lower() in ("inf", "infinity"):
        return _FOREVER_US
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    value = float(match[1]) * 10.0 ** int(match[2] or 0) * _SUFFIX[match[3]]
    return min(_FOREVER_US, round(value * 1_000_000))


@tool
def sleep(t: Tool) -> None:
    spec = Options("", {})
    operands = spec.parse(t.name, t.call.argv).operands
    if not operands:
        raise spec.refuse(t.name, "missing operand")
    total = 0
    for operand in operands:
        found = duration_us(operand)
        if found is None:
            t.complain(f"invalid time interval {t.quote(operand)}")
        else:
            total += found
    if t.err:
        t.err.append(f"Try '{t.name} --help' for more information.\n")
        return
    t.call.clock.sleep(total)


_TIMEOUT = Options("k:s:v", {
    "foreground": "", "kill-after": "k", "preserve-status": "", "signal": "s", "verbose": "v",
}, exit_code=125, in_order=True)  # fmt: skip

_SIGNALS = {"HUP": 1, "INT": 2, "QUIT": 3, "KILL": 9, "TERM": 15, "USR1": 10, "USR2": 12}


def _timeout(t: Tool) -> CommandResult:
    parsed = _TIMEOUT.parse(t.name, t.call.argv)
    if len(parsed.operands) < 2:
        raise _TIMEOUT.refuse(t.name, "missing operand")
    text, *command = parsed.operands
    limit = duration_us(text)
    if limit is None:
        raise _TIMEOUT.refuse(t.name, f"invalid time interval {t.quote(text)}")
    after = parsed.value("k")
    if after is not None and duration_us(after) is None:
        raise _TIMEOUT.refuse(t.name, f"invalid time interval {t.quote(after)}")
    signal = parsed.value("s") or "TERM"
    number = int(signal) if signal.isdigit() else _SIGNALS.get(signal.upper().removeprefix("SIG"))
    if number is None:
        raise _TIMEOUT.refuse(t.name, f"{t.quote(signal)}: invalid signal")
    # The embedded `timeout` counts the host's seconds, not the world's.
    ran = t.call.native(command[1:], program=command[0], limit_us=limit or None)
    if not ran.timed_out:
        missing = f"bash: line 1: {command[0]}: command not found\n"
        if ran.exit_code == 127 and ran.stderr.endswith(missing):
            reason = f"{t.name}: failed to run command {t.quote(command[0])}: "
            return CommandResult(ran.stdout, f"{reason}No such file or directory\n", 127)
        return ran
    said = ""
    if "v" in parsed:
        name = next((name for name, n in _SIGNALS.items() if n == number), str(number))
        said = f"{t.name}: sending signal {name} to command {t.quote(command[0])}\n"
    code = 128 + number if "preserve-status" in parsed or number == 9 else 124
    return CommandResult(ran.stdout, ran.stderr + said, code)


@tool
def timeout(t: Tool) -> None:
    t.add(_timeout(t))
