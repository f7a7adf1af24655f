"""What the embedded shell says, put as the real bash and the real tools put it.

bashkit reports its own limits in its own words, on standard error, and often goes on. A real machine
has other limits or none, so each report is put into one of three kinds: a limit that a real machine
has too is said in its words; a runaway ends the script; and everything else is an answer that was not
computed faithfully, which is a failure of the engine and never shown as the machine's answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from agentworld_sim.engines.shell._command import HELPER
from agentworld_sim.engines.shell.programs import version_text
from agentworld_sim.errors import EngineFailure
from agentworld_sim.regex import lazy_compile

Verdict = Literal["timeout", "cancelled", "dead"]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """How a script ended that bashkit stopped."""

    verdict: Verdict
    """`dead`: the shell itself died, and a session of it starts afresh."""
    said: str
    """What the machine prints on standard error."""
    exit_code: int


_FULL = "No space left on device"
_REAL = (
    (
        lazy_compile(
            r"file too large: \d+ bytes exceeds \d+ byte limit"
            r"|filesystem full: \d+ bytes would exceed \d+ byte limit"
            r"|(?:io error: )?too many (?:files|directories): \d+ [^\n]*limit"
        ),
        _FULL,
    ),
    (
        lazy_compile(r"(?:file(?:name)?|path) too (?:deep|long): \d+ \w+ exceeds \d+ \w+ limit"),
        "File name too long",
    ),
    (lazy_compile(r"unsafe character U\+\w+ in path component '[^'\n]*'"), "Invalid argument"),
    (
        lazy_compile(r"(?m)^(bash|sh): maximum nesting depth exceeded$"),
        r"\1: fork: retry: Resource temporarily unavailable",
    ),
    (
        lazy_compile(
            r"(?m)^(?:\S*: line \d+: )*fork: retry: Resource temporarily unavailable \(.*\)$"
        ),
        "bash: fork: retry: Resource temporarily unavailable",
    ),
)

_UNFAITHFUL = lazy_compile(
    r"(?m)^.*(?:"
    r"limit \([^)\n]*\) (?:exceeded|reached)"
    r"|output limit exceeded \(max"
    r"|output size limit exceeded"
    r"|exceeds (?:limit|maximum|the maximum|hard limit|VFS limit|max depth)[ (]*\d+"
    r"|(?:nesting|recursion)[^\n]*\((?:\d+ levels, )?max \d+\)"
    r"|JSON nesting too deep"
    r"|resource limit exceeded: "
    r"|execution error: "
    r"|budget exhausted"
    r"|brace range too large"
    r"|output may be truncated"
    r"|not supported in (?:virtual|this context|bashkit|the sandbox|VFS)"
    r"|callbacks are not supported"
    r"|never executes host commands"
    r"|is not supported \(L-"
    r"|zip bomb"
    r"|decompress\w+ (?:size|ratio)[^\n]*exceed"
    r"|needs a terminal session\)"
    r"|RuntimeError: cannot enter context: <"
    r").*$",
    re.IGNORECASE,
)

_RUNAWAY = lazy_compile(
    r"execution timeout|command count exceeded|loop iterations exceeded|command limit exceeded"
    r"|call limit exceeded"
)
_FORKS = lazy_compile(r"(?:subshell|command substitution) depth exceeded")
_RECURSES = lazy_compile(r"(?:source|trap nesting) depth exceeded")
_CONDITION = lazy_compile(r"\b(?:if|case|while|until|test|return)\b|\[|&&|\|\||\(\(")


def faithful(text: str, *, script: str = "", said: Container[str] = ()) -> str:
    """`text`, which bashkit wrote to standard error, with limits in a real machine's words. The lines in
    `said` are others' and no reports.

    Raises:
        EngineFailure: `text` says that the answer is not what a real machine would have answered.
    """
    for pattern, words in _REAL:
        text = pattern.sub(words, text)
    for found in _UNFAITHFUL.finditer(text):
        if found[0] not in said:
            raise unfaithful(found[0].strip(), script)
    return text


def unfaithful(reason: str, script: str = "") -> EngineFailure:
    """The failure to raise when an answer would not be a real machine's."""
    of = f" The script: {script[:300]!r}." if script else ""
    return EngineFailure(
        f"The shell's answer was not computed faithfully: {reason!r}.{of} A model can imagine what"
        " the engine cannot compute; without one, ask for less in one call."
    )


def verdict_on(error: str, script: str) -> Verdicts:
    """How a real machine ends a script that bashkit stopped with `error`.

    Raises:
        EngineFailure: a real machine would not have stopped.
    """
    if "cancelled" in error:
        return Verdicts("cancelled", "", 130)
    if _RUNAWAY.search(error):
        return Verdicts("timeout", "", 124)
    if "function depth" in error and not _CONDITION.search(script):
        # Nothing in the script could have ended the recursion.
        if re.search(r"&(?![&>])", script):
            return FORK_BOMB
        return OVERFLOW
    if _RECURSES.search(error):
        return OVERFLOW
    if _FORKS.search(error):
        return FORK_BOMB
    if "variable byte limit" in error:
        said = "bash: xrealloc: cannot allocate 4294967296 bytes\n"
        return Verdicts("dead", said, 2)
    if re.search(r"io error: too many|filesystem full", error):
        return Verdicts("dead", f"bash: write error: {_FULL}\n", 1)
    if "filesystem is read-only" in error:
        # `tee`; a real one would go on.
        return Verdicts("dead", "tee: Read-only file system\n", 1)
    raise unfaithful(error, script)


OVERFLOW = Verdicts("dead", "Segmentation fault\n", 139)
"""A real bash recurses until its stack overflows."""

FORK_BOMB = Verdicts("dead", "bash: fork: retry: Resource temporarily unavailable\n", 254)


UNSET_VARIABLE = 127
"""The exit code of a shell that ends at an unset variable (`set -u`, `${x:?}`)."""

_HINTED = (
    "arch base32 base64 basename cat comm cp csplit cut date dd df dirname expand expr factor fmt"
    " fold head id join logname md5sum mktemp mv nice nl nohup nproc numfmt od paste pr printenv"
    " readlink rm seq sha1sum sha224sum sha256sum sha384sum sha512sum shuf sleep sort split stty"
    " sum sync tac tail tee timeout tr truncate tty uname unexpand uniq uptime users wc who whoami"
    " xargs yes"
)
"""Tools that end a complaint about their command line with a hint at `--help`."""

_NAMES = f"(?:{_HINTED.replace(' ', '|')})"
_USAGE = (
    r"(?:invalid option -- '[^']*'|unrecognized option '[^'\n]*'|option requires an argument -- '.'"
    r"|option '--[^']*' (?:requires an argument|doesn't allow an argument|is ambiguous[^\n]*)"
    r"|missing operand(?: after [^\n]*)?|extra operand [^\n]*"
    r"|you must specify a list of [^\n]*|invalid time interval [^\n]*"
    r"|only one type of list may be specified|invalid floating point argument: [^\n]*)"
)
_QUOTED = (
    r"invalid number of (?:lines|bytes): |invalid (?:byte|character|field|line) (?:value|number|range|count)"
    r"[^'\n]*|invalid floating point argument: |invalid time interval |missing operand after "
    r"|extra operand |invalid (?:argument|suffix|width|input|tab size|line width|user|group)[^'\n]*"
    r"|tab size contains invalid character\(s\): |invalid zero-padded [^'\n]*|invalid mode:? "
    r"|cannot operate on "
)

_PLAIN: tuple[tuple[re.Pattern[str], str], ...] = (
    # bashkit adds advice that no shell gives.
    (lazy_compile(r"(: command not found)\. [A-Z][^\n]*"), r"\1"),
    (lazy_compile(r"^(tr|basename|comm): missing operand after SET1$", re.MULTILINE), r"\1: missing operand"),
    (lazy_compile(r"^sort: (?!cannot|invalid|unrec|option|missing|extra|multi|incomp|disorder|\S+:\d+)"
                r"([^\n:]+): (No such file or directory)$", re.MULTILINE),
     r"sort: cannot read: \1: \2"),
    (lazy_compile(r"^(head|tail): (?!cannot|error|invalid|option)([^\n:]+): (No such file or directory)$",
                re.MULTILINE), r"\1: cannot open '\2' for reading: \3"),
    (lazy_compile(r"^cut: you must specify a list of fields$", re.MULTILINE),
     "cut: you must specify a list of bytes, characters, or fields"),
    (lazy_compile(r"^(gzip: invalid option -- '[^\n]*')$(?!\nTry)", re.MULTILINE),
     "\\1\nTry `gzip --help' for more information."),
    (lazy_compile(r"^base64: invalid input: [^\n]*$", re.MULTILINE), "base64: invalid input"),
    (lazy_compile(r"^(sed: -e expression #\d+, char \d+: )invalid pattern: regex parse error: [^\n]*"
                r"unclosed group$", re.MULTILINE), r"\1Unmatched ( or \("),
    (lazy_compile(r"^missing \]$", re.MULTILINE), "bash: line 1: [: missing `]'"),
    (lazy_compile(r"^awk: fatal: cannot open file `([^'\n]*)' for reading: ([^\n]*)$", re.MULTILINE),
     r"awk: cannot open \1 (\2)"),
    (lazy_compile(r"^awk: cannot write ([^\n]*): ([^\n:]*)$", re.MULTILINE),
     r'awk: cannot open "\1" for output (\2)'),
    (lazy_compile(rf"^({_NAMES}: (?:{_QUOTED}))'([^'\n]*)'", re.MULTILINE), "\\1\u2018\\2\u2019"),
    (lazy_compile(rf"^({_NAMES}): ({_USAGE})$(?!\n(?:Try|Two|Usage))", re.MULTILINE),
     (r"\1: \2" "\n" r"Try '\1 --help' for more information.")),
)  # fmt: skip

_WHOLE_PATH = lazy_compile(
    rf"^({_NAMES}|grep|sed|awk|diff|cat): (cannot [a-z ]*:? ?'?)?(/[^\n:']+)(?='?:? )", re.MULTILINE
)


def plain(text: str, *, script: str = "", cwd: Callable[[], str] | None = None) -> str:
    """`text` in the words of the real tools.

    bashkit's own tools name files by their whole path, the real ones as they were given: paths below
    `cwd` that `script` does not name are shortened.
    """
    if not text:
        return text
    if cwd is not None and _WHOLE_PATH.search(text):
        here = cwd().rstrip("/") + "/"

        def short(found: re.Match[str]) -> str:
            path = found[3]
            if path.startswith(here) and path not in script:
                path = path[len(here) :]
            return f"{found[1]}: {found[2] or ''}{path}"

        text = _WHOLE_PATH.sub(short, text)
    for pattern, replacement in _PLAIN:
        text = pattern.sub(replacement, text)
    return _of_script(text, script)


def _of_script(text: str, script: str) -> str:
    """What only the script tells: the operand that `tr` misses one after, a failed `exec`."""
    given = re.search(r"\btr\s+(?:-\w+\s+)*'?([^\s|;&<>']+)'?\s*(?:$|[|;&<>\n])", script)
    if given and "tr: missing operand\n" in text:
        text = text.replace(
            "tr: missing operand\n",
            f"tr: missing operand after \u2018{given[1]}\u2019\n"
            "Two strings must be given when translating.\n",
        )
    text = _OPERAND.sub(_with_token, text)
    for found in re.finditer(r"\$\{(\w+)\?\}", script):
        text = text.replace(
            f"{found[1]}: parameter null or not set", f"{found[1]}: parameter not set"
        )
    program = re.search(r"\bjq\s+(?:-\S+\s+)*'([^']*)'", script)
    if program and "jq: error: " in text:
        text = re.sub(
            r"(?m)^(jq: error: \S+ is not defined)$",
            lambda found: f"{found[1]} at <top-level>, line 1:\n{program[1]}\njq: 1 compile error",
            text,
        )
    for found in re.finditer(r"\bexec\s+([\w./-]+)", script):
        text = re.sub(
            rf"(line \d+): {re.escape(found[1])}: command not found",
            rf"\1: exec: {found[1]}: not found",
            text,
        )
    return text


_OPERAND = lazy_compile(r"(?m)^([^\n]*line \d+: )([^\n]*)(: syntax error: operand expected)$")


def _with_token(found: re.Match[str]) -> str:
    """bash names what it stopped at: the last operator, and what follows one that cannot."""
    expression = found[2].rstrip()
    token = re.search(r"([*/%&|^=<>]+\s*\S.*|[-+*/%&|^=<>~!]+)$", expression)
    wrong = re.search(r"[-+*/%&|^=<>]\s*([*/%&|^=<>].*)$", expression)
    if wrong is None and not (token and re.search(r"[-+*/%&|^=<>~!]$", expression)):
        return found[0]
    shown = wrong[1] if wrong else re.split(r"[\w)\s]", expression)[-1]
    return f'{found[0]} (error token is "{shown}")'


def exit_code_of(script: str, stderr: str, options: Sequence[str]) -> int:
    """What a shell that gave up on a variable exits with, where bashkit says 1. So does `set -e`."""
    last = stderr.rstrip("\n").rpartition("\n")[2]
    found = re.match(r"bash: line \d+: (\w+|\$?[\d@*]+): ", last)
    errexit = re.findall(r"\bset\b[^\n;|&]*?([-+])(?:[a-z]*e[a-z]*\b|o errexit)", script)
    if found is None or (["-" if "errexit" in options else "+", *errexit][-1] == "-"):
        return 1
    asked = re.search(rf"\$\{{{re.escape(found[1])}:?\?", script)
    return UNSET_VARIABLE if asked or last.endswith(": unbound variable") else 1


# What only the embedded shell would print

_OWN_VERSION = lazy_compile(r"(?m)^([\w.\[-]+) (?:\(bashkit\) 0\.1|0\.20\.1)$")
_SHELL_VERSION = lazy_compile(r"(?m)^Bashkit [\d.]+ \(virtual (bash|sh) interpreter\)$")
_MAKE_VERSION = lazy_compile(r"GNU Make 4\.3\nBuilt for .*\n(?:.*\n)*?This is the bashkit.*\n")
_SUDO_LIST = lazy_compile(r"User \w+ may run the following commands on [\w.-]+:\n")
_TIMES = lazy_compile(
    r"real(?:(\t)\d+m[\d.]+s| [\d.]+)\nuser[\t ]unavailable\nsys[\t ]unavailable\n"
)
_CLAP = lazy_compile(
    r"error: (?:unexpected argument '([^']+)' found|(?:a value|one or more).*?)\n\n"
    r"(?:  tip:[^\n]*\n\n)?Usage: (\S+)[^\n]*\n(?:[^\n]+\n)*\nFor more information, try '--help'\.\n"
)
_NO_JOBS = lazy_compile(r"(?m)^(bash: line \d+: [fb]g): current: no such job$")
_IO_ERROR = lazy_compile(r"(?:io error: )((?:file )?not found|is a directory|not a directory)\b")
_REASONS = {
    "not found": "No such file or directory",
    "file not found": "No such file or directory",
    "is a directory": "Is a directory",
    "not a directory": "Not a directory",
}
_READ_ONLY = lazy_compile(r"(?<=: )(?:io error: )?filesystem is read-only")
_CHEAP = (
    "io error",
    "read-only",
    "no such job",
    "ashkit",
    "User sandbox",
    "0.20.1",
    "unavailable",
    "For more information, try",
    HELPER,
    "virtual",
)


_TIMED = lazy_compile(
    r"(?:^|[;&|({\n!]|\b(?:then|do|else))\s*time\s+(-p\s+)?(?=([^\n]*))", re.MULTILINE
)
_SLEEP = lazy_compile(r"\bsleep\s+(\d+(?:\.\d+)?)")
_MAY_SLEEP = lazy_compile(r"\bsleep\b|\btimeout\b|\b(?:ba)?sh\b|\./")


_WRITES = lazy_compile(r"2?&?>>?\s*([\w./~-]+)")


def files_with_times(script: str) -> list[str]:
    """The files, as written in `script`, that may hold what its `time` printed."""
    return _WRITES.findall(script) if _TIMED.search(script) else []


def _durations(script: str, slept_us: int) -> Iterator[float]:
    """Seconds for each `time` in `script`, in order.

    The embedded shell measures the host's time. Which `time` a sleep belongs to is read from the
    script's text: a sleep of a written length, else all that the clock moved.
    """
    everything = slept_us / 1_000_000
    for match in _TIMED.finditer(script):
        part = match[2] if match[2][:1] in "({" else re.split(r";|&&|\|\|", match[2])[0]
        if match[2][:1] in "({":
            part = re.split(r"[)}]", part)[0]
        written = sum(float(number) for number in _SLEEP.findall(part))
        opaque = not written and _MAY_SLEEP.search(part)
        yield min(everything, everything if opaque else written) + 0.002
    while True:
        yield (everything if _TIMED.search(script) is None else 0.0) + 0.002


def as_real_programs(text: str, script: str, slept_us: int) -> str:
    """What `script` printed as the real programs would have put it; it slept for so long."""
    if not any(word in text for word in _CHEAP):
        return text
    text = _OWN_VERSION.sub(lambda m: (version_text(m[1]) or m[0]).partition("\n")[0], text)
    text = _SHELL_VERSION.sub(lambda m: (version_text(m[1]) or "").rstrip("\n"), text)
    text = _MAKE_VERSION.sub(version_text("make") or "", text)
    text = _SUDO_LIST.sub("User root may run the following commands on debian:\n", text)
    text = text.replace("GNU Awk 5.2.1 (bashkit)\n", version_text("gawk") or "")
    durations = _durations(script, slept_us)
    text = _TIMES.sub(lambda m: _times(next(durations), posix=m[1] is None), text)
    text = _IO_ERROR.sub(lambda m: _REASONS[m[1]], text)
    text = _READ_ONLY.sub("Read-only file system", text)
    text = _NO_JOBS.sub(r"\1: no job control", text)
    text = _CLAP.sub(_complaint, text)
    text = re.sub(rf"(?m)^\++ (?:exec )?{re.escape(HELPER)}\b.*\n", "", text)
    return re.sub(rf"(?m)^trap -- '{re.escape(HELPER)}' DEBUG\n", "", text)


def _times(seconds: float, *, posix: bool) -> str:
    if posix:
        return f"real {seconds:.2f}\nuser 0.00\nsys 0.00\n"
    minutes, rest = divmod(seconds, 60)
    return f"real\t{int(minutes)}m{rest:.3f}s\nuser\t0m0.001s\nsys\t0m0.001s\n"


def _complaint(match: re.Match[str]) -> str:
    option, name = match[1] or "", match[2]
    kind = "unrecognized option" if option.startswith("--") else "invalid option --"
    shown = option if option.startswith("--") else option.lstrip("-")
    return f"{name}: {kind} '{shown}'\nTry '{name} --help' for more information.\n"
