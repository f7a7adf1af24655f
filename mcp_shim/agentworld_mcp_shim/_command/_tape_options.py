"""Options of `agentworld mcp` that are about recording and replaying."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from agentworld_sim.errors import UsageError
from agentworld_sim.types.tools import Access

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class TapeChoice:
    """What the options say."""

    record: Path | None = None
    replay: Path | None = None
    volatile: tuple[str, ...] = ()


def tape_options(command: F) -> F:
    """`--record`, `--replay` and `--volatile`; the command gets them as `tape`."""

    @wraps(command)
    def chosen(
        *arguments: Any,
        record: Path | None,
        replay: Path | None,
        volatile: tuple[str, ...],
        **others: Any,
    ) -> Any:
        tape = TapeChoice(record=record, replay=replay, volatile=volatile)
        return command(*arguments, tape=tape, **others)

    options = (
        click.option(
            "--record",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Append real calls and their answers to this cassette, without secrets.",
        ),
        click.option(
            "--replay",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Answer every call from this cassette; what was not recorded is an error.",
        ),
        click.option(
            "--volatile",
            metavar="TOOL.FIELD",
            multiple=True,
            help="A field whose value differs each time, such as *.created_at; it makes no difference"
            " between calls. May be repeated.",
        ),
    )
    # click reads them from the innermost out.
    decorated: Any = chosen
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def check_tape(
    tape: TapeChoice,
    *,
    access: Mapping[str, Access],
    bound: bool,
    mirrored: bool,
    model: bool,
    seeded: bool,
) -> None:
    """Raises `UsageError` when the options contradict each other.

    Args:
        tape: What is recorded and replayed.
        access: The access rules of the command line.
        bound: Whether tools are bound to what a world can compute.
        mirrored: Whether there are upstreams or snapshots.
        model: Whether a language world model is named.
        seeded: Whether records are seeded from recorded traffic.
    """
    real = [rule for rule, value in access.items() if value == "real"]
    if tape.record is not None and tape.replay is not None:
        raise UsageError(
            "--record writes down what real servers say, and --replay asks none. Give one of them."
        )
    if tape.record is not None and not real:
        raise UsageError(
            "--record writes down real calls, and no tool is set to real. Name those that may be"
            " called, each in full: --access NAME=real."
        )
    if tape.volatile and tape.record is None and tape.replay is None:
        raise UsageError("--volatile is about a cassette: give --record or --replay.")
    for field in tape.volatile:
        if not all(field.partition(".")[::2]):
            raise UsageError(
                f"--volatile {field!r} is not of the form TOOL.FIELD, for example '*.created_at'."
            )
    if tape.replay is None:
        return
    if not mirrored:
        raise UsageError(
            "--replay answers the tools of a server: name its command after `--`, or what was written"
            " down of it with --snapshot FILE."
        )
    for given, what in (
        (bool(real), f"--access {real[0] if real else ''}=real"),
        (bound, "--bind"),
        (model, "--model-url"),
        (seeded, "--seed-from"),
    ):
        if given:
            raise UsageError(
                f"--replay answers every call from its cassette, and {what} names another source."
                " Give one of them."
            )
