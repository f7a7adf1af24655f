"""What a call does to files, by the names of its tool and arguments, and which files those are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal

from agentworld_sim.ports.steps import CheckInput
from agentworld_sim.types.files import MAX_LINKS, Blobs, FileTree, normal_path, without_links
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolCall

PATH_ARGUMENTS = (
    *("path", "file_path", "filepath", "filePath", "filename", "file_name", "absolute_path"),
    *("file", "target_file", "dir_path", "directory", "directory_path", "dir", "folder", "uri"),
)

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """`mcp__fs__readFile` → `mcp`, `fs`, `read`, `file`."""
    return tuple(word.lower() for word in _WORD.findall(name))


def path_of(arguments: Mapping[str, Any]) -> str | None:
    """The one path that a call names, normal when absolute; `None` without one."""
    for name in PATH_ARGUMENTS:
        value: object = arguments.get(name)
        if isinstance(value, str) and value:
            return clean_path(value)
    return None


def clean_path(path: str) -> str:
    """One spelling of a path; a relative one stays relative."""
    path = path.removeprefix("file://")
    if path.startswith("/"):
        return normal_path(path)
    return normal_path(path)[1:] or "."


def follow_links(files: FileTree, path: str) -> Iterator[str]:
    """A path, and where its symbolic links lead."""
    for _ in range(MAX_LINKS):
        yield path
        entry = files.get(path)
        if entry is None or entry.kind != "symlink":
            return
        target = entry.content
        path = normal_path(target if target.startswith("/") else f"{path}/../{target}")


def content_at(state: WorldState, blobs: Blobs, path: str) -> bytes | None:
    """What the world's file holds, through symbolic links; `None` when there is no such file."""
    entry = state.files.get(without_links(state.files, path) or "")
    if entry is None or entry.kind != "file":
        return None
    try:
        return blobs.get(entry.content) if entry.content else b""
    except KeyError:
        return None


def texts_of_files(given: CheckInput) -> Iterator[str]:
    """The text of each file of the world that the call's arguments name, by absolute path."""
    for value in given.call.arguments.values():
        if isinstance(value, str) and value.startswith(("/", "file://")):
            data = content_at(given.before, given.blobs, clean_path(value))
            if data is not None:
                yield data.decode("utf-8", "replace")


FileAct = Literal[
    "read", "list", "look", "write", "edit", "delete", "touch", "anything", "elsewhere"
]
"""`look` reads something or other; `touch` changes the named paths in an unknown way; `anything` may
change any file; `elsewhere` is about something else."""

CONTENT_ARGUMENTS = ("content", "file_text", "text", "contents")

RANGE_ARGUMENTS = frozenset(
    "offset limit start_line end_line start end line_start line_end view_range head tail lines line_range"
    " from_line to_line max_lines num_lines start_line_one_indexed end_line_one_indexed_inclusive"
    " startLine endLine page pages length line".split()
)
FILTER_ARGUMENTS = frozenset(
    "ignore pattern patterns exclude excludePatterns exclude_patterns include glob filter extension"
    " extensions file_filtering_options respect_git_ignore respect_gemini_ignore limit offset page"
    " max_results max_entries type types depth".split()
)
_HARMLESS = frozenset(
    "encoding description explanation command show_line_numbers line_numbers recursive all long"
    " show_hidden include_hidden sort_by sortBy".split()
)

_READS = frozenset({"read", "view", "cat"})
_FILE = frozenset({"file", "content", "contents"})
_NO_PLAIN_READ = frozenset(
    "directory dir dirs folder list search grep find summary summarize info metadata stat status image"
    " media pdf outline symbols multiple many lines hash size diff log history image url page notebook"
    " email message mail web".split()
)
_PLACES = frozenset("directory directories dir folder files file contents".split())
_TODO = frozenset({"todo", "todos"})
_ADDS = frozenset({"append", "insert", "prepend"})
_EDITS = frozenset({"edit", "replace", "str", "patch", "modify", "update"})
_WRITES = frozenset({"write", "create", "save", "put", "overwrite"})
_DELETES = frozenset({"delete", "remove", "rm", "unlink"})
_LOOKS = frozenset(
    "read view cat get list ls search find grep glob show fetch query describe status stat info exists"
    " check think browse history count lookup tree diff log head tail wc extract screenshot snapshot"
    " retrieve".split()
)
_EFFECTS = frozenset(
    "write create delete remove update edit set run execute exec apply move rename copy add insert"
    " append replace patch send submit install build format reset restore revert undo merge commit"
    " checkout pull push sync generate download upload save put make post start stop restart".split()
)
_FAR = frozenset(
    "run execute exec bash shell terminal python node sh git checkout apply patch build install format"
    " sync pull reset restore revert undo merge stash download extract unzip generate file files repo"
    " repository workspace project notebook refactor rename cell".split()
)
_SCRIPTS = frozenset("command cmd commands code script keystrokes argv args input".split())


def act_of(call: ToolCall) -> FileAct:
    """What `call` does to files, as far as names tell; when unsure, more than it does."""
    words = frozenset(_words(call))
    path = path_of(call.arguments)
    if words & _TODO:
        return "elsewhere"
    if path is not None:
        changed = _change(call, words)
        if changed is not None:
            return changed
        if not words & _EFFECTS:
            if _is_listing(words):
                return "list"
            if _is_plain_read(call, words):
                return "read"
    if words & _LOOKS and not words & _EFFECTS and not words & {"run", "bash", "shell"}:
        return "look"
    if words & _FAR or _SCRIPTS & call.arguments.keys():
        return "anything"
    return "elsewhere" if path is None and not absolute_paths(call) else "touch"


def _words(call: ToolCall) -> tuple[str, ...]:
    """The words of the tool's name, or of a sub-command such as `view` that stands in `command`."""
    command: object = call.arguments.get("command")
    if isinstance(command, str) and command.replace("_", "").isalpha() and path_of(call.arguments):
        return words_of(command)
    return words_of(call.name)


def _change(call: ToolCall, words: frozenset[str]) -> FileAct | None:
    if words & _DELETES:
        return "delete" if not words & {"line", "lines", "text"} else "touch"
    if words & {"move", "rename", "copy", "chmod", "touch"} or words & _ADDS:
        return "touch"
    if words & _EDITS:
        return "edit"
    if words & _WRITES:
        if words & {"directory", "dir", "folder"}:
            return "look"
        plain = content_of(call) is not None and not call.arguments.get("append")
        return "write" if plain and not RANGE_ARGUMENTS & call.arguments.keys() else "touch"
    return None


def content_of(call: ToolCall) -> str | None:
    """The whole content that a call writes."""
    for name in CONTENT_ARGUMENTS:
        value: object = call.arguments.get(name)
        if isinstance(value, str):
            return value
    return None


def replacement_of(call: ToolCall) -> tuple[str, str, bool] | None:
    """Old text, new text and whether everywhere, of a call that edits."""
    for old_name, new_name in (("old_string", "new_string"), ("old_str", "new_str")):
        old: object = call.arguments.get(old_name)
        new: object = call.arguments.get(new_name)
        if isinstance(old, str) and isinstance(new, str) and old:
            return old, new, bool(call.arguments.get("replace_all"))
    return None


def absolute_paths(call: ToolCall) -> list[str]:
    """Everything in the arguments that is an absolute path."""
    return [
        value
        for value in call.arguments.values()
        if isinstance(value, str) and value.startswith("/") and "\n" not in value
    ]


def _is_listing(words: frozenset[str]) -> bool:
    if "ls" in words:
        return True
    return ("list" in words and bool(words & _PLACES)) or {"directory", "tree"} <= words


def _is_plain_read(call: ToolCall, words: frozenset[str]) -> bool:
    reads = bool(words & _READS) or ("get" in words and bool(words & _FILE))
    return reads and not words & _NO_PLAIN_READ and not unusual_arguments(call, RANGE_ARGUMENTS)


def unusual_arguments(call: ToolCall, usual: frozenset[str]) -> bool:
    """Whether an argument may give the call another meaning."""
    return any(
        value is not None and name not in usual and name not in _HARMLESS
        for name, value in call.arguments.items()
        if name not in PATH_ARGUMENTS
    )
