"""Texts: what the embedded shell says, put as the real bash and the real tools put it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from agentworld_sim.engines.shell._syntax import Found, first_error

SYNTAX_ERROR = 2
"""The exit code of a script that bash cannot parse."""

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
    (re.compile(r"(: command not found)\. [A-Z][^\n]*"), r"\1"),
    (re.compile(r"^(tr|basename|comm): missing operand after SET1$", re.MULTILINE), r"\1: missing operand"),
    (re.compile(r"^sort: (?!cannot|invalid|unrec|option|missing|extra|multi|incomp|disorder|\S+:\d+)"
                r"([^\n:]+): (No such file or directory)$", re.MULTILINE),
     r"sort: cannot read: \1: \2"),
    (re.compile(r"^(head|tail): (?!cannot|error|invalid|option)([^\n:]+): (No such file or directory)$",
                re.MULTILINE), r"\1: cannot open '\2' for reading: \3"),
    (re.compile(r"^cut: you must specify a list of fields$", re.MULTILINE),
     "cut: you must specify a list of bytes, characters, or fields"),
    (re.compile(r"^(gzip: invalid option -- '[^\n]*')$(?!\nTry)", re.MULTILINE),
     "\\1\nTry `gzip --help' for more information."),
    (re.compile(r"^base64: invalid input: [^\n]*$", re.MULTILINE), "base64: invalid input"),
    (re.compile(r"^(sed: -e expression #\d+, char \d+: )invalid pattern: regex parse error: [^\n]*"
                r"unclosed group$", re.MULTILINE), r"\1Unmatched ( or \("),
    (re.compile(r"^missing \]$", re.MULTILINE), "bash: line 1: [: missing `]'"),
    (re.compile(r"^awk: fatal: cannot open file `([^'\n]*)' for reading: ([^\n]*)$", re.MULTILINE),
     r"awk: cannot open \1 (\2)"),
    (re.compile(rf"^({_NAMES}: (?:{_QUOTED}))'([^'\n]*)'", re.MULTILINE), "\\1\u2018\\2\u2019"),
    (re.compile(rf"^({_NAMES}): ({_USAGE})$(?!\n(?:Try|Two|Usage))", re.MULTILINE),
     (r"\1: \2" "\n" r"Try '\1 --help' for more information.")),
)  # fmt: skip

_WHOLE_PATH = re.compile(
    rf"^({_NAMES}|grep|sed|awk|diff|cat): (cannot [a-z ]*:? ?'?)?(/[^\n:']+)(?='?:? )", re.MULTILINE
)


def plain(text: str, *, script: str = "", cwd: Callable[[], str] | None = None) -> str:
    """`text` in the words of the real tools.

    Args:
        text: What was written to standard error, or to both outputs where they are one.
        script: What ran: a path that it names is left as it is.
        cwd: Where it ended. bashkit's own tools name files by their whole path, the real ones as
            they were given.
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
    text = _AWK.sub(_as_mawk, text)
    program = re.search(r"\bjq\s+(?:-\S+\s+)*'([^']*)'", script)
    if program and "jq: error: " in text:
        text = re.sub(
            r"(?m)^(jq: error: \S+ is not defined)$",
            rf"\1 at <top-level>, line 1:\n{_raw(program[1])}\njq: 1 compile error",
            text,
        )
        text = text.replace(
            "jq: error: expected closing bracket\n",
            f"jq: error: syntax error, unexpected $end (Unix shell quoting issues?) at <top-level>, line 1:\n{program[1]}\njq: 1 compile error\n",
        )
    for found in re.finditer(r"\bexec\s+([\w./-]+)", script):
        text = re.sub(
            rf"(line \d+): {re.escape(found[1])}: command not found",
            rf"\1: exec: {found[1]}: not found",
            text,
        )
    return text


def _raw(text: str) -> str:
    return text.replace("\\", "\\\\")


_AWK = re.compile(r"(?m)^awk: cmd\. line:(\d+): ([^\n]*)\nawk: cmd\. line:\d+: ( *)\^ ([^\n]*)$")


def _as_mawk(found: re.Match[str]) -> str:
    """Debian's awk is mawk, which is shorter."""
    line, program, at, said = int(found[1]), found[2], len(found[3]), found[4]
    rest = program[at:]
    if "end of string" in said:
        return f"awk: line {line + 1}: missing }} near end of file"
    if "unterminated" in said:
        kind = "string constant" if "string" in said else "regular expression"
        return f"awk: line {line}: runaway {kind} {rest} ..."
    token = re.match(r"\w+|.", rest)
    if token and token[0] == "}" and program[:at].count("(") > program[:at].count(")"):
        return f"awk: line {line}: missing ) near }}"
    if token and token[0] == "}" and program[:at].count("{") <= program[:at].count("}"):
        return f"awk: line {line}: extra '}}'"
    return f"awk: line {line}: syntax error at or near {token[0] if token else 'end of line'}"


_OPERAND = re.compile(r"(?m)^([^\n]*line \d+: )([^\n]*)(: syntax error: operand expected)$")


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


def exited(script: str) -> bool:
    """Whether `script` leaves the shell by itself, so that nothing after it is read."""
    return re.search(r"(?m)^\s*exit\b", script) is not None


def split_at_syntax_error(
    script: str, error: str, parse: Callable[[str], object]
) -> tuple[str, str]:
    """bash runs whole commands as it reads them: what comes before the error has run.

    Returns:
        The lines that run, and the message that follows.
    """
    lines = script.split("\n")
    found = first_error(script)
    if found is None:
        reported = re.search(r"line (\d+)", error)
        found = Found(
            int(reported[1]) if reported else len(lines) + 1, error.partition(": ")[2] or error
        )
    last = min(found.line, len(lines) + 1)
    runnable = ""
    for count in range(min(last, len(lines)) - (last <= len(lines)), 0, -1):
        candidate = "\n".join(lines[:count])
        try:
            parse(candidate)
        except Exception:  # noqa: BLE001, S112 -- any complaint means: not a whole command yet
            continue
        runnable = candidate
        break
    return runnable, complaint(found, lines, "bash: -c")


def unclosed_brace(script: str) -> tuple[str, str] | None:
    """The split at a `${` that never ends, which bashkit lets pass; `None` if there is none."""
    if script.count("${") <= script.count("}"):
        return None
    found = first_error(script)
    if found is None or not found.text.endswith("matching `}'"):
        return None
    lines = script.split("\n")
    return "\n".join(lines[: found.line - 1]), complaint(found, lines, "bash: -c")


def complaint(found: Found, lines: list[str], name: str) -> str:
    """The line or two that bash prints for a syntax error in the script `name`."""
    text = f"{name}: line {found.line}: {found.text}\n"
    if found.shows_line and 0 < found.line <= len(lines):
        text += f"{name}: line {found.line}: `{lines[found.line - 1]}'\n"
    return text
