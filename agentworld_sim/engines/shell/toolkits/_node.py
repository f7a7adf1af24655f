"""How Node.js says things: system errors, dates, widths, the order of names.

Measured with Node 20 on Linux.
"""

from __future__ import annotations

import errno
import re
import unicodedata
from datetime import UTC, datetime

SPACE = "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""What `trim` takes away and `\\s` matches."""

_WORDS = {
    errno.ENOENT: "no such file or directory",
    errno.EISDIR: "illegal operation on a directory",
    errno.ENOTDIR: "not a directory",
    errno.EEXIST: "file already exists",
    errno.ELOOP: "too many symbolic links encountered",
    errno.ENAMETOOLONG: "name too long",
    errno.EINVAL: "invalid argument",
    errno.ENOTEMPTY: "directory not empty",
    errno.EACCES: "permission denied",
    errno.EROFS: "read-only file system",
    errno.ENOSPC: "no space left on device",
    errno.EBUSY: "resource busy or locked",
    errno.EFBIG: "file too large",
}

_PUNCTUATION = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
"""In the order of the Unicode collation."""


class NodeError(Exception):
    """A system call failed; the text is the message of the error that Node throws."""

    def __init__(self, code: int, call: str, *paths: str) -> None:
        self.code = code
        """The `errno`."""
        words = _WORDS.get(code, "i/o error")
        quoted = " -> ".join(f"'{path}'" for path in paths)
        name = errno.errorcode.get(code, "EIO")
        super().__init__(f"{name}: {words}, {call}{' ' if quoted else ''}{quoted}")


def node_error(error: OSError, call: str, *paths: str) -> NodeError:
    """What Node throws where Python would have raised `error`."""
    return NodeError(error.errno or errno.EIO, call, *paths)


def date_text(moment_us: int) -> str:
    """What a `Date` looks like in a text, in UTC."""
    moment = datetime.fromtimestamp(moment_us // 1_000_000, UTC)
    return f"{moment:%a %b %d %Y %H:%M:%S} GMT+0000 (Coordinated Universal Time)"


def pad_end(text: str, width: int) -> str:
    """`padEnd`: it counts UTF-16 units."""
    return text + " " * (width - len(text.encode("utf-16-le", "surrogatepass")) // 2)


def indentation(line: str) -> str:
    """The blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip(SPACE))]


def size_text(count: float) -> str:
    """A number of bytes, as people read it."""
    if count <= 0:
        return "0 B"
    units = ["B", "KB", "MB", "GB", "TB"]
    power = 0
    while power < len(units) - 1 and count >= 1024 ** (power + 1):
        power += 1
    return f"{count} B" if power == 0 else f"{count / 1024**power:.2f} {units[power]}"


def collation_key(name: str) -> tuple[object, ...]:
    """Sorts names as `localeCompare` does in English: letters first, then accents, then case.

    Punctuation comes before digits, digits before letters. Scripts other than Latin keep the order of
    their code points.
    """
    primary: list[tuple[int, int]] = []
    marks: list[str] = []
    cases: list[bool] = []
    for char in unicodedata.normalize("NFD", name):
        if unicodedata.combining(char):
            if marks:
                marks[-1] += char
            continue
        if re.fullmatch(r"[\x00-\x08\x0e-\x1f\x7f]", char):
            continue
        primary.append(_rank(char))
        marks.append("")
        cases.append(char.isupper())
    return primary, marks, cases, name


def _rank(char: str) -> tuple[int, int]:
    if char in SPACE:
        return 0, ord(char)
    at = _PUNCTUATION.find(char)
    if at >= 0:
        return 1, at
    if char.isdigit():
        return 2, unicodedata.digit(char, 0)
    return 3, ord(char.lower()[0])
