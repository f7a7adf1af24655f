"""Where the embedded shell would show itself and no command of ours can take its place.

Beside the texts (see `bash_texts`), three means:

* The script's own words: what bashkit would quietly not do is refused, or goes to a command of ours. A brace
  expansion of more than 10,000 words stays as it is written there, a device gives its first megabyte and
  ends, and some programs never end on a real machine where bashkit's do.
* Functions (`shims.bash`): only when a script's text asks for it (`grep --version`, `command -v curl`,
  `awk` with `srand()`), a shell function stands before a command for the length of the script.
* A DEBUG trap, only in scripts that read random devices: new bytes before every command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from agentworld_sim.engines.shell._command import HELPER
from agentworld_sim.engines.shell.bash_texts import unfaithful
from agentworld_sim.engines.shell.programs import COMMAND_NAMES, DATA, MISSING, PACKAGE_OF_COMMAND
from agentworld_sim.regex import lazy_compile

TEXT = lazy_compile(r'"(?:[^"\\\n]|\\.)*"')
_COMMENT = lazy_compile(r"#[^\n]*")
_LOOPS = lazy_compile(r"\b(?:while|do|getline|function|func)\b")
_FOR = lazy_compile(r"\bfor\s*\(")
_COUNTS = lazy_compile(
    r"\bfor\s*\(\s*(?:\w+\s+in\s+\w+|(\w+)\s*=[^;()]*;\s*\1\s*[<>]=?[^;()=]*(?:\([^()]*\))?[^;()=]*;"
    r"\s*(?:\1\s*(?:\+\+|--)|(?:\+\+|--)\s*\1|\1\s*[+-]=\s*[1-9]\d*))\s*\)"
)


def surely_ends(program: str) -> bool:
    """Whether an awk program ends on every finite input, as far as its text shows.

    Loops over an array and loops that count with a variable nothing else changes end.
    """
    bare = _COMMENT.sub("", TEXT.sub('""', program))
    if _LOOPS.search(bare):
        return False
    counting = list(_COUNTS.finditer(bare))
    if len(counting) != len(_FOR.findall(bare)):
        return False
    rest = _COUNTS.sub("for()", bare)
    return not any(_changes(found[1], rest) for found in counting if found[1])


def _changes(variable: str, program: str) -> bool:
    name = re.escape(variable)
    return bool(
        re.search(
            rf"\b{name}\s*(?:[-+*/%^]?=(?!=)|\+\+|--)|(?:\+\+|--)\s*{name}\b|\b(?:sub|gsub)\s*\([^)]*\b{name}\b",
            program,
        )
    )


BRACES = 10_000
"""Words up to which bashkit expands a range."""

PRODUCT = 4_096
"""Words up to which it surely expands several braces in one word."""

DEVICE_BYTES = 65_536
"""What the embedded random devices give in one piece."""

YES_BYTES = 2 * 1024 * 1024
"""What `yes` writes here at most."""

DEVICE_DD = "/proc/self/dd"
APART_AWK = "/proc/self/awk"
RECURSIVE_GREP = "/proc/self/grep"
ENDLESS = "/proc/self/endless"
FORKS = "/proc/self/forks"
"""Commands of ours that a script's own `dd`, `awk` and `grep -r` become where the embedded ones would not do.
They have names of their own because a command written in Python passes text, not any bytes."""

_RANGE = lazy_compile(r"\{(-?\d{1,18})\.\.(-?\d{1,18})(?:\.\.(-?\d{1,18}))?\}")
_GROUPS = lazy_compile(r"[^\s;|&]*\{[^\s;|&]*,[^\s;|&]*\}[^\s;|&]*")
_QUOTED = lazy_compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.DOTALL)
_QUOTED_OR_LAST = lazy_compile(r"('[^']*'|\\.)|\$\{!\}", re.DOTALL)
_HEAD_DEVICE = lazy_compile(
    r"\bhead\s+(?:-c\s*|--bytes[= ])(?P<count>[^\s;|&<>()]+)\s+<?\s*(?P<device>/dev/(?:zero|u?random))(?=[\s;|&)]|$)"
)
_WHOLE = (
    r"base64|cat|cksum|cp|cut|gzip|hexdump|md5sum|nl|od|rev|sha\d+sum|sort|tac|tee|tr|uniq|wc|xxd"
)
_DEVICE = lazy_compile(
    rf"\b(?P<word>{_WHOLE})\b(?:[^|;&\n]*[\s<])/dev/(?:zero|u?random)\b(?P<rest>[^;&\n]*)"
)
_YES = lazy_compile(r"(?:^|[;&|(\n]|\b(?:do|then|else|sudo)\b)\s*(?P<word>yes)\b(?P<rest>[^;&\n]*)")
_BOUNDED = lazy_compile(
    r"^(?:od\b.*\s(?:-\w*N\s*|--read-bytes[= ])\d|xxd\b.*\s-l(?:en)?\s*\d|hexdump\b.*\s-\w*n\s*\d)"
)
_READS_ALL = lazy_compile(
    rf"^\s*(?:{_WHOLE}|awk|grep|sed|paste|fold|fmt|column|shuf|split|strings|dd)\b"
)
_FOLLOW = lazy_compile(
    r"\btail\b(?P<before>(?:[ \t]+[^\s|;&]+)*?)[ \t]+(?:-f|-F|--follow(?:=\w+)?|-(?P<count>\d+)f)"
    r"(?P<after>(?:[ \t]+[^\s|;&<>]+)*)"
)
_DD = lazy_compile(
    r"(?<![\w./-])dd(?P<operands>(?=[^|;&\n]*\bif=/dev/(?P<device>zero|u?random)\b)[^|;&\n]*)"
)
_BEFORE = (
    r"(?P<before>(?:^|[;&|({\n]|\b(?:do|then|else|if|while|time|sudo|env|nice|nohup)\b"
    r"|\btimeout\s+(?:-\S+\s+)*[\d.]+[smhd]?\b)\s*)"
)
_AWK = lazy_compile(rf"{_BEFORE}[mgn]?awk(?=\s)")
_GREP = lazy_compile(
    rf"{_BEFORE}grep(?=\s(?:[^|;&\n]*\s)?-(?:\w*[rR]|-(?:dereference-)?recursive))"
)
_HERE_DOCUMENT = lazy_compile(
    r"^(?P<line>[^\n]*?)(?<!<)<<-?\s*(['\"]?)(?P<end>\w+)\2[^\n]*\n(?P<body>.*?)^\t*(?P=end)$",
    re.DOTALL | re.MULTILINE,
)
_RUNS_TEXT = lazy_compile(r"(?<![\w./-])(?:/bin/)?(?:(?:ba|da)?sh|eval)(?![\w./-])")
_FORK_BOMB = lazy_compile(
    r"(?P<name>[\w:.]+)\s*\(\)\s*\{\s*(?P=name)\s*\|\s*(?P=name)\s*&\s*;?\s*\}"
)
_COUNT = lazy_compile(r"\bhead\b[^|]*?(?:-c|--bytes)[= ]*(\d+)([kKMG]?)")


def make_ready(script: str) -> str:
    """`script`, made ready.

    Raises:
        EngineFailure: it holds something that bashkit would quietly not do.
    """
    if "{" in script:
        _check_braces(script)
    if "/dev/" in script:
        script = _DD.sub(_with_dd, _HEAD_DEVICE.sub(_through_dd, script))
        script = _mark_endless(script, _DEVICE, DEVICE_BYTES // 4)
    if "&" in script:
        # bashkit would work it off, in a time that doubles with every level.
        script = _FORK_BOMB.sub(rf"\g<name>() {{ {FORKS}; }}", script)
    if "yes" in script:
        script = _mark_endless(script, _YES, YES_BYTES // 2)
    if "awk" in script:
        code = _code_of(script, texts=_RUNS_TEXT.search(script) is not None)
        script = _rename(script, code, _AWK, APART_AWK, lambda rest: not surely_ends(rest))
    if "grep" in script:
        script = _rename(script, _code_of(script), _GREP, RECURSIVE_GREP, lambda _: True)
    if "${!}" in script:
        # bashkit does not know this spelling.
        script = _QUOTED_OR_LAST.sub(lambda found: found[1] or "$!", script)
    if "tail" in script:
        script = _FOLLOW.sub(_follow_for_ever, script)
    return script


def _code_of(script: str, *, texts: bool = False) -> str:
    """`script` with blank here-documents and, unless `texts`, blank quoted words; places stay the same.

    A document that a shell reads is code.
    """

    def blank(found: re.Match[str]) -> str:
        start, body = found.start("body") - found.start(), found["body"]
        kept = "" if _RUNS_TEXT.search(found["line"]) else "q" * len(body)
        return found[0][:start] + (kept or body) + found[0][start + len(body) :]

    code = _HERE_DOCUMENT.sub(blank, script) if "<<" in script else script
    return code if texts else _QUOTED.sub(lambda m: "'" + "q" * (len(m[0]) - 2) + "'", code)


def _mark_endless(script: str, source: re.Pattern[str], most: int) -> str:
    """`script` with a command of ours at each pipeline that never ends: it ends the turn there."""
    for found in reversed(list(source.finditer(_code_of(script)))):
        rest = found["rest"]
        if source is _DEVICE and _BOUNDED.search(found[0]):
            continue
        if re.match(r"\s+--(?:help|version)", rest) or _ends(rest, most, script):
            continue
        start, end = found.start("word"), found.end()
        if "|" in rest or ">" in rest or source is _DEVICE:
            script = f"{script[:start]}{ENDLESS}; {script[start:]}"
        else:
            script = f"{script[:end]}; {ENDLESS}{script[end:]}"
    return script


def _with_dd(found: re.Match[str]) -> str:
    if found["device"] == "zero" or " of=" in found[0]:
        return f"{DEVICE_DD}{found['operands']}"
    asked = re.search(r"\bcount=(\d+)", found[0])
    block = re.search(r"\bbs=(\d+)(?=\s|$)", found[0])
    if asked and int(asked[1]) * (int(block[1]) if block else 512) <= DEVICE_BYTES:
        return found[0]
    raise unfaithful(f"more than {DEVICE_BYTES:,} bytes of {found['device']}", found[0])


def _rename(
    script: str, code: str, names: re.Pattern[str], to: str, wanted: Callable[[str], bool]
) -> str:
    """`script` with another name for a command whose arguments, and what follows, are `wanted`."""
    for found in reversed(list(names.finditer(code))):
        if wanted(script[found.end() :]):
            script = script[: found.end("before")] + to + script[found.end() :]
    return script


def _check_braces(script: str) -> None:
    bare = _QUOTED.sub("''", script)
    for found in _RANGE.finditer(bare):
        first, last, step = int(found[1]), int(found[2]), abs(int(found[3] or 1)) or 1
        if abs(last - first) // step >= BRACES:
            raise unfaithful(f"{found[0]} expands to more than {BRACES:,} words", script)
    for word in _GROUPS.findall(bare):
        count = 1
        for group in re.findall(r"\{([^{}]*,[^{}]*)\}", word):
            count *= group.count(",") + 1
        if count > PRODUCT and "}{" in word:
            raise unfaithful(f"{word[:60]} expands to more than {PRODUCT:,} words", script)


def _through_dd(found: re.Match[str]) -> str:
    count = found["count"]
    if re.fullmatch(r"\d+", count) and int(count) <= DEVICE_BYTES:
        return found[0]
    if found["device"] == "/dev/zero":
        return f"dd if=/dev/zero iflag=count_bytes count={count} status=none"
    if re.fullmatch(r"\d+\w*", count):
        raise unfaithful(f"{count} bytes of {found['device']}", found[0])
    return found[0]


def _ends(rest: str, most: int, script: str) -> bool:
    """Whether a pipeline that starts with an endless source ends: its last stages are in `rest`."""
    if "|" not in rest:
        return False
    if not re.search(r"\|\s*(?:head|sed\s+-?n?\s*\d*q|grep\s+-\w*m|read|dd)\b", rest):
        return not _READS_ALL.match(rest.partition("|")[2])
    asked = _COUNT.search(rest)
    if asked:
        unit = {"": 1, "k": 1024, "K": 1024, "M": 1 << 20, "G": 1 << 30}[asked[2]]
        if int(asked[1]) * unit > most:
            raise unfaithful(f"{asked[1]}{asked[2]} bytes of an endless source", script)
    return True


def _follow_for_ever(found: re.Match[str]) -> str:
    count = f" -n {found['count']}" if found["count"] else ""
    shown = f"tail{count}{found['before']}{found['after']}"
    return f"bash -c '{shown}; exec sleep infinity'" if "'" not in shown else found[0]


# Programs of the extra `machine` are real, and say themselves which they are.
_OURS = [name for name in COMMAND_NAMES if not PACKAGE_OF_COMMAND[name].needs]
_NAMES = "|".join(re.escape(name) for name in (*_OURS, "bash", "sh") if name != "[")

_HINT = lazy_compile(
    r"--version|--help|\btar\b|\bg(?:un)?zip\b|\bumask\b|\bcmp\s|\btee\s|\b(?:md5|b2|sha\d+)sum\s"
    r"|\bbase64\s+-|\bxxd\s|\bjoin\s|\bsplit\s.*-|\bcolumn\s.*-|\bod\s.*f"
    r"|command\s+-[vV]|\b(?:type|hash|compgen)\s|srand|systime|strftime|\bnow\b"
    r"|\)T|\\x|if=/dev/|\bhistory\b|\bfc\s|sort\s+.*-\w*R|random-sort|SRANDOM|SECONDS|EPOCH"
)
"""Whether any rule can apply at all: one search for the usual script."""

_ABOUT = lazy_compile(rf"(?<![\w./-])({_NAMES})\s+--(?:version|help)\b")
_SHOWS_FUNCTIONS = lazy_compile(
    r"\b(?:declare|typeset)\s+-\w*[fF]|\b(?:type|compgen)\s|command\s+-[vV]"
)
_STREAMS = frozenset({"cat", "grep", "seq", "tr"})
"""In a pipeline, the embedded shell loses the input of a function with one of these names."""

_LOOKS_UP = lazy_compile(r"command\s+-[vV]|\b(?:type|hash)\s")

CHECKSUMS = ("b2sum", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum")

_SHIMS = (DATA / "shims.bash").read_text("utf-8")
_FUNCTIONS = {
    name: lazy_compile(pattern)
    for name, pattern in (
        *re.findall(r"(?m)^#: (\w+) (.*)$", _SHIMS),
        *((name, rf"\b{name}\s") for name in CHECKSUMS),
    )
}
"""Which scripts a function of `shims.bash` is for."""


def _in_one_line(body: str) -> str:
    """A function of `shims.bash` in one line: errors in it are those of a script's first line."""
    lines = [line.strip() for line in body.splitlines()]
    # After a keyword and after a pattern of `case`, no separator may stand.
    opens = re.compile(r"(?:\b(?:then|else|do|in)|;;|^[^(]*\))$")
    return "".join(line + (" " if opens.search(line) else "; ") for line in lines)


_BODIES: Mapping[str, str] = {
    name: _in_one_line(body)
    for name, body in re.findall(r"(?ms)^(\w+)\(\) \{.*?\n(.*?)\n\}$", _SHIMS)
}

_BODY_OF = {"gunzip": "gzip", **dict.fromkeys(CHECKSUMS, "checksum")}
"""The function of `shims.bash`, where its name is not the command's."""

_BY_FILE = frozenset({"tar", "gzip", "gunzip", "umask", "cmp", "tee", *CHECKSUMS})
"""Functions that are no use to a script which only looks at functions."""

_WORD = lazy_compile(r"[\w.-]+")

_SRANDOM = lazy_compile(r"\$\{SRANDOM\}|\$?\bSRANDOM\b(?!=)")


@dataclass(frozen=True, slots=True)
class Shims:
    """What one script needs."""

    script: str
    functions: str = ""
    """Their definitions, to be run before."""
    prelude: str = ""
    """Runs first, on the script's own first line; ends in a separator."""
    cleanup: str = ""
    """Runs afterwards, before the session is kept."""


def shims_for(
    script: str,
    own_functions: Callable[[], Collection[str]],
    *,
    chance: bool,
    absent: frozenset[str] = MISSING,
) -> Shims:
    """Looks at `script` for what would show the embedded shell; the user's own functions are left alone."""
    bodies: dict[str, str] = {}
    if _HINT.search(script):
        taken = own_functions()
        bodies = {name: body for name, body in _bodies(script, absent).items() if name not in taken}
        script = _SRANDOM.sub(f"$({HELPER} srandom)", script)
    cleanup = f"unset -f {' '.join(bodies)}"
    prelude = ""
    if chance and "DEBUG" not in script:
        prelude = f"trap {HELPER} DEBUG; "
    elif "umask" in bodies and "(" in script and "DEBUG" not in script:
        # Masks set in a subshell end with it: every command says how deep it runs.
        prelude = f"trap '{HELPER} umask \"$BASH_SUBSHELL\"' DEBUG; "
    functions = "; ".join(f"{name}() {{ {body}}}" for name, body in bodies.items())
    cleanups = [*(["trap - DEBUG"] if prelude else []), *([cleanup] if bodies else [])]
    return Shims(script, functions, prelude, "; ".join(cleanups))


def _bodies(script: str, absent: frozenset[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    # A script that looks at functions would see ours; there the texts alone are put right.
    shown = _SHOWS_FUNCTIONS.search(script) is not None
    for match in () if shown else _ABOUT.finditer(script):
        name = match[1]
        if name not in _STREAMS or not re.search(rf"\|&?\s*{name}\b", script):
            found[name] = _BODIES["about"].replace("@NAME@", name)
    if _LOOKS_UP.search(script) and absent & set(_WORD.findall(script)):
        listed = " ".join(sorted(absent))
        for name in ("command", "type", "hash"):
            found[name] = _BODIES[name].replace("@ABSENT@", listed)
    for name, pattern in _FUNCTIONS.items():
        if pattern.search(script) and not (shown and name in _BY_FILE):
            found[name] = _BODIES[_BODY_OF.get(name, name)].replace("@NAME@", name)
    if "compgen" in found:
        found["compgen"] = found["compgen"].replace("@NAMES@", " ".join(found))
    return found
