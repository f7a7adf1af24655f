"""Writes the corpus as transitions for `agentworld bench run`: what a real bash printed, and which files it changed.

    python -m tests.fidelity.transitions shell.jsonl

A session ends before the first command whose output depends on the machine.
"""

from __future__ import annotations

import sys
from itertools import takewhile
from pathlib import Path
from typing import Any

from agentworld_sim.bench.transitions import (
    RecordedCall,
    RecordedSession,
    TransitionSet,
    changes_between,
)
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

from .model import FileState, RecordedCommand, read_corpus, topics

TOOL = ToolSpec(
    name="run_command",
    description=(
        "Runs a command in bash on Debian 12, at first in /srv/app, and answers with what it prints."
        " Files and the working directory stay as they were left; variables do not."
    ),
    input_schema={
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    },
    domain="mcp",
)


def transitions() -> TransitionSet:
    """All sessions. The state is a table of files; what is long or no text is there by its hash."""
    found = TransitionSet()
    for topic in topics():
        for recorded in read_corpus(topic):
            commands = list(takewhile(lambda one: not one.volatile, recorded.commands))
            if commands and not recorded.volatile_files:
                found.sessions.append(_session(f"{topic} {recorded.name}", commands))
    return found


def _session(task: str, commands: list[RecordedCommand]) -> RecordedSession:
    held: dict[str, dict[str, Any]] = {}
    calls: list[RecordedCall] = []
    for command in commands:
        after = dict(held)
        for path, state in command.changes.items():
            if state is None:
                after.pop(path, None)
            else:
                after[path] = _record(path, state)
        said = Observation(text=command.stdout + command.stderr, provenance="real")
        changes = changes_between({"files": held}, {"files": after})
        call = ToolCall(TOOL.name, {"command": command.run})
        calls.append(RecordedCall(call=call, observation=said, changes=changes))
        held = after
    return RecordedSession(
        source="bash of Debian 12",
        task=task,
        tools=(TOOL,),
        keys={"files": "path"},
        initial={"files": {}},
        calls=tuple(calls),
    )


def _record(path: str, state: FileState) -> dict[str, Any]:
    return {"path": path} | state.model_dump(exclude_none=True, exclude_defaults=True)


if __name__ == "__main__":
    transitions().write(Path(sys.argv[1]))
