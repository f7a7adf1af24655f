"""SQL functions that answer from the world: its clock for `datetime('now')`, its random source for `random()`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Any

VERSION = "3.46.1"
"""What `sqlite_version()` says, wherever the world runs."""

_SOURCE = "2024-08-13 09:16:08 c9c2ab54ba1f5f46360f1b4f35d849cd3f080e6fc2b6c60e91b16c63f69a1e33"
_MOMENTS = ("date", "time", "datetime", "julianday", "unixepoch")
_RANDOM_BYTES = 1_000_000


def install_functions(connection: sqlite3.Connection, *, clock_us: int, seed: int) -> None:
    """Makes the functions of `connection` answer from the world's clock and random source."""
    now = f"{datetime.fromtimestamp(clock_us // 1000 / 1000, UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3]
    for name in _MOMENTS:
        connection.create_function(name, -1, _at(name, now, first=0), deterministic=True)
    connection.create_function("strftime", -1, _at("strftime", now, first=1), deterministic=True)
    for name, length in (("date", 10), ("time", 8), ("timestamp", 19)):
        text = now[11:19] if name == "time" else now[:length]
        connection.create_function(f"current_{name}", 0, partial(str, text))
    chance = Random(seed)
    connection.create_function("random", 0, lambda: chance.getrandbits(64) - 2**63)
    connection.create_function("randomblob", 1, partial(_bytes, chance))
    connection.create_function("sqlite_version", 0, lambda: VERSION)
    connection.create_function("sqlite_source_id", 0, lambda: _SOURCE)


def _bytes(chance: Random, count: Any) -> bytes:
    if not isinstance(count, int | float | str):
        return chance.randbytes(1)
    try:
        wanted = int(float(count))
    except ValueError:
        wanted = 1
    return chance.randbytes(min(max(wanted, 1), _RANDOM_BYTES))


def _at(name: str, now: str, *, first: int) -> Callable[..., Any]:
    """The function of that name, with `now` for the moment that is not named."""

    def run(*arguments: Any) -> Any:
        given = list(arguments)
        if len(given) == first:
            given.append(now)
        elif len(given) > first and isinstance(given[first], str) and given[first].lower() == "now":
            given[first] = now
        # The world's time zone is UTC: between it and itself there is nothing to reckon.
        given = [one for one in given if one not in ("localtime", "utc")]
        marks = ", ".join("?" * len(given))
        # The function itself, on a connection that has it still.
        with closing(sqlite3.connect(":memory:")) as plain:
            return plain.execute(f"SELECT {name}({marks})", given).fetchone()[0]

    return run
