"""Walking directories as file tools do, and searching contents as ripgrep does, in its words.

The expressions are matched by the embedded shell's own `rg`, whose engine is ripgrep's: it takes time
in proportion to the text, whatever the pattern, so that no search needs a guard.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentworld_sim.engines.shell.live_files import FileStat, LiveFiles
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.ingest.ignore import IgnoreRules
from agentworld_sim.types.files import parent_of


class PatternRefused(ValueError):
    """The pattern is no regular expression. The text is what `rg` prints, without its name."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that matches, or that a match covers."""

    path: str
    line: int
    """From 1."""
    text: str
    """Without its newline."""


def run_ripgrep(turn: ShellTurn, options: Sequence[str], root: str) -> list[str]:
    """The lines that `rg` prints of the absolute path `root`, searched in the order of paths.

    Raises:
        PatternRefused: `rg` would refuse the pattern.
    """
    given = ["--sort", "path", *(word for glob in options for word in _below_too(glob))]
    folder = turn.live.files.stat(root).kind == "directory"
    cwd = root if folder else parent_of(root)
    result = turn.live.run_embedded("rg", [*given, "--", root], cwd=cwd)
    if result.exit_code > 1:
        raise PatternRefused(_refusal(result.stderr))
    return result.stdout.splitlines()


def pattern_options(pattern: str, *, ignore_case: bool, multiline: bool = False) -> list[str]:
    """How a pattern is given to `rg`.

    Raises:
        PatternRefused: it has a newline that `rg` would refuse.
    """
    if not multiline and ("\n" in pattern or re.search(r"(?<!\\)(?:\\\\)*\\n", pattern)):
        raise PatternRefused(_NEWLINE)
    options = ["--ignore-case"] * ignore_case
    options += ["--multiline", "--multiline-dotall"] * multiline
    return [*options, f"--regexp={pattern}"]


def _below_too(option: str) -> list[str]:
    """What leaves out a folder leaves out what is below it, too: the embedded `rg` looks at files only."""
    if not option.startswith("--glob=!"):
        return [option]
    name = option.removeprefix("--glob=!").rstrip("/")
    return [option, f"--glob=!{name if '/' in name else f'**/{name}'}/**"]


def search(turn: ShellTurn, options: Sequence[str], root: str) -> list[Hit]:
    """The lines that match.

    Raises:
        PatternRefused: `rg` would refuse the pattern.
    """
    hits: list[Hit] = []
    for line in run_ripgrep(turn, ["--json", *options], root):
        try:
            event = cast("dict[str, Any]", json.loads(line))
        except ValueError:
            # Only a last line that the embedded shell cut at its limit.
            break
        if event["type"] == "match":
            data = event["data"]
            texts = str(data["lines"]["text"]).removesuffix("\n").split("\n")
            hits += [
                Hit(data["path"]["text"], data["line_number"] + offset, text)
                for offset, text in enumerate(texts)
            ]
    return hits


_NEWLINE = (
    'the literal "\\n" is not allowed in a regex\n\n'
    "Consider enabling multiline mode with the --multiline flag (or -U for short).\n"
    "When multiline mode is enabled, new line characters can be matched."
)

_PCRE2 = (
    "\n\nConsider enabling PCRE2 with the --pcre2 flag, which can handle backreferences\n"
    "and look-around."
)


def _refusal(stderr: str) -> str:
    text = stderr.removeprefix("rg: ").removeprefix("invalid pattern: ").rstrip("\n")
    if "look-around" in text or "backreferences" in text:
        text += _PCRE2
    return text


Skip = Callable[[str, bool], bool]
"""Whether to leave out a path (relative to where the walk started) that is or is not a directory."""


def files_below(
    files: LiveFiles, top: str, skip: Skip, prefix: str = ""
) -> Iterator[tuple[str, FileStat]]:
    """Every file and symbolic link below the directory `top`, by its path relative to it, in byte order; with
    `prefix`, only what is below that folder of it. Links are not followed."""
    for name in sorted(files.listdir(f"{top}/{prefix}")):
        path = prefix + name
        try:
            info = files.lstat(f"{top}/{path}")
        except OSError:
            continue
        if skip(path, info.kind == "directory"):
            continue
        if info.kind == "directory":
            yield from files_below(files, top, skip, f"{path}/")
        elif info.kind in ("file", "symlink"):
            yield path, info


class GitIgnore:
    """What the `.gitignore` files of a repository leave out. Outside a repository: nothing."""

    def __init__(self, files: LiveFiles, top: str) -> None:
        """Finds the repository that the directory `top` lies in."""
        self._files = files
        self._rules = IgnoreRules()
        self._entered: set[str] = set()
        self._root = top
        while not files.exists(f"{self._root.rstrip('/')}/.git"):
            if self._root == "/":
                self._root = ""
                return
            self._root = parent_of(self._root)
        self._root = self._root.rstrip("/") + "/"

    def covers(self, path: str, is_directory: bool) -> bool:
        """Whether git ignores the absolute path, or a directory above it."""
        if not self._root or not path.startswith(self._root):
            return False
        inner = path[len(self._root) :]
        self._enter("")
        parts = inner.split("/")
        for depth in range(1, len(parts) + 1):
            above = "/".join(parts[:depth])
            folder = depth < len(parts) or is_directory
            if self._rules.why_ignored(above, is_directory=folder):
                return True
            if folder:
                self._enter(above + "/")
        return False

    def _enter(self, prefix: str) -> None:
        if prefix not in self._entered:
            self._entered.add(prefix)
            self._rules.enter(prefix, lambda name: self._text(prefix + name))

    def _text(self, inner: str) -> str | None:
        if not inner.endswith(".gitignore"):
            return None
        try:
            return self._files.read(self._root + inner).decode("utf-8", "replace")
        except OSError:
            return None
