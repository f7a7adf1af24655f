"""Asks the real Playwright in a real Chromium for its snapshots of pages."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NotRequired, TypedDict

from agentworld_sim.engines.web.page_view import SnapshotRules

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "snapshots"
MODULES = BUILD / "node_modules"
MINIWOB = BUILD / "python" / "miniwob" / "html"


class Seen(TypedDict):
    """A page in Chromium: its snapshots, and if programs ran the tree they left, and what they typed and chose."""

    snapshots: list[str]
    html: NotRequired[str]
    live: NotRequired[dict[str, Any]]


def ask_chromium(
    folder: Path,
    pages: Mapping[str, Sequence[Sequence[Any]]],
    *,
    rules: SnapshotRules = "distilled",
    scripts: bool = False,
    before: str = "",
) -> dict[str, Seen]:
    """The snapshots of pages, at first and after each step.

    Args:
        folder: What is served.
        pages: Paths in it, and what is done on each page.
        rules: Of which generation of Playwright.
        scripts: Whether the pages' programs run.
        before: A script to run on every page first; then the tree of the page is given too.
    """
    with TemporaryDirectory() as scratch:
        request, out = Path(scratch) / "request.json", Path(scratch) / "out.json"
        request.write_text(
            json.dumps(
                {
                    "modules": str(MODULES),
                    "rules": rules,
                    "folder": str(folder),
                    "pages": pages,
                    "scripts": scripts,
                    "before": before,
                    "out": str(out),
                }
            ),
            encoding="utf-8",
        )
        subprocess.run(["node", str(HERE / "oracle.mjs"), str(request)], check=True, timeout=900)
        return json.loads(out.read_text(encoding="utf-8"))
