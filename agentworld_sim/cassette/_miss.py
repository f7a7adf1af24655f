"""`CassetteMiss`: what is asked for was not recorded, and what comes nearest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agentworld_sim.cassette._matching import differences
from agentworld_sim.errors import WorldFailure

if TYPE_CHECKING:
    from agentworld_sim.cassette._entries import Entry, Key

SHOWN = 3
"""Recorded calls that a message shows."""

SHOWN_DIFFERENCES = 4
"""Of one of them."""

_PARTS = {
    "files": "the world's files",
    "values": "the world's records",
    "env": "exported variables, user or host",
    "seed": "the seed that a fork was given",
    "before": "what was imagined earlier",
}


class CassetteMiss(WorldFailure):
    """A call was not recorded, or not so often. Nobody knows what the answer would have been."""


def miss(
    path: Path, key: Key, recorded: Iterable[Entry], *, exists: bool, why: str
) -> CassetteMiss:
    """The error for a question without an answer.

    Args:
        path: The cassette.
        key: What was asked.
        recorded: All answers of the cassette.
        exists: Whether the file is there.
        why: Why nobody is asked instead.
    """
    where = str(path)
    if not exists:
        return CassetteMiss(
            f"{key.shown()} was not recorded: there is no cassette {where!r}, and {why}."
        )
    known = list(recorded)
    alike = [one for one in known if (one.key.kind, one.key.name) == (key.kind, key.name)]
    lines = [f"{key.shown()} was not recorded in {where!r}."]
    if alike:
        ranked = sorted(
            ((list(_differences(one, key)), one) for one in alike), key=lambda found: len(found[0])
        )
        of = f"Nearest of {len(alike)} recorded:" if len(alike) > 1 else "Recorded is:"
        lines.append(of)
        for found, one in ranked[:SHOWN]:
            shown = "; ".join(found[:SHOWN_DIFFERENCES]) or "what was redacted"
            more = f"; and {len(found) - SHOWN_DIFFERENCES} more" * (len(found) > SHOWN_DIFFERENCES)
            lines += [f"  {one.key.shown()}", f"    differs in {shown}{more}"]
    else:
        names = sorted({one.key.name for one in known})
        lines.append(f"Recorded were calls of: {', '.join(names) or 'none'}.")
    lines.append(f"Nobody else is asked: {why}.")
    return CassetteMiss("\n".join(lines))


def _differences(entry: Entry, key: Key) -> Iterator[str]:
    """How a recorded question differs from one that is asked."""
    recorded = entry.key
    yield from differences(recorded.about, key.about)
    if recorded.occurrence != key.occurrence:
        yield f"how often: recorded for time {recorded.occurrence + 1}, now time {key.occurrence + 1}"
    for part in dict.fromkeys([*recorded.state, *key.state]):
        before, now = recorded.state.get(part, "none"), key.state.get(part, "none")
        if before != now:
            yield f"{_PARTS.get(part, part)} (recorded {before}, now {now})"
    if recorded.text == key.text:
        yield f"{_PARTS['before']} (there are several answers, for other pasts)"
