"""Our snapshots are those of Playwright in Chromium, to the letter, refs and all."""

from __future__ import annotations

import pytest

from agentworld_sim.engines.web.page_view import SnapshotRules
from tests.engines.web.recordings import PAGES, changes, recorded_snapshots, replay

RECORDED = recorded_snapshots()


@pytest.mark.parametrize("rules", ["full", "distilled"])
@pytest.mark.parametrize("name", sorted(RECORDED))
def test_a_page_reads_as_in_chromium_at_first_and_after_every_step(
    name: str, rules: SnapshotRules
) -> None:
    assert changes(replay(name, rules)) == RECORDED[name][rules]


def test_every_page_is_recorded() -> None:
    assert sorted(RECORDED) == sorted(path.name for path in PAGES.glob("*.html"))
