"""What bash says of a script that it cannot parse, and the part of the script that has run until then.

bashkit reports the place and mostly the words of bash. Where it reports something else, this says what
bash 5.2 does.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_REPORT = re.compile(r"(?s)parse error(?: at line (\d+), column (\d+))?: (.*)")
_WORDS_OF_BASH = (
    "syntax error near",
    "syntax error: unexpected end",
    "unexpected EOF",
    "conditional",
)
_TOKEN = re.compile(r"[^\s;&|()<>]+|<<<|&>>|[<>]&|[;&|<>]{1,2}|[()]")
_QUOTED = re.compile(r"'[^']*'|\\.|(?<!\S)#[^\n]*", re.DOTALL)
_UNCLOSED_BRACE = re.compile(r"\$\{[^}]*\Z")


def split_at_syntax_error(
    script: str, error: str, parse: Callable[[str], object]
) -> tuple[str, str]:
    """The lines that run, and the message that follows: bash runs whole commands as it reads them.

    `error` is bashkit's report, and `parse` raises for what does not parse.
    """
    lines = script.split("\n")
    line, said = _in_words_of_bash(script, error)
    for count in range(min(line - 1, len(lines)), 0, -1):
        candidate = "\n".join(lines[:count])
        try:
            parse(candidate)
        except Exception:  # noqa: BLE001, S112 -- any complaint means: not a whole command yet
            continue
        return candidate, complaint(line, said, lines)
    return "", complaint(line, said, lines)


def complaint_of_file(name: str, script: str, error: str) -> str:
    """What bash prints for a script file that it cannot parse. `error` is bashkit's report, which does not count the
    interpreter's line."""
    first = script.startswith("#!")
    line, said = _in_words_of_bash(script.partition("\n")[2] if first else script, error)
    said = complaint(line + first, said, script.split("\n"))
    return said.replace("bash: -c: ", f"{name}: ")


def split_at_unclosed_brace(script: str) -> tuple[str, str] | None:
    """The split at a `${` that never ends, which bashkit lets pass; `None` if there is none."""
    if script.count("${") <= script.count("}") or "<<" in script:
        return None
    bare = _QUOTED.sub(lambda found: "\n" * found[0].count("\n"), script)
    found = _UNCLOSED_BRACE.search(bare)
    if found is None:
        return None
    line, lines = bare.count("\n", 0, found.start()) + 1, script.split("\n")
    return "\n".join(lines[: line - 1]), complaint(line, _missing("}"), lines)


def complaint(line: int, said: str, lines: list[str]) -> str:
    """The line or two that bash prints for a syntax error."""
    text = f"bash: -c: line {line}: {said}\n"
    if said.startswith("syntax error near") and line <= len(lines):
        text += f"bash: -c: line {line}: `{lines[line - 1]}'\n"
    return text


def _in_words_of_bash(script: str, error: str) -> tuple[int, str]:
    """The line at which bash stops, and what it says there."""
    report = _REPORT.match(error)
    line, column, said = (report[1], report[2], report[3]) if report else (None, None, error)
    at = (int(line or 1), int(column or 1))
    lines = script.split("\n")
    if said.startswith(_WORDS_OF_BASH):
        return at[0], said.replace("token `))'", "token `)'")
    if "command substitution" in said:
        return len(lines) + (lines[-1] != ""), _missing(")")
    if "backtick" in said:
        return at[0], _missing("`")
    for part, opening, missing in (
        ("[[ ]]", "[[", "unexpected EOF while looking for `]]'"),
        ("arithmetic", "((", _missing(")")),
    ):
        if part in said:
            return script.count("\n", 0, script.rfind(opening)) + 1, missing
    if "fuel" in said:
        # Of a block that is closed by another's end, bashkit only says that it is lost.
        return len(lines), _unexpected_token(_TOKEN.findall(script)[-1])
    before, rest = lines[at[0] - 1][: at[1] - 1], lines[at[0] - 1][at[1] - 1 :]
    tokens = _TOKEN.findall(rest)
    if "function name" in said:
        tokens = tokens[1:]
    elif not before.rstrip().endswith(("<", ">", "&")):
        tokens = []
    return at[0], _unexpected_token(tokens[0] if tokens else "newline")


def _unexpected_token(token: str) -> str:
    return f"syntax error near unexpected token `{token}'"


def _missing(end: str) -> str:
    return f"unexpected EOF while looking for matching `{end}'"
