"""Where this user's worlds are kept on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from agentworld_sim.state._sqlite import SqliteStore

STORE_FILE = "worlds.sqlite"


def home(environment: Mapping[str, str] | None = None) -> Path:
    """The folder of everything we keep: AGENTWORLD_HOME, else the user's data folder.

    Args:
        environment: Instead of this process's own.
    """
    named = (os.environ if environment is None else environment).get("AGENTWORLD_HOME")
    if named:
        return Path(named).expanduser()
    # Imported late: whoever names a folder has no need of it.
    from platformdirs import user_data_path

    return user_data_path("agentworld", appauthor=False)


def open_store(path: str | os.PathLike[str] | None = None) -> SqliteStore:
    """Opens the store of this user's worlds, and makes it if there is none.

    Args:
        path: The store's file; `worlds.sqlite` in `home()` by default.

    Raises:
        StoreError: it is not a store, is damaged, is from a newer release, or cannot be written.
    """
    return SqliteStore(home() / STORE_FILE if path is None else Path(path).expanduser())
