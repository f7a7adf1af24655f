"""What the runs come to."""

from __future__ import annotations

from pathlib import Path


def write_report(runs: Path) -> None:
    """Writes the tables of the README."""
