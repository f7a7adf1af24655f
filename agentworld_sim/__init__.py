"""An agent keeps its own tools; the world behind them becomes simulated.

```python
from agentworld_sim import Scenario, ToolCall, World

async with await World.create(Scenario.load("failing-test")) as world:
    turn = await world.step(ToolCall("bash", {"command": "make test"}))
    print(turn.observation.text)
```
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentworld_sim._version import __version__
from agentworld_sim.errors import (
    AccessRefused,
    AgentworldError,
    ArgumentsError,
    EngineFailure,
    HeadMoved,
    ModelFailure,
    ObservationRejected,
    ScenarioError,
    StoreError,
    UnknownToolError,
    UnknownWorldError,
    UsageError,
    WorldFailure,
)

if TYPE_CHECKING:
    from agentworld_sim.binding import BoundTool, bind
    from agentworld_sim.checks import Check, CheckInput
    from agentworld_sim.controls import Control
    from agentworld_sim.diff import FileChange, RecordChange, StateDiff, ValueChange
    from agentworld_sim.engines import FunctionEngine
    from agentworld_sim.episode import Episode, EpisodeStep
    from agentworld_sim.imagination import WorldModel
    from agentworld_sim.llm import ModelSettings
    from agentworld_sim.ports import Answer, Engine, EngineSession, StepContext
    from agentworld_sim.scenario import Scenario
    from agentworld_sim.store import MemoryStore, PostgresStore, SqliteStore, WorldStore
    from agentworld_sim.types import (
        Access,
        Action,
        CheckVerdict,
        DomainName,
        Exchange,
        FailedStep,
        FileEntry,
        FileTree,
        Observation,
        Provenance,
        Route,
        StateChange,
        ToolCall,
        ToolSpec,
        Trajectory,
        Turn,
        WorldRef,
        WorldState,
        read_turns,
    )
    from agentworld_sim.world import World
    from agentworld_sim.world_spec import WorldSpec

__all__ = [
    "Access",
    "AccessRefused",
    "Action",
    "AgentworldError",
    "Answer",
    "ArgumentsError",
    "BoundTool",
    "Check",
    "CheckInput",
    "CheckVerdict",
    "Control",
    "DomainName",
    "Engine",
    "EngineFailure",
    "EngineSession",
    "Episode",
    "EpisodeStep",
    "Exchange",
    "FailedStep",
    "FileChange",
    "FileEntry",
    "FileTree",
    "FunctionEngine",
    "HeadMoved",
    "MemoryStore",
    "ModelFailure",
    "ModelSettings",
    "Observation",
    "ObservationRejected",
    "PostgresStore",
    "Provenance",
    "RecordChange",
    "Route",
    "Scenario",
    "ScenarioError",
    "SqliteStore",
    "StateChange",
    "StateDiff",
    "StepContext",
    "StoreError",
    "ToolCall",
    "ToolSpec",
    "Trajectory",
    "Turn",
    "UnknownToolError",
    "UnknownWorldError",
    "UsageError",
    "ValueChange",
    "World",
    "WorldFailure",
    "WorldModel",
    "WorldRef",
    "WorldSpec",
    "WorldState",
    "WorldStore",
    "__version__",
    "bind",
    "read_turns",
]

_NAMES = {
    "binding": "BoundTool bind",
    "checks": "Check CheckInput",
    "controls": "Control",
    "diff": "FileChange RecordChange StateDiff ValueChange",
    "engines": "FunctionEngine",
    "episode": "Episode EpisodeStep",
    "imagination": "WorldModel",
    "llm": "ModelSettings",
    "ports": "Answer Engine EngineSession StepContext",
    "scenario": "Scenario",
    "store": "MemoryStore PostgresStore SqliteStore WorldStore",
    "types": "Access Action CheckVerdict DomainName Exchange FailedStep FileEntry FileTree Observation"
    " Provenance Route StateChange ToolCall ToolSpec Trajectory Turn WorldRef WorldState read_turns",
    "world": "World",
    "world_spec": "WorldSpec",
}
"""Modules and what is taken from them, when it is first asked for: `agentworld --help` needs none of it, and who
only reads a trajectory does not wait for pydantic, bashkit and a transport."""


def __getattr__(name: str) -> Any:
    for module, names in _NAMES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
