"""What happens in a process that trains, and is killed or runs out of disk."""

from __future__ import annotations

import resource
import signal
import time
from multiprocessing.connection import Connection
from typing import Any

from agentworld_trainers.recipes import Recipe
from agentworld_trainers.stages import _training
from agentworld_trainers.stages._run import Run
from agentworld_trainers.stages._sft_stages import train_sft
from agentworld_trainers.stages._training import StageCallback

FULL = 20_000
"""Bytes of one file at which the disk counts as full: less than the weights."""


def train(
    recipe: Recipe, told: Connection, kill_after: float | None, full_after: int | None
) -> None:
    """Trains, and says each step and how it ended."""

    class Telling(StageCallback):
        began = 0.0
        own_steps = 0

        def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.began = time.monotonic()

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            super().on_step_end(args, state, control, **kwargs)
            told.send(state.global_step)
            self.own_steps += 1
            if kill_after is not None and self.own_steps == int(kill_after):
                # Somewhere in the next step, or in the checkpoint that is just being written. The alarm
                # is not caught: the process is dead at once, whatever it does.
                step = time.monotonic() - self.began
                signal.setitimer(signal.ITIMER_REAL, step * (kill_after % 1))
            if state.global_step == full_after:
                resource.setrlimit(resource.RLIMIT_FSIZE, (FULL, resource.RLIM_INFINITY))

    _training.StageCallback = Telling
    try:
        train_sft(recipe, Run(recipe))
        told.send("finished")
    except Exception as error:  # noqa: BLE001 -- said to the test
        told.send(f"{type(error).__name__}: {error}")
