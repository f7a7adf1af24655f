"""Where worlds live: in memory, in a SQLite file, in a PostgreSQL database."""

from agentworld_sim.ports.stores import Origin, WorldRecord, WorldStore
from agentworld_sim.store.home import open_store
from agentworld_sim.store.memory import MemoryStore
from agentworld_sim.store.postgres import PostgresStore
from agentworld_sim.store.sqlite import SqliteStore

__all__ = [
    "MemoryStore",
    "Origin",
    "PostgresStore",
    "SqliteStore",
    "WorldRecord",
    "WorldStore",
    "open_store",
]
