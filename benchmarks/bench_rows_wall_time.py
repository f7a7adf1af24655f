"""500 rows in AgentWorldBench form, predicted and judged, against one request after another as the official script asks.

Of the sequential loop 25 rows are measured, and 20 times that is reported. Scores of both are compared on these rows.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import mean
from typing import Any

from openai import OpenAI

from agentworld_sim.bench.agentworldbench import ModelPredictor, judge_rows, predict_rows
from agentworld_sim.bench.row_runs import read_rows, read_run
from agentworld_sim.bench.row_scores import judged_runs, normal, summary
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import (
    ModelRequest,
    ScriptedModelServer,
    ScriptedReply,
)
from agentworld_sim.scoring.official_form import JudgePrompts, Ratings, prediction_of, read_ratings
from benchmarks._rows import Row

ROWS, SEQUENTIAL, DELAY_S, AT_A_TIME = 500, 25, 0.2, 64


def rows() -> list[Row]:
    """Wall time of both."""
    here, there = multiprocessing.Pipe()
    # A process of its own: the clients' time is what is measured.
    process = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(there,), daemon=True
    )
    process.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            return _measure(Path(folder), here.recv())
    finally:
        process.terminate()


def _measure(folder: Path, url: str) -> list[Row]:
    path, few = folder / "terminal_test.jsonl", folder / "few.jsonl"
    lines = [json.dumps(_row(number)) + "\n" for number in range(ROWS)]
    path.write_text("".join(lines))
    few.write_text("".join(lines[:SEQUENTIAL]))
    ours = asyncio.run(_ours(path, folder / "run.jsonl", url))
    theirs, score = _sequential(few, url)
    asyncio.run(_ours(few, folder / "few-run.jsonl", url))
    told = summary(judged_runs(read_run(folder / "few-run.jsonl"))[0])
    assert told["micro"]["total"] == score
    theirs *= ROWS / SEQUENTIAL
    target = "60 times faster"
    name = f"{ROWS} rows predicted and judged, {AT_A_TIME} at a time, server of {DELAY_S * 1000:.0f} ms"
    met = theirs >= 60 * ours
    return [Row(name, ours, "s", "one request after another", theirs, target, met)]


async def _ours(path: Path, output: Path, url: str) -> float:
    began = time.perf_counter()
    model = WorldModel(ModelSettings(url=url, concurrency=AT_A_TIME))
    found, _ = read_rows([path])
    await predict_rows(found, ModelPredictor(model), output, about={}, concurrency=AT_A_TIME)
    prompts = JudgePrompts.load(None, model.settings)
    await judge_rows(found, model.client, prompts, output, about={"model": "", "prompts": ""})
    await model.close()
    return time.perf_counter() - began


def _sequential(path: Path, url: str) -> tuple[float, float]:
    """Seconds, and the mean of rows."""
    began = time.perf_counter()
    client = OpenAI(base_url=url, api_key="EMPTY")
    prompts = JudgePrompts.load(None, ModelSettings(url=url))

    def ask(messages: Any) -> str:
        said = client.chat.completions.create(
            model="Qwen/Qwen-AgentWorld-35B-A3B", messages=messages
        )  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
        return said.choices[0].message.content or ""  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]

    totals: list[float] = []
    for row in read_rows([path])[0].values():
        prediction = prediction_of(ask([{**one} for one in row.sample.messages]))
        messages = prompts.messages(row, prediction)
        ratings = read_ratings(
            ask([{"role": one.role, "content": one.content} for one in messages])
        )
        assert isinstance(ratings, Ratings)
        totals.append(ratings.total)
    return time.perf_counter() - began, normal(mean(totals))


def _row(number: int) -> dict[str, object]:
    actions = [f"### Turn {turn}\n**Action:**\necho {number}" for turn in (1, 2)]
    return {
        "task": "terminal",
        "id": str(number),
        "prompt": actions,
        "response": [f"**Environment Observation:**\n{number * 7}"] * 2,
        "system_str": "You are a terminal.",
        "turn_idx": 2,
    }


def _serve(there: Connection) -> None:
    def reply(request: ModelRequest) -> ScriptedReply:
        text = request.last_user
        said = f"<predicted_observation>{len(request.messages)}</predicted_observation>"
        if "final_evaluation" in text:
            names = ("format", "factuality", "consistency", "realism", "quality")
            scores = {
                name: 1 + sum(text.encode()) * factor % 5 for factor, name in enumerate(names, 1)
            }
            said = f"<final_evaluation>{json.dumps({'scores': scores})}</final_evaluation>"
        return ScriptedReply(said, delay_s=DELAY_S)

    with ScriptedModelServer(reply, keep_requests=0) as server:
        there.send(server.url)
        time.sleep(3600)


if __name__ == "__main__":
    print(*rows(), sep="\n")
