"""The world's content as values: files, refs, histories and the stores that keep them."""

from agentworld_sim.diff.patch import FileChange, patch_text, tree_diff
from agentworld_sim.store.base import Origin, WorldRecord, WorldStore
from agentworld_sim.store.memory import MemoryStore
from agentworld_sim.store.postgres import PostgresStore
from agentworld_sim.store.sqlite import SqliteStore
from agentworld_sim.types.files import BlobId, Blobs, FileEntry, FileTree, MemoryBlobs, blob_id
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import StateChange, WorldState

__all__ = [
    "BlobId",
    "Blobs",
    "FileChange",
    "FileEntry",
    "FileTree",
    "MemoryBlobs",
    "MemoryStore",
    "Origin",
    "PostgresStore",
    "SqliteStore",
    "StateChange",
    "WorldRecord",
    "WorldRef",
    "WorldState",
    "WorldStore",
    "blob_id",
    "patch_text",
    "tree_diff",
]
