"""Curves of a stage, from its metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentworld_trainers.stages._run import read_metrics

_FIRST = ("loss", "reward", "held_out/*", "accuracy", "reward/*")
"""What is drawn first, if it is there; the rest follows by name."""
_NOT_DRAWN = ("step", "seconds", "tokens", "loss_tokens", "num_tokens", "frac_reward_zero_std")
_MOST = 12
_WIDTH = 3


def plot_curves(folder: Path) -> Path | None:
    """Draws `curves.png` from a stage's `metrics.jsonl`: one panel for each metric, over the steps.

    Metrics whose names begin alike (`reward/rule`, `reward/rubric`) share a panel.

    Returns:
        The picture; `None` if there are no metrics.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    lines = read_metrics(folder / "metrics.jsonl")
    panels = _panels(lines)
    if not panels:
        return None
    rows = -(-len(panels) // _WIDTH)
    columns = min(_WIDTH, len(panels))
    figure = Figure(figsize=(4.2 * columns, 2.9 * rows), layout="constrained", dpi=110)
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis, (title, names) in zip(axes, panels.items(), strict=False):
        for name in names:
            points = [(line["step"], line[name]) for line in lines if name in line]
            steps, values = zip(*points, strict=True)
            label = name.partition("/")[2] or name
            axis.plot(steps, values, label=label, marker="." if len(points) < 40 else None)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("step", fontsize=8)
        axis.tick_params(labelsize=8)
        axis.grid(alpha=0.3)
        if len(names) > 1:
            # The best place is searched for, which takes long and, on a slow machine, warns.
            axis.legend(fontsize=7, loc="upper left")
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    path = folder / "curves.png"
    partial = path.with_name("curves.partial.png")
    figure.suptitle("/".join(folder.resolve().parts[-2:]), fontsize=9)
    # Nothing of the library's version: the same metrics give the same bytes.
    figure.savefig(partial, metadata={"Software": None})
    partial.replace(path)
    return path


def _panels(lines: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The names of the metrics that are drawn, by the title of their panel."""
    panels: dict[str, list[str]] = {}
    for line in lines:
        for name, value in line.items():
            if isinstance(value, int | float) and name not in _NOT_DRAWN:
                head, slash, _ = name.partition("/")
                names = panels.setdefault(f"{head}/*" if slash else name, [])
                names += [] if name in names else [name]
    first = [title for title in _FIRST if title in panels]
    chosen = [*first, *sorted(panels.keys() - {*first})][:_MOST]
    # A group of one goes by its own name.
    return {
        panels[title][0] if len(panels[title]) == 1 else title: panels[title] for title in chosen
    }
