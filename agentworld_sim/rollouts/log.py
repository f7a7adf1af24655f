"""Rollouts on disk: one line of JSON each, and how a person looks at one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from agentworld_sim.errors import StoreError, UsageError
from agentworld_sim.rollouts.record import RolloutRecord


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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
