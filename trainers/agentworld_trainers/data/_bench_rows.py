"""Rows in the form of AgentWorldBench as training data."""

from __future__ import annotations

from agentworld_sim.scoring import BenchRow, Message, parse_action, parse_call, strip_marker
from agentworld_trainers.data._prepared import Prepared, PreparedTurn, says_failure
from agentworld_trainers.data._rows import Document


def prepared_row(row: BenchRow, *, place: str) -> Prepared:
    """One row: only the turn that it asks about is a sample.

    Args:
        row: The row.
        place: File and line, for messages.
    """
    texts = [None if one is None else strip_marker(one) for one in row.observations]
    turns = tuple(
        PreparedTurn(
            number=number,
            domain=row.domain,
            call=parse_call(parse_action(action)),
            observation=text,
            failed=text is not None and says_failure(text, row.domain),
            before=texts[number - 2] if number > 1 else None,
            sample=row.sample if number == row.turn else None,
        )
        for number, (action, text) in enumerate(zip(row.actions, texts, strict=True), 1)
    )
    return Prepared(
        id=f"{row.trajectory}/{row.turn}",
        task=row.task,
        turns=turns,
        documents=_documents(row),
        place=place,
        recorded=False,
    )


def _documents(row: BenchRow) -> tuple[Document, ...]:
    """The turns up to the first that has no observation."""
    answers = row.observations
    count = next((index for index, one in enumerate(answers) if one is None), len(answers))
    if not count:
        return ()
    messages = [Message(role="system", content=row.system)]
    for action, answer in zip(row.actions[:count], answers[:count], strict=True):
        messages.append(Message(role="user", content=action))
        messages.append(Message(role="assistant", content=answer or ""))
    keep = (1.0,) * count
    return (
        Document(
            id=row.trajectory,
            task=row.task,
            domain=row.domain,
            messages=tuple(messages),
            keep=keep,
        ),
    )
