"""Rows in AgentWorldBench form are read as they are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentworld_sim.errors import UsageError
from agentworld_sim.scoring import BenchRow, domain_of_file, is_bench_row

ROW: dict[str, Any] = {
    "task": "count-lines",
    "id": "x1",
    "prompt": ["### Turn 1\n**Action:**\nls", "### Turn 2\n**Action:**\nwc -l a.txt"],
    "response": ["**Predicted Observation:**\na.txt", "**Environment Observation:**\n5 a.txt"],
    "system_str": "You are a terminal.",
    "turn_idx": 2,
}


def test_the_question_is_the_texts_of_the_row_up_to_the_turn_that_is_asked_about() -> None:
    row = BenchRow.from_json(ROW, place="rows.jsonl, line 1", domain="terminal")
    assert [message["content"] for message in row.sample.messages] == [
        ROW["system_str"],
        ROW["prompt"][0],
        ROW["response"][0],
        ROW["prompt"][1],
    ]
    assert (row.sample.observation, row.sample.turn, row.domain) == ("5 a.txt", 2, "terminal")


def test_rows_about_several_turns_share_their_trajectory_and_not_their_sample() -> None:
    rows = [
        BenchRow.from_json({**ROW, "turn_idx": turn}, place="", domain="terminal")
        for turn in (1, 2)
    ]
    assert len({row.trajectory for row in rows}) == 1
    assert len({row.sample.id for row in rows}) == 2


def test_a_row_without_an_answer_later_on_can_still_be_asked_about() -> None:
    row = BenchRow.from_json({**ROW, "response": [ROW["response"][0]]}, place="", domain="terminal")
    assert row.observations == (ROW["response"][0], None)
    assert row.sample.observation == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"turn_idx": 3}, "here: `turn_idx` is 3, and the row has 2 actions"),
        ({"response": [None, "x"]}, "here: `response` has no observation for turn 1"),
        ({"prompt": "x"}, "here: 'prompt' is str, and must be list"),
        ({"domain": "termnal"}, "Did you mean 'terminal'"),
    ],
)
def test_a_wrong_row_is_named_with_its_place_and_its_problem(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as error:
        BenchRow.from_json({**ROW, **change}, place="here", domain="terminal")
    assert message in str(error.value)


def test_the_domain_of_a_row_is_told_by_its_file_or_asked_for() -> None:
    assert is_bench_row(ROW) and not is_bench_row({"call": {}, "observation": ""})
    with pytest.raises(UsageError, match="the row does not tell its domain"):
        BenchRow.from_json(ROW, place="here")
    assert [domain_of_file(Path(name)) for name in ("swe_test.jsonl", "rows.jsonl")] == [
        "swe",
        None,
    ]
