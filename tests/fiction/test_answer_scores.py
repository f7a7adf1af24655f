"""Answers that are tables are scored as the evaluator of WideSearch scores them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim.errors import UsageError
from agentworld_sim.fiction.answer_scores import AnswerScore, CellMetric, GoldTable, score_answer

RECORDED = Path(__file__).parent / "data" / "widesearch_scores.jsonl"
"""Our own tables and answers (633 gold rows), and what the original says of them: precision, recall and F1 by row and
by item; commit 0e664c3 with pandas 2.3.1 and dateparser 1.2.1, no model behind it."""


def gold_of(case: dict[str, Any]) -> GoldTable:
    return GoldTable(
        columns=tuple(case["columns"]),
        rows=tuple(map(tuple, case["rows"])),
        unique_columns=tuple(case["unique_columns"]),
        metrics={
            name: CellMetric(
                metric=how["metric"],
                criterion=how["criterion"],
                preprocess=tuple(how["preprocess"]),
            )
            for name, how in case["metrics"].items()
        },
    )


def figures(score: AnswerScore) -> Sequence[float]:
    return (
        score.row_precision, score.row_recall, score.row_f1,
        score.item_precision, score.item_recall, score.item_f1,
    )  # fmt: skip


def test_every_figure_is_that_of_the_original() -> None:
    cases = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    for case in cases:
        score = score_answer(gold_of(case), case["answer"])
        assert figures(score) == pytest.approx(case["figures"], abs=1e-9), case
        assert score.success is case["success"], case
    assert sum(len(case["rows"]) for case in cases) > 500


MAKERS = GoldTable(
    columns=("Maker", "Founded", "Sales"),
    rows=(("Oskanpem", 1987, 12.5), ("Veldru", 2003, 8.0)),
    unique_columns=("Maker",),
    metrics={
        "Maker": CellMetric(preprocess=("norm_str",)),
        "Founded": CellMetric(metric="number_near", preprocess=("extract_number",)),
        "Sales": CellMetric(metric="number_near", criterion=0.01),
    },
)


def test_the_gold_table_scores_1() -> None:
    assert figures(score_answer(MAKERS, MAKERS.markdown())) == (1, 1, 1, 1, 1, 1)
    assert score_answer(MAKERS, f"Here:\n```markdown\n{MAKERS.markdown()}\n```").success


def test_a_wrong_cell_costs_its_row_and_itself() -> None:
    score = score_answer(MAKERS, MAKERS.markdown().replace("1987", "1988"))
    assert figures(score) == pytest.approx((1 / 2, 1 / 2, 1 / 2, 5 / 6, 5 / 6, 5 / 6))
    assert not score.success


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        ("Oskanpem, founded in 1987.", "no Markdown table"),
        (
            "| Maker | Founded |\n|---|---|\n| Veldru | 2003 |",
            "has the columns maker, founded, not",
        ),
        (
            "| Maker | Founded | Sales |\n|---|---|---|\n| Veldru | 2003 | 8 |\n| a | b | c | d |",
            "more cells",
        ),
        ("```markdown\n```", "empty"),
    ],
)
def test_an_answer_without_such_a_table_scores_0_and_says_why(answer: str, note: str) -> None:
    score = score_answer(MAKERS, answer)
    assert figures(score) == (0, 0, 0, 0, 0, 0)
    assert note in score.note


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metrics": {"Founded": CellMetric(metric="llm_judge")}}, "needs a model as judge"),  # pyright: ignore[reportArgumentType] - the case
        ({"metrics": {"Found": CellMetric()}}, "Founded"),
        ({"metrics": {}}, "has no metric"),
        ({"unique_columns": ()}, "no unique columns"),
    ],
)
def test_a_gold_table_that_cannot_be_scored_is_refused(
    change: dict[str, Any], message: str
) -> None:
    parts: dict[str, Any] = {
        "columns": ("Maker", "Founded"),
        "rows": (),
        "unique_columns": ("Maker",),
    }
    with pytest.raises(UsageError, match=message):
        GoldTable(**{**parts, **change})
