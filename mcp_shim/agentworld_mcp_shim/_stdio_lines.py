"""Requests on standard input, one a line, and none larger than it may be."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from typing import BinaryIO

MAX_REQUEST_BYTES = 4 * 1024 * 1024
"""Of one request, here and over HTTP, where nobody says otherwise."""

_ID = rb'"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")'
_PLAIN = rb'"(?:jsonrpc|method)"\s*:\s*"[^"]*"'
_ID_FIRST = re.compile(rb"\s*\{\s*(?:" + _PLAIN + rb"\s*,\s*)*" + _ID)
_ID_LAST = re.compile(_ID + rb"\s*(?:,\s*" + _PLAIN + rb"\s*)*\}\s*\Z")
"""Clients write the id before the parameters or after them."""

_SEEN = 1024
"""Bytes at each end of a request in which its id is looked for."""


class LimitedLines:
    """Standard input, for `anyio.wrap_file`."""

    def __init__(
        self, wire: BinaryIO, most: int, refuse: Callable[[int | str | None], None]
    ) -> None:
        """
        Args:
            wire: Where the lines come from.
            most: Bytes that a line may have.
            refuse: Told the id of each request that is larger, where one is found; it is read to its end
                and never kept.
        """
        self._wire = wire
        self._most = most
        self._refuse = refuse

    def readline(self) -> str:
        """The next line that is not too long; empty at the end."""
        while True:
            line = self._wire.readline(self._most + 2)
            if len(line.rstrip(b"\r\n")) <= self._most:
                return line.decode("utf-8", "replace")
            start, end = line[:_SEEN], line[-_SEEN:]
            while line and not line.endswith(b"\n"):
                line = self._wire.readline(65_536)
                end = (end + line)[-_SEEN:]
            found = _ID_FIRST.match(start) or _ID_LAST.search(end)
            self._refuse(None if found is None else json.loads(found[1]))


def own_input() -> BinaryIO:
    """Standard input for us alone: processes that we start find it empty."""
    try:
        wire = os.fdopen(os.dup(0), "rb", closefd=False)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
    except OSError:
        return sys.stdin.buffer
    return wire
