"""Where worlds live: in memory, in a SQLite file, in a PostgreSQL database."""

from agentworld_sim.diff.patch import FileChange, patch_text, tree_diff
from agentworld_sim.store.base import Origin, WorldRecord, WorldStore
from agentworld_sim.store.home import open_store
from agentworld_sim.store.memory import MemoryStore
from agentworld_sim.store.postgres import PostgresStore
from agentworld_sim.store.sqlite import SqliteStore
from agentworld_sim.types.conditions import Conditions
from agentworld_sim.types.files import BlobId, Blobs, FileEntry, FileTree, MemoryBlobs, blob_id
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import StateChange, WorldState

__all__ = [
    "MemoryStore",
    "Origin",
    "PostgresStore",
    "SqliteStore",
    "WorldRecord",
    "WorldStore",
    "open_store",
]
