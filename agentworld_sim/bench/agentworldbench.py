"""AgentWorldBench (arXiv 2606.24597): any engine predicts rows, and a judge rates what it predicted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from agentworld_sim.bench.row_runs import (
    Budget,
    JudgeReply,
    PredictedRow,
    Prediction,
    begin_run,
    read_run,
)
from agentworld_sim.bench.run import for_each
from agentworld_sim.bench.run_file import append_lines
from agentworld_sim.domains import domain
from agentworld_sim.errors import (
    ArgumentsError,
    ContextOverflow,
    ModelUnavailable,
    UnknownToolError,
    UsageError,
    WorldFailure,
)
from agentworld_sim.imagination import WorldModel, usage_of
from agentworld_sim.llm.chat import LARGEST_SEED, ChatMessage, ChatRequest
from agentworld_sim.llm.client import ChatClient
from agentworld_sim.scenario import Scenario
from agentworld_sim.scoring import BenchRow, parse_action, parse_call
from agentworld_sim.scoring.official_form import JudgePrompts, prediction_of, read_ratings
from agentworld_sim.types.refs import hash_ref
from agentworld_sim.types.turns import Turn
from agentworld_sim.world import World

ATTEMPTS = 3
"""A judge that cannot be read is asked so often, as by the official script; and so often again in a later run."""

Predictor = Callable[[BenchRow], Awaitable[Prediction]]
"""The engine under test. A row that it cannot answer is a `Prediction` that failed; what it raises ends the run."""


async def predict_rows(
    rows: Mapping[str, BenchRow],
    predict: Predictor,
    output: Path,
    *,
    about: Mapping[str, Any],
    concurrency: int = 64,
    budget: Budget | None = None,
    on_row: Callable[[], None] = lambda: None,
) -> None:
    """Has rows predicted; those that the file has are not asked again, and equal ones are asked once.

    Args:
        rows: By key, see `read_rows`.
        predict: Predicts.
        output: See `begin_run`.
        about: What decides on the predictions.
        concurrency: Requests at a time.
        budget: What may be paid; it counts what is.
        on_row: Told of every new row.

    Raises:
        UsageError: the file is of another run, or another model begins to answer.
        BudgetSpent: there is more to ask. What was answered is kept, as with every failure.
        ModelFailure: the server is down or refuses.
    """
    run, budget = begin_run(output, about), budget or Budget()
    budget.begin(run.payments())
    models = {one.prediction.model for one in run.predicted.values()} - {""}
    equal_rows: dict[tuple[str, str], list[str]] = {}
    for key, row in rows.items():
        equal_rows.setdefault((row.sample.id, row.recorded), []).append(key)

    async def work(keys: Sequence[str]) -> None:
        budget.take()
        said = await predict(rows[keys[0]])
        budget.add(said.usage)
        models.update({said.model} - {""})
        if len(models) > 1:
            raise UsageError(
                f"the server answers as {said.model!r}, and the run was begun with {min(models - {said.model})!r}."
                " Such a reply is not taken: have the first model served again, or name another --output."
            )
        # Equal rows share a reply, which was paid once.
        replies = [said, *[replace(said, usage=None)] * (len(keys) - 1)]
        write(map(_row_of, keys, map(rows.__getitem__, keys), replies))
        for _ in keys:
            on_row()

    with append_lines(output) as write:
        waiting = [keys for keys in equal_rows.values() if not run.predicted.keys() >= {*keys}]
        await for_each(waiting, work, concurrency)


def _row_of(key: str, row: BenchRow, said: Prediction) -> PredictedRow:
    return PredictedRow(
        key=key,
        id=row.id,
        domain=row.domain,
        trajectory=row.trajectory,
        turn=row.turn,
        action=parse_action(row.current),
        truth=row.sample.observation,
        prediction=said,
    )


async def judge_rows(
    rows: Mapping[str, BenchRow],
    client: ChatClient,
    prompts: JudgePrompts,
    output: Path,
    *,
    about: Mapping[str, Any],
    budget: Budget | None = None,
    on_row: Callable[[], None] = lambda: None,
) -> tuple[int, int]:
    """Has a judge rate the predictions of a run, into the same file. No question that has a readable reply there is
    asked again.

    Args:
        rows: Those of the run.
        client: Asks the judge.
        prompts: What it is asked.
        output: The file of the run.
        about: What decides on the judge's replies.
        budget: What may be paid to this judge; it counts what is.
        on_row: Told of every row that is done.

    Returns:
        How many of this judge's replies in the file cannot be read, and how many there are.

    Raises:
        UsageError: rows of the run are not there.
        BudgetSpent: there is more to ask. What was answered is kept, as with every failure.
        ModelFailure: the server is down or refuses.
    """
    run, budget = read_run(output), budget or Budget()
    predicted = {key: one for key, one in run.predicted.items() if one.prediction.reply}
    if missing := [one.id for key, one in predicted.items() if key not in rows]:
        raise UsageError(
            f"{len(missing)} rows of {str(output)!r} are not in the files given, the first is {missing[0]!r}."
            " Give all files that the run was made of."
        )
    judge = hash_ref("judge", dict(about))[:12]
    budget.begin(run.payments(judge))
    given = {(one.question, one.attempt): one for one in run.replies if one.judge == judge}
    before = Counter(question for question, _ in given)
    questions: dict[str, list[str]] = {}
    asked: dict[str, tuple[ChatMessage, ...]] = {}
    for key in sorted(predicted):
        messages = prompts.messages(rows[key], prediction_of(predicted[key].prediction.reply))
        question = hash_ref("question", [[part.role, part.content] for part in messages])
        questions.setdefault(question, []).append(key)
        asked[question] = messages

    async def work(question: str) -> None:
        keys = questions[question]
        # A run that was cut off goes on with its attempts; a later one has as many anew.
        for attempt in range((before[question] // ATTEMPTS + 1) * ATTEMPTS):
            if known := given.get((question, attempt)):
                reply = replace(known, keys=keys, usage=None)
            else:
                budget.take()
                said = await _ask(client, asked[question], _seed(f"{question} {attempt}"))
                budget.add(said.usage)
                reply = JudgeReply(
                    keys=keys,
                    judge=judge,
                    question=question,
                    attempt=attempt,
                    reply=said.reply,
                    usage=said.usage,
                    failed=said.failed,
                )
            if not known or known.keys != keys:
                write([reply])
            given[question, attempt] = reply
            if not isinstance(read_ratings(reply.reply), str) or (reply.failed and not known):
                break
        for _ in keys:
            on_row()

    with append_lines(output) as write:
        if judge not in run.judges:
            write([{"judge": judge, "about": dict(about)}])
        await for_each(asked, work, client.settings.concurrency)
    return sum(isinstance(read_ratings(one.reply), str) for one in given.values()), len(given)


async def _ask(client: ChatClient, messages: tuple[ChatMessage, ...], seed: int) -> Prediction:
    settings = client.settings
    request = ChatRequest(
        messages=messages,
        max_tokens=settings.max_tokens,
        seed=seed,
        thinking=settings.thinking,
        thinking_tokens=settings.thinking_tokens,
    )
    try:
        reply = await client.ask(request)
    except ContextOverflow as failure:
        return Prediction(failed=str(failure))
    return Prediction(
        reply=reply.content,
        model=reply.model,
        usage=dict(reply.usage) if reply.source == "server" else None,
        failed="" if reply.content else f"the reply is empty ({reply.finish_reason})",
    )


def _seed(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") % LARGEST_SEED


@dataclass(frozen=True, slots=True)
class ModelPredictor:
    """A served model, which is sent a row's texts as they are."""

    model: WorldModel
    history: bool = True
    """Whether it is told the earlier turns."""
    seed: int = 0

    async def __call__(self, row: BenchRow) -> Prediction:
        told = [one for one in row.sample.messages if one["role"] != "system" or one["content"]]
        if not self.history:
            told = [one for one in told if one["role"] == "system"] + told[-1:]
        messages = tuple(ChatMessage(one["role"], one["content"]) for one in told)  # pyright: ignore[reportArgumentType]
        return await _ask(self.model.client, messages, _seed(f"{row.sample.id} {self.seed}"))


@dataclass(frozen=True, slots=True)
class WorldPredictor:
    """A world, in which the earlier actions of a row are done again: what it computes, and what its model imagines."""

    scenario: Scenario
    """Where the row's environment begins."""
    model: Any = False
    """See `World.create`."""
    seed: int = 0

    async def __call__(self, row: BenchRow) -> Prediction:
        calls = [parse_call(parse_action(text)) for text in row.actions[: row.turn]]
        async with await World.create(self.scenario, seed=self.seed, model=self.model) as world:
            turns: list[Turn] = []
            failed = ""
            try:
                for call in calls:
                    turns.append(await world.step(call))
            except ModelUnavailable:
                raise
            except (WorldFailure, ArgumentsError, UnknownToolError) as failure:
                failed = str(failure)
        spent = usage_of(turns)
        tokens = {
            "prompt_tokens": spent.prompt_tokens,
            "completion_tokens": spent.completion_tokens,
        }
        return Prediction(
            reply="" if failed else domain(row.domain).write(turns[-1].observation),
            usage=tokens if spent.requests else None,
            failed=failed,
        )


async def recorded_prediction(row: BenchRow) -> Prediction:
    """The reply that the row brings, as the official script writes it."""
    return Prediction(reply=row.recorded, failed="" if row.recorded else "the row brings no reply")
