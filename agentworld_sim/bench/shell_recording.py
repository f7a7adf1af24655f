"""Transitions of the real bash of this machine, in a jail: on the project of the computed worlds with commands that a
seed draws, or with commands of one's own."""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from agentworld_sim.bench.computed_worlds import (
    BEGINNINGS,
    CALLS,
    FOLDER,
    LENGTHS,
    begin_with,
    draw_call,
    world_text,
)
from agentworld_sim.bench.transitions import (
    RecordedCall,
    RecordedSession,
    Tables,
    TransitionSet,
    changes_between,
    drawn_by_chance,
    parse_json,
)
from agentworld_sim.engines.shell.jail import Jail, write_entry
from agentworld_sim.errors import UsageError
from agentworld_sim.scenario import Scenario
from agentworld_sim.types.files import Blobs, FileEntry, MemoryBlobs
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/srv", "LANG": "C.UTF-8", "TZ": "UTC"}


def record_shell(files: Iterable[Path] = (), seed: int = 0) -> TransitionSet:
    """Has bash run commands, each in a shell of its own in `FOLDER`.

    What a command prints or leaves otherwise in a second machine like the first is taken for drawn by chance.

    Args:
        files: A session each, a command in each line, in an empty folder; without any, commands are drawn.
        seed: Of what is drawn.

    Raises:
        UsageError: this host cannot lock a process in, or a file has no commands.
    """
    jail, found, blobs = Jail(), TransitionSet(), MemoryBlobs()
    tools = yaml.safe_load(world_text("shell.yaml"))["tools"]
    tool = ToolSpec.from_json({**tools[0], "domain": "mcp", "binds_to": None})
    for path in files:
        commands = [one for one in path.read_text("utf-8").split("\n") if one.strip()]
        if not commands:
            raise UsageError(f"{str(path)!r} has no commands: write one on each line.")
        found.sessions.append(
            _record(jail, tool, path.stem, [lambda _, one=one: one for one in commands], {}, blobs)
        )
    if found.sessions:
        return found
    extra = yaml.safe_load(world_text("beginnings.yaml"))["shell"]
    for beginning in BEGINNINGS:
        document = yaml.safe_load(world_text("shell.yaml"))
        begin_with(document, beginning, extra.get(beginning, ()))
        task = f"real shell {beginning} {seed}"
        chance = random.Random(task)

        def draw(state: Tables, chance: random.Random = chance) -> str:
            return draw_call(tools, state, chance, ()).arguments["command"]

        tree = Scenario.model_validate(document).initial_files(blobs).tree
        drawn = [draw] * LENGTHS.get(beginning, CALLS)
        found.sessions.append(_record(jail, tool, task, drawn, tree, blobs))
    return found


def _record(
    jail: Jail,
    tool: ToolSpec,
    task: str,
    commands: Iterable[Callable[[Tables], str]],
    tree: Mapping[str, FileEntry],
    blobs: Blobs,
) -> RecordedSession:
    """One session; each command is made of the state before it."""
    calls: list[RecordedCall] = []
    with TemporaryDirectory() as here, TemporaryDirectory() as twin:
        for root in (here, twin):
            Path(root + FOLDER).mkdir(parents=True)
            for path, entry in tree.items():
                if path.startswith(FOLDER):
                    write_entry(Path(root + path), entry, blobs)
        first = before = _read(here)
        for make in commands:
            command = make(before)
            said, other = (_run(jail, root, command) for root in (here, twin))
            after, there = _read(here), _read(twin)
            by_chance = drawn_by_chance([parse_json(said), after], [parse_json(other), there])
            calls.append(
                RecordedCall(
                    call=ToolCall(tool.name, {"command": command}),
                    observation=Observation(text=said, provenance="real"),
                    changes=changes_between(before, after),
                    by_chance=by_chance,
                )
            )
            before = after
    return RecordedSession(
        source="bash of this machine",
        task=task,
        tools=(tool,),
        keys={"files": "path"},
        initial=first,
        calls=tuple(calls),
    )


def _run(jail: Jail, root: str, command: str) -> str:
    argv = ["sh", "-c", 'exec bash -c "$1" 2>&1', "sh", command]
    done = jail.run(root, argv, cwd=FOLDER, env=ENVIRONMENT)
    return done.stdout.decode("utf-8", "replace")


_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}


def _read(root: str) -> Tables:
    found: dict[str, dict[str, Any]] = {}
    for place in sorted(Path(root + FOLDER).rglob("*")):
        path, mode = f"/{place.relative_to(root)}", place.lstat().st_mode
        kind = _KINDS.get(stat.S_IFMT(mode), "special")
        found[path] = {"path": path, "type": kind, "mode": f"{mode & 0o7777:o}"}
        if kind in ("file", "symlink"):
            data = os.readlink(place).encode() if kind == "symlink" else place.read_bytes()
            found[path]["content"] = data.decode("utf-8", "replace")
    return {"files": found}
