"""Two processes compute what one does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_loss_and_gradients_of_two_processes_are_those_of_one() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.trainers.gspo.two_processes"],
        cwd=REPOSITORY,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    # Weights sharded by FSDP2, rows of both processes in one loss.
    assert report["loss"] < 1e-6, report
    assert report["gradient"] < 1e-6, report
    assert report["largest_gradient"] > 1e-2, "gradients of zero would prove nothing"
    assert report["same_weights"]
    # The whole trainer, whose processes play groups of their own.
    assert max(report["trainer"].values()) < 1e-5, report
    assert report["numbers"]["grad_norm"] > 1e-2
    assert {"0_gspo_state.pt", "1_gspo_state.pt"} <= set(report["checkpoint"])
