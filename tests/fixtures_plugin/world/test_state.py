"""What a world holds: files, tables, goals, differences."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from agentworld_fixtures._sim_world import FaultList, SimWorld
from agentworld_sim import FunctionEngine, Observation, ToolSpec, UsageError, World
from agentworld_sim.runtime.sync import run_sync
from tests.fixtures_plugin.world.types_of_fixtures import Failure, Open

Rows = Sequence[dict[str, Any]]


def has_two_lines(text: str) -> bool:
    return text.count("\n") == 2


def has_one_line(text: str) -> bool:
    return text.count("\n") == 1


# Files


def test_files_are_as_expected(sim: SimWorld) -> None:
    sim.call(
        "bash", command="ln -s app.sh src/link.sh; mkdir out; printf '\\377' > out/raw; rm -r data"
    )
    sim.assert_state(
        files={
            "README.md": "# Notes\n",
            "/srv/app/README.md": re.compile("^# N"),
            "src/app.sh": has_two_lines,
            "src/link.sh": "echo one\necho two\n",
            "out": ...,
            "out/raw": b"\xff",
            "data/a.csv": None,
            "data": None,
        }
    )
    assert sim.read_text("src/app.sh") == "echo one\necho two\n"


def test_a_text_that_differs_is_shown_as_a_difference(sim: SimWorld, failure: Failure) -> None:
    sim.call("bash", command="sed -i s/one/1/ src/app.sh")
    assert failure(lambda: sim.assert_state(files={"src/app.sh": "echo one\necho two\n"})) == [
        "/srv/app/src/app.sh differs:",
        "  --- wanted",
        "  +++ found",
        "  @@ -1,2 +1,2 @@",
        "  -echo one",
        "  +echo 1",
        "   echo two",
        "  Changed by:",
        "    #1 bash(command='sed -i s/one/1/ src/app.sh') [computed] (nothing)",
    ]


def test_texts_that_differ_in_their_end_alone(sim: SimWorld, failure: Failure) -> None:
    assert failure(lambda: sim.assert_state(files={"README.md": "# Notes"})) == [
        "/srv/app/README.md differs:",
        "  wanted it to end with '# Notes', it ends with '# Notes\\n'",
        "  No call changed it.",
    ]


WRONG_FILES: list[tuple[str, Any, list[str]]] = [
    ("src/ap.sh", ..., ["/srv/app/src/ap.sh is not there. Did you mean '/srv/app/src/app.sh'?"]),
    ("app.sh", "", ["/srv/app/app.sh is not there. Did you mean '/srv/app/src/app.sh'?"]),
    ("README.md", None, ["/srv/app/README.md is there, wanted none: '# Notes\\n'"]),
    ("README.md", b"x", ["/srv/app/README.md: wanted b'x', got b'# Notes\\n'"]),
    (
        "README.md",
        re.compile("^Notes"),
        ["/srv/app/README.md: wanted /^Notes/, got '# Notes\\n'"],
    ),
    (
        "src/app.sh",
        has_one_line,
        ["/srv/app/src/app.sh: wanted what has_one_line accepts, got 'echo one\\necho two\\n'"],
    ),
    ("src", "x", ["/srv/app/src is a directory."]),
]


@pytest.mark.parametrize(("path", "expected", "lines"), WRONG_FILES)
def test_files_that_are_not_as_expected(
    sim: SimWorld, failure: Failure, path: str, expected: Any, lines: list[str]
) -> None:
    assert failure(lambda: sim.assert_state(files={path: expected})) == [
        *lines,
        "  No call changed it.",
    ]


def test_many_problems_are_told_as_long_as_there_is_room(sim: SimWorld, failure: Failure) -> None:
    wanted = {f"src/{number}.sh": "x" for number in range(40)}
    lines = failure(lambda: sim.assert_state(files=wanted))
    assert len(lines) == 23
    assert lines[-1] == "and 29 more"


@pytest.mark.parametrize("expected", [True, 3, ["x"], str])
def test_what_cannot_be_expected_of_a_file_is_an_error(sim: SimWorld, expected: Any) -> None:
    with pytest.raises(
        UsageError, match=r"Of a file can be expected: its text or bytes, a compiled"
    ):
        sim.assert_state(files={"README.md": expected})


def test_reading_what_is_not_there_is_an_error(sim: SimWorld) -> None:
    with pytest.raises(UsageError) as error:
        sim.read_text("src/ap.sh")
    assert str(error.value) == (
        "no file '/srv/app/src/ap.sh' in this world. Did you mean '/srv/app/src/app.sh'?"
    )
    with pytest.raises(UsageError, match="'/srv/app/src' is a directory in this world"):
        sim.read_text("src")


# Tables


def has_three(rows: Rows) -> bool:
    return len(rows) == 3


def all_open(rows: Rows) -> bool:
    return all(row["state"] == "open" for row in rows)


def test_tables_are_as_expected(desk: SimWorld) -> None:
    desk.call("create_ticket", title="Lamp")
    desk.assert_state(tables={"tickets": 3})
    desk.assert_state(
        tables={"tickets": [{"title": "Lamp"}, {"title": re.compile("Door|Printer")}]}
    )
    desk.assert_state(tables={"tickets": [{"id": int}, {"id": int}, {"title": "Printer"}]})
    desk.assert_state(tables={"tickets": has_three})
    assert desk.tables()["tickets"][0] == {"id": 1, "title": "Printer", "state": "open"}


def test_records_that_are_not_as_expected(desk: SimWorld, failure: Failure) -> None:
    desk.call("create_ticket", title="Lamp")
    changed = [
        "  Changed by:",
        '    #1 create_ticket(title=\'Lamp\') [computed] { "id": 3, "title": "Lamp" }',
    ]
    rows = [
        "  {'id': 1, 'title': 'Printer', 'state': 'open'}",
        "  {'id': 2, 'title': 'Door', 'state': 'done'}",
        "  {'id': 3, 'title': 'Lamp'}",
    ]
    assert failure(lambda: desk.assert_state(tables={"tickets": 2})) == [
        "tickets has 3 records, wanted 2:",
        *rows,
        *changed,
    ]
    wanted = [{"title": "Lamp", "state": "open"}]
    assert failure(lambda: desk.assert_state(tables={"tickets": wanted})) == [
        "tickets has no such record: {'title': 'Lamp', 'state': 'open'}",
        "  nearest: {'id': 1, 'title': 'Printer', 'state': 'open'}",
        "    title: wanted 'Lamp', got 'Printer'",
        *changed,
    ]
    twice = [{"title": "Lamp"}, {"title": "Lamp"}]
    assert failure(lambda: desk.assert_state(tables={"tickets": twice})) == [
        "tickets has no such record: {'title': 'Lamp'}",
        "  (each that fits is needed for another row)",
        *changed,
    ]
    desk.rewind()
    assert failure(lambda: desk.assert_state(tables={"tickets": all_open})) == [
        "tickets is not what all_open accepts:",
        *rows[:2],
        *changed,
    ]


def test_every_row_takes_a_record_of_its_own(desk: SimWorld) -> None:
    # The first row fits both records, the second only the one that the first would take.
    desk.assert_state(tables={"tickets": [{"id": int}, {"id": 1}]})
    desk.assert_state(tables={"tickets": [{"id": 1}, {"id": int}]})


def test_wrong_tables_are_errors(desk: SimWorld) -> None:
    with pytest.raises(UsageError) as error:
        desk.assert_state(tables={"ticket": 2})
    assert str(error.value) == (
        "this world has no table 'ticket'. Did you mean 'tickets'? It has: tickets."
    )
    nothings: list[Any] = [[], {}, True, "x"]
    for nothing in nothings:
        with pytest.raises(UsageError, match="For an empty table write 0"):
            desk.assert_state(tables={"tickets": nothing})


def test_what_the_memory_server_keeps_are_tables(opened: Open, failure: Failure) -> None:
    sim = opened(domains=["mcp"], tools=["memory"])
    sim.assert_state(tables={"entities": 0, "relations": 0})
    entity = {"name": "Dana", "entityType": "person", "observations": ["likes tea"]}
    sim.call("create_entities", entities=[entity])
    sim.assert_state(tables={"entities": [{"name": "Dana", "observations": ["likes tea"]}]})
    sim.assert_no_destructive()


def test_what_the_sqlite_server_keeps_are_tables(opened: Open, failure: Failure) -> None:
    sim = opened(domains=["mcp"], tools=["sqlite"])
    sim.call("create_table", query="CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT)")
    sim.call("write_query", query="INSERT INTO orders (item) VALUES ('lamp'), ('desk')")
    sim.assert_state(tables={"orders": [{"id": 2, "item": "desk"}]})
    assert failure(lambda: sim.assert_state(tables={"orders": 3})) == [
        "orders has 2 records, wanted 3:",
        "  {'id': 1, 'item': 'lamp'}",
        "  {'id': 2, 'item': 'desk'}",
    ]


# Goals and differences

GOALS = [
    {"file": "/srv/app/README.md", "contains": "Done"},
    {"command": "test -e src/app.sh", "exit_code": 0},
]


def test_goals_are_checked_in_one_call(opened: Open, failure: Failure) -> None:
    sim = opened(goals=GOALS)
    assert [one.met for one in sim.goals()] == [False, True]
    assert failure(sim.assert_goals) == [
        "1 of 2 goals of the scenario not met:",
        "  /srv/app/README.md: contains 'Done': it says '# Notes\\n'",
        "No calls were made.",
    ]
    sim.call("bash", command="echo Done >> README.md")
    sim.assert_goals()
    assert len(sim.calls()) == 1


def test_a_scenario_without_goals_meets_none(sim: SimWorld) -> None:
    with pytest.raises(UsageError, match="the scenario 'machine' has no goals"):
        sim.assert_goals()


def test_a_difference_reads_as_lines(sim: SimWorld) -> None:
    assert not sim.diff()
    assert sim.patch() == ""
    sim.call("bash", command="rm data/a.csv; echo x > new; chmod +x src/app.sh")
    assert str(sim.diff()) == (
        "D /srv/app/data/a.csv\nA /srv/app/new\nM /srv/app/src/app.sh  mode 0644 → 0755"
    )
    assert repr(sim.diff()) == (
        "StateDiff(D /srv/app/data/a.csv, A /srv/app/new, M /srv/app/src/app.sh  mode 0644 → 0755)"
    )
    assert not sim.diff(sim.ref)
    assert "+++ b/new\n@@ -0,0 +1 @@\n+x\n" in sim.patch(below="/srv/app")
    with pytest.raises(AssertionError) as error:
        assert not sim.diff()
    assert "not StateDiff(D /srv/app/data/a.csv, A /srv/app/new" in str(error.value)


def test_values_of_the_state_are_asserted(failure: Failure) -> None:
    def take(arguments: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
        return Observation(text="ok"), {"stock": {"desks": 2, "lamps": 5}}

    made = run_sync(World.create(engines=[FunctionEngine({"take": take})]))
    made.add_tools([ToolSpec(name="take")])
    sim = SimWorld(made, FaultList())
    sim.assert_state(values={"stock": None})
    sim.call("take")
    sim.assert_state(values={"stock": {"desks": 2, "lamps": int}})
    lines = failure(lambda: sim.assert_state(values={"stock": {"desks": 3}, "stok": 1}))
    assert lines[0] == "stock.desks: wanted 3, got 2"
    assert "the state has no value 'stok'. Did you mean 'stock'?" in lines
    assert str(sim.diff()) == 'A stock  {"desks":2,"lamps":5}'


# What was destroyed

Assertion = Callable[[], object]


def test_what_is_made_moved_and_appended_destroys_nothing(sim: SimWorld) -> None:
    sim.call("bash", command="echo x > new; rm new; mkdir d; rmdir d")
    sim.call("bash", command="mv data/a.csv data/b.csv; echo 3 >> src/app.sh; cp README.md copy")
    sim.call("bash", command="chmod 600 README.md; touch README.md; cat README.md > README.md.new")
    sim.call("Read", file_path="/srv/app/README.md")
    sim.call("Edit", file_path="/srv/app/README.md", old_string="Notes", new_string="News")
    sim.assert_no_destructive()


def test_what_commands_destroy_is_named(sim: SimWorld, failure: Failure) -> None:
    sim.call("bash", command="ls")
    sim.call("bash", command="rm -r src data")
    sim.call("bash", command="echo > README.md")
    sim.fail("bash", error="read-only file system")
    sim.call("bash", command="rm -rf /srv")
    assert failure(sim.assert_no_destructive) == [
        "2 calls destroyed something:",
        "  #2 bash(command='rm -r src data') [computed] (nothing)",
        "      removed /srv/app/data/a.csv, /srv/app/src/app.sh",
        "  #3 bash(command='echo > README.md') [computed] (nothing)",
        "      overwrote /srv/app/README.md",
    ]
    sim.assert_no_destructive(allow=["/srv/app/src/*", "/srv/app/data/*", "*.md"])


def test_a_file_that_goes_by_a_tool_of_files_is_gone_too(opened: Open, failure: Failure) -> None:
    sim = opened(tools=["langchain"])
    sim.call("file_delete", file_path="README.md")
    assert failure(sim.assert_no_destructive)[2] == "      removed /srv/app/README.md"


def test_many_things_that_were_destroyed_are_counted(opened: Open, failure: Failure) -> None:
    sim = opened(files={f"/srv/app/{number}": "x" for number in range(9)})
    sim.call("bash", command="rm [0-8]")
    for number in range(7):
        sim.call(
            "bash",
            command=f"rm -f /etc/hostname /etc/hosts {number} || true; date > /etc/motd{number}",
        )
    lines = failure(sim.assert_no_destructive)
    assert lines[2] == "      removed /srv/app/0, /srv/app/1, /srv/app/2 and 6 more"


def test_records_that_were_there_and_are_deleted(desk: SimWorld, failure: Failure) -> None:
    desk.call("create_ticket", title="Lamp")
    desk.call("delete_ticket", id=3)
    desk.assert_no_destructive()
    desk.call("delete_ticket", id=1)
    assert failure(desk.assert_no_destructive) == [
        "1 call destroyed something:",
        '  #3 delete_ticket(id=1) [computed] { "id": 1, "title": "Printer", "state": "open" }',
        "      deleted from tickets: 1",
    ]


def test_rows_of_a_database_that_were_there_and_are_deleted(opened: Open, failure: Failure) -> None:
    setup = opened(domains=["mcp"], tools=["sqlite"])
    setup.call("create_table", query="CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT)")
    setup.call("write_query", query="INSERT INTO orders (item) VALUES ('lamp'), ('desk'), ('bed')")
    sim = SimWorld(setup.world, FaultList())
    sim.call("write_query", query="INSERT INTO orders (item) VALUES ('chair')")
    sim.call("write_query", query="DELETE FROM orders WHERE item = 'chair'")
    sim.assert_no_destructive()
    sim.call("write_query", query="DELETE FROM orders WHERE id = 2")
    sim.call("write_query", query="DROP TABLE orders")
    lines = failure(sim.assert_no_destructive)
    assert lines[0] == "2 calls destroyed something:"
    assert lines[2::2] == ["      deleted from orders: 2", "      deleted from orders: 1, 3"]


def test_tools_that_say_that_they_destroy(sim: SimWorld, failure: Failure) -> None:
    bash = replace(sim.world.tools["bash"], annotations={"destructiveHint": True})
    sim.world.add_tools([bash])
    sim.call("bash", command="true")
    assert failure(sim.assert_no_destructive) == [
        "1 call destroyed something:",
        "  #1 bash(command='true') [computed] (nothing)",
        "      'bash' is annotated as destructive",
    ]
