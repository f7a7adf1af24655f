"""The source `files`: JSON Lines of turns or of rows in AgentWorldBench form, and stores of worlds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from glob import glob
from itertools import chain
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from agentworld_sim.assembly import initial_state
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.ports import PromptContext
from agentworld_sim.ports.stores import NewBlobs
from agentworld_sim.scenario import Scenario
from agentworld_sim.scoring import BENCH_FIELDS, BenchRow, domain_of_file, is_bench_row
from agentworld_sim.store import SqliteStore
from agentworld_sim.toolkits.tool_specs import spec_of
from agentworld_sim.types.files import Blobs, MemoryBlobs
from agentworld_sim.types.refs import hash_ref
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import DomainName, ToolSpec
from agentworld_sim.types.turns import Turn
from agentworld_sim.world import World
from agentworld_trainers.data._prepared_trajectory import PreparedTrajectory, prepare_row
from agentworld_trainers.data._source import SourceTrajectory, imagined_tools

TURN_FIELDS = ("parent", "call", "action", "observation", "change", "ref")
_SQLITE = b"SQLite format 3\0"


class FileSettings(BaseModel):
    """`[data.settings]` of the source `files`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scenario: str = ""
    """The scenario of trajectories that are JSON Lines: a file, a folder or a shipped name. It has the
    tools and the first state; a store has them itself."""
    tools: str = ""
    """A JSON file of tools that worlds had beside those of their scenarios, for example of a graph: a list,
    or a listing `{"tools": […]}`, in the form of MCP, of a model's API or of scenarios."""
    domain: DomainName | None = None
    """Of rows in AgentWorldBench form that do not name theirs."""
    task: Literal["file", "folder", "scenario"] = "file"
    """What the task of a trajectory is named after, where train and test are kept apart by it."""


def read_files(
    patterns: Sequence[str], settings: Mapping[str, Any]
) -> Iterator[SourceTrajectory | PreparedTrajectory]:
    """Reads trajectories.

    Raises:
        UsageError: a pattern matches nothing, a setting is wrong, or a line is neither form.
    """
    chosen = _settings(settings)
    paths: dict[str, None] = {}
    for pattern in patterns:
        found = sorted(one for one in glob(pattern, recursive=True) if Path(one).is_file())
        if not found:
            raise UsageError(f"data.files: {pattern!r} matches no file. {_beside(pattern)}")
        paths.update(dict.fromkeys(found))
    if not paths:
        raise UsageError(
            "data.files is empty, and the source is 'files'. Name files of trajectories there, or a"
            " function that makes them in data.source."
        )
    for path in map(Path, paths):
        yield from _read(path, chosen)


def _settings(settings: Mapping[str, Any]) -> FileSettings:
    try:
        return FileSettings.model_validate(dict(settings))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        known = list(FileSettings.model_fields)
        if first["type"] == "extra_forbidden":
            raise UsageError(
                f"data.settings: the source 'files' has no setting {key!r}.{nearest(key, known)} It"
                f" has: {', '.join(known)}."
            ) from None
        raise UsageError(f"data.settings.{key}: {first['msg']}.") from None


def _beside(pattern: str) -> str:
    path = Path(pattern)
    names = [one.name for one in path.parent.glob("*")] if path.parent.is_dir() else []
    hint = nearest(path.name, names).strip()
    return hint or "Paths are relative to the current folder."


def _read(path: Path, settings: FileSettings) -> Iterator[SourceTrajectory | PreparedTrajectory]:
    try:
        with path.open("rb") as file:
            if file.read(len(_SQLITE)) == _SQLITE:
                yield from _worlds(path, settings)
                return
        with path.open(encoding="utf-8") as lines:
            yield from _lines(lines, path, settings)
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{str(path)!r} is not UTF-8, so it holds no trajectories.") from None


def _worlds(path: Path, settings: FileSettings) -> Iterator[SourceTrajectory]:
    """All worlds of a store, each up to its head."""
    from agentworld_sim.runtime.sync import run_sync

    others = _other_tools(settings)
    store = SqliteStore(path)
    try:
        for record in store.worlds():
            world = run_sync(World.open(record.id, store=store, model=False))
            world.add_tools(others)
            turns = run_sync(world.trajectory()).turns
            scenario = world.scenario
            yield SourceTrajectory(
                id=turns[-1].ref if turns else record.id,
                task=scenario.name,
                turns=turns,
                tools=imagined_tools(world.tools, turns),
                prompt_context=_prompt_context(scenario),
                before=store.state(turns[0].parent) if turns else None,
                blobs=store.blobs,
                place=f"{path}, world {record.id!r}",
            )
            run_sync(world.close())
    finally:
        store.close()


def _lines(
    lines: Iterator[str] | Any, path: Path, settings: FileSettings
) -> Iterator[SourceTrajectory | PreparedTrajectory]:
    known = _ScenarioFacts(settings)
    turns: list[Turn] = []
    first = 1
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    for number, line in chain(numbered, [(0, "")]):
        place = f"{path}, line {number}"
        value = _object(line, place) if line else {}
        turn = _turn(value, place) if TURN_FIELDS[0] in value and "call" in value else None
        # Of several trajectories in one file, each begins where no turn before it ended.
        if turns and (turn is None or turn.parent != turns[-1].ref):
            yield known.trajectory(turns, path, f"{path}, line {first}")
            turns = []
        if turn is not None:
            first = first if turns else number
            turns.append(turn)
        elif line:
            if not is_bench_row(value):
                raise UsageError(_neither(value, place))
            domain = settings.domain or domain_of_file(path)
            yield prepare_row(BenchRow.from_json(value, place=place, domain=domain), place=place)


def _other_tools(settings: FileSettings) -> list[ToolSpec]:
    """The tools that the settings name."""
    if not settings.tools:
        return []
    place = f"data.settings.tools: {settings.tools!r}"
    try:
        value: Any = json.loads(Path(settings.tools).read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise UsageError(f"{place} is not JSON: {error}.") from None
    listed: Any = cast("dict[str, Any]", value).get("tools") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise UsageError(f"{place} holds no list of tools, nor an object with one under 'tools'.")
    try:
        return [spec_of(tool) for tool in cast("list[Any]", listed)]
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from None


def _object(line: str, place: str) -> Mapping[str, Any]:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place}: not JSON ({error}).") from None
    if not isinstance(value, dict):
        raise UsageError(f"{place}: {type(value).__name__} is no row. {_FORMS}")
    return cast("dict[str, Any]", value)


def _turn(value: Mapping[str, Any], place: str) -> Turn:
    try:
        return Turn.from_json(value)
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{place}: not a turn of a trajectory: {error!r}.") from None


_FORMS = (
    f"A line is a turn of a trajectory ({', '.join(TURN_FIELDS)}) or a row in AgentWorldBench form"
    f" ({', '.join(BENCH_FIELDS[:-1])})."
)


def _neither(value: Mapping[str, Any], place: str) -> str:
    keys = ", ".join(map(repr, list(value)[:8])) or "no keys"
    hints = [(key, nearest(key, (*TURN_FIELDS, *BENCH_FIELDS))) for key in value]
    hint = next((f" {key!r}:{text}" for key, text in hints if text), "")
    return f"{place}: the row has {keys}, and is neither form.{hint} {_FORMS}"


class _ScenarioFacts:
    """What a scenario says about trajectories that are JSON Lines."""

    def __init__(self, settings: FileSettings) -> None:
        self._settings = settings
        self._opened: tuple[Scenario, Mapping[str, ToolSpec], WorldState, Blobs] | None = None

    def trajectory(self, turns: Sequence[Turn], path: Path, place: str) -> SourceTrajectory:
        if not self._settings.scenario:
            raise UsageError(
                f"{place}: turns do not say which tools there were. Name their scenario in"
                ' [data.settings]: scenario = "FILE"; or name the store of the worlds instead.'
            )
        scenario, tools, state, blobs = self._scenario()
        names = {"file": path.name.partition(".")[0], "folder": path.parent.name}
        root = hash_ref("root", {"scenario": scenario.canonical(), "seed": scenario.seed})
        return SourceTrajectory(
            id=turns[-1].ref,
            task=names.get(self._settings.task, scenario.name),
            turns=tuple(turns),
            tools=imagined_tools(tools, turns),
            prompt_context=_prompt_context(scenario),
            # Of a fork with another seed, or of another version, the first state is not known.
            before=state if turns[0].parent == root else None,
            blobs=blobs,
            place=place,
        )

    def _scenario(self) -> tuple[Scenario, Mapping[str, ToolSpec], WorldState, Blobs]:
        if self._opened is None:
            from agentworld_sim.runtime.sync import run_sync

            scenario = Scenario.load(self._settings.scenario)
            world = run_sync(World.create(scenario, model=False))
            world.add_tools(_other_tools(self._settings))
            tools = world.tools
            run_sync(world.close())
            blobs = NewBlobs(MemoryBlobs())
            self._opened = (scenario, tools, initial_state(scenario, blobs), blobs)
        return self._opened


def _prompt_context(scenario: Scenario) -> PromptContext:
    return scenario.model.to_prompt_context(scenario.instruction, scenario.machine.env)


__all__ = ["FileSettings", "read_files"]
