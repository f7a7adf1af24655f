"""How many commands of the recorded corpus come out the same."""

from __future__ import annotations

from benchmarks._rows import Row, run
from tests.fidelity.adapters import ADAPTERS
from tests.fidelity.compare import compare_topic
from tests.fidelity.model import topics

TARGET = 0.97


def rows() -> list[Row]:
    """The share of equal commands: output, errors and exit code."""
    return run(_compared())


async def _compared() -> list[Row]:
    shares = [await _share(name) for name in ("world", "raw")]
    return [
        Row(
            "commands of the corpus answered as by a real Debian",
            100 * shares[0],
            unit="%",
            alternative="bashkit as it is",
            theirs=100 * shares[1],
            target=f"{TARGET:.0%}",
            met=shares[0] >= TARGET,
        )
    ]


async def _share(adapter: str) -> float:
    commands = [
        command
        for topic in topics([])
        for session in (await compare_topic(topic, ADAPTERS[adapter]())).sessions
        for command in session.commands
    ]
    return sum(command.equal for command in commands) / len(commands)
