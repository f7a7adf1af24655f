"""Evidence: what checks need to judge a prediction, long after the world is gone.

Checks look at the call, its tool, the turns before and the files that a call names. A sample carries
these as JSON, and `check_input` builds from them what a check is given at run time. Kept of the state
are the entries near the paths that the calls name and the contents of those files; sessions and values
are not kept. All of it or nothing: with half of the history, a check might refuse what is right.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentworld_sim.checks import DEFAULT_CHECKS, Check, CheckInput
from agentworld_sim.checks.file_calls import clean_path, follow_links, path_of
from agentworld_sim.domains import domain
from agentworld_sim.engines.model_binding import TURN_US
from agentworld_sim.imagination.conversation import MARKER
from agentworld_sim.scoring.samples import Message, PredictionSample
from agentworld_sim.scoring.wire_text import parse_action, parse_call
from agentworld_sim.types.files import (
    BlobId,
    Blobs,
    FileEntry,
    FileTree,
    MemoryBlobs,
    parent_of,
)
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import DomainName, ToolCall, ToolSpec
from agentworld_sim.types.turns import Action, Observation, Turn

EVIDENCE_BYTES = 1_000_000
"""Most of one sample's evidence."""


def evidence_of(
    turn: Turn,
    tool: ToolSpec,
    history: Sequence[Turn],
    *,
    before: WorldState | None = None,
    blobs: Blobs | None = None,
    most_bytes: int = EVIDENCE_BYTES,
) -> dict[str, Any] | None:
    """The evidence about a turn as JSON; `None` when it is larger than allowed.

    Args:
        turn: The turn that is predicted.
        tool: Its tool, as bound.
        history: The turns before it, oldest first.
        before: The state before it.
        blobs: Contents of the state's files.
        most_bytes: Most bytes of the JSON text.
    """
    evidence: dict[str, Any] = {
        "provenance": turn.observation.provenance,
        "call": _call_json(turn.call),
        "tool": tool.to_json(),
        "history": [_turn_json(one) for one in history],
    }
    if before is not None:
        entries, contents = _near(before.files, turn.call, history)
        evidence["before"] = {
            "clock_us": before.clock_us,
            "seed": before.seed,
            "files": {path: entry.to_json() for path, entry in entries.items()},
        }
        evidence["blobs"] = _blobs_json(contents, blobs, most_bytes)
    size = len(canonical_json(evidence).encode())
    return evidence if size <= most_bytes else None


def check_input(sample: PredictionSample, observation: Observation) -> CheckInput | None:
    """What checks are given about a prediction, as at run time; `None` without evidence.

    Args:
        observation: The prediction; see `read_observation`.
    """
    evidence = sample.evidence
    if evidence is None:
        return None
    held = MemoryBlobs()
    for content in evidence.get("blobs", {}).values():
        held.put(_content(content))
    before = _state(evidence.get("before"))
    history = (
        tuple(_turn(one) for one in evidence["history"])
        if "history" in evidence
        else turns_of_prompt(sample.messages)
    )
    after = before.after(StateChange(clock_us=before.clock_us + TURN_US))
    tool = _tool(sample)
    return CheckInput(_call(evidence), tool, observation, before, after, held, history)


def read_observation(sample: PredictionSample, text: str) -> Observation:
    """The observation that a model's answer is, without tags and thinking.

    Raises:
        ValueError: it is not of the domain's form; the text is the reason.
    """
    if sample.evidence is None:
        return Observation(text=text, provenance="imagined")
    return domain(sample.domain).read(text, _call(sample.evidence), _tool(sample))


def checks_of(name: DomainName) -> tuple[Check, ...]:
    """What a world asks of every imagined answer in a domain."""
    return (*DEFAULT_CHECKS, *domain(name).checks)


def turns_of_prompt(messages: Sequence[Message]) -> tuple[Turn, ...]:
    """The turns that a prompt tells, without what they changed."""
    said = [message for message in messages if message["role"] != "system"]
    turns: list[Turn] = []
    for asked, answer in zip(said[::2], said[1::2], strict=False):
        text = answer["content"].removeprefix(MARKER).removeprefix("\n")
        action = parse_action(asked["content"])
        turns.append(
            _make_turn(parse_call(action), action, Observation(text=text, provenance="real"))
        )
    return tuple(turns)


def _make_turn(
    call: ToolCall,
    action: str,
    observation: Observation,
    files: Mapping[str, FileEntry | None] | None = None,
) -> Turn:
    return Turn(
        parent=WorldRef(""),
        call=call,
        action=Action(action),
        observation=observation,
        change=StateChange(clock_us=0, files=files or {}),
    )


def _call_json(call: ToolCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": dict(call.arguments)}


def _call(evidence: Mapping[str, Any]) -> ToolCall:
    return ToolCall(evidence["call"]["name"], evidence["call"]["arguments"])


def _tool(sample: PredictionSample) -> ToolSpec:
    evidence = sample.evidence or {}
    if "tool" in evidence:
        return ToolSpec.from_json(evidence["tool"])
    return ToolSpec(name=_call(evidence).name, domain=sample.domain)


def _turn_json(turn: Turn) -> dict[str, Any]:
    value: dict[str, Any] = {
        "call": _call_json(turn.call),
        "action": turn.action.text,
        "observation": turn.observation.to_json(),
    }
    if turn.change.files:
        value["files"] = {
            path: None if entry is None else entry.to_json()
            for path, entry in turn.change.files.items()
        }
    return value


def _turn(value: Mapping[str, Any]) -> Turn:
    files = {
        path: None if entry is None else FileEntry.from_json(entry)
        for path, entry in value.get("files", {}).items()
    }
    return _make_turn(
        _call(value), value["action"], Observation.from_json(value["observation"]), files
    )


def _state(value: Mapping[str, Any] | None) -> WorldState:
    if value is None:
        return WorldState(files=FileTree({}), clock_us=0, seed=0)
    files = {path: FileEntry.from_json(entry) for path, entry in value["files"].items()}
    return WorldState(files=FileTree(files), clock_us=value["clock_us"], seed=value["seed"])


def _blobs_json(
    contents: set[BlobId], blobs: Blobs | None, most_bytes: int
) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    room = most_bytes
    for name in sorted(contents):
        try:
            data = blobs.get(name) if blobs is not None else None
        except KeyError:
            data = None
        # What does not fit makes the whole too large, and need not be written out for that.
        if data is None or room < 0:
            continue
        room -= len(data)
        try:
            found[name] = {"text": data.decode()}
        except UnicodeDecodeError:
            found[name] = {"base64": b64encode(data).decode()}
    return found


def _content(value: Mapping[str, str]) -> bytes:
    return value["text"].encode() if "text" in value else b64decode(value["base64"])


def _near(
    files: FileTree, call: ToolCall, history: Sequence[Turn]
) -> tuple[dict[str, FileEntry], set[BlobId]]:
    """The entries that a check may look at, and the contents it may read."""
    named = set(_paths_in(call))
    for turn in history:
        if turn.observation.provenance not in ("computed", "enforced") and not turn.change.files:
            named.update(_paths_in(turn.call))
    contents: set[BlobId] = set()
    wanted: set[str] = {path for turn in history for path in turn.change.files}
    for path in named:
        for one in follow_links(files, path):
            wanted.add(one)
            entry = files.get(one)
            if entry is not None and entry.kind == "file" and entry.content:
                contents.add(entry.content)
    for path in list(named):
        while True:
            ignored = f"{path.rstrip('/')}/.gitignore"
            wanted.update((path, ignored))
            entry = files.get(ignored)
            if entry is not None and entry.kind == "file" and entry.content:
                contents.add(entry.content)
            if path == "/":
                break
            path = parent_of(path)
    near = {
        path: entry
        for path, entry in files.items()
        if path in wanted or (path != "/" and parent_of(path) in named)
    }
    return near, contents


def _paths_in(call: ToolCall) -> Iterator[str]:
    """The absolute paths among a call's arguments."""
    path = path_of(call.arguments)
    if path is not None and path.startswith("/"):
        yield path
    for value in call.arguments.values():
        if isinstance(value, str) and value.startswith(("/", "file://")) and "\n" not in value:
            yield clean_path(value)
