"""Records what the snapshots of our own pages are held to: `make record-snapshots`."""

from __future__ import annotations

import json

from agentworld_sim.engines.web.page_view import SnapshotRules
from tests.engines.web.recordings import PAGES, RECORDED, Recorded, changes, steps_of
from tests.snapshots.chromium import ask_chromium

RULES: tuple[SnapshotRules, ...] = ("full", "distilled")


def record() -> Recorded:
    names = sorted(path.name for path in PAGES.glob("*.html"))
    found: Recorded = {name: {} for name in names}
    for rules in RULES:
        steps = {name: steps_of(name) for name in names}
        for name, seen in ask_chromium(PAGES, steps, rules=rules, scripts=True).items():
            found[name][rules] = changes(seen["snapshots"])
    return found


if __name__ == "__main__":
    text = json.dumps(record(), indent=0, ensure_ascii=False)
    RECORDED.write_text(text + "\n", encoding="utf-8")
