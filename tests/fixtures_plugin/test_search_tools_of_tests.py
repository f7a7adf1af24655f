"""An agent with a search tool, in a test suite with the plugin."""

from __future__ import annotations

from .conftest import Suite


def test_a_search_tool_finds_the_pages_of_the_scenario(suite: Suite) -> None:
    suite.file(
        "lamps.yaml",
        """
        name: lamps
        domains: [search]
        pages:
          https://orvelle.example/helio: {title: Helio 3, text: A lamp of 42 euros., date: "2024-06-18"}
        """,
    )
    suite.tests(
        """
        from langchain_core.tools import tool

        @tool
        def google_serper(query: str) -> str:
            "Searches."
            raise AssertionError("the real tool ran")

        @pytest.mark.sim(scenario="lamps.yaml")
        def test_it(world, sim_tools):
            (search,) = sim_tools([google_serper])
            assert search.invoke({"query": "lamp"}) == "A lamp of 42 euros."
            world.assert_called("google_serper", args={"query": "lamp"}, times=1)
        """
    )
    suite.run().assert_outcomes(passed=1)
