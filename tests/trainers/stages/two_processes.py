"""Training in two processes, each with a whole copy of the model.

`python -m tests.trainers.stages.two_processes FOLDER` trains there. Fine-tuning is done by one process too, and
reinforcement learning, whose processes play groups of their own, is taken up again from its first checkpoint.
It prints what came of them as JSON. The processes are forked after the imports, which
take longer than the rest.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from agentworld_trainers.data import write_rows
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.stages import Run, train_rl, train_sft
from agentworld_trainers.stages._run import read_metrics
from tests.trainers.gspo.two_processes import in_processes
from tests.trainers.stages import tiny

PROCESSES = 2
Weights = dict[str, torch.Tensor]
SFT: dict[str, Any] = {
    "steps": 3, "batch_size": 4, "micro_batch_size": 2, "learning_rate": 3e-3, "log_every": 1, "threads": 1,
}  # fmt: skip
# Turns that reach their end, by chance, earn something.
RL: dict[str, Any] = {
    "steps": 4,
    "group_size": 4,
    "groups_per_step": 2,
    "mini_batches": 2,
    "learning_rate": 1e-2,
    "threads": 1,
    "save_every": 2,
    "log_every": 1,
    "reward": {"function": "tests.trainers.command.own:reward"},
    "rollouts": {"max_turns": 1, "max_turn_tokens": 96, "max_rollout_tokens": 1024},
}


def trained(train: Callable[[Recipe, Run], Path], made: Recipe, count: int = PROCESSES) -> Weights:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def work(rank: int) -> None:
        if count > 1:
            os.environ.update(
                RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(count),
                LOCAL_WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
            )  # fmt: skip
        train(made, Run(made))

    in_processes(count, work)
    stage = "rl" if made.rl else "sft"
    return load_file(Path(made.output) / stage / "final" / "model.safetensors")


def recipe(folder: Path) -> Recipe:
    made = tiny.recipe(folder, rl=RL)
    write_rows(folder / "data" / "rl.jsonl", [tiny.sample(number) for number in range(6)])
    return made


def main() -> None:
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    whole = recipe(folder / "whole")
    one = trained(train_rl, whole)
    again = recipe(folder / "again")
    # What a kill leaves after the second step.
    (folder / "again" / "rl").mkdir()
    for kept in ("checkpoint-2", "rollouts"):
        shutil.copytree(folder / "whole" / "rl" / kept, folder / "again" / "rl" / kept)
    other = trained(train_rl, again)
    first = load_file(folder / "whole" / "rl" / "checkpoint-2" / "model.safetensors")
    tuned = [
        trained(train_sft, tiny.recipe(folder / f"sft-{count}", sft=SFT), count) for count in (1, 2)
    ]
    report = {
        "sft": max(float((tuned[0][name] - tuned[1][name]).abs().max()) for name in tuned[0]),
        "steps": [line["step"] for line in read_metrics(folder / "whole" / "rl" / "metrics.jsonl")],
        "live": [
            line["groups/live"]
            for line in read_metrics(folder / "whole" / "rl" / "metrics.jsonl")
            if "groups/live" in line
        ],
        "moved": any(not torch.equal(one[name], first[name]) for name in one),
        "same": all(torch.equal(one[name], other[name]) for name in one),
        "rollouts": sorted(path.name for path in (folder / "whole" / "rl" / "rollouts").iterdir()),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
