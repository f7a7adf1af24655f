"""How deepagents searches: literal text, with GNU grep's view of what a file is.

Source: deepagents 0.7, `backends/sandbox.py` and `backends/utils.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agentworld_sim.engines.shell.live_files import LiveFiles
from agentworld_sim.engines.shell.toolkits._globs import Glob
from agentworld_sim.engines.shell.toolkits._walking import files_below

EXCLUDED = ".git"
"""A directory that is not searched, unless the search starts there."""

CHARS = 80_000
"""What one answer may hold: 20,000 tokens at four characters each."""

CUT = "... [results truncated, try being more specific with your parameters]"

STOPPED_EARLY = (
    "Note: the search stopped early (it hit its time limit or the maximum match count). The matches"
    " above are valid but incomplete. Narrow the search (a more specific pattern or a narrower path),"
    " or raise max_count, to see the rest."
)

_HINT = (
    "Note: grep matches literal text, not regex, so characters like `|`, `.*`, and `\\.` are searched"
    " verbatim. Search for the literal text you need instead; for `|` alternation, run a separate"
    " search per alternative."
)
_LOOKS_LIKE_REGEX = re.compile(r"\||\.\*|\.\+|\\[.wWdDsSbB(){}\[\]|+*?^$]")

_LOOK = 32 * 1024
"""GNU grep looks for a NUL in its first buffer."""


@dataclass(slots=True)
class Found:
    """What a search found."""

    matches: dict[str, list[tuple[int, str]]] = field(
        default_factory=dict[str, list[tuple[int, str]]]
    )
    cut: bool = False
    """Whether there is more than was asked for."""


def grep(
    files: LiveFiles, cwd: str, pattern: str, path: str | None, glob: str | None, most: int
) -> Found:
    """Searches for `pattern`, of which every line is an alternative.

    Raises:
        ValueError: the glob leaves the search root.
    """
    found, count = Found(), 0
    needles = pattern.split("\n")
    for shown, real in _targets(files, cwd, path, glob):
        try:
            data = files.read(real)
        except OSError:
            continue
        for number, text in _matching(data, needles):
            if count == most:
                found.cut = True
                return found
            found.matches.setdefault(shown, []).append((number, text))
            count += 1
    return found


def _targets(
    files: LiveFiles, cwd: str, path: str | None, glob: str | None
) -> Iterator[tuple[str, str]]:
    """Files to search: as they are shown, and where they lie."""
    shown = path or "."
    real = path or cwd
    by_path = glob is not None and "/" in glob
    if not files.exists(real):
        return
    name_glob = Glob(glob, braces=False) if glob and not by_path else None
    if files.stat(real).kind != "directory":
        if name_glob is None or name_glob.matches_name(real):
            yield shown, real
        return
    if by_path and ".." in (glob or "").replace("\\", "/").split("/"):
        raise ValueError("exit code 2")
    path_glob = Glob(glob or "", braces=False, dot=False) if by_path else None
    start = shown.rpartition("/")[2]

    def skip(inner: str, is_directory: bool) -> bool:
        return is_directory and inner.rpartition("/")[2] == EXCLUDED != start

    for inner, _ in files_below(files, real, skip=skip):
        if (name_glob and not name_glob.matches_name(inner)) or (
            path_glob and not path_glob.matches(inner)
        ):
            continue
        yield f"{shown.rstrip('/')}/{inner}", f"{real.rstrip('/')}/{inner}"


def _matching(data: bytes, needles: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Matching lines by number, until the file turns out to be binary: then grep says no more."""
    wanted = [needle.encode("utf-8", "surrogateescape") for needle in needles]
    if b"\0" in data[:_LOOK]:
        return
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
        if any(needle in line for needle in wanted):
            try:
                yield number, line.decode()
            except UnicodeDecodeError:
                return


def rendered(found: Found, mode: str, pattern: str) -> str:
    """The tool's text."""
    text = within(_listed(found, mode)) if found.matches else "No matches found"
    if found.cut:
        return f"{text}\n\n{STOPPED_EARLY}"
    if not found.matches and _LOOKS_LIKE_REGEX.search(pattern):
        return f"{text}\n\n{_HINT}"
    return text


def _listed(found: Found, mode: str) -> str:
    paths = sorted(found.matches)
    if mode == "count":
        return "\n".join(f"{path}: {len(found.matches[path])}" for path in paths)
    if mode != "content":
        return "\n".join(paths)
    lines: list[str] = []
    for path in paths:
        lines.append(f"{path}:")
        lines += [f"  {number}: {text}" for number, text in found.matches[path]]
    return "\n".join(lines)


def within(text: str) -> str:
    """`text`, cut to what an answer may hold."""
    return text if len(text) <= CHARS else f"{text[: CHARS - len(CUT) - 1]}\n{CUT}"


def list_text(paths: Sequence[str]) -> str:
    """Paths as `ls` and `glob` show them, cut to what an answer may hold."""
    if not paths:
        return "No files found"
    budget, used = CHARS - len(repr(CUT)) - 2, 0
    for kept, path in enumerate(paths):
        used += len(repr(path)) + 2
        if used > budget:
            return str([*paths[:kept], CUT])
    return str(list(paths))
