"""The tools of `mcp-server-sqlite`, release 2025.4, and of LangChain's toolkit for SQL, on a database in the world's
state.

The first are held against recordings of the real server. As there, every call has a connection of its own. Nothing is
read or written outside memory, and what would depend on the host is answered from the world.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from agentworld_sim.engines.toolkits import sqlite_database
from agentworld_sim.engines.toolkits.toolkit_engine import ServerTurn
from agentworld_sim.errors import CannotCompute
from agentworld_sim.relational.statement_guard import StatementGuard, StatementRefused
from agentworld_sim.relational.world_functions import install_functions
from agentworld_sim.types.turns import Observation

_WRITES = ("INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER")

_PRAGMAS = frozenset(
    (
        "table_info table_xinfo index_list index_info index_xinfo foreign_key_list"
        " foreign_key_check foreign_keys user_version application_id integrity_check quick_check"
        " case_sensitive_like recursive_triggers defer_foreign_keys ignore_check_constraints encoding"
    ).split()
)

_MEMORY = ("", ":memory:")


class _Database:
    """One connection for each query: what it may not do ends the call as one that cannot be computed."""

    def __init__(self, turn: ServerTurn) -> None:
        self._turn = turn

    def run(self, query: str) -> list[Any]:
        """The server's rows for a query.

        Raises:
            CannotCompute: it asks for what a world does not have, or for too much.
            sqlite3.Error: the database's own error.
        """
        with closing(sqlite_database.connect(self._turn.kept)) as connection:
            try:
                return self._run(connection, query)
            except StatementRefused as refused:
                raise CannotCompute(
                    f"{self._turn.name!r} cannot compute this query: {refused}. Nothing was changed."
                ) from None

    def _run(self, connection: sqlite3.Connection, query: str) -> list[Any]:
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA max_page_count = {sqlite_database.MAX_BYTES // 4096}")
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 2)
        turn = self._turn
        install_functions(connection, clock_us=turn.clock_us, seed=turn.seed)
        guard = StatementGuard(connection, _refusal)
        connection.row_factory = sqlite3.Row
        rows: list[Any]
        with guard.watch():
            cursor = connection.cursor()
            cursor.execute(query)
            if query.strip().upper().startswith(_WRITES):
                connection.commit()
                rows = [{"affected_rows": cursor.rowcount}]
            else:
                rows = guard.fetch(cursor, dict)
            cursor.close()
            # What is not committed when the connection ends is lost.
            connection.rollback()
        connection.row_factory = None
        if connection.total_changes or query.lstrip()[:6].upper() != "SELECT":
            sqlite_database.dump(connection, turn.kept)
        return rows


def _refusal(action: int, first: str | None, second: str | None, *_: str | None) -> str:
    if action == sqlite3.SQLITE_ATTACH and first not in _MEMORY:
        return f"there is no database file {first!r}"
    if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() not in _PRAGMAS:
        return f"PRAGMA {first} is about a database file"
    if action in (sqlite3.SQLITE_CREATE_VTABLE, sqlite3.SQLITE_DROP_VTABLE):
        return f"virtual tables ({second}) are not kept"
    if action == sqlite3.SQLITE_ANALYZE:
        return "ANALYZE keeps statistics of a database file"
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() == "load_extension":
        return "extensions are not loaded"
    return ""


def _as_operation(
    operation: Callable[[ServerTurn, Mapping[str, Any]], str],
) -> Callable[[ServerTurn, Mapping[str, Any]], Observation]:
    def run(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
        try:
            text = operation(turn, arguments)
        except (sqlite3.Error, sqlite3.Warning) as error:
            text = f"Database error: {error}"
        except ValueError as error:
            text = f"Error: {error}"
        # The server says its errors as ordinary texts.
        return Observation(text=text)

    return run


@_as_operation
def read_query(turn: ServerTurn, arguments: Mapping[str, Any]) -> str:
    if not arguments["query"].strip().upper().startswith("SELECT"):
        raise ValueError("Only SELECT queries are allowed for read_query")
    return str(_Database(turn).run(arguments["query"]))


@_as_operation
def write_query(turn: ServerTurn, arguments: Mapping[str, Any]) -> str:
    if arguments["query"].strip().upper().startswith("SELECT"):
        raise ValueError("SELECT queries are not allowed for write_query")
    return str(_Database(turn).run(arguments["query"]))


@_as_operation
def create_table(turn: ServerTurn, arguments: Mapping[str, Any]) -> str:
    if not arguments["query"].strip().upper().startswith("CREATE TABLE"):
        raise ValueError("Only CREATE TABLE statements are allowed")
    _Database(turn).run(arguments["query"])
    return "Table created successfully"


@_as_operation
def list_tables(turn: ServerTurn, arguments: Mapping[str, Any]) -> str:
    return str(_Database(turn).run("SELECT name FROM sqlite_master WHERE type='table'"))


@_as_operation
def describe_table(turn: ServerTurn, arguments: Mapping[str, Any]) -> str:
    return str(_Database(turn).run(f"PRAGMA table_info({arguments['table_name']})"))


MAX_CELL = 300
"""Characters of a text that LangChain shows."""

_SAMPLE = 3
"""Rows of a table that LangChain shows with its schema."""

_ERROR_PAGES = {
    "DatabaseError": "4xp6",
    "DataError": "9h9h",
    "IntegrityError": "gkpj",
    "InterfaceError": "rvf5",
    "NotSupportedError": "tw8g",
    "OperationalError": "e3q8",
    "ProgrammingError": "f405",
}
"""SQLAlchemy's pages about errors."""


def sql_db_query(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    query: str = arguments["query"]
    try:
        rows = _Database(turn).run(query)
    except (sqlite3.Error, sqlite3.Warning) as error:
        kind = type(error).__name__
        page = _ERROR_PAGES.get(kind, "dbapi")
        return Observation(
            text=f"Error: (sqlite3.{kind}) {error}\n[SQL: {query}]\n(Background on this error at:"
            f" https://sqlalche.me/e/20/{page})"
        )
    if not rows or query.strip().upper().startswith(_WRITES):
        return Observation(text="")
    return Observation(text=str([tuple(map(_cell, row.values())) for row in rows]))


def sql_db_list_tables(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    return Observation(text=", ".join(_statements(turn)))


def sql_db_schema(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    wanted = {name.strip() for name in arguments["table_names"].split(",")}
    statements = _statements(turn)
    missing = wanted - statements.keys()
    if missing:
        listed = ", ".join(map(repr, sorted(missing)))
        return Observation(text=f"Error: table_names {{{listed}}} not found in database")
    parts: list[str] = []
    for name in (one for one in statements if one in wanted):
        quoted = '"' + name.replace('"', '""') + '"'
        columns = _Database(turn).run(f"PRAGMA table_info({quoted})")
        rows = _Database(turn).run(f"SELECT * FROM {quoted} LIMIT {_SAMPLE}")
        lines = [[column["name"] for column in columns]]
        lines += [[str(value)[:100] for value in row.values()] for row in rows]
        sample = "\n".join("\t".join(line) for line in lines)
        parts.append(f"\n{statements[name]}\n\n/*\n{_SAMPLE} rows from {name} table:\n{sample}\n*/")
    return Observation(text="\n\n".join(parts))


def _statements(turn: ServerTurn) -> dict[str, str]:
    """The statement that made each table, by name."""
    schema: sqlite_database.Schema = turn.kept.get("schema", [])
    made = {name: sql for kind, name, _, sql in schema if kind == "table"}
    return {name: made[name] for name in sorted(made) if not name.startswith("sqlite_")}


def _cell(value: Any) -> Any:
    if not isinstance(value, str) or len(value) <= MAX_CELL:
        return value
    return value[: MAX_CELL - 3].rsplit(" ", 1)[0] + "..."


@_as_operation
def append_insight(turn: ServerTurn, arguments: Mapping[str, Any]) -> str:
    turn.kept.put("insights", [*turn.kept.get("insights", []), arguments["insight"]])
    return "Insight added to memo"
