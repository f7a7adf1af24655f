"""Training in two processes: to its end, and on from a checkpoint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_two_processes_train_sample_and_go_on_with_a_copy_each(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "tests.trainers.stages.two_processes",
            str(tmp_path),
        ],
        cwd=REPOSITORY,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    # Three steps of 3e-3 moved weights by 9e-3.
    assert report.pop("sft") < 1e-4
    assert report == {
        "steps": [0, 1, 2, 3, 4, 4],
        "live": report["live"],
        "moved": True,
        "same": True,
        # Each process plays groups of its own.
        "rollouts": [
            "step-000000.1.jsonl", "step-000000.jsonl", "step-000002.1.jsonl", "step-000002.jsonl",
        ],
    }  # fmt: skip
    assert max(report["live"]) > 0
    # One of them speaks.
    assert done.stderr.count("rl 4/4") == 2
