"""The world's content as values: files, refs, histories and the stores that keep them."""

from agentworld_sim.state._changes import StateChange, WorldState
from agentworld_sim.state._files import BlobId, Blobs, FileEntry, FileTree, MemoryBlobs, blob_id
from agentworld_sim.state._memory import MemoryStore
from agentworld_sim.state._patch import FileChange, patch_text, tree_diff
from agentworld_sim.state._postgres import PostgresStore
from agentworld_sim.state._refs import WorldRef
from agentworld_sim.state._sqlite import SqliteStore
from agentworld_sim.state._store import Origin, WorldRecord, WorldStore

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
