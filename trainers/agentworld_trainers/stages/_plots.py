"""Curves of a stage, from its metrics."""

from __future__ import annotations

from pathlib import Path


def plot_curves(folder: Path) -> Path | None:
    """Draws `curves.png` from a stage's `metrics.jsonl`."""
    return None
