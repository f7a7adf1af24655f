"""`--stat` and its kin: how much each file changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pygit2
from pygit2.enums import DiffFlag

from agentworld_sim.engines.shell.git.git_failure import not_computed
from agentworld_sim.engines.shell.git.git_texts import many, quote_path
from agentworld_sim.engines.shell.git.repository import NOTHING, Repository, text_of

WIDTH = 80
"""Of a machine without a terminal."""


@dataclass(frozen=True, slots=True)
class FileCount:
    """Lines of one file, or the bytes of a binary one, that came and went."""

    name: str
    added: int
    removed: int
    binary: bool


def counts_of(patches: Sequence[pygit2.Patch]) -> list[FileCount]:
    found: list[FileCount] = []
    for patch in patches:
        old, new = patch.delta.old_file, patch.delta.new_file
        binary = bool(patch.delta.flags & DiffFlag.BINARY)
        _, added, removed = (0, new.size, old.size) if binary else patch.line_stats
        found.append(FileCount(shown_name(old.path, new.path), added, removed, binary))
    return found


def shown_name(old: str, new: str) -> str:
    """A file's name; the two of a renamed one with their common folders outside of braces."""
    if old == new or quote_path(old) != old or quote_path(new) != new:
        return quote_path(new) if old == new else f"{quote_path(old)} => {quote_path(new)}"
    one, other = old.split("/"), new.split("/")
    short = min(len(one), len(other))
    start = next(i for i in range(short) if i + 1 == short or one[i] != other[i])
    end = next((i for i in range(short - start) if one[-i - 1] != other[-i - 1]), short - start)
    if not start and not end:
        return f"{old} => {new}"
    inner = ("/".join(parts[start : len(parts) - end]) for parts in (one, other))
    head = "".join(f"{part}/" for part in one[:start])
    tail = "".join(f"/{part}" for part in one[len(one) - end :])
    return f"{head}{{{' => '.join(inner)}}}{tail}"


def stat_table(counts: Sequence[FileCount]) -> str:
    """The table of `--stat`, with bars that fit the width, and the line of totals."""
    longest = max((len(count.name) for count in counts), default=0)
    most = max((c.added + c.removed for c in counts if not c.binary), default=0)
    binary = max((14 + len(f"{c.added}{c.removed}") for c in counts if c.binary), default=0)
    digits = max(len(str(most)), 3 if binary else 0)
    bar = most if most + 4 > binary else binary - 4
    if longest + digits + 6 + bar > WIDTH:
        bar = min(bar, max(6, WIDTH * 3 // 8 - digits - 6))
        longest = min(longest, WIDTH - digits - 6 - bar)
        bar = max(bar, WIDTH - digits - 6 - longest)

    def scale(number: int) -> int:
        return 1 + number * (bar - 1) // most if number else 0

    lines: list[str] = []
    for count in counts:
        name = count.name
        if len(name) > longest:
            cut = name[len(name) - longest + 3 :]
            name = "..." + (cut[cut.index("/") :] if "/" in cut else cut)
        added, removed = count.added, count.removed
        if count.binary:
            lines.append(f" {name:<{longest}} | {'Bin':>{digits}} {removed} -> {added} bytes")
            continue
        if bar <= most:
            whole = max(scale(added + removed), 2 if added and removed else 0)
            if added < removed:
                added = scale(added)
                removed = whole - added
            else:
                removed = scale(removed)
                added = whole - removed
        bars = "+" * added + "-" * removed
        lines.append(
            f" {name:<{longest}} | {count.added + count.removed:>{digits}}{' ' * bool(bars)}{bars}"
        )
    return "".join(f"{line}\n" for line in lines) + total_line(counts)


def total_line(counts: Sequence[FileCount]) -> str:
    if not counts:
        return ""
    text = f" {many(len(counts), 'file')} changed"
    added = sum(count.added for count in counts if not count.binary)
    removed = sum(count.removed for count in counts if not count.binary)
    if added or not removed:
        text += f", {many(added, 'insertion')}(+)"
    if removed or not added:
        text += f", {many(removed, 'deletion')}(-)"
    return text + "\n"


def summary(repo: Repository, patches: Sequence[pygit2.Patch]) -> str:
    """The lines of `--summary`: files made, deleted, renamed, and other modes."""
    out = ""
    for patch in patches:
        old, new, letter = patch.delta.old_file, patch.delta.new_file, patch.delta.status_char()
        name = quote_path(new.path)
        if letter in "AD":
            mode = new.mode if letter == "A" else old.mode
            out += f" {'create' if letter == 'A' else 'delete'} mode {mode:06o} {name}\n"
            continue
        if letter == "R":
            out += f" rename {shown_name(old.path, new.path)} ({similarity(repo, patch.delta)}%)\n"
        if old.mode != new.mode:
            out += f" mode change {old.mode:06o} => {new.mode:06o}{'' if letter == 'R' else ' ' + name}\n"
    return out


def similarity(repo: Repository, delta: pygit2.DiffDelta) -> int:
    """How much of the larger of two contents lies in the other, in percent, as git counts it: by lines."""
    if delta.old_file.id == delta.new_file.id:
        return 100
    pieces: list[Counter[bytes]] = []
    for side in (delta.old_file, delta.new_file):
        count: Counter[bytes] = Counter()
        for line in re.findall(rb"[^\n]{0,63}\n|[^\n]{1,64}", _data_of(repo, side)):
            count[line] += len(line)
        pieces.append(count)
    return (pieces[0] & pieces[1]).total() * 100 // max(1, *(count.total() for count in pieces))


def _data_of(repo: Repository, side: pygit2.DiffFile) -> bytes:
    if not side.mode:
        return b""
    missing = str(side.id) == NOTHING or side.id not in repo.library
    return (repo.folder / side.path).read_bytes() if missing else repo.get(str(side.id)).read_raw()


_FAULTS = (
    (rb".*[ \t\r\f\v]", "trailing whitespace"),
    (rb"\s* \t.*", "space before tab in indent"),
)


def whitespace_faults(repo: Repository, patches: Sequence[pygit2.Patch]) -> list[str]:
    """The lines of `diff --check`."""
    if repo.setting("core.whitespace"):
        raise not_computed("diff --check with core.whitespace")
    found: list[str] = []
    for patch in patches:
        name = patch.delta.new_file.path
        for one in (one for hunk in patch.hunks for one in hunk.lines if one.origin == "+"):
            text, place = one.raw_content.removesuffix(b"\n"), f"{name}:{one.new_lineno}:"
            if re.match(rb"([<=>|])\1{6}(\s|$)", text):
                found.append(f"{place} leftover conflict marker\n")
            if faults := [said for pattern, said in _FAULTS if re.fullmatch(pattern, text)]:
                found.append(f"{place} {', '.join(faults)}.\n+{text_of(text)}\n")
        both = [_data_of(repo, side) for side in (patch.delta.old_file, patch.delta.new_file)]
        old, new = (max(0, x.count(b"\n") - len(x.rstrip().splitlines())) for x in both)
        if new > old:
            first = both[1].count(b"\n") - new + 1
            found.append(f"{name}:{first}: new blank line at EOF.\n")
    return found
