"""A real model, too small to be good, goes the whole way: recorded calls, prompts, log-probabilities, figures, confidence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.bench.run import Row, read_run
from agentworld_sim.cli import cli
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.store import SqliteStore
from tests.small_model.conftest import BUILD
from tests.vllm.server import VllmServer

ASKED = 8
"""Calls, twice each: with one set of tools, so that the server reads their definitions once."""

Command = Callable[..., str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def command(small_server: VllmServer, folder: Path) -> Command:
    """Runs `agentworld` and returns what it printed."""
    environment = {
        "AGENTWORLD_MODEL_URL": small_server.url,
        "AGENTWORLD_API_KEY": small_server.api_key,
        "AGENTWORLD_STORE": str(folder / "worlds.sqlite"),
    }

    def run(*arguments: object) -> str:
        done = CliRunner(env=environment).invoke(
            cli, [str(one) for one in arguments], catch_exceptions=False
        )
        assert done.exit_code == 0, done.output
        return done.output

    return run


@pytest.fixture(scope="module")
def examples(command: Command, folder: Path) -> Path:
    """Recorded calls of one set of tools, beside the recording that they come from."""
    command("bench", "make", "bfcl", "--environment", BUILD / "bfcl", "--output", folder / "all")
    lines = (folder / "all").read_text("utf-8").splitlines(keepends=True)
    sessions = [line for line in lines if json.loads(line).get("apis") == ["TradingBot"]]
    rest = [line for line in lines if "task" not in json.loads(line)]
    (folder / "bfcl.jsonl").write_text("".join(rest + sessions), encoding="utf-8")
    assert len(sessions) == 40
    path = folder / "examples.jsonl"
    command("bench", "examples", folder / "bfcl.jsonl", "--output", path)
    return path


@pytest.fixture(scope="module")
def run_file(command: Command, folder: Path, examples: Path) -> Path:
    """What the model answered to calls that it is shown the right answer of, among three examples."""
    path = folder / "run.jsonl"
    command(
        *("bench", "run", folder / "bfcl.jsonl", "--output", path, "--examples", examples),
        *("--side", "train", "--most", ASKED, "--no-records", "--structured", "off"),
        *("--samples", 2, "--reasks", 0, "--logprobs", "--no-thinking", "--max-tokens", 200),
    )
    return path


@pytest.fixture(scope="module")
def rows(run_file: Path) -> list[Row]:
    return read_run(run_file)[1]


def test_it_repeats_what_it_is_shown(rows: list[Row]) -> None:
    # Measured: the form of 4, and 1 refused. Without its examples it has the form of one in sixteen.
    assert len(rows) == ASKED
    assert sum(row.score.form for row in rows) >= ASKED // 4
    assert sum(bool(row.refused) for row in rows) <= ASKED // 2


def test_every_answer_tells_how_likely_its_words_were_and_how_many_agreed(rows: list[Row]) -> None:
    signals: list[Any] = [row.signals for row in rows if not row.refused]
    assert signals
    assert all(one["logprob"] < 0 and one["agreement"] in (0.5, 1.0) for one in signals)
    assert all(row.confidence is not None for row in rows if not row.refused)


def test_the_run_is_reported(command: Command, run_file: Path, rows: list[Row]) -> None:
    told = json.loads(command("bench", "report", run_file, "--json"))["run"]
    assert told["form"]["count"] == ASKED
    assert told["form"]["share"] == 100 * sum(row.score.form for row in rows) / ASKED


async def test_a_world_keeps_the_confidence_of_its_turns(
    small_server: VllmServer, examples: Path, command: Command, folder: Path
) -> None:
    settings = ModelSettings(
        url=small_server.url,
        api_key=small_server.api_key,
        examples=examples,
        logprobs=True,
        samples=2,
        thinking=False,
        max_tokens=200,
    )
    tool = {
        "name": "get_stock_info",
        "description": "Get the details of a stock.",
        "domain": "mcp",
        "input_schema": {"type": "object", "properties": {"symbol": {"type": "string"}}},
    }
    scenario = Scenario.model_validate({"name": "stocks", "domains": ["mcp"], "tools": [tool]})
    store = SqliteStore(folder / "worlds.sqlite")
    async with await World.create(scenario, store=store, model=WorldModel(settings)) as world:
        turn = await world.step(ToolCall("get_stock_info", {"symbol": "NVDA"}))
    confidence = turn.exchanges[-1].confidence
    assert confidence is not None and 0 < confidence < 1
    printed = command("world", "cost", world.id, "--json")
    assert json.loads(printed)["confidence"] == pytest.approx(confidence, abs=1e-3)
