"""A cassette is a trajectory with a header: what was recorded, and what of it may differ.

The file is JSON Lines. The first line is the header, each further one a call with its answer, or a note
on what was noticed while recording. A file is only ever appended to, by whole lines.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, cast

from agentworld_sim.cassette._matching import leaves, without_volatile
from agentworld_sim.errors import UsageError
from agentworld_sim.redaction.records import Redaction
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.refs import hashed
from agentworld_sim.types.state import StateChange
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Action, Observation, Trajectory, Turn

logger = logging.getLogger(__name__)

FORMAT = 1
"""Version of the format, in the header."""

MAX_REMEMBERED = 1_000
"""Calls whose answers a recorder remembers, to notice what differs when they are repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cassette:
    """Recorded calls with their answers, redacted."""

    trajectory: Trajectory
    tools: tuple[ToolSpec, ...] = ()
    """The tools as they were when it was recorded."""
    volatile: tuple[str, ...] = ()
    """Fields whose values differ each time, as `tool.path`: `*.created_at`, `get_time.now`."""
    suggested: tuple[str, ...] = ()
    """Fields that differed in answers to equal calls, and are not among `volatile`."""
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many secrets of each kind were taken out."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """Raises `UsageError` when it is no cassette, naming the line."""
        try:
            text = path.read_bytes()
        except OSError as error:
            raise UsageError(
                f"the cassette {str(path)!r} cannot be read: {error.strerror}."
            ) from error
        lines = text.split(b"\n")
        if lines.pop():
            logger.warning("the last line of %s is torn and left out", path)
        if not lines:
            raise UsageError(f"{str(path)!r} is no cassette: it is empty.")
        header = _parsed(path, 1, lines[0])
        version = header.get("agentworld_cassette")
        if version is None:
            raise UsageError(f"{str(path)!r} is no cassette: line 1 is not a header.")
        if version != FORMAT:
            raise UsageError(
                f"the cassette {str(path)!r} has format {version!r}, and this version reads {FORMAT}."
                " Record it again, or use the version that wrote it."
            )
        return cls(**_read(path, header, lines[1:]))


class Recorder:
    """Appends real calls and their answers to a cassette file, one whole line at a time."""

    def __init__(
        self,
        path: Path,
        *,
        tools: Sequence[ToolSpec],
        volatile: Sequence[str] = (),
        secrets: Iterable[str] = (),
    ):
        """
        Args:
            path: The file. One that is there is continued.
            tools: The tools as they are.
            volatile: Fields whose values differ each time.
            secrets: Values that must not be in the file, whatever they look like.

        Raises:
            UsageError: it cannot be written, or is no cassette.
        """
        self._path = path
        self._secrets = tuple(secrets)
        self._lock = threading.Lock()
        self._answers: dict[str, object] = {}
        self._noticed: set[str] = set()
        redaction = Redaction(self._secrets)
        header = {
            "agentworld_cassette": FORMAT,
            "tools": redaction.value([tool.to_json() for tool in tools]),
            "volatile": list(volatile),
        }
        try:
            self._begin(header)
        except OSError as error:
            raise UsageError(f"the cassette {str(path)!r} cannot be written: {error}.") from error
        self._volatile = (*volatile, *Cassette.load(path).volatile)

    def add(self, call: ToolCall, observation: Observation) -> None:
        """Records one call, redacted. Safe to call from several tasks and threads."""
        redaction = Redaction(self._secrets)
        entry: dict[str, Any] = {
            "call": {
                "name": call.name,
                "arguments": redaction.value(call.arguments),
            },
            "observation": redaction.value(observation.to_json()),
        }
        if redaction.counts:
            entry["redacted"] = dict(redaction.counts)
        with self._lock:
            lines = [entry]
            noticed = self._notice(call.name, entry)
            if noticed:
                lines.append({"suggested": sorted(noticed)})
            self._append(lines)

    def _begin(self, header: Mapping[str, Any]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = canonical_json(header).encode() + b"\n"
        # Another process may begin the same file: only one of them writes the header.
        scratch = self._path.with_name(f".{self._path.name}.{os.getpid()}.{threading.get_ident()}")
        # What real servers said is not for other users of the host.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(scratch, flags, 0o600), "wb") as file:
            file.write(line)
        try:
            os.link(scratch, self._path)
        except FileExistsError:
            self._mend()
        finally:
            scratch.unlink()

    def _mend(self) -> None:
        """Ends a line that was torn, so that the next one is whole."""
        with self._path.open("rb+") as file:
            if file.seek(0, os.SEEK_END) == 0:
                raise UsageError(f"{str(self._path)!r} is no cassette: it is empty. Remove it.")
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                content = self._path.read_bytes()
                file.truncate(content.rfind(b"\n") + 1)

    def _append(self, entries: Sequence[Mapping[str, Any]]) -> None:
        text = "".join(canonical_json(entry) + "\n" for entry in entries).encode()
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            # One write: what other processes append stands before or after it.
            written = os.write(descriptor, text)
            while written < len(text):
                written += os.write(descriptor, text[written:])
        finally:
            os.close(descriptor)

    def _notice(self, tool: str, entry: Mapping[str, Any]) -> set[str]:
        """Fields that differ from the answer to an equal call before."""
        arguments = without_volatile(tool, entry["call"]["arguments"], self._volatile)
        key = canonical_json([tool, arguments])
        answer = without_volatile(tool, _content(entry["observation"]), self._volatile)
        before = self._answers.get(key)
        if len(self._answers) < MAX_REMEMBERED:
            self._answers[key] = answer
        if before is None:
            return set()
        new = _differing(tool, before, answer) - self._noticed
        self._noticed |= new
        return new


def _differing(tool: str, one: object, other: object) -> set[str]:
    """Paths whose values differ between two answers of one form."""
    ones, others = list(leaves(tool, one)), list(leaves(tool, other))
    if [path for path, _ in ones] != [path for path, _ in others]:
        return set()
    return {
        path
        for (path, first), (_, second) in zip(ones, others, strict=True)
        if path != tool and canonical_json(first) != canonical_json(second)
    }


def _content(observation: Mapping[str, Any]) -> object:
    """What is in an answer, as JSON if it is any."""
    if "structured" in observation:
        return observation["structured"]
    try:
        return json.loads(observation["text"])
    except ValueError:
        return observation["text"]


def _parsed(path: Path, number: int, line: bytes) -> Mapping[str, Any]:
    try:
        value: object = json.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise UsageError(f"{str(path)!r} is no cassette: line {number} is not a JSON object.")
    return cast("Mapping[str, Any]", value)


def _read(path: Path, header: Mapping[str, Any], lines: Sequence[bytes]) -> dict[str, Any]:
    turns: list[Turn] = []
    suggested: list[str] = []
    redacted: Counter[str] = Counter()
    parent = hashed("cassette", header.get("tools", []))
    for number, line in enumerate(lines, 2):
        entry = _parsed(path, number, line)
        if "suggested" in entry:
            suggested += entry["suggested"]
            continue
        try:
            turn = _turn(parent, entry)
            redacted.update(entry.get("redacted", {}))
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError(
                f"{str(path)!r} is no cassette: line {number} is no call with its answer ({error})."
            ) from None
        parent = turn.ref
        turns.append(turn)
    volatile = tuple(header.get("volatile", ()))
    return {
        "trajectory": Trajectory(tuple(turns)),
        "tools": tuple(ToolSpec.from_json(tool) for tool in header.get("tools", ())),
        "volatile": volatile,
        "suggested": tuple(sorted(set(suggested) - set(volatile))),
        "redacted": dict(redacted),
    }


def _turn(parent: str, entry: Mapping[str, Any]) -> Turn:
    call = ToolCall(entry["call"]["name"], entry["call"]["arguments"])
    observation = Observation.from_json(entry["observation"])
    return Turn(
        parent=parent,
        call=call,
        action=Action(canonical_json({"name": call.name, "arguments": call.arguments})),
        observation=replace(observation, content=tuple(observation.content)),
        change=StateChange(clock_us=0),
    )
