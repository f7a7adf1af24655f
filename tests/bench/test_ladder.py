"""The ladder: the same calls on every rung, each with one part more."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agentworld_sim.bench.ladder import RUNGS, climb
from agentworld_sim.bench.run import Row, examples_from, tools_that_lose
from agentworld_sim.bench.scores import Score
from agentworld_sim.bench.transitions import TransitionSet
from agentworld_sim.cli import cli
from agentworld_sim.errors import UsageError
from agentworld_sim.imagination.examples import ExampleLibrary, write_examples
from agentworld_sim.llm.scripted import ModelRequest, ScriptedModelServer
from agentworld_sim.llm.settings import ModelSettings


def test_every_rung_has_what_the_rungs_below_have() -> None:
    asked = [rung for rung in RUNGS if rung.prompts != "none"]
    for below, above in pairwise(asked):
        assert below.settings.keys() <= above.settings.keys()
        assert below.with_records <= above.with_records
        assert (below.prompts, below.settings) != (above.prompts, above.settings)
    for rung in asked:
        ModelSettings(url="http://127.0.0.1:1/v1", **rung.settings)


def answer(request: ModelRequest) -> str:
    """What the last example says; a model that copies."""
    said = [one["content"] for one in request.messages if one["role"] == "assistant"]
    return said[-1] if said else "no idea"


@pytest.fixture
def examples(shop: TransitionSet, tmp_path: Path) -> Path:
    path = tmp_path / "examples.jsonl"
    write_examples(path, examples_from(shop.transitions()))
    return path


async def test_all_rungs_are_asked_the_same_calls_and_nothing_twice(
    recording: Callable[..., Path], examples: Path, tmp_path: Path
) -> None:
    shop = TransitionSet.load([recording("task_1", "task_2")])
    asked = [one for one in shop.transitions() if one.session.task == "task_2"]
    draws = {0: asked[:3], 1: asked[3:]}

    async def all_rows(url: str) -> dict[str, list[Row]]:
        settings, found = ModelSettings(url=url, thinking=False), dict[str, list[Row]]()
        async for rung, _, rows in climb(draws, settings, tmp_path / "runs", examples=examples):
            found.setdefault(rung.name, []).extend(rows)
        return found

    with ScriptedModelServer(answer) as server:
        found = await all_rows(server.url)
        count = len(server.requests)
        assert await all_rows(server.url) == found
        assert len(server.requests) == count
    assert [*found] == [rung.name for rung in RUNGS if rung.prompts != "official"]
    for rows in found.values():
        assert [row.id for row in rows] == [one.id for one in asked]
    right = {name: sum(row.score.right for row in rows) for name, rows in found.items()}
    # The same calls in the same states were recorded: a look-up knows them all, and so does who copies.
    assert (right["look-up"], right["bare"], right["state"]) == (5, 0, 5)
    assert found["look-up"][0].signals is None


def test_examples_show_records_by_table_as_questions_do(shop: TransitionSet) -> None:
    created, shown, closed, _, deleted = list(examples_from(shop.transitions()))[:5]
    old = '{"order_id":"4711","article":"cup","status":"open"}'
    new = '{"order_id":"8154","article":"pot","status":"open"}'
    assert created.records == "orders (0 records, named by order_id)"
    assert closed.records == f"orders (1 record, named by order_id)\n{old}"
    assert deleted.records == f"orders (1 record, named by order_id)\n{new}"
    assert shown.records.startswith(
        f"orders (2 records, named by order_id)\n{old}\n{new}\n\nsettings"
    )


async def test_a_look_up_refuses_what_was_never_recorded(
    shop: TransitionSet, tmp_path: Path
) -> None:
    path = tmp_path / "examples.jsonl"
    write_examples(path, [])
    draws = {0: list(shop.transitions())[:1]}
    settings = ModelSettings(url="http://127.0.0.1:9/v1")
    async for _, _, rows in climb(draws, settings, tmp_path, examples=path, rungs=RUNGS[:1]):
        assert "no recorded call is like 'open_order'" in rows[0].refused


def row(tool: str, number: int, right: bool) -> Row:
    score = Score(text=right, value=right, form=right, state=right, changed=0)
    more: dict[str, Any] = {"text": "", "changes": {}, "refused": "", "usage": {}}
    return Row(
        id=f"{tool}/{number}",
        session=tool,
        tool=tool,
        side="known",
        score=score,
        confidence=None,
        signals=None,
        **more,
    )


def test_tools_that_lose_by_examples_are_told_none(
    recording: Callable[..., Path], tmp_path: Path
) -> None:
    without = [row("show_order", 0, False), row("close_order", 0, True), row("open_order", 0, True)]
    helped = [row("show_order", 0, True), row("close_order", 0, False), row("open_order", 0, True)]
    assert tools_that_lose(without, helped) == ["close_order"]
    with pytest.raises(UsageError, match="no call in common"):
        tools_that_lose(without, [row("open_order", 1, True)])
    paths = [tmp_path / name for name in ("without.jsonl", "with.jsonl")]
    for path, rows in zip(paths, (without, helped), strict=True):
        path.write_text(
            json.dumps({"settings": {}})
            + "\n"
            + "".join(json.dumps(asdict(one)) + "\n" for one in rows)
        )
    output = tmp_path / "examples.jsonl"
    recorded = str(recording(*(f"task_{number}" for number in range(9))))
    arguments = ["bench", "examples", recorded, "--output", str(output), "--gate", *map(str, paths)]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert "none for close_order, which lose by them" in done.output
    library = ExampleLibrary.load(output)
    assert library.choose("close_order", "4711") == []
    assert library.choose("show_order", "4711") != []
