"""What differs between two states of a world, for people and for patch tools."""

from agentworld_sim.diff.patch import patch_text
from agentworld_sim.diff.state_diff import (
    FileChange,
    RecordChange,
    StateDiff,
    ValueChange,
    tree_diff,
)

__all__ = ["FileChange", "RecordChange", "StateDiff", "ValueChange", "patch_text", "tree_diff"]
