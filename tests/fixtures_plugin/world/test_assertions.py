"""Which calls were made: what holds, and what a failure says."""

from __future__ import annotations

import re
from typing import Any
from unittest.mock import ANY

import pytest

from agentworld_fixtures._assertions import CallPattern
from agentworld_fixtures._sim_world import SimWorld
from agentworld_sim import UnknownToolError, UsageError
from tests.fixtures_plugin.world.types_of_fixtures import Failure


def mentions_missing(command: str) -> bool:
    return "missing" in command


def several(limit: int) -> bool:
    return limit > 1


@pytest.fixture
def used(sim: SimWorld) -> SimWorld:
    """A world in which five calls were made."""
    sim.call("bash", command="ls")
    sim.call("Read", file_path="/srv/app/src/app.sh", limit=1)
    sim.call("bash", command="wc -l src/app.sh")
    sim.call("Edit", file_path="/srv/app/src/app.sh", old_string="one", new_string="1")
    sim.call("bash", command="bash src/app.sh; cat missing")
    return sim


EDITED = (
    "  #4 Edit(file_path='/srv/app/src/app.sh', old_string='one', new_string='1') [computed] The file"
    " /srv/app/src/app.sh has been updated successfully."
)
CALLS = [
    "  #1 bash(command='ls') [computed] README.md (+2 lines)",
    "  #2 Read(file_path='/srv/app/src/app.sh', limit=1) [computed] 1 echo one",
    "  #3 bash(command='wc -l src/app.sh') [computed] 2 src/app.sh",
    EDITED,
    "  #5 bash(command='bash src/app.sh; cat missing') [computed] 1 (+2 lines)",
]


def marked(*numbers: int) -> list[str]:
    return [
        f">{line[1:]}" if number in numbers else line for number, line in enumerate(CALLS, start=1)
    ]


# What holds


def test_calls_are_told_apart_by_what_their_arguments_include(used: SimWorld) -> None:
    used.assert_called("bash")
    used.assert_called("bash", times=3)
    used.assert_called("bash", args={"command": "ls"}, times=1)
    used.assert_called("bash", args={"command": re.compile(r"^wc\b")})
    used.assert_called("bash", args={"command": mentions_missing})
    used.assert_called("Read", args={"limit": 1})
    used.assert_called("Read", args={"limit": int, "file_path": ...})
    used.assert_called("Read", args={"file_path": ANY}, times=1)
    used.assert_called("Write", times=0)
    used.assert_not_called("Write")
    used.assert_not_called("bash", args={"command": re.compile("^rm")})
    used.assert_order("bash", "Read", "Edit", "bash")
    used.assert_order(("bash", {"command": "ls"}), ("bash", {"command": re.compile("wc")}))


def test_calls_are_listed_in_the_order_of_their_answers(used: SimWorld) -> None:
    assert [turn.call.name for turn in used.calls()] == ["bash", "Read", "bash", "Edit", "bash"]
    assert [turn.call.arguments["command"][:2] for turn in used.calls("bash")] == ["ls", "wc", "ba"]


# What does not


def test_a_call_that_was_never_made(used: SimWorld, failure: Failure) -> None:
    assert failure(lambda: used.assert_called("Write")) == [
        "'Write' was never called.",
        "Calls:",
        *CALLS,
    ]


def test_a_world_that_was_never_called(sim: SimWorld, failure: Failure) -> None:
    assert failure(lambda: sim.assert_called("bash", args={"command": "ls"})) == [
        "'bash' was never called.",
        "Wanted: bash(command='ls')",
        "No calls were made.",
    ]


def test_other_arguments_show_the_nearest_call_and_how_it_differs(
    used: SimWorld, failure: Failure
) -> None:
    wanted = {"command": "wc -c src/app.sh"}
    assert failure(lambda: used.assert_called("bash", args=wanted)) == [
        "None of the 3 calls of 'bash' fits.",
        "Wanted: bash(command='wc -c src/app.sh')",
        "Nearest: #3",
        "  command: wanted 'wc -c src/app.sh', got 'wc -l src/app.sh'",
        "Calls:",
        *marked(3),
    ]


def test_every_argument_that_differs_is_named(used: SimWorld, failure: Failure) -> None:
    wanted: dict[str, Any] = {"file_path": re.compile(r"\.py$"), "limit": several, "offset": 3}
    assert failure(lambda: used.assert_called("Read", args=wanted, times=1)) == [
        "The call of 'Read' does not fit.",
        r"Wanted once: Read(file_path=/\.py$/, limit=what several accepts, offset=3)",
        "Nearest: #2",
        r"  file_path: wanted /\.py$/, got '/srv/app/src/app.sh'",
        "  limit: wanted what several accepts, got 1",
        "  offset: wanted 3, not given.",
        "Calls:",
        *marked(2),
    ]


def test_too_many_calls(used: SimWorld, failure: Failure) -> None:
    assert failure(lambda: used.assert_called("bash", times=2)) == [
        "'bash' was called 3 times, wanted twice.",
        "Calls:",
        *marked(1, 3, 5),
    ]


def test_too_few_calls(used: SimWorld, failure: Failure) -> None:
    wanted = {"command": re.compile("app.sh")}
    assert failure(lambda: used.assert_called("bash", args=wanted, times=4)) == [
        "'bash' was called twice, wanted 4 times.",
        "Wanted: bash(command=/app.sh/)",
        "Calls:",
        *marked(3, 5),
    ]


def test_a_call_that_should_not_have_been_made(used: SimWorld, failure: Failure) -> None:
    assert failure(lambda: used.assert_not_called("Edit")) == [
        "'Edit' was called once, wanted never.",
        "Calls:",
        *marked(4),
    ]


def test_an_order_that_breaks(used: SimWorld, failure: Failure) -> None:
    steps: list[CallPattern] = ["Edit", ("bash", {"command": "ls"})]
    assert failure(lambda: used.assert_order(*steps)) == [
        "The order breaks at step 2 of 2: no call fits after #4.",
        "Wanted: Edit → bash(command='ls')",
        "Found: #4",
        "Too early: #1",
        "Nearest: #5",
        "  command: wanted 'ls', got 'bash src/app.sh; cat missing'",
        "Calls:",
        *marked(1, 4),
    ]
    assert failure(lambda: used.assert_order("Write", "Edit")) == [
        "The order breaks at step 1 of 2: no call fits.",
        "Wanted: Write → Edit",
        "Calls:",
        *CALLS,
    ]


def test_of_many_calls_those_around_the_point_are_shown(sim: SimWorld, failure: Failure) -> None:
    for number in range(1, 31):
        sim.call("bash", command=f"echo {number}")
    lines = failure(lambda: sim.assert_called("bash", args={"command": "echo 12"}, times=2))
    assert lines[2:] == [
        "Calls 8 to 16 of 30:",
        *(
            f"{'>' if number == 12 else ' '} #{number} bash(command='echo {number}') [computed] {number}"
            for number in range(8, 17)
        ),
    ]


def test_a_failure_never_carries_megabytes(sim: SimWorld, failure: Failure) -> None:
    sim.call("bash", command="head -c 300000 /dev/zero | tr '\\0' x # " + "y" * 200_000)
    sim.call("Write", file_path="/tmp/z", content="z" * 200_000)
    for assertion in (
        lambda: sim.assert_called("bash", args={"command": "y" * 200_000}),
        lambda: sim.assert_called("Write", args={"content": "z" * 199_999 + "!"}),
        lambda: sim.assert_not_called("Write"),
        lambda: sim.assert_order("Write", ("Write", {"content": ["w"] * 50_000})),
        lambda: sim.assert_state(files={"/tmp/z": "z" * 200_001}),
        lambda: sim.assert_state(files={"/tmp/z": None}),
    ):
        lines = failure(assertion)
        assert len(lines) <= 25
        assert max(map(len, lines)) < 400


def test_of_long_texts_the_place_is_shown_where_they_begin_to_differ(
    sim: SimWorld, failure: Failure
) -> None:
    sim.call("Write", file_path="/tmp/z", content="a" * 1000 + " one")
    lines = failure(lambda: sim.assert_called("Write", args={"content": "a" * 1000 + " two"}))
    assert lines[3] == (
        "  content: wanted (after 981 equal characters) 'aaaaaaaaaaaaaaaaaaa two', got"
        " 'aaaaaaaaaaaaaaaaaaa one'"
    )


# Wrong use


def test_a_misspelt_tool_is_an_error_and_passes_nothing(used: SimWorld) -> None:
    known = ", ".join(used.world.tools)
    message = (
        "this world has no tool 'bsh', so that no call of it could be seen. Did you mean 'bash'? It has:"
        f" {known}. Tools join it when they are bound or simulated, as by sim_tools: do that first. Tools"
        " that run for real do not."
    )
    for use in (
        lambda: used.assert_not_called("bsh"),
        lambda: used.assert_called("bsh", times=0),
        lambda: used.assert_order("bash", "bsh"),
        lambda: used.calls("bsh"),
        lambda: used.fail("bsh", error="x"),
    ):
        with pytest.raises(UnknownToolError) as error:
            use()
        assert str(error.value) == message


def test_a_misspelt_argument_is_an_error_and_passes_nothing(used: SimWorld) -> None:
    with pytest.raises(UsageError, match="'Write' takes no argument 'limit'"):
        # Another tool has such an argument, and was given it.
        used.assert_not_called("Write", args={"limit": 1})
    for use in (
        lambda: used.assert_not_called("bash", args={"comand": "ls"}),
        lambda: used.assert_order("bash", ("bash", {"comand": "ls"})),
        lambda: used.fail("bash", when={"comand": "ls"}, error="x"),
    ):
        with pytest.raises(UsageError) as error:
            use()
        assert str(error.value) == (
            "'bash' takes no argument 'comand'. Did you mean 'command'? It takes: command."
        )


def test_a_function_that_says_nothing_is_an_error(used: SimWorld) -> None:
    def checks(command: str) -> None:
        assert command

    with pytest.raises(UsageError) as error:
        used.assert_called("bash", args={"command": checks})
    assert str(error.value) == (
        "checks returned None for 'ls'. A function that is given as an expectation returns whether the"
        " value is right."
    )


def test_what_asserts_nothing_is_an_error(used: SimWorld) -> None:
    with pytest.raises(UsageError, match="assert_order takes two steps or more"):
        used.assert_order("bash")
    with pytest.raises(UsageError, match="times=-1: a tool is called 0 times or more often"):
        used.assert_called("bash", times=-1)
    with pytest.raises(UsageError, match="assert_state was given nothing"):
        used.assert_state()


def test_the_lines_of_the_library_are_not_in_a_traceback(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from agentworld_fixtures._sim_world import FaultList
        from agentworld_fixtures._sim_world import SimWorld
        from agentworld_sim import World
        from agentworld_sim.runtime.sync import run_sync

        def test_it():
            sim = SimWorld(run_sync(World.create()), FaultList())
            sim.assert_called("bash")
        """
    )
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    result = pytester.runpytest_inprocess("-p", "no:randomly")
    result.stdout.fnmatch_lines(
        [
            "*sim.assert_called(*",
            "E       AssertionError: 'bash' was never called.",
            "*:8: AssertionError",
        ]
    )
    result.stdout.no_fnmatch_line("*_world.py*")
