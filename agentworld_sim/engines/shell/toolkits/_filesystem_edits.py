"""`edit_file` of the filesystem server: texts replaced one after another, shown as a patch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentworld_sim.engines.shell.toolkits._node import SPACE, indentation
from agentworld_sim.engines.shell.toolkits._two_files_patch import two_files_patch


class NoMatch(Exception):
    """An edit's old text is not in the file; the text is the server's."""


def edited(text: str, edits: Sequence[Mapping[str, str]]) -> str:
    """`text` after all edits. Lines end in `\\n` only.

    Raises:
        NoMatch: the text of an edit is not there.
    """
    for edit in edits:
        old, new = plain(edit["oldText"]), plain(edit["newText"])
        if old in text:
            text = text.replace(old, new, 1)
            continue
        loosely = _replaced_loosely(text.split("\n"), old.split("\n"), new.split("\n"))
        if loosely is None:
            raise NoMatch(f"Could not find exact match for edit:\n{edit['oldText']}")
        text = loosely
    return text


def plain(text: str) -> str:
    """`text` with lines that end in `\\n`."""
    return text.replace("\r\n", "\n")


def shown(path: str, before: str, after: str) -> str:
    """The patch in a block of its own, fenced so that nothing in it ends the block."""
    patch = two_files_patch(path, before, after)
    fence = "```"
    while fence in patch:
        fence += "`"
    return f"{fence}diff\n{patch}{fence}\n\n"


def _replaced_loosely(lines: list[str], old: Sequence[str], new: Sequence[str]) -> str | None:
    """The text where lines are compared without the blanks around them."""
    wanted = [line.strip(SPACE) for line in old]
    bare = [line.strip(SPACE) for line in lines]
    for at in range(len(lines) - len(old) + 1):
        if bare[at : at + len(old)] == wanted:
            indent = indentation(lines[at])
            fitted = [_indented(number, line, indent, old) for number, line in enumerate(new)]
            return "\n".join([*lines[:at], *fitted, *lines[at + len(old) :]])
    return None


def _indented(number: int, line: str, indent: str, old: Sequence[str]) -> str:
    """One new line, moved as far as the matched text is from what the edit says."""
    bare = line.lstrip(SPACE)
    if number == 0:
        return indent + bare
    before = indentation(old[number]) if number < len(old) else ""
    now = indentation(line)
    if before and now:
        return indent + " " * max(0, len(now) - len(before)) + bare
    return line
