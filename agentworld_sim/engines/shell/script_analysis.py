"""What a script does, as far as its text tells: whether it writes files, whether it needs any care, which
commands it may call, whether it is finished.

The embedded shell has no hook for unknown commands: each must be known by name before the script runs.
Most scripts tell their commands when they are parsed. Where commands stand behind others (`xargs`,
`find -exec`, `env`), in files or in strings, every word that could be a command counts: knowing a name
that is never called changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from bashkit import Bash, BashError, ScriptAnalysis

from agentworld_sim.errors import EngineFailure
from agentworld_sim.regex import lazy_compile
from agentworld_sim.types.files import normal_path

_CHANGES_NOTHING = frozenset(
    "[ basename cat cmp cut date df diff dirname du echo egrep expr false fgrep file fold free grep"
    " groups head hostname id jq ls md5sum nl nproc od paste printenv ps pwd realpath rev seq"
    " sha1sum sha256sum stat tac tail test tr true uname uptime wc which whoami".split()
)
"""Commands that write no file. A script of nothing else needs no look at the files afterwards."""

_KEEPS_TIMES = lazy_compile(
    r"\b(?:cp|install|mv|touch|tar|unzip|rsync|patch|split|gzip|gunzip|bzip2|bunzip2|ln|dd|truncate)\b"
)

RUNS_OTHERS = frozenset("bash sh make xargs find env timeout sudo nohup".split())
"""Commands that run other commands."""


@dataclass(frozen=True, slots=True)
class FileEffects:
    """How closely the files must be looked at after a script."""

    look: bool = True
    """Something may have been written."""
    suspicious: bool = True
    """Something may have been written and kept its time."""
    opaque: bool = True
    """What runs cannot be told from the text."""


def file_effects(analysis: ScriptAnalysis, script: str) -> FileEffects:
    """What `script` may do to the files."""
    hidden = analysis.is_opaque or analysis.has_interpreter_reentry or bool(analysis.functions)
    names = set(analysis.command_names)
    writes = any(redirect.is_write for redirect in analysis.redirects)
    return FileEffects(
        look=hidden or writes or not names <= _CHANGES_NOTHING,
        suspicious=hidden or bool(names & RUNS_OTHERS or _KEEPS_TIMES.search(script)),
        opaque=hidden or any("/" in name or name in RUNS_OTHERS for name in names),
    )


_QUOTED = lazy_compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.DOTALL)
_BODY = lazy_compile(r"(?<!<)<<-?[ \t]*(['\"]?)(\w+)\1([^\n]*\n)((?:[^\n]*\n)*?)[ \t]*\2(?=\n|$)")
"""A here-document."""
_COMPOUND = lazy_compile(r"[({`]|\b(?:for|while|until|if|case)\b")
_PIPELINE_ENDS = lazy_compile(r";|&&|\|\||\n")


def chains(
    script: str, analysis: ScriptAnalysis | None, live: frozenset[str], known: frozenset[str]
) -> bool:
    """Whether a command that writes as it goes may stand before one that reads as it goes, in one pipeline: bashkit
    runs one of them at a time, so the second would wait for ever. `live` are the names of such commands, `known` those of
    all others that run nothing else; `analysis` is `None` where the script cannot be parsed.
    """
    if analysis is None or analysis.is_opaque or analysis.has_interpreter_reentry:
        return True
    names = set(analysis.command_names)
    if analysis.functions or not names <= live | known:
        return True
    if "|" not in script:
        return "<(" in script
    outside = _BODY.sub(lambda m: m[3] if m[1] or not {"$", "`"} & set(m[4]) else m[0], script)
    bare = _QUOTED.sub("q", outside)
    parts = [bare] if _COMPOUND.search(bare) else _PIPELINE_ENDS.split(bare)
    return any(
        sum(not live.isdisjoint(WORD.findall(stage)) for stage in part.split("|")) > 1
        for part in parts
    )


_BACKGROUND = lazy_compile(r"(?<![&<>|])&(?![&>])")


def runs_side_by_side(script: str) -> bool:
    """Whether `script` itself has jobs in the background.

    bashkit calls a command that returns its result and one that writes as it goes in one context of
    variables. Where a job runs beside the script, both may be called at once, and the second then
    fails: `cannot enter context`. Commands that all return their results run one after the other.
    Jobs that the text does not show (in other files, in functions) are seen when two commands met:
    the turn is then computed again (`JobsMet`).
    """
    return bool(_BACKGROUND.search(_QUOTED.sub("q", script)))


class JobsMet(EngineFailure):
    """A command of the script was not run, since another one was running."""


SIMPLE_COMMANDS = frozenset("basename cat dirname echo false grep head ls pwd tail true wc".split())

LONGEST = 2_000
"""Characters."""

_PLAIN_TEXT = lazy_compile(r"[\w ./,:=@%+'\"|;\n*?\[\]~^-]+")
_SPECIAL = lazy_compile(
    r"\s-(?:-follow|-version|-help|[a-zA-Z]*[fF])|\bgrep\s[^|;\n]*-(?:[a-zA-Z]*[rR]|-\w*recursive)"
)
"""`tail -f` and whatever looks like it; options that every tool answers about itself; `grep -r`."""


@lru_cache(maxsize=1)
def _parser() -> Bash:
    return Bash()


@lru_cache(maxsize=4096)
def is_simple(script: str) -> bool:
    """Whether `script` is nothing but commands that look, with literal arguments and no redirection."""
    if len(script) > LONGEST or not _PLAIN_TEXT.fullmatch(script) or _SPECIAL.search(script):
        return False
    if "/dev" in script or "/proc" in script:
        return False
    try:
        found = _parser().analyze(script)
    except BashError:
        return False
    return (
        not (
            found.is_opaque or found.functions or found.redirects or found.has_command_substitution
        )
        and not found.has_interpreter_reentry
        and bool(found.commands)
        and all(
            command.name in SIMPLE_COMMANDS and not command.assignments
            for command in found.commands
        )
    )


MOST_WORDS = 600
"""Of one script; what comes after is found when it fails."""

_RUNS_WORDS = RUNS_OTHERS | frozenset(
    ". alias awk builtin chroot command doas eval exec flock gawk ionice mawk nawk nice parallel"
    " setsid source stdbuf su trap watch".split()
)
"""Commands whose arguments may be commands."""

_KEYWORDS = frozenset(
    "case coproc do done elif else esac fi for function if in select then time until while".split()
)

_LOOKUP = lazy_compile(
    r"(?:\bcommand\s+-[vV]|\b(?:type|which|hash)(?:\s+-\w+)*)((?:\s+[\w./+-]+)+)"
)
_BUILTIN_ONLY = lazy_compile(r"\bbuiltin\s+(?!(?:command|eval|exec)\b)[\w./+-]+")
WORD = lazy_compile(r"[\w./~+@-]+")
_NAME = lazy_compile(r"[A-Za-z0-9_][\w.+-]{0,63}")
_PATH = lazy_compile(r"(?:[\w.~+@-]+)?(?:/[\w.+@-]+)+")
_NUMBER = lazy_compile(r"[\d.]+[a-zA-Z]?")
_FOLDER = lazy_compile(r"\b(?:cd|pushd|-C)\s+[\"']?([\w./~+@-]+)")
_NOT_FOUND = lazy_compile(
    r"line \d+: (?:exec: )?(?:([^\s:'/]+): (?:command )?not found"
    r"|(/[^\s:']+): No such file or directory)"
)


def lookups(text: str) -> set[str]:
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


def folders_of(text: str, cwd: str) -> list[str]:
    """Where the commands of a script may run: where it starts and where it goes."""
    found = [cwd]
    for match in _FOLDER.finditer(text):
        if not match[1].startswith("~"):
            place = match[1] if match[1].startswith("/") else f"{found[-1]}/{match[1]}"
            found.append(normal_path(place))
    return list(dict.fromkeys(found))


def not_found(text: str) -> Iterator[str]:
    """Names of which a shell said in `text` that it has no such command."""
    for match in _NOT_FOUND.finditer(text):
        name = match[1] or match[2]
        if _PATH.fullmatch(name) or _NAME.fullmatch(name):
            yield name


_WAITS = ("unexpected end of file", "unexpected EOF", "unterminated")
_HERE_DOCUMENT = lazy_compile(r"(?<!<)<<(-?)\s*(['\"]?)([A-Za-z_]\w*)\2(?!<)")
_GOES_ON = lazy_compile(r"(?:(?<!\\)(?:\\\\)*\\|&&|\|\|?)[ \t]*$")


def needs_more_input(script: str) -> bool:
    """Whether `script` is the beginning of a command: an open quote, block or here-document."""
    script = script.removesuffix("\n")
    if _GOES_ON.search(script):
        return True
    for dash, _, word in _HERE_DOCUMENT.findall(script):
        lines = script.split("\n")[1:]
        if word not in [line.lstrip("\t") if dash else line for line in lines]:
            return True
    try:
        _parser().analyze(script)
    except BashError as error:
        return any(words in str(error) for words in _WAITS)
    return False
