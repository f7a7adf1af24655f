"""Cassettes of a suite: where they lie, what is said of them at the end, what is trimmed when."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentworld_sim.llm.scripted import ScriptedModelServer
from tests.fixtures_plugin.cassettes.conftest import CONFTEST, cassettes
from tests.fixtures_plugin.conftest import Suite

TESTS = """
    @pytest.mark.parametrize("city", ["Bern", "a/b"])
    def test_one(ask, city):
        assert ask(city)

    class TestMore:
        def test_two(self, ask):
            assert ask("Chur")
"""


@pytest.fixture
def cities(suite: Suite, server: ScriptedModelServer) -> Suite:
    """A suite whose tests ask for the weather."""
    suite.file("conftest.py", CONFTEST)
    suite.tests(TESTS)
    return suite


NAMES = [
    "cassettes/test_it/TestMore.test_two.yaml",
    "cassettes/test_it/test_one-Bern.yaml",
    "cassettes/test_it/test_one-a-b-2e2936df.yaml",
]


def test_each_test_has_a_file_that_is_named_like_it(
    cities: Suite, server: ScriptedModelServer
) -> None:
    result = cities.run()
    result.assert_outcomes(passed=3)
    assert cassettes(cities) == NAMES
    result.stdout.fnmatch_lines(["recorded in cassettes/test_it/test_one-Bern.yaml: 1 answer"])
    assert len(server.requests) == 3
    again = cities.run("--sim-mode=replay")
    again.assert_outcomes(passed=3)
    again.stdout.no_fnmatch_line("*recorded*")
    assert len(server.requests) == 3


def test_other_folders_may_be_named(cities: Suite) -> None:
    cities.ini("sim_cassettes = recorded")
    cities.run().assert_outcomes(passed=3)
    assert {Path(name).parts[0] for name in cassettes(cities)} == {"recorded"}


def test_a_failed_test_leaves_no_cassette(cities: Suite) -> None:
    cities.tests("def test_one(ask):\n    assert ask('Bern') == 'snow'")
    cities.run().assert_outcomes(failed=1)
    assert cassettes(cities) == []


def test_a_miss_fails_the_test_and_shows_what_is_recorded(cities: Suite) -> None:
    cities.run()
    cities.tests(TESTS.replace("ask(city)", "ask(city.upper())"))
    result = cities.run("--sim-mode=replay")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            '*weather({"city":"BERN"}) was not recorded in *',
            '*differs in city: recorded "Bern", now*',
        ]
    )


@pytest.mark.slow
def test_drift_fails_the_test_in_verify(cities: Suite, server: ScriptedModelServer) -> None:
    cities.run()
    # Another process: the model of this one remembers what it said.
    result = cities.run_outside("--sim-mode=verify", "-k", "two")
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines(["*1 answer*", "*-text: answer 2", "*+text: answer 3"])


def _use_less(suite: Suite) -> None:
    """Tests that ask for less than is recorded: one answer less, and one test less."""
    suite.tests("""
        def test_one(ask): assert ask("Bern")
    """)


RECORDED = """
    def test_one(ask): assert ask("Bern") and ask("Basel")
    def test_gone(ask): assert ask("Chur")
"""


def test_what_nobody_uses_is_said_and_trimmed_on_request(cities: Suite) -> None:
    cities.tests(RECORDED)
    cities.run().assert_outcomes(passed=2)
    _use_less(cities)
    result = cities.run("--sim-mode=replay")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            'recorded and not asked for, in cassettes/test_it/test_one.yaml: weather({"city":"Basel"})*',
            "no test uses cassettes/test_it/test_gone.yaml",
            "a complete run with --sim-trim removes what is not used",
        ]
    )
    before = cassettes(cities)
    result = cities.run("--sim-mode=replay", "--sim-trim")
    result.stdout.fnmatch_lines(
        [
            "removed from cassettes/test_it/test_one.yaml: 1 answer",
            "removed cassettes/test_it/test_gone.yaml, which no test uses",
        ]
    )
    assert cassettes(cities) == before[1:]
    result = cities.run("--sim-mode=replay", "--sim-trim")
    result.stdout.fnmatch_lines(["--sim-trim: nothing to remove"])


@pytest.mark.parametrize(
    ("arguments", "tests", "why"),
    [
        (["-k", "one"], "def test_more(world): pass", "tests were deselected"),
        (["test_it.py::test_one"], "", "single tests were named"),
        ([], "def test_bad(): assert False", "not all tests passed"),
        (["--sim-mode=verify"], "", "not all tests passed, the mode 'verify' writes nothing"),
        (
            ["-x"],
            "def test_a(): pass\ndef test_b(): assert 0\ndef test_c(): pass",
            "not all tests *",
        ),
    ],
)
def test_only_a_complete_run_trims(
    cities: Suite, arguments: list[str], tests: str, why: str
) -> None:
    cities.tests(RECORDED)
    cities.run()
    before = {name: (cities.path / name).read_text() for name in cassettes(cities)}
    _use_less(cities)
    cities.file("test_more.py", tests)
    result = cities.run("--sim-mode=replay", "--sim-trim", *arguments)
    if "verify" not in why:
        result.stdout.fnmatch_lines([f"--sim-trim removed nothing: {why}"])
    assert {name: (cities.path / name).read_text() for name in cassettes(cities)} == before


def test_a_skipped_test_keeps_what_it_recorded(cities: Suite) -> None:
    cities.run()
    cities.tests(TESTS.replace("class TestMore", "@pytest.mark.skip\n    class TestMore"))
    cities.file("test_other.py", "import pytest\npytest.skip('not today', allow_module_level=True)")
    cities.file("cassettes/test_other/test_x.yaml", "agentworld_cassette: 2\nmodel: true\n")
    cities.file("cassettes/test_it/vcr.yaml", "interactions: []\nversion: 1\n")
    before = cassettes(cities)
    cities.run("--sim-mode=replay", "--sim-trim").stdout.fnmatch_lines(
        ["--sim-trim: nothing to remove"]
    )
    assert cassettes(cities) == before


def test_a_module_is_gone_with_its_cassettes(cities: Suite) -> None:
    cities.run()
    (cities.path / "test_it.py").unlink()
    cities.tests("def test_other(ask): assert ask('Bern')", "test_new.py")
    result = cities.run("--sim-trim")
    result.stdout.fnmatch_lines([f"removed {name}, which no test uses" for name in NAMES])
    assert cassettes(cities) == ["cassettes/test_new/test_other.yaml"]
    assert not (cities.path / "cassettes/test_it").exists()


SHARED = """
    @pytest.mark.parametrize("number", range(4))
    def test_shared(ask_module, number):
        assert ask_module(f"city {number}")

    def test_own(ask): assert ask("Bern")
"""


@pytest.mark.slow
def test_workers_record_and_replay_together(cities: Suite, server: ScriptedModelServer) -> None:
    cities.tests(SHARED)
    cities.run_outside("-n2", "--sim-mode=once").assert_outcomes(passed=5)
    assert cassettes(cities) == [
        "cassettes/test_it/_module.yaml",
        "cassettes/test_it/test_own.yaml",
    ]
    assert (cities.path / "cassettes/test_it/_module.yaml").read_text().count("- tool:") == 4
    asked = len(server.requests)
    result = cities.run_outside("-n2", "--sim-mode=replay", "--sim-trim")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["--sim-trim: nothing to remove"])
    cities.tests(SHARED.replace("range(4)", "range(3)").replace("def test_own", "def test_new"))
    cities.run("--sim-mode=once", "-k", "new").assert_outcomes(passed=1, deselected=3)
    result = cities.run_outside("-n2", "--sim-mode=replay", "--sim-trim")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        [
            "removed from cassettes/test_it/_module.yaml: 1 answer",
            "removed cassettes/test_it/test_own.yaml, which no test uses",
        ]
    )
    assert len(server.requests) == asked + 1
