"""The same rows in one process and in two that share the weights (FSDP2, on the CPU).

`python -m tests.trainers.gspo.two_processes` prints how far the two are apart, as JSON. The processes are
forked after the imports, which take longer than the rest.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from agentworld_trainers.gspo import PaperDeparture, gspo_loss
from agentworld_trainers.recipes.schema import Gspo
from tests.trainers.gspo import tiny

PROCESSES = 2
ROWS, PROMPT, LENGTH = 6, 4, 12


def rows() -> dict[str, Tensor]:
    """Rows of which the first process has three live ones and the second two."""
    generator = torch.Generator().manual_seed(3)
    mask = (torch.rand(ROWS, LENGTH, generator=generator) < 0.7).long()
    mask[:, 0] = 1
    mask[4] = 0
    return {
        "ids": torch.randint(3, tiny.VOCABULARY, (ROWS, PROMPT + LENGTH), generator=generator),
        "old_logp": -3 - torch.rand(ROWS, LENGTH, generator=generator),
        "advantages": torch.randn(ROWS, generator=generator),
        "mask": mask,
    }


def loss_of(model: Any, some: dict[str, Tensor], live: float) -> Tensor:
    logits = model(input_ids=some["ids"]).logits[:, PROMPT - 1 : -1].float()
    chosen = some["ids"][:, PROMPT:, None]
    logp = logits.log_softmax(-1).gather(2, chosen)[..., 0]
    # The ratios are far from 1, so the clip range is opened: otherwise no gradient would be left.
    return gspo_loss(
        logp,
        some["old_logp"],
        some["advantages"],
        some["mask"],
        epsilon_low=0.9,
        epsilon_high=9.0,
        normaliser=live,
    ).loss


def alone() -> tuple[float, dict[str, Tensor]]:
    model, values = tiny.model(), rows()
    live = float(values["mask"].any(-1).sum())
    loss = loss_of(model, values, live)
    loss.backward()
    return loss.item(), {n: p.grad for n, p in model.named_parameters() if p.grad is not None}


def sharded(rank: int, folder: Path) -> None:
    """What one of two processes does: half of the rows, half of every weight."""
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=PROCESSES
    )
    mesh = init_device_mesh("cpu", (PROCESSES,))
    model: Any = tiny.model()
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    values = rows()
    half = ROWS // PROCESSES
    own = {name: value[rank * half : (rank + 1) * half] for name, value in values.items()}
    # FSDP averages gradients over processes.
    live = float(values["mask"].any(-1).sum()) / PROCESSES
    loss = loss_of(model, own, live)
    loss.backward()
    total = loss.detach().clone()
    dist.all_reduce(total)
    whole = {n: p.grad.full_tensor() for n, p in model.named_parameters() if p.grad is not None}
    if rank == 0:
        torch.save({"loss": (total / PROCESSES).item(), "gradients": whole}, folder / "sharded.pt")
    dist.destroy_process_group()


def trained(folder: Path) -> None:
    """One step of the trainer; the number of processes is in the environment."""
    part = Gspo(
        steps=1, group_size=4, groups_per_step=2, mini_batches=1, log_every=1, save_every=1,
        micro_batch_size=2, learning_rate=1e-3,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PaperDeparture)
        trainer = tiny.trainer(folder, part=part, use_cpu=True)
    trainer.train()
    if trainer.accelerator.is_main_process:
        log = trainer.state.log_history[0]
        numbers = {name: log[name] for name in ("loss", "grad_norm", "reward", "groups/live")}
        (folder / "log.json").write_text(json.dumps(numbers))


def in_processes(count: int, work: Callable[[int], None]) -> None:
    """Runs `work(rank)` in `count` forked processes and waits for them."""
    children: list[int] = []
    for rank in range(count):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work(rank)
                code = 0
            finally:
                if code:
                    traceback.print_exc()
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert not any(codes), codes


def train_with(count: int, folder: Path) -> dict[str, float]:
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def work(rank: int) -> None:
        if count > 1:
            os.environ.update(
                RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(count),
                LOCAL_WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
            )  # fmt: skip
        trained(folder)

    in_processes(count, work)
    return json.loads((folder / "log.json").read_text())


def main() -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        in_processes(PROCESSES, lambda rank: sharded(rank, folder))
        one, two = train_with(1, folder / "one"), train_with(2, folder / "two")
        files = sorted(path.name for path in (folder / "two" / "checkpoint-1").iterdir())
        both = torch.load(folder / "sharded.pt")
        loss, gradients = alone()
        report = {
            "loss": abs(both["loss"] - loss),
            "gradient": max(
                (both["gradients"][n] - g).abs().max().item() for n, g in gradients.items()
            ),
            "same_weights": both["gradients"].keys() == gradients.keys(),
            "largest_gradient": max(g.abs().max().item() for g in gradients.values()),
            "numbers": two,
            "trainer": {name: abs(one[name] - two[name]) for name in one},
            "checkpoint": files,
        }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
