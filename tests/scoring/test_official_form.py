"""AgentWorldBench's own readings: recorded values, and the official functions themselves where a checkout is at hand."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.errors import UsageError
from agentworld_sim.llm import ModelSettings
from agentworld_sim.scoring import BenchRow
from agentworld_sim.scoring.official_form import (
    JudgePrompts,
    Ratings,
    prediction_of,
    read_ratings,
)
from tests.bench.made_rows import ACTIONS, make_row, verdict
from tests.properties import examples

CHECKOUT = os.environ.get("AGENTWORLD_OFFICIAL_CHECKOUT", "")
"""A checkout of github.com/QwenLM/Qwen-AgentWorld."""

SETTINGS = ModelSettings(url="http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("<predicted_observation>\n a \n</predicted_observation>", "a"),
        ("<think>x</think>plain ", "plain"),
        ("lost</think><predicted_observation>a", "a"),
        ("<think>open <predicted_observation>a</predicted_observation>", "a"),
        ("<think>never closed", "No output"),
        ("<predicted_observation>a</predicted_observation><PREDICTED_OBSERVATION>b", "b"),
        ("<think>a<think>b</think>c</think>d", "d"),
        ("<predicted_observation></predicted_observation>", ""),
    ],
)
def test_a_prediction_is_read_as_by_the_official_script(reply: str, expected: str) -> None:
    assert prediction_of(reply) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (verdict([1, 2, 3, 4, 5]), [1, 2, 3, 4, 5]),
        (verdict([9, 2.5, "4/5", "good", None]), [5, 2, 4, 0, 0]),
        (verdict([-3, 0, 3, 3, 3]), [-3, 0, 3, 3, 3]),
        ('{"scores": {"format": 3,}, \'weaknesses\': []}', [3, 0, 0, 0, 0]),
        ('x {"a": 1} y {"note": "she said", "scores": {"quality": 2}}', [0, 0, 0, 0, 2]),
        ("The prediction is a fine one: 5 of 5.", "there is no JSON object"),
        ('```json\n{"rating": 5}\n```', "there is no object 'scores'"),
        ('{"scores": {"format": NaN}}', "not readable"),
        ("", "there is no JSON object"),
    ],
)
def test_ratings_are_read_as_by_the_official_script(reply: str, expected: list[int] | str) -> None:
    found = read_ratings(reply)
    if isinstance(found, Ratings):
        assert list(found.scores.values()) == expected
    else:
        assert isinstance(expected, str) and expected in found


def test_ratings_out_of_range_are_told() -> None:
    above = read_ratings(verdict([9, 1, 1, 1, 1]))
    assert isinstance(above, Ratings) and above.clamped
    assert above.total == 1.8
    none = read_ratings(verdict([0, 0, 0, 0, 0]))
    assert isinstance(none, Ratings) and none.total == 0


def test_our_own_prompts_stand_in_for_those_of_a_checkout(tmp_path: Path) -> None:
    row = BenchRow.from_json(make_row("mcp", 2), place="")
    own = JudgePrompts.load(None, SETTINGS)
    assert own.version.startswith("own ")
    assert "mcp 0 said 1" in own.messages(row, "guess")[1].content
    with pytest.raises(UsageError, match="takes the folder `prompts` of a checkout"):
        JudgePrompts.load(tmp_path, SETTINGS)
    template = tmp_path / "eval/lwm_eval_utils/task_configs.py"
    template.parent.mkdir(parents=True)
    template.write_text(
        'raise SystemExit\nJUDGE_USER_PROMPT = """{context}|{world_model_input}|{predicted_observation}'
        '|{ground_truth}| {{}}"""\n'
    )
    with pytest.raises(UsageError, match="judge_system_prompt"):
        JudgePrompts.load(tmp_path / "prompts", SETTINGS)
    for name in ACTIONS:
        (tmp_path / "prompts" / name).mkdir(parents=True)
        (tmp_path / "prompts" / name / "judge_system_prompt.txt").write_text(f"Judge {name}.")
    system, user = JudgePrompts.load(tmp_path / "prompts", SETTINGS).messages(row, "{guess}")
    assert system.content == "Judge mcp."
    first, second = row.actions
    assert user.content == (
        f"# Context (Historical Interactions):\n\n{first}\n{row.observations[0]}\n\n"
        f"|# Current Turn:\n\n{second}|**World Model Output (Simulated):**\n```\n{{guess}}\n```"
        "|**Ground Truth (Real Output):**\n```\nmcp 0 said 2\u2028.\n```| {}"
    )


@pytest.fixture(scope="module")
def official() -> Any:
    """The official functions, in a process of their own."""
    if not CHECKOUT:
        pytest.skip(
            "the official scripts are not ours to ship: name a checkout of QwenLM/Qwen-AgentWorld"
            " in AGENTWORLD_OFFICIAL_CHECKOUT"
        )
    sys.path.insert(0, f"{CHECKOUT}/eval")
    try:
        import eval as scripts  # pyright: ignore[reportMissingImports]
    finally:
        sys.path.pop(0)
    return scripts


PIECES = st.sampled_from([
    *("<think>", "</think>", "<THINK>", "<predicted_observation>", "</predicted_observation>", "\n"),
    *("<final_evaluation>", "</final_evaluation>", "```json\n", "```", "{", "}", '"scores"', ":", ","),
    *('{"scores": {"format": 4, "quality": "2/5"}}', "'a': 1", '"', "\\", " ", "x", "1", "**Environment Observation:**"),
    *('"format": 2.5', "{a: 1}", '{"scores": {"format": 9, "realism": -1},}', verdict([1, 2, 3, 4, 5])),
])  # fmt: skip
TEXTS = st.lists(PIECES, max_size=14).map("".join)


@pytest.mark.slow
@settings(max_examples=examples(3000), deadline=None)
@given(text=TEXTS)
def test_replies_are_read_like_the_official_functions_read_them(official: Any, text: str) -> None:
    assert prediction_of(text) == (
        official.parse_model_output(text, "predicted_observation") if text else "No output"
    )
    theirs = official.parse_judge_output(text, "final_evaluation")
    ours = read_ratings(text)
    assert isinstance(ours, Ratings) == theirs["success"]
    if isinstance(ours, Ratings):
        assert (ours.scores, ours.total) == (theirs["scores"], theirs["total_score"])


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@given(
    name=st.sampled_from(list(ACTIONS)),
    turn=st.sampled_from([1, 2]),
    texts=st.tuples(TEXTS, TEXTS, TEXTS),
    slashed=st.booleans(),
)
def test_judges_are_asked_what_the_official_script_asks(
    official: Any, name: str, turn: int, texts: tuple[str, str, str], slashed: bool
) -> None:
    row = make_row(name, turn, response=list(texts[:2]), task=f"lwm/{name}" if slashed else name)
    folder = Path(CHECKOUT) / "prompts"
    ours = JudgePrompts.load(folder, SETTINGS).messages(BenchRow.from_json(row, place=""), texts[2])
    theirs = official.build_judge_messages(row, texts[2], official.load_judge_system_prompts())
    assert [{"role": one.role, "content": one.content} for one in ours] == theirs
