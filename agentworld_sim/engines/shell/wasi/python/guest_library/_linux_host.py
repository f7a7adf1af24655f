"""Requests to the machine: what WASI has no call for."""

import errno
import os
from _json import encode_basestring_ascii as quote

_WORDS = {"true": True, "false": False, "null": None}
_LINUX = dict(
    zip(
        (1, 2, 9, 11, 13, 17, 20, 21, 22, 28, 30, 40),
        "EPERM ENOENT EBADF EAGAIN EACCES EEXIST ENOTDIR EISDIR EINVAL ENOSPC EROFS ELOOP".split(),
    )
)
"""Linux's numbers of errors; WASI has others."""

_known = {}


def _text(value):
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{quote(name)}:{_text(one)}" for name, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_text, value)) + "]"
    return "null" if value is None else repr(value).lower()


def ask(what, data=b"", **fields):
    """The answer to a request, and the bytes behind it. Raises OSError for what fails."""
    number = os.open("/dev/.machine", os.O_RDWR)
    try:
        line = _text({"do": what, **fields}) + "\n"
        os.write(number, line.encode() + data)
        whole = bytearray()
        while piece := os.read(number, 1 << 20):
            whole += piece
    finally:
        os.close(number)
    line, _, rest = bytes(whole).partition(b"\n")
    answer = eval(line, _WORDS)  # JSON of these answers is also Python.
    if "errno" in answer:
        code = getattr(errno, _LINUX.get(answer["errno"], "EIO"))
        raise OSError(code, os.strerror(code), fields.get("path"))
    return answer, rest


def host(name):
    """What the machine says of itself and of who runs the program."""
    if not _known:
        _known.update(ask("host")[0])
    return _known[name]


def spawn(argv, stdin=b"", cwd=None, env=None, merge=False):
    """Runs a program to its end: exit code, output, messages."""
    env = dict(os.environ) if env is None else env
    answer, rest = ask(
        "spawn", stdin, argv=list(argv), cwd=cwd or os.getcwd(), env=env, merge=merge
    )
    out = answer["out"]
    return answer["exit"], rest[:out], rest[out : out + answer["err"]]


def write_all(number, data):
    while data:
        data = data[os.write(number, data) :]
