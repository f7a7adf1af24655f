"""Claude Code's `Glob` and `Grep`, which run a bundled ripgrep.

Texts as found in published transcripts of versions 2.1 (2026).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentworld_sim.engines.shell.glob_patterns import Glob, PatternTooBroad
from agentworld_sim.engines.shell.toolkits._answers import error_answer, text_answer
from agentworld_sim.engines.shell.toolkits._claude_state import (
    cwd_note,
    display_path,
    resolve_path,
    tool_use_error,
)
from agentworld_sim.engines.shell.toolkits._ripgrep import Hit, PatternRefused, search
from agentworld_sim.engines.shell.toolkits._walking import files_below, text_files
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.turns import Observation

GLOB_FILES = 100
HEAD_LIMIT = 250
COLUMNS = 500
"""Longer lines are left out, so that one of them does not fill the answer."""

CHARS = 20_000

_REPOSITORIES = frozenset({".git", ".svn", ".hg", ".bzr", ".jj", ".sl"})

_TYPES = {
    "c": "c h",
    "cpp": "cpp cc cxx c++ hpp hh hxx h inl",
    "css": "css scss",
    "go": "go",
    "html": "htm html ejs",
    "java": "java jsp jspx properties",
    "js": "js jsx mjs cjs vue",
    "json": "json sarif",
    "markdown": "md markdown mdown mdwn mkd mkdn mdx",
    "md": "md markdown mdown mdwn mkd mkdn mdx",
    "php": "php php3 php4 php5 php7 php8 phtml",
    "py": "py pyi",
    "python": "py pyi",
    "ruby": "rb rbw gemspec",
    "rust": "rs",
    "sh": "sh bash bashrc zsh ksh csh tcsh",
    "sql": "sql psql",
    "swift": "swift",
    "toml": "toml",
    "ts": "ts tsx cts mts",
    "txt": "txt",
    "xml": "xml xsl xslt xsd dtd",
    "yaml": "yml yaml",
}
"""The endings of ripgrep's `--type`, for the languages that agents ask for."""


def glob(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """`Glob`: files by name, the oldest first."""
    files, pattern = turn.live.files, str(arguments["pattern"])
    root = resolve_path(turn, arguments.get("path") or turn.cwd)
    if not files.exists(root):
        return tool_use_error(f"Directory does not exist: {root}. {cwd_note(turn)}")
    if files.stat(root).kind != "directory":
        return tool_use_error(f"Path is not a directory: {root}")
    if pattern.startswith("/"):
        # An absolute pattern brings its own root: the part before the first wildcard.
        root, pattern = _split_root(pattern)
    try:
        wanted = by_glob(pattern)
    except PatternTooBroad:
        return text_answer("No files found")
    if not files.exists(root):
        return text_answer("No files found")
    found = [
        (info.mtime_us, f"{root.rstrip('/')}/{path}")
        for path, info in files_below(files, root)
        if wanted(path)
    ]
    if not found:
        return text_answer("No files found")
    lines = [display_path(turn, path) for _, path in sorted(found)[:GLOB_FILES]]
    if len(found) > GLOB_FILES:
        lines.append("(Results are truncated. Consider using a more specific path or pattern.)")
    return text_answer("\n".join(lines))


def _split_root(pattern: str) -> tuple[str, str]:
    parts = pattern.split("/")
    plain = 0
    while plain < len(parts) - 1 and not set("*?[{") & set(parts[plain]):
        plain += 1
    return "/".join(parts[:plain]) or "/", "/".join(parts[plain:])


def by_glob(pattern: str) -> Callable[[str], bool]:
    """ripgrep's `--glob`: without a slash for names at any depth, with a `!` for all others.

    Raises:
        PatternTooBroad: its braces stand for too many patterns.
    """
    inverted = pattern.startswith("!")
    pattern = pattern.removeprefix("!")
    wanted = Glob(pattern)
    fits = wanted.matches if "/" in pattern.rstrip("/") else wanted.matches_name
    below = Glob(f"{pattern.rstrip('/')}/**").matches if "/" in pattern else None

    def matches(path: str) -> bool:
        return fits(path) or (below is not None and below(path))

    def none_above(path: str) -> bool:
        # What is left out takes everything below it along.
        parts = path.split("/")
        return not any(matches("/".join(parts[:count])) for count in range(1, len(parts) + 1))

    return none_above if inverted else matches


@dataclass(frozen=True, slots=True)
class _GrepRequest:
    """The arguments of `Grep`, read."""

    pattern: str
    root: str
    mode: str
    ignore_case: bool
    multiline: bool
    numbers: bool
    before: int
    after: int
    limit: int
    offset: int

    @classmethod
    def of(cls, turn: ShellTurn, arguments: Mapping[str, Any]) -> _GrepRequest:
        around = arguments.get("-C", arguments.get("context"))
        limit = arguments.get("head_limit")
        return cls(
            pattern=arguments["pattern"],
            root=resolve_path(turn, arguments.get("path") or turn.cwd),
            mode=arguments.get("output_mode", "files_with_matches"),
            ignore_case=bool(arguments.get("-i")),
            multiline=bool(arguments.get("multiline")),
            numbers=bool(arguments.get("-n", True)),
            before=int(around if around is not None else arguments.get("-B") or 0),
            after=int(around if around is not None else arguments.get("-A") or 0),
            limit=HEAD_LIMIT if limit is None else int(limit),
            offset=int(arguments.get("offset") or 0),
        )

    def page(self, lines: Sequence[str]) -> tuple[list[str], str]:
        """The lines asked for, and what is said of the rest."""
        rest = list(lines[self.offset :])
        # A limit of 0 is none.
        cut = 0 < self.limit < len(rest)
        notes = [f"limit: {self.limit}"] if cut else []
        if self.offset:
            notes.append(f"offset: {self.offset}")
        return rest[: self.limit] if cut else rest, ", ".join(notes)


def grep(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """`Grep`: contents by a regular expression."""
    asked = _GrepRequest.of(turn, arguments)
    if not turn.live.files.exists(asked.root):
        return tool_use_error(f"Path does not exist: {asked.root}. {cwd_note(turn)}")
    try:
        paths = _paths_to_search(turn, asked.root, arguments.get("glob"), arguments.get("type"))
        hits = search(
            turn,
            asked.pattern,
            paths,
            ignore_case=asked.ignore_case,
            multiline=asked.multiline,
        )
    except PatternRefused as error:
        return error_answer(f"rg: {error}")
    except PatternTooBroad:
        return text_answer("No files found")
    if asked.mode == "content":
        return text_answer(_contents(turn, asked, hits))
    if asked.mode == "count":
        return text_answer(_counts(turn, asked, hits))
    return text_answer(_files(turn, asked, hits))


def _paths_to_search(
    turn: ShellTurn, root: str, pattern: str | None, kind: str | None
) -> list[str]:
    """The files that ripgrep would open."""
    files = turn.live.files
    if files.stat(root).kind != "directory":
        return [root]
    # Several patterns may be given at once, separated by spaces or commas outside braces.
    wanted = [by_glob(one) for one in _patterns(pattern or "")]
    endings = tuple(f".{ending}" for ending in _TYPES.get(kind or "", kind or "").split())

    def skip(path: str, is_directory: bool) -> bool:
        return is_directory and path.rpartition("/")[2] in _REPOSITORIES

    def fits(path: str) -> bool:
        return (not wanted or any(one(path) for one in wanted)) and (
            not endings or path.endswith(endings)
        )

    return text_files(files, root, skip=skip, fits=fits)


def _patterns(text: str) -> list[str]:
    return [
        one for word in text.split() for one in ([word] if "{" in word else word.split(",")) if one
    ]


def _files(turn: ShellTurn, asked: _GrepRequest, hits: Sequence[Hit]) -> str:
    paths = list(dict.fromkeys(hit.path for hit in hits))
    if not paths:
        return "No files found"
    times = {path: turn.live.files.stat(path).mtime_us for path in paths}
    newest = sorted(paths, key=lambda path: (-times[path], path))
    lines, note = asked.page([display_path(turn, path) for path in newest])
    word = "file" if len(lines) == 1 else "files"
    return "\n".join([f"Found {len(lines)} {word}{f' {note}' if note else ''}", *lines])


def _counts(turn: ShellTurn, asked: _GrepRequest, hits: Sequence[Hit]) -> str:
    counts: dict[str, int] = {}
    for hit in hits:
        counts[hit.path] = counts.get(hit.path, 0) + 1
    lines, note = asked.page(
        [f"{display_path(turn, path)}:{count}" for path, count in counts.items()]
    )
    total = sum(int(line.rpartition(":")[2]) for line in lines)
    times = "occurrence" if total == 1 else "occurrences"
    word = "file" if len(lines) == 1 else "files"
    said_of = f" with pagination = {note}" if note else ""
    listed = "\n".join(lines) or "No matches found"
    return f"{listed}\n\nFound {total} total {times} across {len(lines)} {word}.{said_of}"


def _contents(turn: ShellTurn, asked: _GrepRequest, hits: Sequence[Hit]) -> str:
    by_path: dict[str, dict[int, str]] = {}
    for hit in hits:
        by_path.setdefault(hit.path, {})[hit.line] = hit.text
    alone = turn.live.files.stat(asked.root).kind != "directory"
    lines: list[str] = []
    for path, found in by_path.items():
        if asked.before or asked.after:
            if lines:
                lines.append("--")
            lines += _around(turn, asked, path, found, alone=alone)
        else:
            lines += [
                _line(turn, asked, path, number, text, ":", alone=alone)
                for number, text in found.items()
            ]
    wanted, note = asked.page(lines)
    text = "\n".join(wanted) or "No matches found"
    if len(text) > CHARS:
        hidden = text.count("\n", CHARS) + 1
        text = f"{text[:CHARS]}\n\n... [{hidden} lines truncated] ..."
    return f"{text}\n\n[Showing results with pagination = {note}]" if note else text


def _around(
    turn: ShellTurn, asked: _GrepRequest, path: str, found: Mapping[int, str], *, alone: bool
) -> list[str]:
    """Matching lines and those about them; a line of dashes where some are left out."""
    text = turn.live.files.read(path).decode("utf-8", "replace")
    all_lines = text.removesuffix("\n").split("\n")
    wanted = sorted(
        {
            number
            for line in found
            for number in range(line - asked.before, line + asked.after + 1)
            if 1 <= number <= len(all_lines)
        }
    )
    lines: list[str] = []
    for number in wanted:
        if lines and number - 1 not in wanted:
            lines.append("--")
        mark = ":" if number in found else "-"
        lines.append(_line(turn, asked, path, number, all_lines[number - 1], mark, alone=alone))
    return lines


def _line(
    turn: ShellTurn,
    asked: _GrepRequest,
    path: str,
    number: int,
    text: str,
    mark: str,
    *,
    alone: bool,
) -> str:
    start = "" if alone else display_path(turn, path) + mark
    count = f"{number}{mark}" if asked.numbers else ""
    if len(text) > COLUMNS:
        text = "[Omitted long matching line]" if mark == ":" else "[Omitted long context line]"
    return f"{start}{count}{text}"
