"""What differs between two states of a world, for people and for patch tools."""

from agentworld_sim.diff.patch import FileChange, patch_text, tree_diff
from agentworld_sim.diff.state_diff import RecordChange, StateDiff, ValueChange

__all__ = ["FileChange", "RecordChange", "StateDiff", "ValueChange", "patch_text", "tree_diff"]
