"""What an agent's run cost, whether it recovered, and whether its answer passes over what failed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from agentworld_fixtures import SimWorld
from agentworld_fixtures._fault_outcomes import admits_failure
from agentworld_sim import UsageError
from agentworld_sim.runtime.sync import run_sync
from tests.fixtures_plugin.conftest import Suite


def bash(sim: SimWorld, *commands: str) -> None:
    for command in commands:
        sim.call("bash", command=command)


def problem(assertion: Callable[[], object]) -> str:
    with pytest.raises(AssertionError) as error:
        assertion()
    return str(error.value)


# Budgets


def test_a_budget_that_is_kept_passes(sim: SimWorld) -> None:
    sim.fail("bash", latency=5, times=1)
    bash(sim, "true", "true")
    usage = {"input_tokens": 30, "output_tokens": 4, "total_tokens": 34}
    messages = [HumanMessage("go"), AIMessage("done", usage_metadata=usage)]  # pyright: ignore[reportArgumentType]
    sim.assert_budget(calls=2, tokens=34, seconds=6, messages=messages)
    sim.assert_budget(tokens=34, messages=[{"role": "assistant", "usage": {"total_tokens": 34}}])


def test_a_budget_that_is_not_kept_says_by_how_much_and_shows_the_calls(sim: SimWorld) -> None:
    sim.fail("bash", latency=5, times=1)
    bash(sim, "true", "echo hi")
    usage = [{"usage": {"total_tokens": 1200}}] * 2
    said = problem(lambda: sim.assert_budget(calls=1, tokens=2000, seconds=1, messages=usage))
    assert said.startswith(
        "Over budget: 2 calls, wanted at most 1. 2,400 tokens, wanted at most 2,000."
    )
    assert "seconds, wanted at most 1." in said
    assert "#2 bash(command='echo hi')" in said


def test_a_budget_of_nothing_and_of_unknown_tokens_is_refused(sim: SimWorld) -> None:
    with pytest.raises(UsageError, match="was given no budget"):
        sim.assert_budget()
    with pytest.raises(UsageError, match="no message says"):
        sim.assert_budget(tokens=5, messages=[AIMessage("done")])


# Recovery


def test_a_tool_that_succeeds_again_has_recovered(sim: SimWorld) -> None:
    fault = sim.fail("bash", error="no", times=2)
    bash(sim, "ls", "ls", "ls")
    sim.assert_recovered(fault)
    sim.assert_recovered("fault-1")
    sim.assert_recovered("fault-*")


@pytest.mark.parametrize("after", [(), ("ls /nope",), ("false", "false")])
def test_what_gives_up_or_fails_otherwise_has_not(sim: SimWorld, after: tuple[str, ...]) -> None:
    fault = sim.fail("bash", error="no", times=1)
    bash(sim, "ls", *after)
    said = problem(lambda: sim.assert_recovered(fault))
    assert "did not recover from 'fault-1': no call of 'bash' succeeded after #1" in said


def test_a_success_before_the_strike_is_no_recovery(sim: SimWorld) -> None:
    bash(sim, "ls")
    fault = sim.fail("bash", error="no")
    bash(sim, "ls")
    assert "succeeded after #2" in problem(lambda: sim.assert_recovered(fault))


def test_another_tool_can_count_as_recovery(sim: SimWorld) -> None:
    fault = sim.fail("bash", error="no")
    bash(sim, "cat README.md")
    said = problem(lambda: sim.assert_recovered(fault, by="Read"))
    assert "no call of 'Read'" in said
    sim.call("Read", file_path="/srv/app/README.md")
    sim.assert_recovered(fault, by="Read")
    sim.assert_recovered(fault, by=("Read", {"file_path": "/srv/app/README.md"}))
    assert "no call of 'Read'" in problem(
        lambda: sim.assert_recovered(fault, by=("Read", {"file_path": "/other"}))
    )
    with pytest.raises(UsageError):
        sim.assert_recovered(fault, by=("Raed", {}))


def test_a_control_that_never_struck_leaves_nothing_to_recover_from(sim: SimWorld) -> None:
    fault = sim.fail("bash", error="no", when={"command": "reboot"})
    bash(sim, "ls")
    assert "'fault-1' never struck" in problem(lambda: sim.assert_recovered(fault))
    with pytest.raises(UsageError, match=r"no control 'outge'\. Did you mean"):
        run_sync(
            sim.world.switch_controls(add=[{"kind": "fault", "name": "outage", "tool": "bash"}])
        )
        sim.assert_recovered("outge")


def test_a_control_that_was_switched_on_from_outside_counts(sim: SimWorld) -> None:
    outage = {"kind": "fault", "name": "outage", "tool": "bash", "error": "no"}
    run_sync(sim.world.switch_controls(add=[outage]))
    bash(sim, "ls")
    run_sync(sim.world.switch_controls(remove=["outage"]))
    bash(sim, "ls")
    sim.assert_recovered("outage")


# False claims

TRUE = [
    "I could not write the file: the disk is full.",
    "The search failed twice, so I have no result.",
    "Unfortunately the service was unavailable.",
    "I wasn\u2019t able to finish: permission denied.",
]
FALSE = [
    "Done! All records were updated.",
    "Everything went through without any errors.",
    "All tests pass now, no issues found and 0 failures.",
    "The command did not fail. Finished.",
    "",
]


@pytest.mark.parametrize("answer", [*TRUE, *FALSE])
def test_an_answer_after_a_failure_has_to_admit_it(sim: SimWorld, answer: str) -> None:
    sim.fail("bash", error="no space left on device")
    bash(sim, "echo x > a")
    if answer in TRUE:
        sim.assert_no_false_claim(answer)
        return
    said = problem(lambda: sim.assert_no_false_claim(answer))
    assert "'bash' failed when it was last called, #1" in said
    assert "> #1 bash(command='echo x > a') [enforced] no space left on device" in said


@pytest.mark.parametrize("answer", [*TRUE, *FALSE])
def test_after_a_recovery_every_answer_will_do(sim: SimWorld, answer: str) -> None:
    sim.fail("bash", error="no", times=1)
    bash(sim, "ls", "ls")
    sim.assert_no_false_claim(answer)


def test_a_status_of_a_shell_and_an_error_of_a_tool_are_failures(sim: SimWorld) -> None:
    bash(sim, "ls /nope")
    sim.call("Read", file_path="/nope")
    said = problem(lambda: sim.assert_no_false_claim("Done."))
    assert "'bash' failed when it was last called, #1" in said
    assert "'Read' failed when it was last called, #2" in said


def test_the_rule_for_admitting_can_be_ones_own(sim: SimWorld) -> None:
    bash(sim, "false")
    sim.assert_no_false_claim("Leider nicht.", admits=lambda answer: "nicht" in answer)
    problem(lambda: sim.assert_no_false_claim("It failed.", admits=lambda answer: False))


def test_what_the_rule_cannot_know_is_known() -> None:
    # A word of failure that is about something else: the rule lets such an answer pass.
    assert admits_failure("Done. I fixed the error handling.")
    # And one that admits it in words of its own is refused.
    assert not admits_failure("The disk was full, so nothing was written.")


# Faults that never strike

NEVER = """
from agentworld_sim.controls import Fault

@pytest.mark.parametrize("command", ["ls", "reboot"])
def test_fail(world, command):
    world.fail("bash", when={"command": "reboot"}, error="no")
    world.call("bash", command=command)

def test_second_of_two(world):
    world.fail("bash", error="no", times=1)
    world.fail("bash", when={"command": "reboot"}, error="no")
    world.call("bash", command="ls")

def test_may_miss(world):
    world.fail("bash", when={"command": "reboot"}, error="no", may_miss=True)

def test_in_a_fork(world):
    world.fail("bash", error="no")
    world.fork().call("bash", command="ls")

@pytest.mark.sim(controls=[Fault(name="busy", tool="Read", error="busy")])
def test_marker(world):
    world.call("bash", command="ls")

@pytest.mark.sim(controls=["flaky-api"], may_miss="flaky-api")
def test_profile_may_miss(world):
    pass

@pytest.mark.sim(controls=["flaky-api"])
def test_profile(world):
    pass

def test_that_fails_says_only_that(world):
    world.fail("bash", error="no")
    assert False, "mine"
"""


def test_a_test_whose_fault_never_struck_fails_and_says_so(suite: Suite) -> None:
    suite.tests(NEVER)
    result = suite.run()
    result.assert_outcomes(passed=4, failed=5)
    result.stdout.fnmatch_lines_random(
        [
            "fault-1 of world.fail('bash', …) never struck a call*may_miss=True*",
            "fault-2 of world.fail('bash', …) never struck a call*",
            "*'busy' never struck a call*",
            "*'flaky-api' never struck a call*",
            "*AssertionError: mine*",
        ]
    )
    assert str(result.stdout).count("Let the agent make such a call") == 4
