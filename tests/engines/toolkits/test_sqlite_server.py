"""SQL in a world: the same everywhere, kept as rows, and within limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.engines.toolkits.toolkit_engine import ServerTurn, ServerValues
from agentworld_sim.errors import CannotCompute
from agentworld_sim.toolkits import known_tools, resolve_function
from tests.properties import examples

TOOLS = [tool for tool in known_tools().values() if tool.toolkit == "sqlite"]
RUN = {tool.name: resolve_function(tool.operation) for tool in TOOLS}
NOON_US = 1_772_445_600_000_000
"""2026-03-02 10:00:00 UTC."""


class Database:
    """What the tools keep from call to call."""

    def __init__(self, *, clock_us: int = NOON_US, seed: int = 1) -> None:
        self.values: dict[str, Any] = {}
        self._clock_us = clock_us
        self._seed = seed

    def __call__(self, tool: str, text: str = "") -> str:
        kept = ServerValues(self.values, "sqlite/")
        turn = ServerTurn(kept, self._clock_us, self._seed, tool)
        name = {"describe_table": "table_name", "append_insight": "insight"}.get(tool, "query")
        said = RUN[tool](turn, {name: text}).text
        merged = {**self.values, **kept.changes}
        self.values = {key: value for key, value in merged.items() if value is not None}
        return said

    def read(self, query: str) -> str:
        return self("read_query", query)

    def write(self, query: str) -> str:
        return self("write_query", query)


def test_the_time_and_chance_are_the_worlds() -> None:
    query = (
        "SELECT datetime('now') a, date() b, CURRENT_TIMESTAMP c, strftime('%H:%M', 'now') d,"
        " datetime('now', 'localtime', '+1 day') e, typeof(random()) f, length(randomblob(3)) g"
    )
    assert Database().read(query) == str(
        [
            {
                "a": "2026-03-02 10:00:00",
                "b": "2026-03-02",
                "c": "2026-03-02 10:00:00",
                "d": "10:00",
                "e": "2026-03-03 10:00:00",
                "f": "integer",
                "g": 3,
            }
        ]
    )
    chance = "SELECT random(), hex(randomblob(8)), sqlite_version()"
    assert Database().read(chance) == Database().read(chance)
    assert Database().read(chance) != Database(seed=2).read(chance)


def test_a_default_of_now_is_the_worlds() -> None:
    database = Database()
    database("create_table", "CREATE TABLE t (a, at TEXT DEFAULT CURRENT_TIMESTAMP)")
    database.write("INSERT INTO t (a) VALUES (1)")
    assert database.read("SELECT at FROM t") == "[{'at': '2026-03-02 10:00:00'}]"


@pytest.mark.parametrize(
    "query, reason",
    [
        ("ATTACH '/etc/passwd' AS x", "there is no database file '/etc/passwd'"),
        ("VACUUM INTO '/tmp/stolen.db'", "there is no database file '/tmp/stolen.db'"),
        ("PRAGMA journal_mode = WAL", "PRAGMA journal_mode is about a database file"),
        ("PRAGMA temp_store_directory = '/tmp'", "PRAGMA temp_store_directory is about"),
        ("CREATE VIRTUAL TABLE f USING fts5(a)", "virtual tables (fts5) are not kept"),
        ("ANALYZE", "ANALYZE keeps statistics"),
        ("WITH x AS (SELECT load_extension('x')) SELECT * FROM x", "extensions are not loaded"),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
            "it takes too long",
        ),
        (
            f"WITH n(i) AS (VALUES {', '.join(['(1)'] * 50)}) SELECT hex(zeroblob(50000)) FROM n",
            "its answer has more than 4,000,000 characters",
        ),
    ],
)
def test_what_a_world_does_not_have_is_refused_and_changes_nothing(query: str, reason: str) -> None:
    database = Database()
    database("create_table", "CREATE TABLE t (a)")
    before = database.values
    with pytest.raises(CannotCompute, match="cannot compute this query") as refused:
        database.write(query)
    assert reason in str(refused.value)
    assert database.values == before


def test_a_database_has_a_limit() -> None:
    database = Database()
    database("create_table", "CREATE TABLE t (a)")
    with pytest.raises(CannotCompute, match="would be too large"):
        database.write(
            "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10)"
            " SELECT zeroblob(7000000) FROM n"
        )


def test_a_turn_records_the_rows_it_changed_and_not_the_table() -> None:
    database = Database()
    database("create_table", "CREATE TABLE t (a)")
    database.write(
        "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000)"
        " SELECT i FROM n"
    )
    before = database.values
    assert database.write("UPDATE t SET a = -1 WHERE a = 500") == "[{'affected_rows': 1}]"
    changed = [key for key in database.values if database.values[key] != before.get(key)]
    assert changed == ["sqlite/rows/t/7"]


def test_whatever_is_kept_comes_back() -> None:
    database = Database()
    for query in (
        'CREATE TABLE odd (a, "b c" TEXT, rowid INT, UNIQUE (a, "b c"))',
        "INSERT INTO odd VALUES (1e308 * 10, 'it''s', 1), (x'00ff', CAST(x'ff41' AS TEXT), 2)",
        "INSERT INTO odd VALUES (-9223372036854775808, char(0) || 'x', NULL), (0.1, '', 3)",
        "CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT)",
        "INSERT INTO counted VALUES (41)",
        "DELETE FROM counted",
        "INSERT INTO counted DEFAULT VALUES",
        "CREATE TABLE checked (a CHECK (a > 0), b AS (a + 1)) STRICT",
        "CREATE TABLE pairs (k TEXT PRIMARY KEY, v) WITHOUT ROWID",
        "INSERT INTO pairs VALUES ('z', 1), ('a', 2)",
        "PRAGMA user_version = 7",
        "DROP TABLE checked",
    ):
        database.write(query)
    values = 'SELECT typeof(a) t, quote(a) a, hex("b c") b, rowid r FROM odd'
    shown = database.read(values)
    assert "Infinity" in shown or "9.0e+999" in shown or "Inf" in shown
    assert "'b': 'FF41'" in shown
    assert database.read("SELECT id FROM counted") == "[{'id': 42}]"
    assert database.write("PRAGMA user_version") == "[{'user_version': 7}]"
    assert database.read("SELECT k FROM pairs") == "[{'k': 'a'}, {'k': 'z'}]"
    before = database.values
    database.write("CREATE TABLE last (a)")
    database.write("DROP TABLE last")
    assert database.values == before
    assert database.read(values) == shown


_CELL = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    # Of others SQLite rounds the last digit of what is written its own way.
    st.floats(allow_nan=False, width=16),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.binary(max_size=5),
)


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, str):
        return f"CAST(x'{value.encode().hex()}' AS TEXT)"
    if isinstance(value, float):
        return repr(value).replace("inf", "9e999")
    return str(value) if value > -(2**63) else "(-9223372036854775807 - 1)"


@given(st.lists(st.tuples(_CELL, _CELL), min_size=1, max_size=8))
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_rows_come_back_as_they_were(rows: list[tuple[Any, Any]]) -> None:
    database = Database()
    database("create_table", "CREATE TABLE t (a, b)")
    listed = ", ".join(f"({_literal(a)}, {_literal(b)})" for a, b in rows)
    assert database.write(f"INSERT INTO t VALUES {listed}") == f"[{{'affected_rows': {len(rows)}}}]"
    assert database.read("SELECT * FROM t") == str([{"a": a, "b": b} for a, b in rows])


async def test_a_world_reopens_where_it_was_and_two_servers_are_two_databases() -> None:
    tools = [tool.spec for tool in TOOLS]
    scenario = Scenario.model_validate({"name": "sql", "domains": ["mcp"], "tools": ["sqlite"]})
    async with await World.create(scenario) as world:
        world.add_tools(replace(tool, name=f"other__{tool.name}") for tool in tools)
        create = {"query": "CREATE TABLE t (a)"}
        turn = await world.step(ToolCall("create_table", create))
        async with await world.fork() as fork:
            listed = await fork.step(ToolCall("list_tables", {}))
        other = await world.step(ToolCall("other__list_tables", {}))
        assert turn.observation.provenance == "computed"
        assert listed.observation.text == "[{'name': 't'}]"
        assert other.observation.text == "[]"
        assert turn.ref != world.ref
