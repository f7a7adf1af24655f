"""Where worlds live: in memory, in a SQLite file, in a PostgreSQL database."""

from typing import TYPE_CHECKING, Any

from agentworld_sim.ports.stores import Origin, WorldRecord, WorldStore
from agentworld_sim.store.home import open_store
from agentworld_sim.store.memory_store import MemoryStore

if TYPE_CHECKING:
    from agentworld_sim.store.postgres_store import PostgresStore
    from agentworld_sim.store.sqlite_store import SqliteStore

__all__ = [
    "MemoryStore",
    "Origin",
    "PostgresStore",
    "SqliteStore",
    "WorldRecord",
    "WorldStore",
    "open_store",
]


def __getattr__(name: str) -> Any:
    # Most worlds live in memory, and need no database's module.
    if name == "SqliteStore":
        from agentworld_sim.store.sqlite_store import SqliteStore as Store
    elif name == "PostgresStore":
        from agentworld_sim.store.postgres_store import PostgresStore as Store
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return Store
