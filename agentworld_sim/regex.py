"""Regular expressions that are compiled when they are first used.

Compiling takes 0.1 ms and more each, there are hundreds, and a short command uses a few.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        # Kept in the instance, so that it is looked up once.
        value = getattr(re.compile(*self._given), name)
        setattr(self, name, value)
        return value


def lazy_compile(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, at the first use of one of its methods. The functions of `re` do not take it."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))
