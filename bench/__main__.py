"""`make bench`: the table of the README."""

from __future__ import annotations

import argparse
import platform
from importlib import import_module
from pathlib import Path

from bench._rows import Row

MODULES = (
    "world",
    "table",
    "graphs",
    "pytest_suite",
    "replays",
    "mcp",
    "mcp_http",
    "model",
    "fidelity",
)
TABLE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "figures.md"


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
    parser.add_argument("modules", nargs="*", default=MODULES, help="which benchmarks to run")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name} in the docs")
    chosen = parser.parse_args()
    rows: list[Row] = []
    for module in chosen.modules:
        print(f"measuring {module} …", flush=True)
        rows += import_module(f"bench.{module}").rows()
    print(table(rows))
    if chosen.write:
        TABLE.write_text(
            "# Figures\n\nMedians of one run of `make bench`, ours and the alternative measured in"
            f" the same run, on {platform.machine()} with Python {platform.python_version()} and 2"
            f" cores.\n\n{table(rows)}\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
