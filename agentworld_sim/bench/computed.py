"""Transitions of worlds that this library computes: recorded on the spot, with nothing to install.

Each world of the folder `computed_worlds` is played with calls that a seed draws, from beginnings that are usual, rare
and adversarial.
"""

from __future__ import annotations

import json
import random
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

import yaml

from agentworld_sim._version import __version__
from agentworld_sim.bench.transitions import (
    RecordedCall,
    RecordedSession,
    Tables,
    TransitionSet,
    changes_between,
    parse_json,
    scalars_of,
)
from agentworld_sim.runtime.sync import run_sync
from agentworld_sim.scenario import Scenario
from agentworld_sim.store import MemoryStore
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.world import World
from agentworld_sim.world_records import records_of

WORLDS = ("shop", "tracker", "bank", "shell")

CALLS, LONG = 12, 120
"""Calls of a session, and of the long one that each world has beside."""

MISSES = 0.15
"""Share of the names in calls that name nothing."""

MANY = 150
"""Records of a first table that has many."""

HIGHEST = (0, 2**31 - 1, 2**53 - 1)
"""Numbers at their limits."""

FOLDER = "/srv/app"
"""What of a machine's files is its state."""

_DATA = files("agentworld_sim.bench") / "computed_worlds"
_NEAR_LETTERS = str.maketrans("01Ol", "Ol01")

Records = dict[str, list[dict[str, Any]]]


def record(seed: int = 0) -> TransitionSet:
    """Plays every world from every beginning.

    Args:
        seed: Of the calls. Equal seeds give equal transitions.
    """
    return run_sync(_record(seed))


async def _record(seed: int) -> TransitionSet:
    return TransitionSet(
        [
            await _play(world, beginning, f"{world} {beginning} {seed}")
            for world in WORLDS
            for beginning in BEGINNINGS
        ]
    )


async def _play(name: str, beginning: str, task: str) -> RecordedSession:
    chance, store = random.Random(task), MemoryStore()
    document = yaml.safe_load((_DATA / f"{name}.yaml").read_text("utf-8"))
    source = CallSource(document, chance, is_awkward=beginning == "awkward")
    _write_records(document, BEGINNINGS[beginning](_read_records(document), source))
    scenario = Scenario.model_validate(document)
    async with await World.create(scenario, store=store, model=False) as world:
        initial = before = await _tables(world, store, source.keys)
        calls: list[RecordedCall] = []
        for _ in range(LONG if beginning == "long" else CALLS):
            call, at = source.draw(before), world.ref
            said = (await world.step(call)).observation
            after = await _tables(world, store, source.keys)
            changes, by_chance = changes_between(before, after), frozenset[str]()
            if changes:
                async with await world.fork(at=at, seed=chance.getrandbits(32)) as twin:
                    other = (await twin.step(call)).observation.text
                    there = [parse_json(other), await _tables(twin, store, source.keys)]
                pairs = zip(
                    scalars_of([parse_json(said.text), after]), scalars_of(there), strict=True
                )
                by_chance = frozenset(str(one) for one, two in pairs if one != two)
            calls.append(
                RecordedCall(
                    call=call,
                    observation=replace(said, structured=None, provenance="real"),
                    changes=changes,
                    by_chance=by_chance,
                )
            )
            before = after
        tools = tuple(replace(tool, domain="mcp", binds_to=None) for tool in world.tools.values())
    return RecordedSession(
        source=f"agentworld-sim {__version__}",
        task=task,
        tools=tools,
        keys=source.keys,
        initial=initial,
        calls=tuple(calls),
    )


async def _tables(world: World, store: MemoryStore, keys: Mapping[str, str]) -> Tables:
    """The world's records, and the files of `FOLDER` as records."""
    state = await world.state()
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name, records in records_of(
        state, scenario=world.scenario, tools=world.tools.values()
    ).items():
        found[name] = {str(one[keys[name]]): one for one in records.values()}
    if "files" in keys:
        found["files"] = {
            path: {"path": path, "type": entry.kind, "mode": f"{entry.mode:o}"}
            | ({"content": store.blobs.get(entry.content).decode()} if entry.kind == "file" else {})
            for path, entry in state.files.items()
            if path.startswith(f"{FOLDER}/")
        }
    return found


class CallSource:
    """Draws calls that a world's tools take, of what its records hold and of what they do not."""

    def __init__(
        self, document: Mapping[str, Any], chance: random.Random, *, is_awkward: bool
    ) -> None:
        """
        Args:
            document: A scenario.
            chance: Draws.
            is_awkward: Whether texts and numbers are such that are easily misread.
        """
        self.chance = chance
        self.is_awkward = is_awkward
        self.texts: list[str] = json.loads((_DATA / "awkward_texts.json").read_text("utf-8"))
        self.keys: dict[str, str] = {
            name: one["key"] for name, one in document.get("tables", {}).items()
        }
        if "files" in document:
            self.keys["files"] = "path"
        self._commands = (_DATA / "commands.txt").read_text("utf-8").splitlines()
        self._tools: list[dict[str, Any]] = document["tools"]
        self.fields: dict[str, Mapping[str, Any]] = {
            name: schema
            for tool in self._tools
            for name, schema in tool["input_schema"].get("properties", {}).items()
        }
        """What tools say of the fields that they take."""

    def draw(self, tables: Tables) -> ToolCall:
        """A call.

        Args:
            tables: The records as they are.
        """
        tool = self.chance.choice(self._tools)
        schema = tool["input_schema"]
        arguments = {
            name: self._command(tables["files"])
            if name == "command"
            else self._value(name, one, tables)
            for name, one in schema.get("properties", {}).items()
            if name in schema.get("required", ()) or self.chance.random() < 0.5
        }
        return ToolCall(tool["name"], arguments)

    def text(self, schema: Mapping[str, Any]) -> str:
        """A free text."""
        return self.chance.choice(self.texts if self.is_awkward else schema["examples"])

    def _value(self, name: str, schema: Mapping[str, Any], tables: Tables) -> Any:
        if "enum" in schema:
            return self.chance.choice(schema["enum"])
        if "examples" in schema:
            return self.text(schema)
        if "maximum" in schema:
            limits = (schema["minimum"], schema["maximum"])
            return self.chance.choice(
                (*limits, self.chance.randint(limits[0], min(limits[1], 500)))
            )
        there = [
            one[name] for records in tables.values() for one in records.values() if name in one
        ]
        if there and self.chance.random() >= MISSES:
            return self.chance.choice(there)
        if schema["type"] == "integer":
            return max(there, default=0) + self.chance.choice((1, 10, 900))
        return f"{self.chance.choice(there)[:-1]}x" if there else "nobody"

    def _command(self, entries: Mapping[str, Mapping[str, Any]]) -> str:
        below = {path.removeprefix(f"{FOLDER}/"): entry for path, entry in entries.items()}
        texts = " ".join(entry.get("content", "") for entry in below.values())
        words = re.findall(r"[A-Za-z]{3,12}", texts) or ["word"]
        drawn: dict[str, Callable[[], str]] = {
            "file": lambda: self._path(below, "file"),
            "folder": lambda: self._path(below, "directory"),
            "new": lambda: (
                f"{self._path(below, 'directory')}/{self.chance.choice(words).lower()}.txt"
            ),
            "word": lambda: self.chance.choice(words),
            "number": lambda: str(self.chance.randint(1, 4)),
            "mode": lambda: self.chance.choice(("600", "644", "700", "755")),
        }
        command = self.chance.choice(self._commands)
        return re.sub(
            r"{(file|folder|new|word|number|mode)}", lambda found: drawn[found[1]](), command
        )

    def _path(self, entries: Mapping[str, Mapping[str, Any]], kind: str) -> str:
        there = [path for path, entry in entries.items() if entry["type"] == kind]
        missing = not there or self.chance.random() < MISSES
        return "missing" if missing else shlex.quote(self.chance.choice(there))


def _read_records(document: Mapping[str, Any]) -> Records:
    found = {name: one["records"] for name, one in document.get("tables", {}).items()}
    if "files" in document:
        found["files"] = [
            {"path": path, **(one if isinstance(one, dict) else {"text": one})}
            for path, one in document["files"].items()
        ]
    return found


def _write_records(document: dict[str, Any], records: Records) -> None:
    for name, some in records.items():
        if name == "files":
            document["files"] = {one.pop("path"): one for one in some}
        else:
            document["tables"][name]["records"] = some


def _usual(records: Records, source: CallSource) -> Records:
    return records


def _empty(records: Records, source: CallSource) -> Records:
    first, *_ = records
    return {**records, first: []}


def _alone(records: Records, source: CallSource) -> Records:
    return {name: some[:1] for name, some in records.items()}


def _many(records: Records, source: CallSource) -> Records:
    first, *_ = records
    some, key = records[first], source.keys[first]
    for number in range(MANY - len(some)):
        some.append({**source.chance.choice(some), key: _numbered(some[-1][key], number)})
    return records


def _numbered(key: Any, number: int) -> Any:
    if isinstance(key, int):
        return key + 1
    return re.sub(r"\d*(?=\.\w+$|$)", lambda found: str(int(found[0] or number) + 1), key, count=1)


def _alike(records: Records, source: CallSource) -> Records:
    first, *_ = records
    key = source.keys[first]
    for one in records[first][:3]:
        own = one[key]
        near = (own * 10, own + 1000) if isinstance(own, int) else _near(own)
        records[first] += [{**source.chance.choice(records[first]), key: other} for other in near]
    return records


def _near(key: str) -> list[str]:
    return sorted({key.translate(_NEAR_LETTERS), key.swapcase(), f"{key}0"} - {key})


def _awkward(records: Records, source: CallSource) -> Records:
    for one in (one for some in records.values() for one in some):
        for name in [name for name in one if name in source.fields]:
            if "examples" in source.fields[name]:
                one[name] = source.text(source.fields[name])
            elif "maximum" in source.fields[name]:
                one[name] = source.chance.choice(HIGHEST)
    if "files" in records:
        names = [text for text in source.texts if text.isprintable() and "/" not in text]
        records["files"] += [
            {"path": f"{FOLDER}/notes/{name}", "text": f"{name}\n"} for name in names
        ]
    return records


BEGINNINGS: Mapping[str, Callable[[Records, CallSource], Records]] = {
    "usual": _usual,
    "empty": _empty,
    "alone": _alone,
    "many": _many,
    "alike": _alike,
    "awkward": _awkward,
    "long": _usual,
}
"""What a session begins with: the world's own records, none in the first table, one in each, many, some whose ids look
alike, texts and numbers that are easily misread. The last has more calls."""
