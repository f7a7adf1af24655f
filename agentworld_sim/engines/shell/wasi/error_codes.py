"""The numbers and words of errors: those of WASI and its C library, and those of Linux."""

from __future__ import annotations

import errno
import re

_CODES = {
    "EACCES": 2, "EAGAIN": 6, "EBADF": 8, "EBUSY": 10, "ECHILD": 12, "EDOM": 18, "EEXIST": 20, "EFAULT": 21,
    "EFBIG": 22, "EINTR": 27, "EINVAL": 28, "EIO": 29, "EISDIR": 31, "ELOOP": 32, "EMFILE": 33, "ENAMETOOLONG": 37,
    "ENFILE": 41, "ENODEV": 43, "ENOENT": 44, "ENOEXEC": 45, "ENOMEM": 48, "ENOSPC": 51, "ENOSYS": 52, "ENOTDIR": 54,
    "ENOTEMPTY": 55, "ENOTSUP": 58, "ENOTTY": 59, "ENXIO": 60, "EPERM": 63, "EPIPE": 64, "ERANGE": 68, "EROFS": 69,
    "ESPIPE": 70, "ESRCH": 71, "ETIMEDOUT": 73, "EXDEV": 75,
}  # fmt: skip
"""WASI's numbers."""

_NUMBERS = {getattr(errno, name): code for name, code in _CODES.items()}

_LINUX = {
    "EACCES": 13, "EAGAIN": 11, "EBADF": 9, "EBUSY": 16, "ECHILD": 10, "EDOM": 33, "EEXIST": 17, "EFAULT": 14,
    "EFBIG": 27, "EINTR": 4, "EINVAL": 22, "EIO": 5, "EISDIR": 21, "ELOOP": 40, "EMFILE": 24, "ENAMETOOLONG": 36,
    "ENFILE": 23, "ENODEV": 19, "ENOENT": 2, "ENOEXEC": 8, "ENOMEM": 12, "ENOSPC": 28, "ENOSYS": 38, "ENOTDIR": 20,
    "ENOTEMPTY": 39, "ENOTSUP": 95, "ENOTTY": 25, "ENXIO": 6, "EPERM": 1, "EPIPE": 32, "ERANGE": 34, "EROFS": 30,
    "ESPIPE": 29, "ESRCH": 3, "ETIMEDOUT": 110, "EXDEV": 18,
}  # fmt: skip

_WORDS = {
    "Cross-device link": "Invalid cross-device link",
    "Domain error": "Numerical argument out of domain",
    "Filename too long": "File name too long",
    "I/O error": "Input/output error",
    "Invalid seek": "Illegal seek",
    "No child process": "No child processes",
    "No file descriptors available": "Too many open files",
    "Not a tty": "Inappropriate ioctl for device",
    "Not supported": "Operation not supported",
    "Operation timed out": "Connection timed out",
    "Out of memory": "Cannot allocate memory",
    "Resource busy": "Device or resource busy",
    "Result not representable": "Numerical result out of range",
    "Symbolic link loop": "Too many levels of symbolic links",
}
"""Where the words of WASI's C library and of Debian's differ."""

_SHOWN = re.compile(
    r"(\[Errno |Error\()(\d+)(\] |, ')({})?".format("|".join(map(re.escape, _WORDS))).encode()
)
_TO_LINUX = {code: _LINUX[name] for name, code in _CODES.items()}


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
