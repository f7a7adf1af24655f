"""Transitions of worlds that this library computes: recorded on the spot, with nothing to install.

The worlds of the folder `worlds` are played with calls that a seed draws of their tools and records.
"""

from __future__ import annotations

import copy
import json
import random
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

import yaml

from agentworld_sim._version import __version__
from agentworld_sim.bench.rules import AnswerSchemaCheck, obeys
from agentworld_sim.bench.transitions import (
    RecordedCall,
    RecordedSession,
    Tables,
    TransitionSet,
    changes_between,
    drawn_by_chance,
    parse_json,
)
from agentworld_sim.engines.table import Plan, TableEngine, records_in
from agentworld_sim.runtime.sync import run_sync
from agentworld_sim.scenario import Scenario, declared_controls
from agentworld_sim.store import MemoryStore
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.world import World

WORLDS = ("shop", "tracker", "bank", "shell")
BEGINNINGS = ("usual", "empty", "alone", "many", "alike", "awkward", "long")
"""What sessions begin with: a world's own records, none in its first table, one in each, 150 in the first, some with
ids that look alike, texts and numbers that are easily misread. The last has more calls."""

CALLS = 12
LENGTHS = {"long": 120, "controlled": 40}
MANY = 150
MISSES = 0.15
"""Share of the names in calls that name nothing."""

FOLDER = "/srv/app/"
"""What of a machine's files is its state."""

_DATA = files("agentworld_sim.bench") / "worlds"


def record(seed: int = 0) -> TransitionSet:
    """Plays every world from every beginning.

    Args:
        seed: Of the calls. Equal seeds give equal transitions.
    """
    extra = yaml.safe_load(world_text("beginnings.yaml"))
    found = TransitionSet()
    for name in WORLDS:
        usual = yaml.safe_load(world_text(f"{name}.yaml"))
        for beginning in BEGINNINGS:
            document = copy.deepcopy(usual)
            begin_with(document, beginning, extra[name].get(beginning, ()))
            session = _play(document, f"{name} {beginning} {seed}", beginning)
            found.sessions.append(run_sync(session))
    return found


def record_controlled(seed: int = 0) -> TransitionSet:
    """Plays worlds under controls, of which a model is told in words.

    A verifier stands at the calls whose answers would break it without the control.

    Args:
        seed: Of the calls. Equal seeds give equal transitions.
    """
    found = TransitionSet()
    for name, controls in yaml.safe_load(world_text("controls.yaml")).items():
        for number, control in enumerate(controls, 1):
            document = yaml.safe_load(world_text(f"{name}.yaml"))
            task = f"{name} controlled {seed} {number}"
            found.sessions.append(run_sync(_play(document, task, "controlled", control)))
    return found


def begin_with(document: dict[str, Any], beginning: str, extra: Any) -> None:
    """Gives a scenario the records of a beginning."""
    if "files" in document:
        document["files"] |= extra
        return
    first, *others = document["tables"].values()
    own = first["records"]
    if beginning == "empty":
        first["records"] = []
    elif beginning == "alone":
        for table in (first, *others):
            table["records"] = table["records"][:1]
    elif beginning == "many":
        key = first["key"]
        for number in range(2001, 2001 + MANY - len(own)):
            like = own[number % 5]
            named = number if isinstance(like[key], int) else f"{like[key][:4]}{number}"
            own.append({**like, key: named})
    own += extra


async def _play(
    document: Mapping[str, Any], task: str, beginning: str, control: Mapping[str, Any] | None = None
) -> RecordedSession:
    chance, store = random.Random(task), MemoryStore()
    keys = {name: table["key"] for name, table in document.get("tables", {}).items()}
    texts = json.loads(world_text("awkward_texts.json")) if beginning == "awkward" else ()
    scenario = Scenario.model_validate(document)
    controls = declared_controls([control["control"]]) if control else ()
    async with await World.create(scenario, store=store, model=False, controls=controls) as world:
        plan = TableEngine(**scenario.table_options()).plan(world.tools.values())

        async def tables_of(one: World) -> Tables:
            return tables_in(await one.state(), store, plan, keys)

        # Of a server's tools: that a world binds them to its shell is nobody else's business.
        tools = {
            name: replace(tool, domain="mcp", binds_to=None) for name, tool in world.tools.items()
        }
        initial = before = await tables_of(world)
        calls: list[RecordedCall] = []
        for _ in range(LENGTHS.get(beginning, CALLS)):
            call, at = draw_call(document["tools"], before, chance, texts), world.ref
            said = (await world.step(call)).observation
            after = await tables_of(world)
            changes, by_chance = changes_between(before, after), frozenset[str]()
            if changes:
                # What another seed draws otherwise, the world drew by chance.
                async with await world.fork(at=at, seed=chance.getrandbits(32)) as twin:
                    other = (await twin.step(call)).observation.text
                    there = [parse_json(other), await tables_of(twin)]
                by_chance = drawn_by_chance([parse_json(said.text), after], there)
            verifiers: tuple[Mapping[str, Any], ...] = ()
            if control:
                verifier = {"check": AnswerSchemaCheck.name, "schema": control["schema"]}
                async with await world.fork(at=at, controls=()) as twin:
                    there = (await twin.step(call)).observation
                tool = tools[call.name]
                kept, broken = (obeys([verifier], call, tool, one) for one in (said, there))
                if kept and not broken:
                    verifiers = (verifier,)
            said = replace(said, structured=None, provenance="real")
            calls.append(
                RecordedCall(
                    call=call,
                    observation=said,
                    changes=changes,
                    by_chance=by_chance,
                    verifiers=verifiers,
                )
            )
            before = after
    return RecordedSession(
        source=f"agentworld-sim {__version__}",
        task=task,
        tools=tuple(tools.values()),
        keys=keys or {"files": "path"},
        initial=initial,
        calls=tuple(calls),
        instruction=control["instruction"] if control else "",
    )


def tables_in(state: WorldState, store: MemoryStore, plan: Plan, keys: Mapping[str, str]) -> Tables:
    """The records; where there are no tables, the files of `FOLDER` as such."""
    if keys:
        return {
            name: {str(one[keys[name]]): one for one in held.values()}
            for name, held in records_in(state, plan, tables=keys).items()
        }
    found: dict[str, dict[str, Any]] = {}
    for path, entry in state.files.items():
        if path.startswith(FOLDER):
            found[path] = {"path": path, "type": entry.kind, "mode": f"{entry.mode:o}"}
            if entry.kind == "file":
                found[path]["content"] = store.blobs.get(entry.content).decode()
    return {"files": found}


def draw_call(tools: Any, tables: Tables, chance: random.Random, texts: Any) -> ToolCall:
    """A call of what the records hold and of what they do not; its texts are of `texts`, if there are any."""
    tool = chance.choice(tools)
    schema = tool["input_schema"]
    arguments: dict[str, Any] = {}
    for name, about in schema.get("properties", {}).items():
        there = [one[name] for held in tables.values() for one in held.values() if name in one]
        if name not in schema.get("required", ()) and chance.random() < 0.5:
            continue
        if name == "command":
            arguments[name] = _draw_command(tables["files"], chance)
        elif "enum" in about:
            arguments[name] = chance.choice(about["enum"])
        elif "examples" in about:
            arguments[name] = chance.choice(texts or about["examples"])
        elif "maximum" in about:
            low, high = about["minimum"], about["maximum"]
            arguments[name] = chance.choice((low, high, chance.randint(low, min(high, 500))))
        elif there and chance.random() >= MISSES:
            arguments[name] = chance.choice(there)
        elif about["type"] == "integer":
            arguments[name] = max(there, default=0) + chance.choice((1, 10, 900))
        else:
            arguments[name] = f"{chance.choice(there)[:-1]}x" if there else "nobody"
    return ToolCall(tool["name"], arguments)


def _draw_command(entries: Mapping[str, Mapping[str, Any]], chance: random.Random) -> str:
    words = re.findall(
        "[A-Za-z]{3,12}", " ".join(one.get("content", "") for one in entries.values())
    )

    def fill(place: re.Match[str]) -> str:
        kind = {"file": "file", "folder": "directory", "new": "directory"}.get(place[1])
        there = [path for path, one in entries.items() if one["type"] == kind]
        missing = not there or chance.random() < MISSES
        path = "missing" if missing else shlex.quote(chance.choice(there).removeprefix(FOLDER))
        word = chance.choice(words or ["word"])
        number, mode = str(chance.randint(1, 4)), chance.choice(("600", "644", "755"))
        drawn = {"new": f"{path}/{word.lower()}.txt", "word": word, "number": number, "mode": mode}
        return drawn.get(place[1], path)

    commands = world_text("commands.txt").splitlines()
    return re.sub("{(file|folder|new|word|number|mode)}", fill, chance.choice(commands))


def world_text(name: str) -> str:
    """A file of the folder `worlds`."""
    return (_DATA / name).read_text("utf-8")
