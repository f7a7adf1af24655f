"""From trajectories of any form to the rows of each stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from agentworld_sim.errors import UsageError
from agentworld_sim.imagination.prompt_set import PromptSet
from agentworld_sim.scoring import PredictionSample
from agentworld_sim.types.json import canonical_json
from agentworld_trainers.data._duplicates import Duplicates, Sketch
from agentworld_trainers.data._filter_counts import FilterCounts
from agentworld_trainers.data._filters import filter_trajectory
from agentworld_trainers.data._prepared_trajectory import (
    PreparedTrajectory,
    PreparedTurn,
    prepare_source,
    turns_of,
)
from agentworld_trainers.data._rows import Demonstration, Document
from agentworld_trainers.data._source import SourceTrajectory, Split
from agentworld_trainers.masking import MaskReport, MaskSettings, mask_turn
from agentworld_trainers.recipes.schema import DataPart

RANGE = 2**64
"""Numbers that are `drawn` are below it."""

_Place = tuple[str, int]
"""A trajectory, and the number of a turn in it."""

SourceItem = SourceTrajectory | PreparedTrajectory | Demonstration
"""What a source may give. `Prepared` is the library's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRows:
    """The rows of each stage."""

    documents: tuple[Document, ...]
    """For continued pre-training: whole trajectories with their fractions."""
    samples: tuple[PredictionSample, ...]
    """For fine-tuning: every turn that is trained on."""
    demonstrations: tuple[Demonstration, ...]
    single: tuple[PredictionSample, ...]
    """For reinforcement learning: one turn of each trajectory, drawn by the seed."""
    held_out: tuple[PredictionSample, ...]
    """For evaluation: every turn of the tasks that are held out."""
    counts: Mapping[str, Any]
    report: MaskReport


def stage_rows(
    given: Iterable[SourceItem],
    part: DataPart,
    seed: int = 0,
    tell: Callable[[int], None] = lambda _: None,
) -> StageRows:
    """Filters, splits and selects.

    Args:
        given: What the source gives, in an order that is the same every time.
        tell: Is told how many were read.

    Raises:
        UsageError: a row cannot be used.
    """
    counts = FilterCounts()
    kept, demonstrations = _read(given, part, counts, tell)
    tasks: list[tuple[str, Split | None]] = [(one.task, one.split) for one in kept]
    tasks += [(one.task, None) for one in demonstrations]
    side = split_of(tasks, held_out=part.held_out, seed=seed)
    # What is held out comes first: a training row that is nearly one of these is left out, and not the
    # other way round.
    kept.sort(key=lambda one: side[one.task] != "test")
    sketches = [[Sketch.of(_text(turn)) for turn in one.turns] for one in kept]
    held = {one.id for one in kept if side[one.task] == "test"}
    samples, told = _distinct(kept, sketches, part.near_duplicate, counts, held)
    told |= _told_word_for_word(kept, held)
    report = MaskReport(part.masking)
    documents = tuple(
        _mask_document(_silence(document, one, told), part.masking, report)
        for one, document in _conversations(kept, sketches, part.near_duplicate, counts)
        if one.id not in held
    )
    train = tuple(one for one in samples if side[one.task] == "train")
    held_out = tuple(one for one in samples if side[one.task] == "test")
    imitated = tuple(one for one in demonstrations if side[one.task] == "train")
    train, reinforced = _divide(train, part.reinforced, seed)
    single = _single(reinforced, seed)
    if part.samples_per_task is not None:
        train = _limit_per_task(train, part.samples_per_task, seed, counts)
        single = _limit_per_task(single, part.samples_per_task, seed)
    _note(counts, samples, len(demonstrations) - len(imitated))
    sides = Counter(side.values())
    written = {
        "cpt": len(documents),
        "sft": len(train) + len(imitated),
        "rl": len(single),
        "eval": len(held_out),
    }
    numbers = {"tasks": {"train": sides["train"], "test": sides["test"]}, "rows": written}
    return StageRows(
        documents=documents,
        samples=train,
        demonstrations=imitated,
        single=single,
        held_out=held_out,
        counts={**counts.to_json(), **numbers},
        report=report,
    )


def _read(
    given: Iterable[SourceItem],
    part: DataPart,
    counts: FilterCounts,
    tell: Callable[[int], None],
) -> tuple[list[PreparedTrajectory], list[Demonstration]]:
    """The trajectories that the filters let pass, and the demonstrations."""
    prompts = PromptSet.load(Path(part.prompts)) if part.prompts else None
    kept: list[PreparedTrajectory] = []
    demonstrations: list[Demonstration] = []
    seen: set[str] = set()
    for count, one in enumerate(given, 1):
        tell(count)
        if isinstance(one, Demonstration):
            demonstrations.append(one)
            continue
        prepared = (
            one
            if isinstance(one, PreparedTrajectory)
            else prepare_source(one, prompts=prompts, prompt_tokens=part.prompt_tokens)
        )
        counts.read(prepared.samples)
        if prepared.id in seen:
            place = prepared.place or prepared.id
            counts.drop("read twice", place, samples=prepared.samples, trajectories=1)
            continue
        seen.add(prepared.id)
        passed = filter_trajectory(prepared, part, counts)
        if passed is not None:
            kept.append(passed)
    return kept, demonstrations


def _distinct(
    kept: Sequence[PreparedTrajectory],
    sketches: Sequence[Sequence[Sketch]],
    threshold: float,
    counts: FilterCounts,
    held: AbstractSet[str],
) -> tuple[list[PredictionSample], set[_Place]]:
    """The samples without those that are equal, or nearly, to an earlier one; and the turns of training
    that nearly tell what is held out."""
    found: list[PredictionSample] = []
    ids: set[str] = set()
    places: set[str] = set()
    told: set[_Place] = set()
    duplicates = Duplicates(threshold)
    nothing = Sketch.of("")
    for one, parts in zip(kept, sketches, strict=True):
        before: dict[str | None, Sketch] = {}
        for turn, part in zip(one.turns, parts, strict=True):
            context = before.get(turn.domain, nothing)
            before[turn.domain] = context | part
            sample = turn.sample
            if sample is None:
                continue
            place = f"{one.place or one.id}, turn {turn.number}"
            if sample.id in ids:
                counts.drop("equal to an earlier one", place)
                continue
            ids.add(sample.id)
            like = None
            if threshold < 1:
                like = duplicates.add(part, context, place, kind=_kind(sample))
            if like is None:
                found.append(sample)
                if one.id in held:
                    places.add(place)
            else:
                if like in places:
                    told.add((one.id, turn.number))
                counts.drop("nearly equal to an earlier one", f"{place}: like {like}")
    return found, told


def _told_word_for_word(kept: Sequence[PreparedTrajectory], held: AbstractSet[str]) -> set[_Place]:
    """The turns of training that follow the same words as a turn that is held out, and say the same.

    A longer session, or a fork, may begin with all of a session that is held out.
    """
    known: set[bytes] = set()
    for one in kept:
        if one.id in held:
            known.update(digest for document in one.documents for digest in _so_far(document))
    return {
        (one.id, number)
        for one in kept
        if one.id not in held
        for document in one.documents
        for number, digest in zip(_numbers(one, document), _so_far(document), strict=False)
        if digest in known
    }


def _so_far(document: Document) -> Iterator[bytes]:
    """For each turn, a digest of the conversation up to its answer."""
    read = blake2b(digest_size=16)
    for message in document.messages:
        read.update(canonical_json(dict(message)).encode("utf-8", "surrogatepass"))
        if message["role"] == "assistant":
            yield read.digest()


def _numbers(one: PreparedTrajectory, document: Document) -> Iterator[int]:
    """The numbers, in the trajectory, of a document's turns."""
    return (turn.number for turn in one.turns if turn.domain == document.domain)


def _silence(document: Document, one: PreparedTrajectory, told: AbstractSet[_Place]) -> Document:
    """The document with nothing in the loss of what is held out."""
    numbers = dict(enumerate(_numbers(one, document)))
    keep = (
        0.0 if (one.id, numbers.get(place)) in told else share
        for place, share in enumerate(document.keep)
    )
    return replace(document, keep=tuple(keep))


def _text(turn: PreparedTurn) -> str:
    arguments = canonical_json(dict(turn.call.arguments))
    return f"{turn.call.name} {arguments}\n{turn.observation or ''}"


def _kind(sample: PredictionSample) -> bytes:
    """Samples with other rules or other tools are never the same."""
    system = sample.messages[0]["content"] if sample.messages[0]["role"] == "system" else ""
    return blake2b(system.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _conversations(
    kept: Sequence[PreparedTrajectory],
    sketches: Sequence[Sequence[Sketch]],
    threshold: float,
    counts: FilterCounts,
) -> Iterator[tuple[PreparedTrajectory, Document]]:
    """The documents without those that are equal, or nearly, to an earlier one."""
    nothing = Sketch.of("")
    duplicates = Duplicates(threshold)
    equal: set[bytes] = set()
    for one, parts in zip(kept, sketches, strict=True):
        for document in one.documents:
            content = canonical_json(list(document.messages)).encode("utf-8", "surrogatepass")
            digest = blake2b(content, digest_size=16).digest()
            whole = nothing
            for turn, part in zip(one.turns, parts, strict=True):
                whole = whole | part if turn.domain == document.domain else whole
            again = digest in equal
            if threshold < 1 and not again:
                again = duplicates.add(whole, nothing, document.id) is not None
            equal.add(digest)
            if again:
                counts.notes["conversations equal or nearly equal to an earlier one"] += 1
            else:
                yield one, document


def _mask_document(document: Document, settings: MaskSettings, report: MaskReport) -> Document:
    """The document with the fractions of its turns' categories."""
    keep: list[float] = []
    turns = zip(document.keep, turns_of(document), strict=True)
    for number, (share, (action, observation)) in enumerate(turns, 1):
        mask = mask_turn(action, observation, settings)
        if share:
            report.add(action, observation, mask, f"{document.id}, turn {number}")
        keep.append(share * mask.keep)
    return replace(document, keep=tuple(keep))


def _divide(
    samples: tuple[PredictionSample, ...], share: float | None, seed: int
) -> tuple[tuple[PredictionSample, ...], tuple[PredictionSample, ...]]:
    """The samples to imitate, and those to be rewarded for."""
    if share is None:
        return samples, samples
    below = share * RANGE
    sides: tuple[list[PredictionSample], list[PredictionSample]] = ([], [])
    for sample in samples:
        sides[draw_number(seed, "reinforced", sample.trajectory) < below].append(sample)
    return tuple(sides[0]), tuple(sides[1])


def _single(samples: Sequence[PredictionSample], seed: int) -> tuple[PredictionSample, ...]:
    """One sample of each trajectory: several of one collapse (arXiv 2606.24597)."""
    drawn_by: dict[str, tuple[int, PredictionSample]] = {}
    for sample in samples:
        number = draw_number(seed, "turn", sample.trajectory, str(sample.turn))
        held = drawn_by.get(sample.trajectory)
        if held is None or number < held[0]:
            drawn_by[sample.trajectory] = (number, sample)
    return tuple(sample for _, sample in drawn_by.values())


def _limit_per_task(
    samples: Sequence[PredictionSample], most: int, seed: int, counts: FilterCounts | None = None
) -> tuple[PredictionSample, ...]:
    """At most so many samples of each task, drawn by the seed, in the order in which they stood."""
    of_task: dict[str, list[int]] = {}
    for place, sample in enumerate(samples):
        of_task.setdefault(sample.task, []).append(place)
    kept: set[int] = set()
    for places in of_task.values():
        ranked = sorted(
            places, key=lambda place: (draw_number(seed, "kept", samples[place].id), place)
        )
        kept.update(ranked[:most])
    if counts is not None and len(kept) < len(samples):
        counts.notes["samples beyond `samples_per_task`"] += len(samples) - len(kept)
    return tuple(samples[place] for place in sorted(kept))


def _note(counts: FilterCounts, samples: Sequence[PredictionSample], left_out: int) -> None:
    notes = {
        "samples with thinking": sum(bool(one.thinking) for one in samples),
        "samples without evidence for checks": sum(one.evidence is None for one in samples),
        "demonstrations of held-out tasks, left out": left_out,
    }
    counts.notes.update({what: count for what, count in notes.items() if count})


def draw_number(seed: int, *names: str) -> int:
    """A number below 2^64 that depends on the seed and the names alone."""
    text = "\0".join((str(seed), *names))
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest)


def split_of(
    tasks: Iterable[tuple[str, Split | None]], *, held_out: float, seed: int
) -> dict[str, Split]:
    """The side of each task.

    A task that the source does not place is held out when a hash of its name and the seed lies below
    the share: what is added later moves no other task. Where that leaves one side empty although there
    are several tasks to place, the task with the lowest (or highest) hash changes sides.

    Raises:
        UsageError: a source places one task on both sides.
    """
    placed: dict[str, Split] = {}
    free: dict[str, None] = {}
    for task, split in tasks:
        if split is None:
            free[task] = None
        elif placed.setdefault(task, split) != split:
            raise UsageError(
                f"the source places the task {task!r} both in train and in test. A task is on one"
                " side: give the two other names, or let a hash decide (split=None)."
            )
    free = {task: None for task in free if task not in placed}
    ranked = sorted(free, key=lambda task: (draw_number(seed, "split", task), task))
    found: dict[str, Split] = dict(placed)
    for task in ranked:
        below = draw_number(seed, "split", task) < held_out * RANGE
        found[task] = "test" if below else "train"
    if len(ranked) > 1 and 0 < held_out < 1:
        if "test" not in found.values():
            found[ranked[0]] = "test"
        elif "train" not in found.values():
            found[ranked[-1]] = "train"
    return found
