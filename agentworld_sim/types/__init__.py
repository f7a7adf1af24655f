"""Pure values: tools, calls, turns, states, refs, files. Nothing here imports anything else of ours.

What the modules hold beside these names is for the other packages of the core.
"""

from agentworld_sim.types.conditions import Conditions
from agentworld_sim.types.exchanges import Exchange, FailedStep
from agentworld_sim.types.files import BlobId, Blobs, FileEntry, FileTree, MemoryBlobs, blob_id
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import Access, DomainName, Route, ToolCall, ToolSpec
from agentworld_sim.types.turns import (
    Action,
    CheckVerdict,
    InnerAnswer,
    Observation,
    Provenance,
    Trajectory,
    Turn,
    read_turns,
)

__all__ = [
    "Access",
    "Action",
    "BlobId",
    "Blobs",
    "CheckVerdict",
    "Conditions",
    "DomainName",
    "Exchange",
    "FailedStep",
    "FileEntry",
    "FileTree",
    "InnerAnswer",
    "MemoryBlobs",
    "Observation",
    "Provenance",
    "Route",
    "StateChange",
    "ToolCall",
    "ToolSpec",
    "Trajectory",
    "Turn",
    "WorldRef",
    "WorldState",
    "blob_id",
    "canonical_json",
    "read_turns",
]
