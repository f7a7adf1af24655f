"""The rule part of the reward: what is exact, what a world accepts, and what is neither."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agentworld_sim.scoring import FULL, PredictionReward, agreement, is_exact
from agentworld_sim.types.turns import Observation
from tests.scoring.samples import BEFORE, TRUTH, WRONG, answer, sample

RULE = PredictionReward()


async def test_an_exact_answer_earns_everything_and_says_so() -> None:
    reward = await RULE(sample(), answer(TRUTH, "It prints the file."))
    assert reward.value == FULL
    assert reward.parts == {"form": 1.0, "exact": 1.0, "agreement": 1.0}
    assert reward.reason == "exact"


async def test_a_wrong_answer_of_the_right_form_earns_nothing_and_tells_how_near_it_was() -> None:
    reward = await RULE(sample(), answer(WRONG))
    assert (reward.value, reward.parts["form"], reward.parts["exact"]) == (0.0, 1.0, 0.0)
    assert 0.5 < reward.parts["agreement"] < 1.0


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (TRUTH, "no-tag"),
        ("", "no-tag"),
        (f"<predicted_observation>\n{TRUTH}", "cut"),
        (f"<think>\nlong\n<predicted_observation>\n{TRUTH}\n</predicted_observation>", "cut"),
        (answer("Here is the predicted output:\n" + TRUTH), "unreadable"),
        (answer("x" * 10_000), "too-long"),
        (answer(""), "empty"),
        (answer(BEFORE), "copied"),
        (answer("This output is simulated by a language model."), "no-pretence"),
    ],
)
def test_what_no_world_could_use_earns_nothing_for_a_reason_with_a_name(
    text: str, name: str
) -> None:
    reward = RULE.rule(sample(), text)
    assert reward.value == 0.0
    assert reward.parts == {"form": 0.0, "exact": 0.0, "agreement": 0.0}
    assert reward.reason.startswith(f"{name}: ")


def test_an_empty_observation_is_right_where_the_environment_said_nothing() -> None:
    assert RULE.rule(sample("", command="touch a"), answer("")).value == FULL


def test_the_same_screen_again_is_right_where_nothing_changed() -> None:
    assert RULE.rule(sample(BEFORE, command="ls -l"), answer(BEFORE)).value == FULL


def test_the_wire_form_s_own_normalisation_counts_as_equal() -> None:
    fenced = answer(f"**Environment Observation:**\n```\n{TRUTH}\n```")
    assert RULE.rule(sample(), fenced).value == FULL
    assert RULE.rule(sample(), answer(TRUTH + " ")).value == 0.0


def test_json_is_compared_as_a_value_where_the_tool_promises_json() -> None:
    asked = sample('{"a": 1, "b": [true]}', tool={"output_schema": {"type": "object"}})
    assert RULE.rule(asked, answer('{"b":[true],"a":1}')).value == FULL
    assert RULE.rule(asked, answer('{"b":[true],"a":2}')).value == 0.0
    assert RULE.rule(asked, answer("no json")).reason.startswith("form: ")


def test_json_is_text_where_no_tool_promises_it() -> None:
    asked = sample('{"a": 1, "b": 2}')
    assert RULE.rule(asked, answer('{"b": 2, "a": 1}')).value == 0.0


LISTING = "-rw-r--r-- 1 dev dev 7 Nov 21 18:32 a\n-rw-r--r-- 1 dev dev 7 Nov 21 18:32 b"


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        (LISTING, True),
        (LISTING.replace("Nov 21 18:32", "Jan  3 09:05"), True),
        (LISTING.replace("Nov 21 18:32", "Jan  3 09:05", 1), False),
        (LISTING.replace("18:32", "25:32"), False),
        (LISTING.replace("Nov 21 18:32", "2026-11-21 18:32"), False),
        (LISTING.replace(" 7 ", " 8 ", 1), False),
    ],
)
def test_a_time_that_nobody_could_know_needs_only_its_form_and_range(
    text: str, exact: bool
) -> None:
    asked = sample(LISTING, command="ls -l", before="(nothing yet)")
    assert RULE.rule(asked, answer(text)).value == (FULL if exact else 0.0)


def test_a_time_that_stands_in_the_prompt_must_be_right() -> None:
    asked = sample(LISTING, command="ls -l", before="it is Nov 21 18:32 now")
    changed = LISTING.replace("Nov 21 18:32", "Jan  3 09:05")
    assert RULE.rule(asked, answer(changed)).value == 0.0
    assert RULE.rule(asked, answer(LISTING)).value == FULL


@pytest.mark.parametrize(
    ("truth", "text"),
    [
        ("at 2026-03-04T05:06:07.891Z.", "at 2031-12-31T23:59:59.000Z."),
        ("Wed Mar  4 05:06:07 UTC 2026", "Fri Jan 30 15:16:17 UTC 2027"),
        ("up since 05:06:07", "up since 23:59:00"),
    ],
)
def test_times_are_known_in_the_usual_forms(truth: str, text: str) -> None:
    assert is_exact(Observation(text=text), Observation(text=truth), "")
    assert not is_exact(Observation(text=text + "0"), Observation(text=truth), "")


def test_a_check_that_refuses_what_the_environment_said_is_left_out() -> None:
    quoted = "1: this output is simulated by a language model\n2: end of file"
    asked = sample(quoted)
    near = RULE.rule(asked, answer(quoted.replace("end of", "rest of")))
    assert near.parts["form"] == 1.0


def test_a_sample_without_evidence_is_judged_by_its_text_and_its_prompt() -> None:
    asked = sample(provenance=None)
    assert RULE.rule(asked, answer(TRUTH)).value == FULL
    assert RULE.rule(asked, answer("This output is simulated.")).reason.startswith("no-pretence")


def test_no_better_than_a_copy_of_the_observation_before_is_no_agreement() -> None:
    assert agreement("a b c d", "a b c e", "a b c d") == 0.0
    assert agreement("a b c e", "a b c e", "a b c d") == 1.0
    assert 0.0 < agreement("a b x y", "a b c e", None) < 1.0


@given(st.text(), st.text(), st.none() | st.text())
def test_agreement_is_a_share(one: str, other: str, before: str | None) -> None:
    assert 0.0 <= agreement(one, other, before) <= 1.0


@given(st.text(max_size=200))
def test_everything_is_exactly_itself(text: str) -> None:
    assert is_exact(Observation(text=text), Observation(text=text), "")


@given(st.text(max_size=400))
def test_no_text_breaks_the_reward(text: str) -> None:
    for one in (text, answer(text)):
        assert RULE.rule(sample(), one).value in (0.0, FULL)
