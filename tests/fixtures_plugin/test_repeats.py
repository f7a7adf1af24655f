"""`repeat=n` and pass^k."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from agentworld_fixtures._test_records import Repeats

from .conftest import Suite, said

REPEATED = """
    @pytest.mark.sim(repeat=4, seed=10)
    def test_seeds(world):
        assert world.world.scenario.seed in (10, 11, 13)

    @pytest.mark.sim(repeat=2)
    @pytest.mark.parametrize("name", ["a", "b"])
    class TestClass:
        def test_all(self, world, name): pass

    @pytest.mark.sim(repeat=1)
    def test_once(world): pass

    @pytest.mark.sim(repeat=3)
    def test_skipped(world, request):
        if "sim-1" in request.node.nodeid: pytest.skip("not now")
        if "sim-2" in request.node.nodeid: pytest.xfail("known")
"""

TABLE = [
    "test                                *passed*pass^1*pass^2*pass^3*pass^4",
    "test_it.py::TestClass::test_all[[]a]*2 of 2*1.00*1.00",
    "test_it.py::TestClass::test_all[[]b]*2 of 2*1.00*1.00",
    "test_it.py::test_seeds              *3 of 4*0.75*0.50*0.25*0.00",
    "test_it.py::test_skipped            *1 of 2*0.50*0.00",
]


def test_repetitions_are_tests_with_seeds_of_their_own_and_a_table_at_the_end(suite: Suite) -> None:
    suite.tests(REPEATED)
    result = suite.run("-v")
    result.assert_outcomes(passed=9, failed=1, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(
        [
            "test_it.py::test_seeds[[]sim-1] PASSED*",
            "test_it.py::test_seeds[[]sim-3] FAILED*",
            "test_it.py::test_once PASSED*",
        ]
    )
    result.stdout.fnmatch_lines(TABLE)
    assert "pass^5" not in said(result)
    # One of them again, as it was.
    again = suite.run("test_it.py::test_seeds[sim-3]")
    again.assert_outcomes(failed=1)
    assert "seed 12" in said(again) or "== 12" in said(again) or "12 in" in said(again)


@pytest.mark.slow
def test_the_table_is_the_same_with_workers_and_in_any_order(suite: Suite) -> None:
    suite.tests(REPEATED)
    result = suite.run_outside("-n", "2", "-p", "randomly")
    result.assert_outcomes(passed=9, failed=1, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(TABLE)


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.integers(1, 7))
def test_the_estimate_is_the_share_of_all_choices_of_k_runs_that_passed(
    runs: list[bool], k: int
) -> None:
    if k > len(runs):
        return
    chosen = list(combinations(runs, k))
    share = sum(all(choice) for choice in chosen) / len(chosen)
    assert Repeats("test", sum(runs), len(runs)).power(k) == pytest.approx(share)
