"""A world's files, its history and an answer, put together for a check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentworld_sim.checks import Check, CheckInput
from agentworld_sim.types.files import FileEntry, FileTree, MemoryBlobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Action, Observation, Provenance, Turn


def turn(
    name: str,
    arguments: Mapping[str, Any],
    text: str = "done",
    *,
    structured: Any = None,
    is_error: bool = False,
    provenance: Provenance = "imagined",
    removed: Sequence[str] = (),
) -> Turn:
    """An earlier turn."""
    return Turn(
        parent="0" * 40,
        call=ToolCall(name, arguments),
        action=Action(f"{name} {dict(arguments)}"),
        observation=Observation(
            text=text, structured=structured, is_error=is_error, provenance=provenance
        ),
        change=StateChange(clock_us=0, files=dict.fromkeys(removed)),
    )


def judged(
    check: Check,
    name: str,
    arguments: Mapping[str, Any],
    text: str = "",
    *,
    structured: Any = None,
    is_error: bool = False,
    files: Mapping[str, str | bytes | FileEntry] | None = None,
    history: Sequence[Turn] = (),
    tool: ToolSpec | None = None,
) -> str | None:
    """What the check says of an imagined answer."""
    blobs = MemoryBlobs()
    entries: list[tuple[str, FileEntry]] = []
    for path, content in (files or {}).items():
        if isinstance(content, FileEntry):
            entries.append((path, content))
            continue
        data = content.encode() if isinstance(content, str) else content
        entries.append((path, FileEntry("file", content=blobs.put(data), size=len(data))))
    state = WorldState(files=FileTree.from_entries(entries), clock_us=0, seed=0)
    observation = Observation(
        text=text, structured=structured, is_error=is_error, provenance="imagined"
    )
    given = CheckInput(
        ToolCall(name, arguments),
        tool or ToolSpec(name=name),
        observation,
        state,
        state,
        blobs,
        history,
    )
    return check.judge(given)
