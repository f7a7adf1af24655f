"""Names as GNU tools write them in messages and, where asked, in listings."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

_LETTER = {"\a": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v"}
_FORCES = frozenset("\n\r\t\\ !\"$&()*;<=>[^`|'?")
"""Characters that make a name need quotes; `{}` alone and leading `#~` do so too."""
_COMPATIBLE = frozenset("%+,-./0123456789:]_@ '")
_CURLY = "\u2018\u2019"
_UNPRINTABLE = frozenset({"Cc", "Cs", "Cn", "Zl", "Zp"})


def quote_for_shell(name: str, *, always: bool = False) -> str:
    """GNU's `shell-escape` style (`shell-escape-always` with `always`), as in messages.

    Source: gnulib's quotearg.c, `quotearg_buffer_restyled`; its slip is kept too: a name that ends in
    an escape and holds a single quote starts with an empty pair of quotes.
    """
    if not always and name and not any(_forces(name, i) for i in range(len(name))):
        return name
    text, pending, compatible = _pass(name, pending=False)
    if "'" in name:
        if compatible:
            return f'"{name}"'
        text, _, _ = _pass(name, pending=pending)
    return f"'{text}'"


def _forces(name: str, index: int) -> bool:
    char = name[index]
    if char in _FORCES or char == ":" or not _printable(char):
        return True
    return (char in "{}" and len(name) == 1) or (char in "#~" and index == 0)


def _pass(name: str, *, pending: bool) -> tuple[str, bool, bool]:
    out: list[str] = []
    all_compatible = True
    for index, char in enumerate(name):
        if char in _LETTER or not _printable(char):
            if not pending:
                out.append("'$'")
                pending = True
            out.append(_escape(char))
            all_compatible = False
            continue
        if char == "'":
            # Closing quote, escaped quote, opening quote: the last one also ends an escape.
            out.append("'\\'")
            pending = False
        if pending:
            out.append("''")
            pending = False
        out.append(char)
        all_compatible &= _compatible(name, index)
    return "".join(out), pending, all_compatible


def _compatible(name: str, index: int) -> bool:
    char = name[index]
    if char.isalnum() or char in _COMPATIBLE or not char.isascii():
        return True
    return (char in "{}" and len(name) == 1) or (char in "#~" and index == 0)


def _printable(char: str) -> bool:
    return unicodedata.category(char) not in _UNPRINTABLE


def _escape(char: str) -> str:
    if char in _LETTER:
        return "\\" + _LETTER[char]
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


def is_utf8(env: Mapping[str, str]) -> bool:
    """Whether messages use the curly quotes of a UTF-8 locale."""
    value = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or "C"
    return "utf" in value.lower()


def quote_for_message(text: str, env: Mapping[str, str]) -> str:
    """GNU's `quote()`: curly quotes in a UTF-8 locale, 'text' in the C locale."""
    curly = is_utf8(env)
    shown = "".join(
        _escape(char)
        if char in _LETTER or not _printable(char)
        else "\\" + char
        if char == "\\" or (char in _CURLY and curly) or (char == "'" and not curly)
        else char
        for char in text
    )
    return _CURLY[0] + shown + _CURLY[1] if curly else f"'{shown}'"
