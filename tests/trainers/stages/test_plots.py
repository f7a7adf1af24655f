"""Curves of a stage."""

from __future__ import annotations

import json
from pathlib import Path

from agentworld_trainers.stages._plots import plot_curves


def metrics(folder: Path, lines: list[dict[str, float]]) -> Path:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text)
    return folder


def test_the_same_metrics_give_the_same_picture(tmp_path: Path) -> None:
    lines = [{"step": n, "loss": 1 / n, "reward/a": n, "reward/b": -n} for n in range(1, 60)]
    lines += [{"step": 30, "held_out/exact": 0.5}]
    path = plot_curves(metrics(tmp_path, lines))
    assert path and path == tmp_path / "curves.png"
    first = path.read_bytes()
    assert first.startswith(b"\x89PNG")
    again = plot_curves(tmp_path)
    assert again and again.read_bytes() == first


def test_a_number_that_is_none_leaves_a_gap(tmp_path: Path) -> None:
    lines = [{"step": 1, "loss": float("nan")}, {"step": 2, "loss": 2.0}]
    assert plot_curves(metrics(tmp_path, lines))


def test_no_metrics_give_no_picture(tmp_path: Path) -> None:
    assert plot_curves(tmp_path) is None
    assert plot_curves(metrics(tmp_path, [{"step": 1}])) is None
