"""Reinforcement learning in two processes, each with a whole copy of the model.

`python -m tests.trainers.rl.two_processes FOLDER` trains there, takes it up again from its first checkpoint
in another folder, and prints what came of both as JSON. The processes are forked after the imports, which
take longer than the rest.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from agentworld_trainers.data import write_rows
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.stages import Run, train_rl
from agentworld_trainers.stages._run import read_metrics
from tests.trainers.gspo.two_processes import in_processes
from tests.trainers.stages import tiny

PROCESSES = 2
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
    "rollouts": {"max_turns": 1, "max_turn_tokens": 96, "max_episode_tokens": 1024},
}


def trained(made: Recipe) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def work(rank: int) -> None:
        os.environ.update(
            RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(PROCESSES),
            LOCAL_WORLD_SIZE=str(PROCESSES), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
        )  # fmt: skip
        train_rl(made, Run(made))

    in_processes(PROCESSES, work)


def recipe(folder: Path) -> Recipe:
    made = tiny.recipe(folder, rl=RL)
    write_rows(folder / "data" / "rl.jsonl", [tiny.sample(number) for number in range(6)])
    return made


def main() -> None:
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    whole = recipe(folder / "whole")
    trained(whole)
    again = recipe(folder / "again")
    # What a kill leaves after the second step.
    (folder / "again" / "rl").mkdir()
    for kept in ("checkpoint-2", "episodes"):
        shutil.copytree(folder / "whole" / "rl" / kept, folder / "again" / "rl" / kept)
    trained(again)
    one, other = (
        load_file(folder / name / "rl" / "final" / "model.safetensors")
        for name in ("whole", "again")
    )
    first = load_file(folder / "whole" / "rl" / "checkpoint-2" / "model.safetensors")
    report = {
        "steps": [line["step"] for line in read_metrics(folder / "whole" / "rl" / "metrics.jsonl")],
        "live": [
            line["groups/live"]
            for line in read_metrics(folder / "whole" / "rl" / "metrics.jsonl")
            if "groups/live" in line
        ],
        "moved": any(not torch.equal(one[name], first[name]) for name in one),
        "same": all(torch.equal(one[name], other[name]) for name in one),
        "episodes": sorted(path.name for path in (folder / "whole" / "rl" / "episodes").iterdir()),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
