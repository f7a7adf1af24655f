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
from agentworld_sim.checks import Check, CheckInput
from agentworld_sim.controls import Control, Step
from agentworld_sim.diff import FileChange, RecordChange, StateDiff, ValueChange
from agentworld_sim.engines import FunctionEngine
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
from agentworld_sim.ports import Answer, Engine, EngineSession, TurnContext
from agentworld_sim.store import MemoryStore, PostgresStore, SqliteStore, WorldStore
from agentworld_sim.types import FileEntry, FileTree, StateChange, WorldRef, WorldState
from agentworld_sim.types.exchanges import Exchange, FailedStep
from agentworld_sim.types.tools import Access, DomainName, Route, ToolCall, ToolSpec
from agentworld_sim.types.turns import (
    Action,
    CheckVerdict,
    Observation,
    Provenance,
    Trajectory,
    Turn,
    read_turns,
)

if TYPE_CHECKING:
    from agentworld_sim.binding import BoundTool, bind
    from agentworld_sim.episode import Episode, EpisodeStep
    from agentworld_sim.imagination import WorldModel
    from agentworld_sim.llm import ModelSettings
    from agentworld_sim.scenario import Scenario
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
    "Step",
    "StoreError",
    "ToolCall",
    "ToolSpec",
    "Trajectory",
    "Turn",
    "TurnContext",
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


_LATER = {
    "BoundTool": "agentworld_sim.binding",
    "Episode": "agentworld_sim.episode",
    "EpisodeStep": "agentworld_sim.episode",
    "ModelSettings": "agentworld_sim.llm",
    "Scenario": "agentworld_sim.scenario",
    "World": "agentworld_sim.world",
    "WorldModel": "agentworld_sim.imagination",
    "WorldSpec": "agentworld_sim.world_spec",
    "bind": "agentworld_sim.binding",
}


def __getattr__(name: str) -> Any:
    # These bring pydantic, bashkit and httpx2: nobody who only reads a trajectory should wait for them.
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
