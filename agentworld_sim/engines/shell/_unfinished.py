"""Whether an interactive shell would wait for another line."""

from __future__ import annotations

import re
from functools import lru_cache

from bashkit import Bash, BashError

_WAITS = ("unexpected end of file", "unexpected EOF", "unterminated")
_HERE_DOCUMENT = re.compile(r"(?<!<)<<(-?)\s*(['\"]?)([A-Za-z_]\w*)\2(?!<)")
_GOES_ON = re.compile(r"(?:(?<!\\)(?:\\\\)*\\|&&|\|\|?)[ \t]*$")


@lru_cache(maxsize=1)
def _parser() -> Bash:
    return Bash()


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
