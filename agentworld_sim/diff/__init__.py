"""What differs between two states of a world, for people and for patch tools."""

from agentworld_sim.diff.patch import FileChange, patch_text, tree_diff

__all__ = ["FileChange", "patch_text", "tree_diff"]
