"""Where the embedded shell would show itself and no command of ours can take its place.

Three means, from the cheapest to the dearest:

* Texts: what was printed is put as the real program puts it.
* Functions: only when a script's text asks for it (`grep --version`, `command -v curl`, `awk` with
  `srand()`), a shell function stands before a command for the length of the script. It can pass
  bytes through, which a command written in Python cannot.
* A DEBUG trap, only in scripts that read random devices: new bytes before every command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agentworld_sim.engines.shell._packages import COMMAND_NAMES, MISSING, version_text

HELPER = "/proc/self/exe"
"""The command of ours that functions call. An agent sees an unreadable file of this name."""

IMAGINE = "installed"
"""Its first word where it stands for a program that is not there."""

_NAMES = "|".join(re.escape(name) for name in (*COMMAND_NAMES, "bash", "sh") if name != "[")
_MISSING = "|".join(sorted(MISSING))

_HINT = re.compile(
    r"--version|--help|\btar\b|\bg(?:un)?zip\b|\bumask\b|--exclude-dir|\bcmp\s|\btee\s"
    r"|\b(?:cksum|cut|expand|fold|(?:md5|sha\d+)sum|nl|od|rev|tac|wc)\b(?:\s+-\S+)*\s+[^-|;&<>()\s]|command\s+-[vV]|\b(?:type|hash|compgen)\s|srand|systime|strftime|\bnow\b"
    r"|\)T|openssl\s+rand|kill\s+-l|if=/dev/|\bhistory\b|\bfc\s|sort\s+.*-\w*R|random-sort|SRANDOM|SECONDS|EPOCH"
)
"""Whether any rule can apply at all: one search for the usual script."""

_ABOUT = re.compile(rf"(?<![\w./-])({_NAMES})\s+--(?:version|help)\b")
_SHOWS_FUNCTIONS = re.compile(
    r"\b(?:declare|typeset)\s+-\w*[fF]|\b(?:type|compgen)\s|command\s+-[vV]"
)
_STREAMS = frozenset({"cat", "grep", "seq", "tr"})
"""In a pipeline, the embedded shell loses the input of a function with one of these names."""

_LOOKS_UP = re.compile(r"command\s+-[vV]|\b(?:type|hash)\s")

_ON_FILES = (
    'local __a __n=0; for __a in "$@"; do case "$__a" in -|--stdout|--to-stdout|-c*|-[!-]*c*) __n=0; break;;'
    " -*) ;; *) __n=1;; esac; done;"
    f' if [ $__n = 1 ]; then {HELPER} %NAME% "$@"; elif [ "$*" = -t ]; then'
    ' builtin command gzip -dc > /dev/null; else builtin command %NAME% "$@"; fi;'
)
"""For compressors: files only, and nothing to standard output."""

_MISSING_FILE = (
    'local __a __p= __n=0; for __a in "$@"; do case "$__p" in -%VALUED%) __p=; continue;; esac;'
    ' __p="$__a"; case "$__a" in -*|/dev/*) ;;'
    ' *) if [ -d "$__a" ] || [ ! -e "$__a" ]; then __n=1; fi;; esac; done;'
    f' if [ $__n = 1 ]; then {HELPER} each %NAME% "$@"; else builtin command %NAME% "$@"; fi;'
)
"""The embedded tools stop at the first file that they cannot read; the real ones go on."""

VALUED_OPTIONS: Mapping[str, str] = {
    "cksum": "a", "cut": "bcdf", "expand": "t", "fold": "w", "md5sum": "", "nl": "bdfhilnsvw",
    "od": "AjNStw", "rev": "", "sha1sum": "", "sha256sum": "", "sha512sum": "", "tac": "s",
    "wc": "",
}  # fmt: skip
"""Of tools over many files, the options whose next word is a value."""

_TEE = (
    'local __a __ok=() __code=0; for __a in "$@"; do case "$__a" in -*|/dev/*) __ok+=("$__a");;'
    ' *) if [ -d "$__a" ]; then echo "tee: $__a: Is a directory" >&2; __code=1;'
    ' elif [ "$__a" != "${__a%/*}" ] && [ ! -d "${__a%/*}/" ]; then'
    ' echo "tee: $__a: No such file or directory" >&2; __code=1; else __ok+=("$__a"); fi;; esac;'
    ' done; builtin command tee "${__ok[@]}" || __code=1; return $__code;'
)

_FUNCTIONS: Mapping[str, tuple[re.Pattern[str], str]] = {
    "awk": (
        re.compile(r"\bawk\b[\s\S]*(?:srand\s*\(\s*\)|systime|strftime)"),
        f'eval "builtin command awk $({HELPER} awk "$@")";',
    ),
    "jq": (
        re.compile(r"\bjq\b[\s\S]*\bnow\b"),
        f'eval "builtin command jq $({HELPER} jq "$@")";',
    ),
    "printf": (
        re.compile(r"printf[\s\S]*%[^%\s]*\([^)]*\)T"),
        f'eval "builtin printf $({HELPER} printf "$@")";',
    ),
    "openssl": (
        re.compile(r"openssl\s+rand"),
        f'if [ "$1" = rand ]; then {HELPER} "$@"; else builtin command openssl "$@"; fi;',
    ),
    "sort": (
        re.compile(r"\bsort\b.*(?:-\w*R|--random-sort)"),
        (f'case " $* " in *" -"*R*|*random-sort*) {HELPER} sort "$@";;'
        ' *) builtin command sort "$@";; esac;'),
    ),
    "compgen": (
        re.compile(r"\bcompgen\s"),
        f'builtin compgen "$@" | {HELPER} compgen "$@" -- @NAMES@;',
    ),
    # The embedded `dd` takes the host's entropy for a device of this very name.
    "dd": (
        re.compile(r"\bdd\b.*\bif=/dev/u?random\b"),
        "builtin command dd \"${@/#if=\\/dev\\//if=\\/dev\\/.\\/}\";",
    ),
    "grep": (
        re.compile(r"\bgrep\b[^|;&\n]*--exclude-dir"),
        f'eval "builtin command grep $({HELPER} grep "$@")";',
    ),
    "cmp": (
        re.compile(r"\bcmp\s"),
        ('case " $* " in *" - "*) builtin command cmp "$@";; *" "[!-]*" "[!-]*)'
         f' {HELPER} cmp "$@";; *) builtin command cmp "$@";; esac;'),
    ),
    "tee": (re.compile(r"\btee\s"), _TEE),
    **{
        name: (
            re.compile(rf"\b{name}\b(?:\s+-\S+)*\s+[^-|;&<>()\s]"),
            _MISSING_FILE.replace("%NAME%", name).replace("%VALUED%", f"[{letters or '-'}]"),
        )
        for name, letters in VALUED_OPTIONS.items()
    },
    "umask": (
        re.compile(r"\bumask\b"),
        ('builtin umask "$@"; local __code=$?;'
         f' {HELPER} umask "$BASH_SUBSHELL" "$(builtin umask)"; return $__code;'),
    ),
    # Archives that go through a pipe are bytes, which only the embedded command can pass on.
    "tar": (
        re.compile(r"\btar\b"),
        ('case " $* " in *" - "*|*"f- "*|*=-\\ *) builtin command tar "$@";;'
         ' " --"*|*" -"*f*|*" --file"*|" "[a-zA-Z]*f*|"  ")'
         f' {HELPER} tar "$@";; *) builtin command tar "$@";; esac;'),
    ),
    "gzip": (re.compile(r"\bgzip\b"), _ON_FILES.replace("%NAME%", "gzip")),
    "gunzip": (re.compile(r"\bgunzip\b"), _ON_FILES.replace("%NAME%", "gunzip")),
    # A shell that nobody types into keeps no history.
    "history": (re.compile(r"\bhistory\b"), ":;"),
    "fc": (
        re.compile(r"\bfc\s+-"),
        'echo "bash: line 1: fc: history specification out of range" >&2; return 1;',
    ),
    "kill": (
        re.compile(r"\bkill\s+-l\b"),
        f'if [ "$*" = -l ]; then {HELPER} signals; else builtin kill "$@"; fi;',
    ),
    "sleep": (
        re.compile(r"sleep[\s\S]*(?:SECONDS|EPOCHREALTIME)|(?:SECONDS|EPOCHREALTIME)[\s\S]*sleep"),
        ("local __then=$EPOCHSECONDS; builtin command sleep \"$@\"; local __code=$?;"
        f' eval "$({HELPER} clock)"; SECONDS=$((SECONDS + EPOCHSECONDS - __then));'
        " return $__code;"),
    ),
}  # fmt: skip

_BY_FILE = frozenset({"tar", "gzip", "gunzip", "umask", "grep", "cmp", "tee", *VALUED_OPTIONS})
"""Functions that are no use to a script which only looks at functions."""

_LOOKUPS = {
    "command": 'case "$1" in -[vV]) case " @ABSENT@ " in *" $2 "*)'
    ' [ "$1" = -V ] && echo "bash: line 1: command: $2: not found" >&2; return 1;; esac;; esac;'
    ' builtin command "$@";',
    "type": 'case " @ABSENT@ " in *" ${!#} "*)'
    ' case "$1" in -*) ;; *) echo "bash: line 1: type: ${!#}: not found" >&2;; esac; return 1;;'
    ' esac; builtin type "$@";',
    "hash": 'case " @ABSENT@ " in *" ${!#} "*)'
    ' echo "bash: line 1: hash: ${!#}: not found" >&2; return 1;; esac; builtin hash "$@";',
}

_WORD = re.compile(r"[\w.-]+")

_SRANDOM = re.compile(r"\$\{SRANDOM\}|\$?\bSRANDOM\b(?!=)")


@dataclass(frozen=True, slots=True)
class Guise:
    """What one script needs."""

    script: str
    prelude: str = ""
    """Runs first, on the script's own first line; ends in a separator."""
    cleanup: str = ""
    """Runs afterwards, before the session is kept."""


def hints_at_guise(script: str) -> bool:
    """Whether `guise` may put a function before a command of `script`."""
    return _HINT.search(script) is not None


def guise(
    script: str,
    taken: frozenset[str] | set[str],
    *,
    chance: bool,
    absent: frozenset[str] = MISSING,
) -> Guise:
    """Looks at `script` for what would show the embedded shell.

    Args:
        script: The script about to run.
        taken: Functions of the user's own, which are left alone.
        chance: It reads random devices.
        absent: Commands that the embedded shell has and the machine has not.
    """
    bodies: dict[str, str] = {}
    if _HINT.search(script):
        bodies = {name: body for name, body in _bodies(script, absent).items() if name not in taken}
        script = _SRANDOM.sub(f"$({HELPER} srandom)", script)
    parts = [f"{name}() {{ {body} }}" for name, body in bodies.items()]
    cleanup = f"unset -f {' '.join(bodies)}" if bodies else ""
    if "umask" in bodies and "(" in script and "DEBUG" not in script and not chance:
        # Masks set in a subshell end with it: every command says how deep it runs.
        parts.append(f"trap '{HELPER} umask \"$BASH_SUBSHELL\"' DEBUG")
        cleanup = f"trap - DEBUG; {cleanup}"
    if chance and "DEBUG" not in script:
        parts.append(f"trap {HELPER} DEBUG")
        cleanup = f"trap - DEBUG; {cleanup}"
    return Guise(script, "".join(f"{part}; " for part in parts), cleanup)


def _bodies(script: str, absent: frozenset[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    # A script that looks at functions would see ours; there the texts alone are put right.
    abouts = () if _SHOWS_FUNCTIONS.search(script) else _ABOUT.finditer(script)
    for match in abouts:
        name = match[1]
        if name in _STREAMS and re.search(rf"\|&?\s*{name}\b", script):
            continue
        found[name] = (
            f'if [ $# = 1 ] && {{ [ "$1" = --version ] || [ "$1" = --help ]; }};'
            f' then {HELPER} about {name} "$1"; else builtin command {name} "$@"; fi;'
        )
    if _LOOKS_UP.search(script) and absent & set(_WORD.findall(script)):
        listed = " ".join(sorted(absent))
        found |= {name: body.replace("@ABSENT@", listed) for name, body in _LOOKUPS.items()}
    for name, (pattern, body) in _FUNCTIONS.items():
        hidden = name in _BY_FILE and _SHOWS_FUNCTIONS.search(script)
        if pattern.search(script) and not hidden:
            found[name] = body
    if "compgen" in found:
        found["compgen"] = found["compgen"].replace("@NAMES@", " ".join(found))
    return found


# Texts

_OWN_VERSION = re.compile(r"(?m)^([\w.\[-]+) (?:\(bashkit\) 0\.1|0\.20\.1)$")
_SHELL_VERSION = re.compile(r"(?m)^Bashkit [\d.]+ \(virtual (bash|sh) interpreter\)$")
_MAKE_VERSION = re.compile(r"GNU Make 4\.3\nBuilt for .*\n(?:.*\n)*?This is the bashkit.*\n")
_SUDO_LIST = re.compile(r"User \w+ may run the following commands on [\w.-]+:\n")
_TIMES = re.compile(r"real(?:(\t)\d+m[\d.]+s| [\d.]+)\nuser[\t ]unavailable\nsys[\t ]unavailable\n")
_CLAP = re.compile(
    r"error: (?:unexpected argument '([^']+)' found|(?:a value|one or more).*?)\n\n"
    r"(?:  tip:[^\n]*\n\n)?Usage: (\S+)[^\n]*\n(?:[^\n]+\n)*\nFor more information, try '--help'\.\n"
)
_NO_JOBS = re.compile(r"(?m)^(bash: line \d+: [fb]g): current: no such job$")
_IO_ERROR = re.compile(r"(?:io error: )((?:file )?not found|is a directory|not a directory)\b")
_REASONS = {
    "not found": "No such file or directory",
    "file not found": "No such file or directory",
    "is a directory": "Is a directory",
    "not a directory": "Not a directory",
}
_READ_ONLY = re.compile(r"(?<=: )(?:io error: )?filesystem is read-only")
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


_TIMED = re.compile(
    r"(?:^|[;&|({\n!]|\b(?:then|do|else))\s*time\s+(-p\s+)?(?=([^\n]*))", re.MULTILINE
)
_SLEEP = re.compile(r"\bsleep\s+(\d+(?:\.\d+)?)")
_MAY_SLEEP = re.compile(r"\bsleep\b|\btimeout\b|\b(?:ba)?sh\b|\./")


_WRITES = re.compile(r"2?&?>>?\s*([\w./~-]+)")


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


def unmasked(text: str, script: str, slept_us: int) -> str:
    """`text` as the real programs would have put it.

    Args:
        text: What was printed.
        script: What printed it.
        slept_us: How far the world's clock moved while the script ran.
    """
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


_NOT_FOUND = re.compile(rf"(?m)^bash: line 1: ({_MISSING}): command not found$")


def numbered(stderr: str, script: str) -> str:
    """The right line numbers for commands that are missing here but not in the embedded shell.

    The embedded shell does not tell a command on which line it was called, so the n-th complaint
    about a name belongs to the line of its n-th mention.
    """
    if "\n" not in script.strip() or not _NOT_FOUND.search(stderr):
        return stderr
    seen: dict[str, int] = {}

    def line(match: re.Match[str]) -> str:
        name = match[1]
        places = [
            number
            for number, text in enumerate(script.split("\n"), 1)
            if re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w.-])", text)
        ]
        if not places:
            return match[0]
        index = seen.get(name, 0)
        seen[name] = index + 1
        return match[0].replace("line 1:", f"line {places[min(index, len(places) - 1)]}:", 1)

    return _NOT_FOUND.sub(line, stderr)
