"""The named normalisations. One is applied only to a command that declares it, to both sides."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_TIMES = re.compile(
    rf"{_DAY} {_MONTH} [ \d]\d \d\d:\d\d:\d\d UTC \d{{4}}"
    r"|\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[+-]\d{4})?"
    rf"|{_MONTH} [ \d]\d (?:\d\d:\d\d| \d{{4}})"
    r"|\b\d\d:\d\d:\d\d\b"
    r"|\d{4}-\d\d-\d\d|\b1\d{9}(?:\.\d+)?\b"
)
_LISTED = re.compile(r"^([dlbcps-][rwxsStT-]{9})\s+(\d+)\s+(\S+)\s+(\S+)\s+(\d+)\s+", re.MULTILINE)


def _time(text: str) -> str:
    """Clock readings in the forms of `ls -l`, `date`, `diff -u`, `stat`, `%s`."""
    return _TIMES.sub("<time>", text)


def _directory_size(text: str) -> str:
    """The size of a directory in `ls -l`, and the column widths that follow from it."""

    def one(match: re.Match[str]) -> str:
        mode, links, owner, group, size = match.groups()
        return f"{mode} {links} {owner} {group} {'<size>' if mode[0] == 'd' else size} "

    return _LISTED.sub(one, text)


def _total(text: str) -> str:
    """The `total` line of `ls -l`: allocated blocks depend on the filesystem."""
    return re.sub(r"^total \S+$", "total <blocks>", text, flags=re.MULTILINE)


def _blocks(text: str) -> str:
    """The leading number of `du`: allocated blocks depend on the filesystem."""
    return re.sub(r"^\d\S*\t", "<blocks>\t", text, flags=re.MULTILINE)


def _inode(text: str) -> str:
    """The leading number of `ls -i` and `stat -c %i`."""
    return re.sub(r"^\s*\d+(?= |$)", "<inode>", text, flags=re.MULTILINE)


def _pid(text: str) -> str:
    """Every number: only for a command that prints process ids."""
    return re.sub(r"\d+", "<pid>", text)


def _random_name(text: str) -> str:
    """The letters `mktemp` puts for its X's, after a dot."""
    return re.sub(r"\b([\w-]+)\.[A-Za-z0-9]{6,10}\b", r"\1.<random>", text)


def _duration(text: str) -> str:
    """The numbers of `time`."""
    return re.sub(r"\d+m\d+\.\d+s", "<duration>", text)


def _order(text: str) -> str:
    """The order of lines, where it is the order of directory entries on disk."""
    return "".join(sorted(text.splitlines(keepends=True)))


NORMALISATIONS: Mapping[str, Callable[[str], str]] = {
    "time": _time,
    "dir_size": _directory_size,
    "total": _total,
    "blocks": _blocks,
    "inode": _inode,
    "pid": _pid,
    "random_name": _random_name,
    "duration": _duration,
    "order": _order,
}


def normalise(text: str, names: Sequence[str]) -> str:
    """Applies the named normalisations in the order of `NORMALISATIONS`.

    Raises:
        ValueError: a name is unknown.
    """
    unknown = sorted(set(names) - NORMALISATIONS.keys())
    if unknown:
        raise ValueError(f"no normalisation {unknown[0]!r}; there are {', '.join(NORMALISATIONS)}")
    for name, function in NORMALISATIONS.items():
        if name in names:
            text = function(text)
    return text
