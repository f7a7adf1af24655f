"""What the well-known servers keep, as tables of records for people and tests to look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentworld_sim.engines.toolkits.toolkit_engine import ServerValues
from agentworld_sim.types.tools import ToolSpec

KINDS: Mapping[str, str] = {"entity": "entities", "relation": "relations"}
"""What the server `memory` keeps, and what the tables of it are called."""


def kept_tables(
    values: Mapping[str, Any], tools: Iterable[ToolSpec]
) -> dict[str, dict[str, Mapping[str, Any]]]:
    """The records of the servers `memory` and `sqlite` in a world's values, by table and a key of their own. Of a
    server whose tools are named `SERVER__tool`, the tables are named so too."""
    tables: dict[str, dict[str, Mapping[str, Any]]] = {}
    servers = {
        (tool.name.rpartition("__")[0], (tool.binds_to or "").partition("/")[0]) for tool in tools
    }
    for server, kind in sorted(servers):
        kept = ServerValues(values, f"{kind}{'@' if server else ''}{server}/")
        before = f"{server}__" if server else ""
        if kind == "memory":
            for one, table in KINDS.items():
                tables[before + table] = kept.items(f"{one}/")
        elif kind == "sqlite":
            # Imported late: most worlds have no database.
            from agentworld_sim.engines.toolkits.sqlite_database import rows_in

            tables.update((before + table, rows) for table, rows in rows_in(kept).items())
    return tables
