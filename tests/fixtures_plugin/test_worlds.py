"""The worlds of tests: scopes, kinds of tests, and what a suite that does not use them notices."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Suite, said

ROOT = Path(__file__).resolve().parents[2]


def test_every_test_has_a_world_of_its_own_and_equal_ones_begin_alike(suite: Suite) -> None:
    suite.tests("""
        refs = set()

        @pytest.mark.parametrize("number", range(3))
        def test_one(world, number):
            assert world.call("bash", command="cat mark").is_error is False
            assert "No such file" in world.calls("bash")[0].observation.text
            refs.add(world.world.root)
            world.call("bash", command="touch mark; echo $RANDOM")
            refs.add(world.world.ref)

        def test_two(): assert len(refs) == 2
    """)
    suite.run().assert_outcomes(passed=4)


def test_a_seed_makes_another_world(suite: Suite) -> None:
    suite.tests("""
        def test_one(world):
            assert world.call("bash", command="echo $RANDOM").text == "x"
    """)
    shown = [
        next(
            line for line in suite.run(*option).outlines if "echo $RANDOM" in line and "->" in line
        )
        for option in (["--sim-seed=1"], ["--sim-seed=1"], ["--sim-seed=2"])
    ]
    assert shown[0] == shown[1] != shown[2]


def test_worlds_of_modules_and_sessions_are_kept_between_tests(suite: Suite) -> None:
    suite.ini("sim_scenario = failing-test")
    for name in ("test_a.py", "test_b.py"):
        suite.tests(
            """
            pytestmark = pytest.mark.sim(scenario="nginx-logs", seed=5)

            @pytest.mark.parametrize("number", [1, 2])
            def test_it(world, module_world, session_world, sim_shell, number):
                assert module_world.world.scenario.name == "nginx-logs"
                assert module_world.world.scenario.seed == 5
                assert session_world.world.scenario.name == "failing-test"
                for held in (module_world, session_world):
                    held.call("bash", command="echo x >> /tmp/marks")
                text = module_world.call("bash", command="wc -l < /tmp/marks").text
                assert int(text) == number
                assert sim_shell("ls /tmp").output == "", "the test's own world comes first"

            def test_count(session_world, request):
                marks = session_world.call("bash", command="wc -l < /tmp/marks").text
                assert int(marks) == (2 if request.path.stem == "test_a" else 4)
            """,
            name=name,
        )
    suite.run().assert_outcomes(passed=6)


def test_tools_are_answered_by_the_module_s_world_where_a_test_asks_for_that(suite: Suite) -> None:
    suite.tests("""
        def test_one(module_world, sim_shell):
            sim_shell("echo kept > /tmp/kept")
            assert module_world.call("bash", command="cat /tmp/kept").text == "kept\\n"

        def test_two(sim_shell, module_world):
            assert sim_shell("cat /tmp/kept").output == "kept\\n"
    """)
    suite.run().assert_outcomes(passed=2)


@pytest.mark.slow
def test_a_suite_with_the_settings_and_the_tests_of_the_guide_has_no_warnings(suite: Suite) -> None:
    guide = (ROOT / "docs" / "guides" / "pytest.md").read_text(encoding="utf-8")
    (suite.path / "pytest.ini").write_text(guide.partition("```ini\n")[2].partition("```")[0])
    suite.tests((ROOT / "docs" / "snippets" / "test_with_a_world.py").read_text(encoding="utf-8"))
    result = suite.run_outside("-W", "error::pytest.PytestDeprecationWarning")
    result.assert_outcomes(passed=2)
    result.stderr.no_fnmatch_line("*asyncio_default_fixture_loop_scope*")


@pytest.mark.parametrize("asyncio_mode", ["auto", "strict"])
def test_asynchronous_tests_run_with_either_plugin_beside_synchronous_ones(
    suite: Suite, asyncio_mode: str
) -> None:
    suite.ini(asyncio_mode=asyncio_mode)
    suite.tests("""
        import pytest_asyncio

        @pytest_asyncio.fixture
        async def prepared(world):
            await world.acall("bash", command="echo prepared > /tmp/p")
            return world

        @pytest.fixture
        def anyio_backend(): return "asyncio"

        @pytest.mark.asyncio
        async def test_asyncio(prepared, sim_shell):
            assert (await prepared.acall("bash", command="cat /tmp/p")).text == "prepared\\n"
            assert prepared.call("bash", command="cat /tmp/p").text == "prepared\\n"
            assert (await sim_shell.acall("cat /tmp/p")).output == "prepared\\n"
            assert sim_shell("cat; exit 3", stdin="ü\\n").output == "ü\\n"

        def test_sync(world):
            assert world.call("bash", command="echo x").text == "x\\n"
    """)
    suite.tests(
        """
        pytestmark = pytest.mark.anyio

        @pytest.fixture
        def anyio_backend(): return "asyncio"

        async def test_anyio(world, sim_mcp):
            assert (await world.acall("bash", command="echo x")).text == "x\\n"
            async with sim_mcp() as client:
                answer = await client.call_tool("bash", {"command": "echo y"})
            assert answer.content[0].text == "y\\n"
        """,
        name="test_anyio.py",
    )
    # In auto mode pytest-asyncio takes every asynchronous test, those marked for anyio as well.
    suite.run("-p", "no:cacheprovider").assert_outcomes(passed=3)


def test_a_fixture_of_the_user_s_named_world_stays_the_user_s(suite: Suite) -> None:
    suite.tests("""
        import subprocess

        @pytest.fixture
        def world(): return "mine"

        def test_one(world):
            assert world == "mine"
            subprocess.run(["true"], check=True)
    """)
    result = suite.run()
    result.assert_outcomes(passed=1)
    assert "simulated worlds ==" not in said(result)


def test_tools_beside_a_world_of_the_user_s_own_are_told_why_not(suite: Suite) -> None:
    suite.tests("""
        @pytest.fixture
        def world():
            return {"mine": True}

        def test_mixed(world, sim_shell):
            pass
    """)
    result = suite.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["the fixture 'world' of this test is one of its own, which gives dict, *'sim_shell'*"]
    )


def test_a_fixture_that_extends_the_world_is_guarded_as_the_world_is(suite: Suite) -> None:
    suite.tests("""
        import subprocess

        @pytest.fixture
        def world(world):
            world.call("bash", command="mkdir /work")
            return world

        def test_one(world):
            subprocess.run(["true"], check=True)
    """)
    result = suite.run()
    result.assert_outcomes(failed=1)
    assert "['true']" in said(result)


def test_a_suite_without_worlds_sees_one_line_and_no_other_change(suite: Suite) -> None:
    suite.tests("""
        import os, subprocess, sys

        def test_one():
            subprocess.run(["true"], check=True)
            assert "agentworld_sim.world" not in sys.modules or os.environ["INSIDE"]

        @pytest.mark.parametrize("x", [1, 2])
        def test_two(x): assert x == 1
    """)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INSIDE", "1")
        result = suite.run()
    result.assert_outcomes(passed=2, failed=1)
    told = [line for line in result.outlines if "simulated" in line]
    assert len(told) == 1
    assert told[0].startswith("simulated worlds: mode once")


def test_without_the_plugin_nothing_of_it_is_there(suite: Suite) -> None:
    suite.tests("def test_one(world): pass")
    result = suite.run("-p", "no:agentworld")
    result.assert_outcomes(errors=1)
    assert "fixture 'world' not found" in said(result)
    assert "simulated worlds" not in said(result)


def test_no_test_asks_for_a_plugin_fixture_by_itself(suite: Suite) -> None:
    suite.tests("""
        def test_one(request):
            assert set(request.fixturenames) <= {"request"}
    """)
    # Fixtures of other plugins may be there for all tests.
    result = suite.run("--setup-plan", "-v")
    assert "world" not in "".join(line for line in result.outlines if "SETUP" in line)
    assert "sim_" not in "".join(line for line in result.outlines if "SETUP" in line)


def test_loading_the_plugin_loads_nothing_heavy(suite: Suite) -> None:
    suite.file(
        "conftest.py",
        """
        import sys

        def pytest_unconfigure():
            heavy = {"agentworld_sim", "pydantic", "langchain_core", "langgraph", "mcp", "yaml"}
            print("LOADED", sorted(heavy & set(sys.modules)))
        """,
    )
    suite.tests("def test_one(): pass")
    result = suite.run_outside("-s")
    result.assert_outcomes(passed=1)
    assert "LOADED []" in said(result)


def test_whatever_takes_a_world_takes_the_fixture(suite: Suite) -> None:
    suite.tests("""
        from langchain_core.messages import AIMessage
        from langchain_core.tools import tool
        from langgraph.prebuilt import create_react_agent
        from agentworld_graphs import SimToolNode
        from agentworld_sim.binding import bind

        @tool
        def bash(command: str) -> str:
            "Runs a command."
            raise AssertionError

        @pytest.mark.filterwarnings("ignore:create_react_agent")
        async def test_one(world, scripted_model):
            call = {"name": "bash", "args": {"command": "echo x > /tmp/x"}, "id": "1"}
            model = scripted_model(AIMessage("", tool_calls=[call]), "done")
            agent = create_react_agent(model, SimToolNode([bash], world=world))
            await agent.ainvoke({"messages": [("user", "go")]})
            world.assert_called("bash", times=1)
            read = {bound.spec.name: bound for bound in bind(world)}["bash"]
            assert await read({"command": "cat /tmp/x"}) == "x\\n"
            world.assert_called("bash", times=2)
    """)
    suite.run().assert_outcomes(passed=1)


def test_a_test_that_another_plugin_runs_again_begins_anew(suite: Suite) -> None:
    suite.file(
        "conftest.py",
        """
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            runtestprotocol(item, nextitem=nextitem, log=False)
            item.funcargs = {}
            runtestprotocol(item, nextitem=nextitem)
            return True
        """,
    )
    suite.tests("""
        def test_one(world, scripted_model):
            assert world.calls() == []
            world.call("bash", command="ls")
    """)
    result = suite.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1 test, 1 answer: 1 computed"])
