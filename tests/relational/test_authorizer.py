"""A statement touches what it declares, and nothing else, however it is written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.relational.record_table import LOG, RecordConflict
from agentworld_sim.relational.statement_guard import StatementRefused
from tests.properties import examples
from tests.relational.record_worlds import ISSUES, USERS, Desk, values_of

READS = [
    "SELECT state FROM issues",
    "SELECT count(*) FROM issues",
    "SELECT 1 FROM ISSUES",
    "SELECT name FROM users WHERE id IN (SELECT number FROM issues)",
    "SELECT (SELECT max(number) FROM issues)",
    "WITH x AS (SELECT * FROM issues) SELECT * FROM x",
    "WITH users AS (SELECT * FROM issues) SELECT count(*) FROM users",
    "SELECT * FROM (SELECT * FROM issues)",
    "SELECT name FROM users UNION SELECT state FROM issues",
    "SELECT u.name FROM users u LEFT JOIN issues i ON i.number = u.id",
    "SELECT EXISTS (SELECT 1 FROM issues)",
    "SELECT name FROM users ORDER BY (SELECT count(*) FROM issues)",
    "UPDATE users SET name = (SELECT state FROM issues)",
    "UPDATE users SET name = i.state FROM issues i",
    "INSERT INTO users (name) SELECT state FROM issues",
    "DELETE FROM users WHERE EXISTS (SELECT 1 FROM issues)",
    "INSERT INTO users (id, name) VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET name = (SELECT state FROM issues)",
    "INSERT INTO users (name) VALUES ('x') RETURNING (SELECT state FROM issues)",
    "SELECT name FROM sqlite_master",
    "SELECT count(*) FROM sqlite_schema",
    "SELECT * FROM sqlite_temp_master",
    "SELECT * FROM pragma_table_info('issues')",
    "SELECT count(*) FROM pragma_table_list",
    "SELECT * FROM dbstat",
    f'SELECT * FROM "{LOG}"',
    f'SELECT count(*) FROM temp."{LOG}"',
    f'WITH "{LOG} of users: INSERT" AS (SELECT * FROM issues) SELECT * FROM "{LOG} of users: INSERT"',
]
WRITES = [
    "INSERT INTO issues (repo) VALUES ('x')",
    "REPLACE INTO issues (repo) VALUES ('x')",
    "UPDATE issues SET state = 'x'",
    "DELETE FROM issues",
    "INSERT INTO issues (repo) VALUES ('x') RETURNING repo",
    "WITH x AS (SELECT 1) INSERT INTO issues (number) SELECT * FROM x",
    f"INSERT INTO \"{LOG}\" VALUES ('issues', 1, 'new')",
    f'WITH "{LOG} of users: INSERT" AS (SELECT 1) INSERT INTO "{LOG}" SELECT 1, 2, 3',
    f'DELETE FROM "{LOG}"',
    "UPDATE users SET rowid = 9",
    "DELETE FROM sqlite_master",
    "CREATE TABLE t (a)",
    "CREATE TEMP TABLE t (a)",
    "CREATE TABLE t AS SELECT * FROM users",
    "CREATE VIEW v AS SELECT * FROM issues",
    "CREATE TEMP TRIGGER t AFTER INSERT ON users BEGIN DELETE FROM issues; END",
    "CREATE TRIGGER t AFTER INSERT ON users BEGIN DELETE FROM issues; END",
    "CREATE VIRTUAL TABLE t USING fts5(a)",
    "CREATE INDEX i ON users (name)",
    "DROP TABLE users",
    f'DROP TRIGGER "{LOG} of users: INSERT"',
    "ALTER TABLE users RENAME TO others",
    "ALTER TABLE users ADD COLUMN x",
    "PRAGMA table_info(users)",
    "PRAGMA recursive_triggers = OFF",
    "ATTACH ':memory:' AS other",
    "DETACH main",
    "VACUUM",
    "VACUUM INTO '/tmp/relational.sqlite'",
    "ANALYZE",
    "REINDEX",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT s",
    "RELEASE s",
    "SELECT load_extension('x')",
    "SELECT last_insert_rowid()",
    "SELECT total_changes()",
]


def desk() -> Desk:
    users = values_of(USERS, {"id": 1, "name": "Ada"})
    return Desk({**users, **values_of(ISSUES, {"repo": "core", "number": 7, "state": "secret"})})


@pytest.mark.parametrize("sql", [*READS, *WRITES])
def test_what_is_not_declared_is_refused_and_changes_nothing(sql: str) -> None:
    made = desk()
    with pytest.raises(StatementRefused, match="Nothing was changed") as refused:
        made.run(sql, writes="users")
    assert "secret" not in str(refused.value)
    both = "SELECT id, name, state, number FROM users, issues"
    assert made.run(both, reads="users issues").rows == ((1, "Ada", "secret", 7),)
    # The database goes on as before.
    result = made.run("INSERT INTO users (name) VALUES ('Bo')", writes="users")
    assert result.new_records == ({"id": 2, "name": "Bo"},)


@pytest.mark.parametrize(
    "sql",
    ["INSERT INTO users (name) VALUES ('x')", "UPDATE users SET name = 'x'", "DELETE FROM users"],
)
def test_what_may_be_read_may_not_be_written(sql: str) -> None:
    with pytest.raises(StatementRefused, match="it writes 'users', which it does not declare"):
        desk().run(sql, reads="users")


@pytest.mark.parametrize(
    "sql",
    [
        "WITH x AS (SELECT 1) SELECT count(*) FROM x",
        "WITH x(a) AS (SELECT name FROM users) SELECT a FROM x",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
        "SELECT count(*) FROM json_each('[1]')",
        "SELECT * FROM json_tree('[[1]]')",
        "SELECT a.name FROM users a JOIN Users b USING (id) GROUP BY 1 HAVING count(*) > 0",
        "SELECT name, row_number() OVER (ORDER BY id) FROM users",
        "VALUES (1), (2)",
    ],
)
def test_what_is_declared_may_be_said_in_any_way(sql: str) -> None:
    assert desk().run(sql, reads="users").rows


def test_declarations_are_of_one_run() -> None:
    made = desk()
    sql = "SELECT state FROM issues"
    assert made.run(sql, reads="issues").rows == (("secret",),)
    with pytest.raises(StatementRefused, match="it reads 'issues', which it does not declare"):
        made.run(sql, reads="users")


WORDS = st.sampled_from(
    "SELECT * FROM issues users WITH x AS ( ) , state name UPDATE SET = INSERT INTO VALUES 'a' 1 DELETE"
    " WHERE EXISTS UNION RETURNING REPLACE JOIN ON CONFLICT DO NOTHING".split()
)


@given(st.lists(WORDS, max_size=14).map(" ".join))
@settings(max_examples=examples(400), deadline=None)
def test_no_order_of_words_reads_or_writes_what_is_not_declared(sql: str) -> None:
    made = desk()
    before = {key: value for key, value in made.values.items() if "issues" in key}
    try:
        result = made.run(sql, writes="users")
    except StatementRefused:
        return
    except RecordConflict as error:
        assert "Nothing was changed" in str(error)
        return
    assert "secret" not in str(result.rows)
    assert {key: value for key, value in made.values.items() if "issues" in key} == before
