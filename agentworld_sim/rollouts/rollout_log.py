"""`RolloutRecord`, all that is kept of one rollout, for every trainer; records on disk, one line of JSON each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from agentworld_sim.errors import StoreError, UsageError
from agentworld_sim.scoring.samples import Message

StopReason = Literal["done", "max_turns", "max_tokens", "env_error", "cancelled"]
"""Why a rollout ended. `env_error`: the infrastructure failed, which is no fault of the policy's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutRecord:
    """One rollout: tokens as they were sampled, and everything needed to train on them or to look at it.

    The four token lists are never made by tokenising text again: what the policy sampled stands in them
    as it was sampled.
    """

    task: str
    """Name of the task."""
    group: str
    """Rollouts of one group began at the same point and are compared with each other."""
    index: int
    """Place within the group, from 0."""
    seed: int
    """Of the policy's sampling; the world's is in the task."""
    prompt_ids: tuple[int, ...]
    response_ids: tuple[int, ...]
    """Everything after the prompt: what the policy wrote and what the environment answered, in order."""
    loss_mask: tuple[int, ...]
    """As long as `response_ids`: 1 where the policy wrote, 0 where the environment did."""
    logprobs: tuple[float, ...]
    """As long as `response_ids`: natural log-probabilities under the sampling policy; 0.0 where the
    environment wrote."""
    turn_spans: tuple[tuple[int, int], ...]
    """For each turn of the policy, where in `response_ids` it begins and ends (end excluded)."""
    reward: float | None
    """`None` where there is none: the infrastructure failed, or the rollout was cancelled. Never 0 for
    that, and never part of a baseline."""
    reward_parts: Mapping[str, float] = field(default_factory=dict[str, float])
    stop_reason: StopReason
    error: str = ""
    """What failed; empty unless `env_error` or `cancelled`."""
    policy_version: int = 0
    """The optimiser step whose weights sampled it."""
    messages: tuple[Message, ...] = ()
    """The conversation, for people."""
    world_ref: str = ""
    """Where the world stood at the end, if there is one."""
    env_metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    """Numbers such as `steps`, `env_seconds`, `policy_seconds`, `invalid_calls`."""

    def to_line(self) -> str:
        """One line of JSON, without the newline."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_line(cls, line: str) -> RolloutRecord:
        """Raises `UsageError` when the line is no record."""
        try:
            value: dict[str, Any] = json.loads(line)
            for name in ("prompt_ids", "response_ids", "loss_mask", "logprobs", "messages"):
                value[name] = tuple(value[name])
            value["turn_spans"] = tuple((begin, end) for begin, end in value["turn_spans"])
            return cls(**value)
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"not a rollout: {line[:80]!r} ({error})") from None


class RolloutLog:
    """Appends records to a file as they come. A line is written whole and at once, so that a killed run
    loses no rollout that had ended."""

    def __init__(self, path: Path) -> None:
        """Opens `path`, made with its folder where it is missing; what stands in it stays.

        Raises:
            UsageError: it cannot be written.
        """
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _end_last_line(path)
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise UsageError(f"{str(path)!r} cannot be written: {error.strerror}.") from None

    def write(self, record: RolloutRecord) -> None:
        """Appends one record.

        Raises:
            StoreError: the disk is full, or the file is gone; what was written before is intact.
        """
        line = memoryview(record.to_line().encode("utf-8", "surrogatepass") + b"\n")
        end = self._file.seek(0, 2)
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(end)
            raise StoreError(
                f"a rollout cannot be written to {str(self.path)!r}: {error.strerror}. Rollouts"
                " before it are intact."
            ) from None

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_rollouts(path: Path) -> Iterator[RolloutRecord]:
    """Streams the records of a file.

    Raises:
        UsageError: the file cannot be read, or a line is no record; the message names its number.
    """
    try:
        with path.open(encoding="utf-8", errors="surrogatepass") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield RolloutRecord.from_line(line)
                except UsageError as error:
                    raise UsageError(f"{path}, line {number}: {error}") from None
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}.") from None


def show(record: RolloutRecord) -> str:
    """A rollout for people: how it went, then the conversation."""
    reward = "no reward" if record.reward is None else f"reward {record.reward:g}"
    head = f"{record.task}, number {record.index} of the group {record.group}"
    lines = [f"{head}: {reward}, {record.stop_reason}"]
    if record.error:
        lines.append(f"error: {record.error}")
    for name, numbers in (("parts", record.reward_parts), ("numbers", record.env_metrics)):
        if numbers:
            lines.append(
                f"{name}: " + ", ".join(f"{key} {value:g}" for key, value in numbers.items())
            )
    wrote = sum(record.loss_mask)
    lines.append(
        f"tokens: {len(record.prompt_ids)} of the prompt, {wrote} of the policy,"
        f" {len(record.loss_mask) - wrote} of the environment; seed {record.seed}, weights of step"
        f" {record.policy_version}"
    )
    for message in record.messages:
        lines += ["", f"--- {message['role']}", message["content"]]
    return "\n".join(lines) + "\n"


def _end_last_line(path: Path) -> None:
    """Drops a last line that a full disk or a killed machine left without its end."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        size = end = file.seek(0, 2)
        while end > 0:
            begin = max(0, end - 65_536)
            file.seek(begin)
            found = file.read(end - begin).rfind(b"\n")
            if found >= 0:
                end = begin + found + 1
                break
            end = begin
        if end < size:
            file.truncate(end)
