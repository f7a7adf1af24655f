"""The marker: which one counts, and what is told of a wrong one."""

from __future__ import annotations

import pytest

from .conftest import Suite, said


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        (
            "sede=1",
            "@pytest.mark.sim(sede=…): there is no 'sede'. Did you mean 'seed'? There are: scenario,",
        ),
        ("'nginx-logs'", "takes keywords only, not 'nginx-logs'. Perhaps: sim(scenario=…)."),
        ("mode='of'", "@pytest.mark.sim(mode='of'): there is no 'of'. Did you mean 'off'?"),
        ("mode=1", "(mode=1): mode is one of replay, once, live, verify, off."),
        ("seed='1'", "(seed='1'): seed is a whole number from 0 on."),
        ("seed=True", "(seed=True): seed is a whole number from 0 on."),
        ("repeat=0", "(repeat=0): repeat is a whole number from 1 on."),
        ("allow_real=3", "(allow_real=3): allow_real is a list of whole names of tools."),
        ("allow_urls=['host']", "(allow_urls=…) names no server. Write its URL"),
        ("allow_real=['get_*']", "'get_*': a real tool is allowed by its whole name only"),
        (
            "scenario=3",
            "(scenario=3): scenario is a path relative to the test file, the name of a shipped",
        ),
        ("scenario='nginx-log'", "there is no scenario 'nginx-log'. Did you mean 'nginx-logs'?"),
    ],
)
def test_a_wrong_marker_ends_the_session_before_any_test_runs(
    suite: Suite, marker: str, message: str
) -> None:
    suite.tests(f"""
        def test_first(): print("it ran")

        @pytest.mark.sim({marker})
        def test_wrong(world): pass
    """)
    result = suite.run("-s")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = said(result)
    assert "test_it.py::test_wrong" in text
    assert message in text
    assert "it ran" not in text
    assert "Traceback" not in text


def test_an_invalid_scenario_is_told_at_collection_with_its_problems(suite: Suite) -> None:
    suite.file("worlds/bad.yaml", "name: bad\ndomains: [terminal]\nfils: {}\n")
    suite.tests("""
        @pytest.mark.sim(scenario="worlds/bad.yaml")
        def test_wrong(world): pass
    """)
    result = suite.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "Did you mean 'files'" in said(result)


def test_a_wrong_default_scenario_matters_only_where_a_test_has_a_world(suite: Suite) -> None:
    suite.ini("sim_scenario = nowhere")
    suite.tests("def test_one(): pass")
    suite.run().assert_outcomes(passed=1)
    suite.tests("def test_one(world): pass")
    result = suite.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "sim_scenario: there is no scenario 'nowhere'." in said(result)


def test_the_closest_marker_decides_for_each_keyword(suite: Suite) -> None:
    suite.tests("""
        pytestmark = pytest.mark.sim(seed=1, scenario="failing-test")

        def seen(world):
            return world.world.scenario.name, world.world.scenario.seed

        def test_module(world): assert seen(world) == ("failing-test", 1)

        @pytest.mark.sim(seed=2)
        class TestClass:
            def test_class(self, world): assert seen(world) == ("failing-test", 2)

            @pytest.mark.sim(seed=3, scenario="nginx-logs")
            def test_function(self, world): assert seen(world) == ("nginx-logs", 3)
    """)
    suite.run("--sim-seed=9").assert_outcomes(passed=3)


def test_a_scenario_is_a_path_beside_the_test_a_shipped_name_or_an_object(suite: Suite) -> None:
    suite.file("sub/worlds/mine.yaml", "name: mine\ndomains: [terminal]\nfiles: {/a: hello}\n")
    suite.file("root.yaml", "name: of-the-root\ndomains: [terminal]\n")
    suite.ini("sim_scenario = root.yaml")
    suite.tests(
        """
        from agentworld_sim import Scenario

        @pytest.mark.sim(scenario="worlds/mine.yaml")
        def test_path(world): assert world.call("bash", command="cat /a").text == "hello"

        @pytest.mark.sim(scenario="failing-test")
        def test_shipped(world): assert world.world.scenario.name == "failing-test"

        @pytest.mark.sim(scenario=Scenario(name="made", domains=("terminal",)))
        def test_object(world): assert world.world.scenario.name == "made"

        def test_default(world): assert world.world.scenario.name == "of-the-root"
        """,
        name="sub/test_it.py",
    )
    suite.run().assert_outcomes(passed=4)


def test_the_command_line_decides_the_mode_before_the_marker(suite: Suite) -> None:
    suite.tests("""
        @pytest.mark.sim(mode="off")
        def test_one(world): assert world.call("bash", command="false").text == "x"
    """)
    assert "mode off; 1 call," in said(suite.run())
    assert "mode live; 1 call," in said(suite.run("--sim-mode=live"))
    suite.ini("sim_mode = live")
    assert "mode off; 1 call," in said(suite.run())


def test_repeating_a_method_of_a_unittest_class_is_refused_at_collection(suite: Suite) -> None:
    suite.tests("""
        import unittest

        @pytest.mark.sim(repeat=2)
        class TestCase(unittest.TestCase):
            def test_one(self): pass
    """)
    result = suite.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "repeat=2) is for test functions and for" in said(result)
