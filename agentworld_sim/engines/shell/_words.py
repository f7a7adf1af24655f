"""Words of a script that may be commands which the shell does not have.

The embedded shell has no hook for unknown commands: each must be known by name before the script runs.
Most scripts tell their commands when they are parsed. Where commands stand behind others (`xargs`,
`find -exec`, `env`), in files or in strings, every word that could be a command counts: knowing a name
that is never called changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from bashkit import BashError, ScriptAnalysis

from agentworld_sim.engines.shell._judgement import RUNS_OTHERS
from agentworld_sim.types.files import normal_path

MOST_WORDS = 600
"""Of one script; what comes after is found when it fails."""

LARGEST_SCRIPT = 100_000
"""Bytes of a script file that is looked into."""

MOST_SCRIPTS = 20

_RUNS_WORDS = RUNS_OTHERS | frozenset(
    ". alias awk builtin chroot command doas eval exec flock gawk ionice mawk nawk nice parallel"
    " setsid source stdbuf su trap watch".split()
)
"""Commands whose arguments may be commands."""

_KEYWORDS = frozenset(
    "case coproc do done elif else esac fi for function if in select then time until while".split()
)

_LOOKUP = re.compile(r"(?:\bcommand\s+-[vV]|\b(?:type|which|hash)(?:\s+-\w+)*)((?:\s+[\w./+-]+)+)")
_BUILTIN_ONLY = re.compile(r"\bbuiltin\s+(?!(?:command|eval|exec)\b)[\w./+-]+")
_CLEARED = re.compile(r"\benv\s+(?:-\S*\s+|--\S+\s+)*?(?:-\w*i\w*|-|--ignore-environment)\s")
WORD = re.compile(r"[\w./~+@-]+")
_NAME = re.compile(r"[A-Za-z0-9_][\w.+-]{0,63}")
_PATH = re.compile(r"(?:[\w.~+@-]+)?(?:/[\w.+@-]+)+")
_NUMBER = re.compile(r"[\d.]+[a-zA-Z]?")
_FOLDER = re.compile(r"\b(?:cd|pushd|-C)\s+[\"']?([\w./~+@-]+)")
_SCRIPT_NAMED = re.compile(
    r"(?:\b(?:ba|da)?sh|\bsource|(?:^|[;&|({\s])\.|\bmake\s+-f)\s+(?:-\w+\s+)*[\"']?([\w./~+@-]+)"
)
_SCRIPT_FILES = (".sh", ".bash", ".mk", "Makefile", "makefile", "GNUmakefile", "rc", ".profile")

_NOT_FOUND = re.compile(
    r"line \d+: (?:exec: )?(?:([^\s:'/]+): (?:command )?not found"
    r"|(/[^\s:']+): No such file or directory)"
)


def looked_up(text: str) -> set[str]:
    """Words that a script asks about (`command -v`, `which`)."""
    return {word for match in _LOOKUP.finditer(text) for word in match[1].split()}


def plain_names(analysis: ScriptAnalysis) -> set[str] | None:
    """The commands of a script; `None` when others may stand in its words."""
    names = set(analysis.command_names)
    if analysis.is_opaque or analysis.has_interpreter_reentry or analysis.functions:
        return None
    if names & _RUNS_WORDS or any("/" in name for name in names):
        return None
    return names


def starts_shells(analysis: ScriptAnalysis | None) -> bool:
    """Whether a script may start shells of its own: `bash -c`, a script file."""
    if analysis is None or analysis.has_interpreter_reentry:
        return True
    return any("/" in name for name in analysis.command_names)


def candidates(text: str) -> Iterator[str]:
    """The words of `text` that may be commands, lookups and builtins left out."""
    text = _BUILTIN_ONLY.sub(" ", _LOOKUP.sub(" ", text))
    for match in WORD.finditer(text):
        word = match[0]
        if "/" in word:
            if _PATH.fullmatch(word):
                yield word
        elif _NAME.fullmatch(word) and not _NUMBER.fullmatch(word) and word not in _KEYWORDS:
            yield word


def clears_environment(text: str) -> bool:
    """Whether a script calls commands without a search path (`env -i git`)."""
    return _CLEARED.search(text) is not None


def folders_of(text: str, cwd: str) -> list[str]:
    """Where the commands of a script may run: where it starts and where it goes."""
    found = [cwd]
    for match in _FOLDER.finditer(text):
        if not match[1].startswith("~"):
            place = match[1] if match[1].startswith("/") else f"{found[-1]}/{match[1]}"
            found.append(normal_path(place))
    return list(dict.fromkeys(found))


def script_files(text: str, folders: Sequence[str]) -> Iterator[str]:
    """Paths at which a script's words may name other scripts."""
    named = {match[1] for match in _SCRIPT_NAMED.finditer(text)}
    words = dict.fromkeys([*named, *(match[0] for match in WORD.finditer(text))])
    if re.search(r"\bmake\b", text):
        words = {**words, "GNUmakefile": None, "makefile": None, "Makefile": None}
    for word in words:
        likely = word in named or "/" in word or word.endswith(_SCRIPT_FILES)
        if not likely:
            continue
        for folder in folders:
            yield normal_path(word if word.startswith("/") else f"{folder}/{word}")


def texts_of(
    script: str, cwd: str, read: Callable[[str], bytes | None]
) -> tuple[list[str], list[str]]:
    """A script with the script files that it names, and where they may run.

    Args:
        script: Its text.
        cwd: Where it starts.
        read: Gives what a file holds; `None` where there is none.
    """
    texts, folders = [script], folders_of(script, cwd)
    seen: set[str] = set()
    for text in texts:
        for path in script_files(text, folders):
            if path in seen:
                continue
            seen.add(path)
            data = read(path)
            if data is None or len(data) > LARGEST_SCRIPT or b"\0" in data[:1_024]:
                continue
            texts.append(data.decode("utf-8", "replace"))
            folders = list(dict.fromkeys([*folders, *folders_of(texts[-1], cwd)]))
            if len(texts) > MOST_SCRIPTS:
                return texts, folders
    return texts, folders


def analysed(script: str, analyze: Callable[[str], ScriptAnalysis]) -> ScriptAnalysis | None:
    """What parsing tells; `None` for a script that does not parse."""
    try:
        return analyze(script)
    except BashError:
        return None


def not_found(text: str) -> Iterator[str]:
    """Names of which a shell said in `text` that it has no such command."""
    for match in _NOT_FOUND.finditer(text):
        name = match[1] or match[2]
        if _PATH.fullmatch(name) or _NAME.fullmatch(name):
            yield name


def limited(words: Iterable[str]) -> list[str]:
    """The first words, each once."""
    return list(dict.fromkeys(words))[:MOST_WORDS]
