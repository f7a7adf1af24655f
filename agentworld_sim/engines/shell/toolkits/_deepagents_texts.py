"""How deepagents shows a file (a page of source lines under a status header), and how it searches (literal
text, with GNU grep's view of what a file is).

Source: deepagents 0.7, `backends/sandbox.py` and `backends/utils.py` (pages, matches) and
`middleware/filesystem.py` (texts).
"""

from __future__ import annotations

import base64
import codecs
import mimetypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentworld_sim.engines.shell.glob_patterns import Glob
from agentworld_sim.engines.shell.toolkits._answers import suffix_of
from agentworld_sim.engines.shell.toolkits._file_search import search
from agentworld_sim.engines.shell.turn import ShellTurn

PAGE_BYTES = 500 * 1024
"""What one page may hold."""

PREVIEW_BYTES = 500 * 1024
"""The largest image, sound, video or document that is shown."""

COUNTED_BYTES = 1024 * 1024
"""Lines of larger files are not counted unless the page reaches the end."""

SHOWN_CHARS = 80_000
"""What one answer may hold: 20,000 tokens at four characters each."""

EMPTY = "System reminder: File exists but has empty contents"

_NO_LINES = (
    "System reminder: no lines were read because `limit` was {limit}. The file was not inspected and"
    " may have contents; retry with `limit` >= 1 to read it."
)

_PAGE_CUT = (
    "\n\n[Output was truncated due to size limits. This paginated read result exceeded the sandbox"
    " stdout limit. Continue reading with a larger offset or smaller limit to inspect the rest of the"
    " file.]"
)

_SHOWN_CUT = (
    "[Output was truncated due to size limits. The file content is very large. Consider reformatting"
    " the file to make it easier to navigate. For example, if this is JSON, use execute(command='jq ."
    " {path}') to pretty-print it with line breaks. For other formats, you can use appropriate"
    " formatting tools to split long lines.]"
)

_CLAMPED = "[Requested offset {offset} is before the start of the file; read from line 1 instead.]"

_KINDS = {
    "image": ".png .jpeg .jpg .webp .gif .heic .heif",
    "video": ".mp4 .mpeg .mov .avi .flv .mpg .webm .wmv .3gpp .mkv",
    "audio": ".wav .mp3 .aiff .aac .ogg .flac",
    "file": ".pdf .ppt .pptx",
}
_KIND_OF = {suffix: kind for kind, suffixes in _KINDS.items() for suffix in suffixes.split()}
# Without the video extra, this container is shown as a file.
_SHOWN_AS = {**_KIND_OF, ".mkv": "file"}


@dataclass(frozen=True, slots=True)
class LinePage:
    """Some lines of a file."""

    body: str
    start: int
    """Its first line, from 1."""
    end: int
    total: int | None
    next_offset: int | None

    def fields(self) -> list[str]:
        span = f"lines {self.start}-{self.end}"
        if self.total is not None:
            span += f" of {self.total}"
        if self.next_offset is not None and (self.total is None or self.end < self.total):
            return [span, f"next offset {self.next_offset}"]
        return [span]


class FileUnreadable(ValueError):
    """The file cannot be shown; the text is the reason."""


def result(path: str, data: bytes, offset: int, limit: int) -> Mapping[str, Any]:
    """What a backend gives for `path`: deepagents' `ReadResult`, without what is not set.

    Raises:
        FileUnreadable: too large, or the offset lies beyond the end.
    """
    if not data:
        return {"file_data": {"content": EMPTY, "encoding": "utf-8"}}
    if is_preview(path, data):
        content = base64.b64encode(data).decode()
        return {"file_data": {"content": content, "encoding": "base64"}}
    if limit <= 0:
        return {"file_data": {"content": "", "encoding": "utf-8"}, "no_lines_requested": True}
    page = page_of(data, max(offset, 0), limit)
    window = {
        "total_lines": page.total,
        "start_line": page.start,
        "end_line": page.end,
        "next_offset": page.next_offset,
    }
    return {
        "file_data": {"content": page.body, "encoding": "utf-8"},
        **{name: value for name, value in window.items() if value is not None},
    }


def is_preview(path: str, data: bytes) -> bool:
    """Whether the file is shown as a whole, because it is not text.

    Raises:
        FileUnreadable: it is too large for that.
    """
    known = suffix_of(path) in _KIND_OF
    if known and len(data) > PREVIEW_BYTES:
        raise FileUnreadable(f"Binary file exceeds maximum preview size of {PREVIEW_BYTES} bytes")
    return known or not _is_text(data)


def format_file(path: str, data: bytes, offset: int, limit: int) -> str | dict[str, Any]:
    """The text for `path`, or the content block for what is not text.

    Raises:
        FileUnreadable: too large, or the offset lies beyond the end.
    """
    suffix = suffix_of(path)
    notices = [_CLAMPED.format(offset=offset)] if offset < 0 else []
    if not data:
        # The reminder comes as the file's content here, so that it gets a header.
        first = max(offset, 0) + 1
        return _assemble(EMPTY, [f"lines {first}-{first}"], notices)
    if is_preview(path, data):
        return {
            "type": _SHOWN_AS.get(suffix, "file"),
            "base64": base64.b64encode(data).decode(),
            "mime_type": mimetypes.guess_type("file" + suffix)[0] or "application/octet-stream",
        }
    if limit <= 0:
        return _NO_LINES.format(limit=limit)
    page = page_of(data, max(offset, 0), limit)
    if not page.body.strip() and page.start == 1 and page.total == page.end:
        return EMPTY
    return _fit(page, path, notices)


def page_of(data: bytes, offset: int, limit: int) -> LinePage:
    """`limit` lines from line `offset` (from 0) on.

    Raises:
        FileUnreadable: the file is shorter.
    """
    text = data.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.removesuffix("\n").split("\n")
    if offset >= len(lines):
        raise FileUnreadable(f"Line offset {offset} exceeds file length ({len(lines)} lines)")
    wanted = lines[offset : offset + limit]
    body, count = _within(wanted, PAGE_BYTES - len(_PAGE_CUT))
    if count < len(wanted):
        body += _PAGE_CUT
        # A first line that does not fit at all is passed over, or reading would never go on.
        count = max(count, 1)
    end = offset + count
    whole = end == len(lines) and count == len(wanted)
    total = len(lines) if whole or len(data) <= COUNTED_BYTES else None
    return LinePage(body, offset + 1, end, total, None if end == total else end)


def _within(lines: list[str], budget: int) -> tuple[str, int]:
    """As much of `lines` as `budget` bytes hold, and how many whole ones that is."""
    text = "\n".join(lines)
    if len(text) * 4 <= budget:
        return text, len(lines)
    data = text.encode("utf-8", "surrogateescape")
    if len(data) <= budget:
        return text, len(lines)
    kept = data[:budget]
    whole = kept.count(b"\n") + (data[budget : budget + 1] == b"\n")
    return kept.decode("utf-8", "ignore"), whole


def _fit(page: LinePage, path: str, notices: list[str]) -> str:
    """The page's text; with fewer lines where it would be too long."""
    text = _assemble(page.body, page.fields(), notices)
    if len(text) < SHOWN_CHARS:
        return text
    notices = [*notices, _SHOWN_CUT.format(path=path)]
    rows = page.body.split("\n")[: page.end - page.start + 1]
    length = -1
    ends = [length := length + 1 + len(row) for row in rows]
    for count in range(len(rows), 0, -1):
        end = page.start + count - 1
        smaller = replace(page, end=end, next_offset=end)
        fields = [*smaller.fields(), "truncated due to size"]
        if ends[count - 1] < SHOWN_CHARS:
            candidate = _assemble(page.body[: ends[count - 1]], fields, notices)
            if len(candidate) <= SHOWN_CHARS:
                return candidate
    return _cut_in_line(replace(page, end=page.start, next_offset=None), len(rows[0]), notices)


def _cut_in_line(page: LinePage, length: int, notices: list[str]) -> str:
    def fields(count: int) -> list[str]:
        return [*page.fields(), "truncated mid-line", f"{count} of {length} chars"]

    reserved = len(_assemble("", fields(length), notices))
    count = max(0, min(length, SHOWN_CHARS - reserved))
    return _assemble(page.body[:count], fields(count), notices)


def _assemble(body: str, fields: list[str], notices: list[str]) -> str:
    return "\n".join([*notices, f"@@ {' | '.join(fields)} @@", body])


def _is_text(data: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data[:8192], final=len(data) <= 8192)
    except UnicodeDecodeError:
        return False
    return True


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
class SearchResult:
    """What a search found."""

    matches: dict[str, list[tuple[int, str]]] = field(
        default_factory=dict[str, list[tuple[int, str]]]
    )
    cut: bool = False
    """Whether there is more than was asked for."""


def grep(
    turn: ShellTurn, pattern: str, path: str | None, glob: str | None, most: int
) -> SearchResult:
    """Searches for `pattern`, of which every line is an alternative.

    Raises:
        ValueError: the glob leaves the search root.
    """
    found, files, real = SearchResult(), turn.live.files, path or turn.live.machine.workdir
    if not files.exists(real):
        return found
    folder, by_path = files.stat(real).kind == "directory", glob is not None and "/" in glob
    if folder and by_path and ".." in (glob or "").replace("\\", "/").split("/"):
        raise ValueError("exit code 2")
    wanted = Glob(glob, braces=False, dot=not by_path) if glob and (folder or not by_path) else None
    options = ["--fixed-strings", "--hidden", "--no-ignore"]
    options += [f"--regexp={line}" for line in pattern.split("\n")]
    options += ["--glob=!.git"] * (not real.endswith("/.git"))
    left_out: set[str] = set()
    for hit in search(turn, options, real):
        inner = hit.path[len(real.rstrip("/")) + 1 :]
        if wanted and not (wanted.matches(inner) if by_path else wanted.matches_name(hit.path)):
            continue
        # GNU grep says no more of a file that turns out to be binary.
        if "\ufffd" in hit.text or b"\0" in files.read(hit.path)[:_LOOK]:
            left_out.add(hit.path)
        if hit.path in left_out:
            continue
        if sum(map(len, found.matches.values())) == most:
            found.cut = True
            break
        shown = hit.path if path else f"./{inner}"
        found.matches.setdefault(shown, []).append((hit.line, hit.text))
    return found


def format_search(found: SearchResult, mode: str, pattern: str) -> str:
    """The tool's text."""
    text = within(_format_matches(found, mode)) if found.matches else "No matches found"
    if found.cut:
        return f"{text}\n\n{STOPPED_EARLY}"
    if not found.matches and _LOOKS_LIKE_REGEX.search(pattern):
        return f"{text}\n\n{_HINT}"
    return text


def _format_matches(found: SearchResult, mode: str) -> str:
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
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - len(CUT) - 1]}\n{CUT}"


def list_text(paths: Sequence[str]) -> str:
    """Paths as `ls` and `glob` show them, cut to what an answer may hold."""
    if not paths:
        return "No files found"
    budget, used = SHOWN_CHARS - len(repr(CUT)) - 2, 0
    for kept, path in enumerate(paths):
        used += len(repr(path)) + 2
        if used > budget:
            return str([*paths[:kept], CUT])
    return str(list(paths))
