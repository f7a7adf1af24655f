"""What is told of a failed test, at the end of the session, and to the report."""

from __future__ import annotations

import pytest

from .conftest import Suite, said


def section(result: pytest.RunResult) -> list[str]:
    """The lines of the first section about a world."""
    lines = result.outlines
    start = next(n for n, line in enumerate(lines) if "- simulated world -" in line)
    end = next(n for n, line in enumerate(lines) if n > start and line.startswith("again: "))
    return lines[start + 1 : end + 1]


def test_a_failure_shows_the_trajectory_and_how_to_run_it_again(suite: Suite) -> None:
    suite.tests("""
        @pytest.mark.sim(scenario="failing-test")
        def test_it(world, sim_shell):
            world.fail("bash", when={"command": "reboot"}, error="not\\nnow")
            sim_shell("echo out")
            world.call("bash", command="reboot")
            world.call("bash", command="curl -H 'Authorization: Bearer abcdefghijklmnop1234' x; " + "y" * 200)
            assert False
    """)
    result = suite.run("--sim-seed=5", "--sim-allow-real=look")
    result.assert_outcomes(failed=1)
    lines = section(result)
    assert lines[0].startswith("world: scenario failing-test, seed 5, mode once; 3 calls, now at ")
    assert lines[1] == "  computed sim_shell(command='echo out') -> out"
    assert lines[2].startswith("  enforced")
    assert "not now" in lines[2]
    assert "abcdefghijklmnop1234" not in "".join(lines)
    assert lines[-1] == (
        "again: pytest test_it.py::test_it --sim-mode=once --sim-seed=5 --sim-allow-real=look"
    )
    assert all(len(line) <= 100 for line in lines[:-1])


def test_of_a_long_trajectory_the_end_is_shown(suite: Suite) -> None:
    suite.tests("""
        def test_it(world):
            for number in range(30):
                world.call("bash", command=f"echo {number}")
            assert False

        def test_without_calls(world):
            assert False
    """)
    result = suite.run()
    lines = section(result)
    assert len(lines) == 15
    assert lines[1] == "  … 18 before these"
    assert lines[-2] == "  computed bash(command='echo 29') -> 29"
    assert said(result).count("- simulated world -") == 1


def test_the_session_ends_with_one_line_about_all_answers(suite: Suite) -> None:
    suite.tests("""
        def test_a(world):
            world.fail("bash", error="no", times=1)
            world.call("bash", command="ls")
            world.call("bash", command="ls")

        def test_b(module_world): module_world.call("bash", command="ls")
        def test_c(module_world): module_world.call("bash", command="ls")
        def test_d(world): pass
        def test_e(): pass
    """)
    suite.run().stdout.fnmatch_lines(
        ["*= simulated worlds =*", "4 tests, 4 answers: 3 computed, 1 enforced"]
    )


@pytest.mark.slow
def test_workers_tell_the_same_and_fail_a_test_with_a_wrong_marker_before_it_begins(
    suite: Suite,
) -> None:
    suite.tests("""
        @pytest.mark.parametrize("number", range(6))
        def test_a(world, number):
            world.call("bash", command=f"echo {number}")
            assert number != 3

        @pytest.mark.sim(sed=1)
        def test_b(world): pass
    """)
    result = suite.run_outside("-n", "2")
    result.assert_outcomes(passed=5, failed=1, errors=1)
    result.stdout.fnmatch_lines(["simulated worlds: mode once*"])
    result.stdout.fnmatch_lines(
        [
            "world: scenario debian, seed 0, mode once; 1 call, now at *",
            "  computed bash(command='echo 3') -> 3",
        ]
    )
    result.stdout.fnmatch_lines(["6 tests, 6 answers: 6 computed"])
    assert "there is no 'sed'. Did you mean 'seed'?" in said(result)


@pytest.mark.slow
def test_the_report_is_given_a_record_of_every_test_with_a_world(suite: Suite) -> None:
    suite.file(
        "conftest.py",
        """
        import json
        import agentworld_fixtures._html_report as report

        def write(records, path):
            path.write_text(json.dumps([record.to_json() for record in records]))

        def pytest_configure(config):
            config.add_cleanup(lambda before=report.write_report: setattr(report, "write_report", before))
            report.write_report = write
        """,
    )
    suite.tests("""
        import subprocess

        @pytest.mark.sim(repeat=2)
        def test_a(world):
            world.call("bash", command="echo $RANDOM; echo x")

        def test_b(world):
            try: subprocess.run(["ls"])
            except BaseException: pass

        @pytest.fixture
        def broken(world):
            world.call("bash", command="ls")
            yield
            raise ValueError

        def test_c(broken): pass

        def test_d(world): pytest.skip("no")

        def test_e(): pass
    """)
    for run, arguments in ((suite.run, ()), (suite.run_outside, ("-n", "2"))):
        result = run("--sim-report=page.html", *arguments)
        result.stdout.fnmatch_lines([f"what every world did: {suite.path}/page.html"])
        check_records(suite)
        (suite.path / "page.html").unlink()


def test_a_report_that_cannot_be_written_is_told_and_fails_the_session(suite: Suite) -> None:
    suite.file("blocks", "a file")
    suite.tests("def test_a(world): pass")
    result = suite.run("--sim-report=blocks/page.html")
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "blocks/page.html" in said(result)
    assert "INTERNALERROR" not in said(result)


def check_records(suite: Suite) -> None:
    import json

    from agentworld_fixtures._test_records import SimRecord

    values = json.loads((suite.path / "page.html").read_text(encoding="utf-8"))
    records = {record.test: record for record in map(SimRecord.from_json, values)}
    assert {test.partition("::")[2]: record.outcome for test, record in records.items()} == {
        "test_a[sim-1]": "passed",
        "test_a[sim-2]": "passed",
        "test_b": "failed",
        "test_c": "error",
        "test_d": "skipped",
    }
    repeated = records["test_it.py::test_a[sim-2]"]
    assert repeated.repeated == "test_it.py::test_a"
    assert repeated.reproduce == "pytest 'test_it.py::test_a[sim-2]' --sim-mode=once"
    (world,) = repeated.worlds
    assert (world.fixture, world.scenario, world.seed) == ("world", "debian", 1)
    assert (dict(world.counts), len(world.turns)) == ({"computed": 1}, 1)
    assert world.turns[0].ref == world.ref != world.root
    assert world.turns[0].tool == "bash"
    (tried,) = records["test_it.py::test_b"].violations
    assert "started a program: ['ls']" in tried
    assert repeated.seconds > 0


def test_the_lines_of_the_library_are_not_shown_beneath_an_error_of_the_agent(suite: Suite) -> None:
    suite.tests("""
        def get_order(id: int) -> str:
            "An order by its number."

        def agent(tools):
            try:
                return tools[0].invoke({"id": 2})
            except Exception as error:
                raise RuntimeError("the agent failed") from error

        @pytest.mark.sim(access={"get_order": "refuse"})
        def test_it(sim_tools): agent(sim_tools([get_order]))
    """)
    text = said(suite.run())
    assert "'get_order' is refused" in text
    assert "the direct cause" in text
    assert "_simulate.py" not in text
    assert len(text.splitlines()) < 70
