"""What Playwright said of our own pages in Chromium, and the same steps on a page of ours.

`recorded_snapshots.json` has, of every page and both kinds of rules, the first snapshot as lines, and of every later
step of `pages/steps.json` what it changed, as a diff. `make record-snapshots` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import unified_diff
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from agentworld_sim.engines.web.document import parse_document
from agentworld_sim.engines.web.page_view import PageView, SnapshotRules

PAGES = Path(__file__).parent / "pages"
RECORDED = Path(__file__).parent / "recorded_snapshots.json"

Recorded = dict[str, dict[SnapshotRules, list[list[str]]]]


def recorded_snapshots() -> Recorded:
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def steps_of(name: str) -> Sequence[Sequence[Any]]:
    steps: dict[str, list[list[Any]]] = json.loads(
        (PAGES / "steps.json").read_text(encoding="utf-8")
    )
    return steps.get(name, [])


def changes(snapshots: Sequence[str]) -> list[list[str]]:
    """The first snapshot as lines, then what is different in each later one."""
    lines = [snapshot.split("\n") for snapshot in snapshots]
    return lines[:1] + [
        list(unified_diff(before, after, lineterm="", n=0))[2:] for before, after in pairwise(lines)
    ]


def replay(name: str, rules: SnapshotRules) -> list[str]:
    """Our snapshots of a page, at first and after every step."""
    page = PageView(parse_document((PAGES / name).read_text(encoding="utf-8")), rules=rules)
    snapshots = [page.snapshot()]
    for step in steps_of(name):
        do_step(page, step)
        snapshots.append(page.snapshot())
    return snapshots


def do_step(page: PageView, step: Sequence[Any]) -> None:
    verb, selector, *rest = step
    selector, _, place = cast("str", selector).partition(" >> nth=")
    element = page.document.select(selector)[int(place or 0)]
    match verb:
        case "fill":
            page.set_value(element, rest[0])
            page.set_focus(element)
        case "check" | "uncheck":
            page.set_checked(element, verb == "check")
            page.set_focus(element)
        case "select":
            page.select_options(element, rest[0])
        case "toggle":
            page.set_open(element, not page.live.is_open(element))
            page.set_focus(element.child("summary"))
        case _:
            page.set_focus(element)
