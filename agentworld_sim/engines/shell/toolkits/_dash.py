"""`/bin/sh` is dash on Debian: what bash says, in dash's words.

Only the texts differ here. What dash cannot do (arrays, `[[`), the embedded bash does all the same.
"""

from __future__ import annotations

import re

_SHELL = "/bin/sh"

_SAID = re.compile(r"(?m)^bash: (?:-c: )?line (\d+): (.*)$(?:\n(?=bash: -c: line \d+: `))?")
_ECHOED = re.compile(r"(?m)^bash: -c: line \d+: `.*(?:\n|$)")

_TEXTS: tuple[tuple[str, str], ...] = (
    (r"(\S+): command not found", r"\1: not found"),
    (
        r"cd: (.+): (?:No such file or directory|Not a directory|Permission denied)",
        r"cd: can't cd to \1",
    ),
    (r"(\S+): unbound variable", r"\1: parameter not set"),
    (r"(\S+): readonly variable", r"\1: is read only"),
    (r"((?:test|\[): )(.+): integer expression expected", r"\1Illegal number: \2"),
    (r"local: can only be used in a function", "local: not in a function"),
    (r"printf: (.+): invalid number", r"printf: \1: expected numeric value"),
    (r"exit: (.+): numeric argument required", r"exit: Illegal number: \1"),
    (r"kill: (.+): no such job", r"kill: No such job: \1"),
    (r"export: `([^=]+).*': not a valid identifier", r"export: \1: bad variable name"),
    (r"(.+): division by 0 .*", r'arithmetic expression: division by zero: "\1"'),
    (r"(\S+): Is a directory", r"\1: Permission denied"),
)


def in_dash_words(text: str, script: str) -> str:
    """`text`, with bash's own messages about `script` as dash would put them."""

    def put(found: re.Match[str]) -> str:
        line, said = int(found[1]), found[2]
        if "syntax error" in said or "unexpected EOF" in said:
            return _syntax(line, said, script) + ("\n" if found[0].endswith("\n") else "")
        return f"{_SHELL}: {line}: {_put(said, script)}" + ("\n" if found[0].endswith("\n") else "")

    return _SAID.sub(put, _ECHOED.sub("", text))


def _put(said: str, script: str) -> str:
    for pattern, put in _TEXTS:
        if (found := re.fullmatch(pattern, said)) is not None:
            return found.expand(put)
    missing = re.fullmatch(r"(.+): No such file or directory", said)
    return said if missing is None else _missing(missing[1], script)


def _missing(path: str, script: str) -> str:
    """What was wanted of a path that is not there shows in the script."""
    name = f"[\"']?{re.escape(path)}"
    forms: tuple[tuple[str, str], ...] = (
        (rf">\s*{name}", f"cannot create {path}: Directory nonexistent"),
        (rf"<\s*{name}", f"cannot open {path}: No such file"),
        (rf"(?:^|[;&|\s])\.\s+{name}", f".: cannot open {path}: No such file"),
    )
    return next((text for form, text in forms if re.search(form, script)), f"{path}: not found")


def _syntax(line: int, said: str, script: str) -> str:
    if "unexpected EOF while looking for matching" in said:
        return f"{_SHELL}: {line}: Syntax error: Unterminated quoted string"
    token = re.search(r"unexpected token `(.+)'", said)
    if token is not None and token[1] != "newline":
        return f'{_SHELL}: {line}: Syntax error: "{token[1]}" unexpected'
    ended = token is None or line == script.rstrip("\n").count("\n") + 1
    at = line if token else line - 1
    return f"{_SHELL}: {at}: Syntax error: {'end of file' if ended else 'newline'} unexpected"
