"""`make bench`: the table of the README."""

from __future__ import annotations

import argparse
import platform
from importlib import import_module
from pathlib import Path

from benchmarks._rows import Row

MODULES = (
    "world",
    "controls",
    "table",
    "search",
    "relational",
    "web",
    "machine",
    "graphs",
    "pytest_suite",
    "replays",
    "mcp",
    "mcp_http",
    "model",
    "answer_parts",
    "fidelity",
    "bench_rows_wall_time",
)
TRAINING = ("masking", "gspo_step", "rollouts")
"""Those that need the environment of `make bench-train`."""

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    lines = [
        "| what | ours | alternative | theirs | ours / theirs | target | met |",
        "|---|---:|---|---:|---:|---|---|",
    ]
    for row in rows:
        theirs = "" if row.theirs is None else f"{row.theirs:.3g} {row.unit}"
        met = {True: "yes", False: "**no**", None: ""}[row.met]
        lines.append(
            f"| {row.name} | {row.ours:.3g} {row.unit} | {row.alternative} | {theirs} |"
            f" {row.ratio} | {row.target} | {met} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures ours beside the alternative.")
    parser.add_argument("modules", nargs="*", help="which benchmarks to run")
    parser.add_argument(
        "--training", action="store_true", help="those of training, which need torch"
    )
    parser.add_argument("--write", action="store_true", help="write the table into the docs")
    chosen = parser.parse_args()
    rows: list[Row] = []
    for module in chosen.modules or (TRAINING if chosen.training else MODULES):
        print(f"measuring {module} …", flush=True)
        rows += import_module(f"benchmarks.{module}").rows()
    print(table(rows))
    if chosen.write:
        title, target = "Figures", "bench"
        if chosen.training:
            title, target = "Figures of training", "bench-train"
        (REFERENCE / f"{title.lower().replace(' ', '-')}.md").write_text(
            f"# {title}\n\nMedians of one run of `make {target}`, ours and the alternative measured in"
            f" the same run, on {platform.machine()} with Python {platform.python_version()} and 2"
            f" cores.\n\n{table(rows)}\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
