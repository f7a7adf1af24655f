"""Requests to the machine: what WASI has no call for."""

import errno
import os
from _json import encode_basestring_ascii as quote, make_encoder

_WORDS = {"true": True, "false": False, "null": None}
_LINUX = dict(
    zip(
        (1, 2, 9, 11, 13, 17, 20, 21, 22, 28, 30, 40),
        "EPERM ENOENT EBADF EAGAIN EACCES EEXIST ENOTDIR EISDIR EINVAL ENOSPC EROFS ELOOP".split(),
    )
)
"""Linux's numbers of errors; WASI has others."""

_known = {}
_text = make_encoder(None, None, quote, None, ":", ",", False, False, False)


def ask(what, data=b"", **fields):
    """The answer to a request, and the bytes behind it. Raises OSError for what fails."""
    number = os.open("/dev/.machine", os.O_RDWR)
    try:
        line = "".join(_text({"do": what, **fields}, 0)) + "\n"
        os.write(number, line.encode() + data)
        line, _, rest = read_all(number).partition(b"\n")
    finally:
        os.close(number)
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


def read_all(number):
    return b"".join(iter(lambda: os.read(number, 1 << 20), b""))


def write_all(number, data):
    while data:
        data = data[os.write(number, data) :]
