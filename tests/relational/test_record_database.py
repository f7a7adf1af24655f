"""Records of a world as SQL: what is read, what a write does to the records, and to nothing else."""

from __future__ import annotations

import pytest

from agentworld_sim.errors import UsageError
from agentworld_sim.relational.layout import Table
from agentworld_sim.relational.record_database import RecordDatabase
from agentworld_sim.relational.record_table import RecordConflict
from agentworld_sim.relational.statement_guard import StatementRefused
from tests.relational.record_worlds import ISSUES, NOTES, USERS, Desk, apply, next_number, values_of

ADA = {"id": 1, "name": "Ada", "active": True, "tags": ["a", "b"], "secret": {"x": [1]}}
BO = {"id": 2, "name": "Bo", "age": 40, "active": False, "address": {"city": "Aldmoor"}}


def desk() -> Desk:
    return Desk(values_of(USERS, ADA, BO))


def test_records_are_rows_in_the_order_of_insertion() -> None:
    result = desk().run("SELECT * FROM users", reads="users")
    assert result.columns == ("id", "name", "age", "active", "tags", "address")
    assert result.rows == (
        (1, "Ada", None, 1, '["a","b"]', None),
        (2, "Bo", 40, 0, None, '{"city":"Aldmoor"}'),
    )
    assert (result.values, result.count) == ({}, 0)


def test_lists_and_objects_are_reached_by_the_functions_for_json() -> None:
    sql = "SELECT name, value FROM users, json_each(tags) WHERE json_each.value > 'a'"
    assert desk().run(sql, reads="users").rows == (("Ada", "b"),)


def test_the_text_of_a_form_or_an_address_finds_a_number() -> None:
    sql = "SELECT name FROM users WHERE id = :id"
    assert desk().run(sql, reads="users", id="2").rows == (("Bo",),)


def test_an_update_changes_what_it_names_and_keeps_what_is_not_declared() -> None:
    result = desk().run("UPDATE users SET age = :age WHERE name = 'Ada'", writes="users", age="37")
    assert result.values == {"tables/users/1": {"n": 1, "record": {**ADA, "age": 37}}}
    assert result.count == 1


def test_an_update_that_changes_nothing_writes_nothing() -> None:
    result = desk().run("UPDATE users SET name = name, active = active", writes="users")
    assert (result.values, result.count) == ({}, 2)


def test_booleans_lists_and_objects_come_back_as_such() -> None:
    sql = """UPDATE users SET active = NOT active, tags = json_array('c', name), age = NULL,
             address = json_set(coalesce(address, '{}'), '$.zip', 7)"""
    result = desk().run(sql, writes="users")
    ada, bo = (result.values[f"tables/users/{key}"]["record"] for key in (1, 2))
    assert ada == {**ADA, "active": False, "tags": ["c", "Ada"], "address": {"zip": 7}}
    address = {"city": "Aldmoor", "zip": 7}
    assert bo == {**BO, "active": True, "tags": ["c", "Bo"], "age": None, "address": address}


def test_a_new_record_gets_the_next_key_and_the_defaults() -> None:
    made = Desk(values_of(ISSUES, {"repo": "core", "number": 4, "state": "closed"}))
    sql = "INSERT INTO issues (repo) VALUES ('core'), ('docs'), ('core')"
    result = made.run(sql, writes="issues")
    assert result.new_records == (
        {"repo": "core", "number": 5, "state": "open"},
        {"repo": "docs", "number": 1, "state": "open"},
        {"repo": "core", "number": 6, "state": "open"},
    )
    assert list(result.values) == [
        f"tables/issues/{key}" for key in ('"core",5', '"docs",1', '"core",6')
    ]
    assert [value["n"] for value in result.values.values()] == [2, 3, 4]
    assert made.run("SELECT max(number) FROM issues", reads="issues").rows == ((6,),)


def test_records_without_a_key_are_named_by_their_number() -> None:
    result = Desk({}).run("INSERT INTO notes VALUES ('hello'), ('again')", writes="notes")
    assert result.values == {
        "tables/notes": {"begun": True},
        "tables/notes/#1": {"n": 1, "record": {"text": "hello"}},
        "tables/notes/#2": {"n": 2, "record": {"text": "again"}},
    }


def test_a_number_that_was_given_out_once_is_never_given_out_again() -> None:
    made = desk()
    gone = made.run("DELETE FROM users WHERE id = 2", writes="users")
    assert gone.values == {"tables/users/2": None, "tables/users/+": 2}
    new = made.run("INSERT INTO users (name) VALUES ('Cy')", writes="users")
    assert new.new_records == ({"id": 3, "name": "Cy"},)


def test_a_key_that_changes_moves_the_record() -> None:
    result = desk().run("UPDATE users SET id = 9 WHERE id = 1", writes="users")
    assert result.values == {
        "tables/users/1": None,
        "tables/users/+": 1,
        "tables/users/9": {"n": 1, "record": {**ADA, "id": 9}},
    }


def test_replacing_a_record_drops_what_it_had() -> None:
    result = desk().run("INSERT OR REPLACE INTO users (id, name) VALUES (2, 'Bea')", writes="users")
    assert result.values["tables/users/2"]["record"] == {"id": 2, "name": "Bea"}


def test_an_upsert_and_what_it_returns() -> None:
    sql = """INSERT INTO users (id, name) VALUES (:id, :name)
             ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING id, name"""
    made = desk()
    assert made.run(sql, writes="users", id=2, name="Bea").rows == ((2, "Bea"),)
    assert made.values["tables/users/2"]["record"] == {**BO, "name": "Bea"}
    assert made.run(sql, writes="users", id=3, name="Cy").new_records == ({"id": 3, "name": "Cy"},)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("INSERT INTO users (id, name) VALUES (1, 'Di')", "UNIQUE constraint failed: users.id"),
        ("INSERT INTO users (age) VALUES (3)", "needs 'name'"),
        ("UPDATE users SET name = 'a name that is much too long'", "'name' of 'users': .*too long"),
        ("UPDATE users SET tags = 'no list'", "'tags' of 'users': .*array"),
        ("UPDATE users SET active = 2", "'active' of 'users': .*boolean"),
        ("UPDATE users SET address = x'00'", "cannot hold a BLOB"),
        ("UPDATE users SET age = 9e999", "cannot hold inf"),
        ("INSERT INTO users (rowid, name) VALUES (99, 'Di')", "cannot choose its row id"),
    ],
)
def test_what_does_not_fit_changes_nothing(sql: str, reason: str) -> None:
    made = desk()
    with pytest.raises(RecordConflict, match=f"{reason}.*Nothing was changed"):
        made.run(sql, writes="users")
    assert made.run("SELECT id, name, age FROM users", reads="users").rows == (
        (1, "Ada", None),
        (2, "Bo", 40),
    )
    assert made.run("INSERT INTO users (name) VALUES ('Cy')", writes="users").new_records == (
        {"id": 3, "name": "Cy"},
    )


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (
            "SELECT nam FROM users",
            r"no such column: nam. Did you mean 'name'\? Tables: users \(id, ",
        ),
        ("SELECT 1 FROM user", r"no such table: user. Did you mean 'users'\?"),
        ("SELEC 1", "syntax error"),
        ("SELECT 1; SELECT 2", "one statement at a time"),
        ("SELECT :missing", "missing"),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
            "too long",
        ),
        ("SELECT zeroblob(9000000)", "too big"),
        (
            "SELECT a.name || hex(zeroblob(3000000)) FROM users AS a",
            "more than 4,000,000 characters",
        ),
    ],
)
def test_a_statement_that_is_wrong_or_too_much_is_refused(sql: str, reason: str) -> None:
    with pytest.raises(StatementRefused, match=reason):
        desk().run(sql, reads="users")


def test_a_table_that_is_not_there_is_named_with_its_neighbours() -> None:
    with pytest.raises(
        UsageError, match=r"no table 'user'. Did you mean 'users'\? Tables: users, issues, notes"
    ):
        desk().run("SELECT 1", reads="user")


@pytest.mark.parametrize(
    "tables",
    [
        (Table(name="Users", fields={"id": {}}), Table(name="users", fields={"id": {}})),
        (Table(name="users", fields={"Id": {}}),),
        (Table(name="sqlite_users", fields={"id": {}}),),
        (Table(name="users", key=()),),
    ],
)
def test_names_that_sql_cannot_have_are_refused(tables: tuple[Table, ...]) -> None:
    with pytest.raises(UsageError, match="cannot be read by SQL"):
        RecordDatabase(tables, next_number)


def test_records_whose_keys_are_one_key_in_sql_are_refused_and_the_database_goes_on() -> None:
    made = Desk(values_of(USERS, {"id": 1, "name": "Ada"}, {"id": "1", "name": "Bo"}))
    with pytest.raises(
        UsageError, match=r"UNIQUE constraint failed: users\.id\. Their keys must differ"
    ):
        made.run("SELECT 1", reads="users")
    made.values = values_of(USERS, ADA)
    assert made.run("SELECT name FROM users", reads="users").rows == (("Ada",),)


def test_time_and_chance_are_the_world_s() -> None:
    sql = "SELECT datetime('now'), current_date, random()"
    one, other = desk().run(sql).rows, desk().run(sql).rows
    assert one == other
    assert one[0][:2] == ("2026-09-21 14:13:20", "2026-09-21")


def test_it_follows_a_state_back_and_into_another_line() -> None:
    made = desk()
    start = made.values
    count = "SELECT count(*), max(id) FROM users"
    made.run("INSERT INTO users (name) VALUES ('Cy')", writes="users")
    line = made.values
    assert made.run(count, reads="users").rows == ((3, 3),)
    made.values = start
    assert made.run(count, reads="users").rows == ((2, 2),)
    made.run("DELETE FROM users", writes="users")
    assert made.run(count, reads="users").rows == ((0, None),)
    made.values = line
    assert made.run(count, reads="users").rows == ((3, 3),)


def test_two_records_that_a_merge_gave_one_number_both_stay() -> None:
    values = values_of(USERS, ADA)
    values["tables/users/2"] = {"n": 1, "record": BO}
    made = Desk(values)
    made.run("UPDATE users SET age = 1", writes="users")
    made.run("INSERT INTO users (name) VALUES ('Cy')", writes="users")
    assert made.run("SELECT id, age FROM users", reads="users").rows == ((1, 1), (2, 1), (3, None))
    assert [made.values[f"tables/users/{key}"]["n"] for key in (1, 2, 3)] == [1, 1, 2]


def test_several_statements_are_one_when_the_last_fails() -> None:
    made = Desk(values_of(USERS, ADA), USERS, NOTES)
    start = made.values
    made.run("INSERT INTO notes VALUES ('first')", writes="notes")
    with pytest.raises(RecordConflict):
        made.run("INSERT INTO users (id, name) VALUES (1, 'Ada')", writes="users")
    made.values = start
    assert made.run("SELECT count(*) FROM notes", reads="notes").rows == ((0,),)
    assert apply(start, {}) == start


def test_records_whose_scope_is_open_have_keys_of_their_own_too() -> None:
    made = Desk(values_of(ISSUES, {"number": 1, "state": "open"}))
    with pytest.raises(RecordConflict, match="two records of 'issues' would be null,1"):
        made.run("INSERT INTO issues (number) VALUES (1)", writes="issues")
    assert made.run("INSERT INTO issues (number) VALUES (2)", writes="issues").count == 1
