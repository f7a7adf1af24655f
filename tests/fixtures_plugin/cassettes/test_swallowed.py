"""Tests that pass although something of them was not answered, or fail for want of a cassette."""

from __future__ import annotations

import pytest

from tests.fixtures_plugin.cassettes.conftest import CONFTEST, cassettes
from tests.fixtures_plugin.conftest import Suite

SWALLOWING = """
    import asyncio, contextlib, threading

    def test_by_the_framework(ask):
        with contextlib.suppress(Exception):
            ask("Bern")

    def test_by_the_test(ask):
        try:
            ask("Bern")
        except BaseException:
            pass

    def test_in_a_thread(ask):
        def body():
            with contextlib.suppress(Exception):
                ask("Bern")
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()

    async def test_in_a_task(world, ask):
        async def body():
            await world.acall("weather", city="Bern")
        await asyncio.gather(body(), return_exceptions=True)

    def test_in_a_fork(world, ask):
        with contextlib.suppress(Exception):
            world.fork().call("weather", city="Bern")
"""


@pytest.mark.usefixtures("server")
def test_a_miss_fails_the_test_also_when_somebody_caught_it(suite: Suite) -> None:
    suite.file("conftest.py", CONFTEST)
    suite.tests(SWALLOWING)
    suite.run().assert_outcomes(passed=5)
    suite.run("--sim-mode=replay").assert_outcomes(passed=5)
    suite.tests(SWALLOWING.replace("Bern", "Basel"))
    result = suite.run("--sim-mode=replay")
    result.assert_outcomes(failed=5)
    result.stdout.fnmatch_lines(
        [
            "1 call was not answered, and what was raised for that was caught before the test ended:",
            '*weather({"city":"Basel"}) was not recorded in *',
        ]
    )


@pytest.mark.usefixtures("server")
def test_a_miss_counts_only_in_its_own_test_of_a_shared_world(suite: Suite) -> None:
    suite.file("conftest.py", CONFTEST)
    text = """
        def test_one(ask_module):
            try:
                ask_module("Bern")
            except Exception:
                pass

        def test_two(ask_module):
            ask_module("Chur")
    """
    suite.tests(text)
    suite.run("-p", "no:randomly").assert_outcomes(passed=2)
    suite.tests(text.replace("Bern", "Basel"))
    result = suite.run("--sim-mode=replay", "-rA", "-p", "no:randomly")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["PASSED*::test_two"])


@pytest.mark.usefixtures("server")
def test_a_miss_of_a_fixture_that_failed_is_told_once(suite: Suite) -> None:
    suite.file("conftest.py", CONFTEST)
    text = """
        @pytest.fixture
        def bern(ask_module):
            return ask_module("Bern")

        def test_one(bern, module_world):
            pass

        def test_two(module_world):
            pass
    """
    suite.tests(text)
    suite.run("-p", "no:randomly").assert_outcomes(passed=2)
    suite.tests(text.replace("Bern", "Basel"))
    result = suite.run("--sim-mode=replay", "-p", "no:randomly")
    result.assert_outcomes(passed=1, errors=1)


@pytest.mark.usefixtures("server")
def test_nothing_is_recorded_of_a_unittest_that_fails(suite: Suite) -> None:
    suite.file("conftest.py", CONFTEST)
    suite.tests("""
        import unittest

        class Test(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def _ask(self, ask):
                self.ask = ask

            def test_fails(self):
                self.ask("Bern")
                self.fail("no")

            def test_passes(self):
                self.ask("Bern")
    """)
    suite.run().assert_outcomes(failed=1, passed=1)
    assert cassettes(suite) == ["cassettes/test_it/Test.test_passes.yaml"]


@pytest.mark.parametrize("handles", [True, False])
def test_an_agent_reads_nothing_of_a_miss_of_a_real_tool(suite: Suite, handles: bool) -> None:
    text = f"""
        from langchain_core.messages import AIMessage
        from langchain_core.tools import tool
        from langgraph.graph import MessagesState, StateGraph
        from langgraph.prebuilt import ToolNode

        @tool
        def fetch(page: str) -> str:
            "Fetch a page."
            return f"page {{page}}"

        @pytest.mark.sim(allow_real=["fetch"])
        def test_one(sim_tools):
            graph = StateGraph(MessagesState)
            graph.add_node("tools", ToolNode(sim_tools([fetch]), handle_tool_errors={handles}))
            graph.set_entry_point("tools")
            call = {{"name": "fetch", "args": {{"page": "PAGE"}}, "id": "1"}}
            said = graph.compile().invoke({{"messages": [AIMessage("", tool_calls=[call])]}})
            print("THE AGENT READ", said["messages"][-1].content)
    """
    suite.tests(text)
    suite.run().assert_outcomes(passed=1)
    suite.tests(text.replace("PAGE", "OTHER"))
    result = suite.run("--sim-mode=replay", "--tb=short")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['*fetch({"page":"OTHER"}) was not recorded in *'])
    result.stdout.no_fnmatch_line("THE AGENT READ*")
