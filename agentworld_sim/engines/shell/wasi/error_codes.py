"""The numbers and words of errors: those of WASI and its C library, and those of Linux."""

from __future__ import annotations

import errno
import re

from agentworld_sim.engines.shell.programs import DATA

_ROWS = [line.split(";") for line in (DATA / "wasi_errors.txt").read_text("utf-8").splitlines()[1:]]
_CODES = {name: int(code) for name, code, *_ in _ROWS}
_NUMBERS = {getattr(errno, name): code for name, code in _CODES.items()}
_TO_LINUX = {int(code): int(linux) for _, code, linux, *_ in _ROWS}
_WORDS = dict(row[3:] for row in _ROWS if row[3:])

_SHOWN = re.compile(
    r"(\[Errno |Error\()(\d+)(\] |, ')({})?".format("|".join(map(re.escape, _WORDS))).encode()
)


def code_of(error: OSError) -> int:
    """WASI's number of an error."""
    if isinstance(error, BrokenPipeError):
        return _CODES["EPIPE"]
    return _NUMBERS.get(error.errno or 0, _CODES["EIO"])


def in_linux_terms(output: bytes) -> bytes:
    """What a program prints, with Linux's numbers and words where it shows an error as Python does: `[Errno 44] …`."""
    if b"[Errno " not in output and b"Error(" not in output:
        return output
    return _SHOWN.sub(_in_linux_terms, output)


def _in_linux_terms(shown: re.Match[bytes]) -> bytes:
    number = int(shown[2])
    words = _WORDS[shown[4].decode()] if shown[4] else ""
    return b"%b%d%b%b" % (shown[1], _TO_LINUX.get(number, number), shown[3], words.encode())
