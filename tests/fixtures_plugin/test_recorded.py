"""Worlds whose answers are imagined: what the modes come to in a suite, and who keeps which cassette."""

from __future__ import annotations

import pytest

from agentworld_sim.llm.scripted import ScriptedModelServer

from .conftest import Suite, said

TRACKED = """
    import os
    from agentworld_sim import ToolSpec

    def track(world, number):
        world.world.add_tools([ToolSpec(name="track_parcel")])
        return world.call("track_parcel", number=number).text
"""


def cassettes(suite: Suite) -> list[str]:
    """The cassettes of the suite's only test file."""
    return sorted(path.name for path in suite.path.glob("cassettes/test_it/*.yaml"))


@pytest.fixture
def asked(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Nobody names a model until `named` does."""
    monkeypatch.delenv("AGENTWORLD_MODEL_URL", raising=False)
    return monkeypatch


@pytest.mark.slow
def test_every_repetition_is_recorded_by_itself_and_replayed_alike_in_any_order_and_process(
    suite: Suite, asked: pytest.MonkeyPatch
) -> None:
    suite.tests(
        TRACKED
        + """
    @pytest.mark.sim(repeat=3)
    def test_parcel(world, request):
        place = track(world, "7")
        print("SAID", place, world.world.ref)
        assert place != "lost"

    def test_computed(world):
        assert world.call("bash", command="echo x").text == "x\\n"
    """
    )
    with ScriptedModelServer(["here", "lost", "there"]) as server:
        asked.setenv("AGENTWORLD_MODEL_URL", server.url)
        first = suite.run("-rP")
        # What failed is not recorded, so the third answer is not the second's.
        first.assert_outcomes(passed=3, failed=1)
        assert server.remaining == 0
    # What was computed has one that says that a model was there.
    assert cassettes(suite) == [
        "test_computed.yaml",
        "test_parcel-sim-1.yaml",
        "test_parcel-sim-3.yaml",
    ]
    first.stdout.fnmatch_lines(
        [
            "4 tests, 4 answers: 1 computed, 3 imagined; a model was asked: * tokens read, * written",
            "test_it.py::test_parcel  2 of 3*0.67*0.33*0.00",
        ]
    )
    asked.delenv("AGENTWORLD_MODEL_URL")
    asked.setenv("CI", "true")
    keep = ["-rP", "--deselect", "test_it.py::test_parcel[sim-2]"]
    for run, arguments in (
        (suite.run, ()),
        (suite.run, ("-p", "randomly", "-p", "no:cacheprovider")),
        (suite.run_outside, ("-n", "2")),
    ):
        again = run(*keep, *arguments)
        # A controller does not know what its workers deselected.
        again.assert_outcomes(passed=3)
        again.stdout.fnmatch_lines(["3 tests, 3 answers: 1 computed, 2 replayed"])
        for place in ("here", "there"):
            line = next(line for line in first.outlines if f"SAID {place}" in line)
            assert line in again.outlines


def test_what_was_not_recorded_is_a_miss_under_ci_and_drift_fails_the_test_itself(
    suite: Suite, asked: pytest.MonkeyPatch
) -> None:
    suite.tests(
        TRACKED
        + """
    def test_parcel(world):
        assert track(world, os.environ["NUMBER"])
    """
    )
    with ScriptedModelServer(["here"]) as server, ScriptedModelServer(["elsewhere"]) as other:
        asked.setenv("AGENTWORLD_MODEL_URL", server.url)
        asked.setenv("NUMBER", "7")
        suite.run().assert_outcomes(passed=1)
        asked.setenv("NUMBER", "8")
        missed = suite.run("--sim-mode=replay")
        missed.assert_outcomes(failed=1)
        assert "CassetteMiss" in said(missed)
        assert 'differs in number: recorded "7", now "8"' in said(missed)
        assert "world.py" not in said(missed), "the library's own lines explain nothing"
        assert len(server.requests) == 1, "nobody was asked"
        asked.setenv("NUMBER", "7")
        asked.setenv("AGENTWORLD_MODEL_URL", other.url)
        drifted = suite.run("--sim-mode=verify")
        drifted.assert_outcomes(failed=1)
        assert "1 answer of this run and of the cassette" in said(drifted)
        assert "+text: elsewhere" in said(drifted)


def test_nothing_is_recorded_of_a_test_that_fails_at_its_very_end(
    suite: Suite, asked: pytest.MonkeyPatch
) -> None:
    suite.tests(
        TRACKED
        + """
    def test_script(world, scripted_model):
        scripted_model("never asked for")
        assert track(world, "7")

    def test_guard(world):
        assert track(world, "7")
        try: os.system("true")
        except BaseException: pass

    @pytest.fixture
    def broken(world): raise ValueError

    def test_setup(world, broken): pass
    """
    )
    with ScriptedModelServer(["a", "b"]) as server:
        asked.setenv("AGENTWORLD_MODEL_URL", server.url)
        suite.run().assert_outcomes(failed=2, errors=1)
    assert cassettes(suite) == []


def test_a_cassette_that_cannot_be_read_is_told_in_one_line(suite: Suite) -> None:
    suite.file("cassettes/test_it/test_one.yaml", "agentworld_cassette: 99\n")
    suite.tests("def test_one(world): pass")
    result = suite.run()
    result.assert_outcomes(errors=1)
    assert "test_one.yaml" in said(result)
    assert "Traceback" not in said(result)
    assert "_holding.py" not in said(result)


def test_worlds_of_a_module_share_a_cassette_that_one_failure_keeps_from_being_written(
    suite: Suite, asked: pytest.MonkeyPatch
) -> None:
    suite.tests(
        TRACKED
        + """
    def test_a(module_world): assert track(module_world, "1")
    def test_b(module_world):
        assert track(module_world, "2")
        assert not os.environ.get("FAILS")
    """
    )
    with ScriptedModelServer(["a", "b", "a", "b"]) as server:
        asked.setenv("AGENTWORLD_MODEL_URL", server.url)
        asked.setenv("FAILS", "1")
        suite.run().assert_outcomes(passed=1, failed=1)
        assert cassettes(suite) == []
        asked.delenv("FAILS")
        suite.run().assert_outcomes(passed=2)
    assert cassettes(suite) == ["_module.yaml"]
    asked.delenv("AGENTWORLD_MODEL_URL")
    suite.run("--sim-mode=replay").stdout.fnmatch_lines(["2 tests, 2 answers: 2 replayed"])
