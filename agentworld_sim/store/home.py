"""Where this user's worlds are kept on this machine, and what can be made again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from agentworld_sim.ports.stores import WorldStore
from agentworld_sim.store.urls import is_url

STORE_FILE = "worlds.sqlite"


def home(environment: Mapping[str, str] | None = None) -> Path:
    """The folder of everything we keep: AGENTWORLD_HOME, else the user's data folder."""
    named = (os.environ if environment is None else environment).get("AGENTWORLD_HOME")
    if named:
        return Path(named).expanduser()
    # Imported late: whoever names a folder has no need of it.
    from platformdirs import user_data_path

    return user_data_path("agentworld", appauthor=False)


def cache_home() -> Path:
    """The folder of what can be made again: `cache` in AGENTWORLD_HOME, else the user's cache folder."""
    named = os.environ.get("AGENTWORLD_HOME")
    if named:
        return Path(named).expanduser() / "cache"
    from platformdirs import user_cache_path

    return user_cache_path("agentworld", appauthor=False)


def open_store(where: str | os.PathLike[str] | None = None) -> WorldStore:
    """Opens the store of this user's worlds, and makes it if there is none.

    Args:
        where: A file, or the URL of a PostgreSQL database. By default what AGENTWORLD_STORE names,
            and otherwise `worlds.sqlite` in `home()`.

    Raises:
        UsageError: it is a URL of another kind or one that cannot be read, or psycopg is missing.
        StoreError: it is not a store, is damaged, is from a newer release, or cannot be written.
    """
    if where is None:
        where = os.environ.get("AGENTWORLD_STORE") or home() / STORE_FILE
    if isinstance(where, str) and is_url(where):
        from agentworld_sim.store.postgres_store import PostgresStore

        return PostgresStore(where)
    from agentworld_sim.store.sqlite_store import SqliteStore

    return SqliteStore(Path(where).expanduser())
