"""A trajectory of any form, ready for filters: its turns as facts, beside the samples made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentworld_sim.checks.file_agreement import tells_failure
from agentworld_sim.imagination.prompt_set import PromptSet
from agentworld_sim.scoring import (
    BenchRow,
    Message,
    PredictionSample,
    parse_action,
    parse_call,
    strip_marker,
)
from agentworld_sim.types.tools import DomainName, ToolCall
from agentworld_trainers.data._rows import Document
from agentworld_trainers.data._samples import PROMPT_TOKENS, documents_of, samples_of
from agentworld_trainers.data._source import SourceTrajectory, Split

SCREENS = frozenset(("web", "android", "os"))
"""Domains whose observations are the state of a screen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTurn:
    """What filters look at."""

    number: int
    """From 1, in the trajectory."""
    domain: DomainName | None
    """`None` where the tool is not declared."""
    call: ToolCall
    observation: str | None
    """`None` where the row has none."""
    failed: bool = False
    """Whether the tool reported an error, by its flag or in words."""
    enforced: bool = False
    """Whether a control answered or changed the answer: not what the environment would say."""
    before: str | None = None
    """The observation before it in the same domain, or what was there at first; the state of a screen."""
    sample: PredictionSample | None = None
    """What would be trained on; `None` for a turn that is context only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTrajectory:
    """One trajectory, or one row in AgentWorldBench form."""

    id: str
    task: str
    turns: tuple[PreparedTurn, ...]
    documents: tuple[Document, ...]
    split: Split | None = None
    place: str = ""
    recorded: bool = True
    """Whether its turns are records of a world, where an empty observation is what was said."""

    @property
    def samples(self) -> int:
        return sum(turn.sample is not None for turn in self.turns)


def prepare_source(
    source: SourceTrajectory,
    *,
    prompts: PromptSet | None = None,
    prompt_tokens: int = PROMPT_TOKENS,
) -> PreparedTrajectory:
    """A trajectory of a world."""
    made = samples_of(source, prompts=prompts, prompt_tokens=prompt_tokens)
    samples = {sample.turn: sample for sample in made}
    said: dict[str, str] = {
        name: text for name, text in source.prompt_context.initial_state.items()
    }
    turns: list[PreparedTurn] = []
    for number, turn in enumerate(source.turns, 1):
        sample = samples.get(number)
        text = turn.observation.text if sample is None else sample.observation
        own = None if sample is None else sample.domain
        turns.append(
            PreparedTurn(
                number=number,
                domain=own,
                call=turn.call,
                observation=text,
                failed=turn.observation.is_error or says_failure(text, own),
                enforced=turn.observation.provenance == "enforced",
                before=said.get(own) if own else None,
                sample=sample,
            )
        )
        if own:
            said[own] = text
    return PreparedTrajectory(
        id=source.id,
        task=source.task,
        turns=tuple(turns),
        documents=tuple(documents_of(source, prompts=prompts)),
        split=source.split,
        place=source.place,
    )


def prepare_row(row: BenchRow, *, place: str) -> PreparedTrajectory:
    """One row: only the turn that it asks about is a sample."""
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
    return PreparedTrajectory(
        id=f"{row.trajectory}/{row.turn}",
        task=row.task,
        turns=turns,
        documents=_row_documents(row),
        place=place,
        recorded=False,
    )


def _row_documents(row: BenchRow) -> tuple[Document, ...]:
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


def turns_of(document: Document) -> list[tuple[str, str]]:
    """The actions and observations of a conversation, without headings, fences of prompts and markers.

    Turns that say no observation are the last ones, and left out.
    """
    said: Sequence[Message] = [one for one in document.messages if one["role"] != "system"]
    return [
        (parse_action(asked["content"]), strip_marker(answer["content"]))
        for asked, answer in zip(said[::2], said[1::2], strict=False)
    ]


def says_failure(text: str, domain: DomainName | None) -> bool:
    """Whether an answer says in words that the call failed. On a screen, words are content."""
    return text.startswith("### Error\n") if domain in SCREENS else tells_failure(text)
