"""Trains, kills the training again and again, takes it up each time, and compares the final weights with
those of a training that nobody disturbed.

`python -m tests.trainers.gspo.kills 10` kills ten times. Every training is a process of its own, forked
from this one after the imports, which take longer than the training.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import traceback
from pathlib import Path
from typing import Any

import numpy
import torch
from transformers import TrainerCallback

from agentworld_sim.rollouts import RolloutRecord
from agentworld_trainers.recipes.schema import Gspo
from agentworld_trainers.stages._checkpoints import last_checkpoint
from tests.trainers.gspo import tiny

STEPS = 12
MOMENTS = (
    "on_train_begin",
    "on_step_begin",
    "on_substep_end",
    "on_pre_optimizer_step",
    "on_optimizer_step",
    "on_step_end",
    "on_save",
)


class Tells(TrainerCallback):
    """Writes a byte at every moment of a training."""

    def __init__(self, pipe: int) -> None:
        for moment in MOMENTS:
            setattr(self, moment, lambda *args, **kwargs: self.tell())
        self.pipe = pipe

    def tell(self) -> None:
        os.write(self.pipe, b".")


def noise() -> float:
    """From every global source of randomness: a checkpoint has to restore all of them."""
    return random.random() + float(numpy.random.random()) + float(torch.rand(()))


def train(folder: Path, pipe: int) -> None:
    """One training, from the last checkpoint if there is one; writes the final weights."""
    tells = Tells(pipe)

    def change(record: RolloutRecord) -> RolloutRecord:
        tells.tell()
        reward = None if record.index == 3 else (record.reward or 0.0) + noise()
        return tiny.changed(record, reward=reward)

    # Checkpoints every 3 steps and rollout batches of 2: every other one is in the middle of a batch.
    part = Gspo(
        steps=STEPS, group_size=4, groups_per_step=2, mini_batches=2, micro_batch_size=2,
        learning_rate=1e-2, schedule="cosine", warmup_steps=2, save_every=3, log_every=2,
    )  # fmt: skip
    trainer = tiny.trainer(folder, part=part, change=change, callbacks=[tells], seed=7)
    inner: Any = trainer
    write = trainer.write_more

    def write_more(inside: Path) -> None:
        tells.tell()
        write(inside)
        tells.tell()

    inner.write_more = write_more
    last = last_checkpoint(folder)
    trainer.train(resume_from_checkpoint=str(last) if last else None)
    torch.save(trainer.policy.state_dict(), folder / "final.pt")


def run(folder: Path, kill_after: int | None) -> int:
    """Trains in a process of its own and returns at how many moments it was seen.

    Args:
        folder: Of the checkpoints.
        kill_after: At which moment it is killed; never by default.
    """
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        # Whatever happens, this process must not go on as if it were its parent.
        code = 1
        try:
            train(folder, into)
            code = 0
        finally:
            if code:
                traceback.print_exc()
            os._exit(code)
    os.close(into)
    seen = 0
    with os.fdopen(out, "rb", buffering=0) as pipe:
        while pipe.read(1):
            seen += 1
            if seen == kill_after:
                os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return seen


def experiment(folder: Path, kills: int, seed: int) -> dict[str, Any]:
    """Kills a training `kills` times and compares it with one that is left alone."""
    whole, broken = folder / "whole", folder / "broken"
    moments = run(whole, None)
    rng = random.Random(seed)
    resumed_at: list[int] = []
    for kills_left in range(kills, 0, -1):
        last = last_checkpoint(broken)
        left = moments if last is None else moments * (STEPS - int(last.name[11:])) // STEPS
        run(broken, rng.randint(1, max(2, min(left - 3, 3 * left // kills_left))))
        (broken / "final.pt").unlink(missing_ok=True)
        last = last_checkpoint(broken)
        resumed_at.append(int(last.name[11:]) if last else 0)
    run(broken, None)
    first, second = (torch.load(path / "final.pt") for path in (whole, broken))
    return {
        "kills": kills,
        "resumed_at": resumed_at,
        "equal": all(torch.equal(first[name], second[name]) for name in first),
        "largest_difference": max(
            (first[name] - second[name]).abs().max().item() for name in first
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kills", type=int, nargs="?", default=10)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(experiment(Path(folder), asked.kills, asked.seed)))


if __name__ == "__main__":
    main()
