"""Doing the tasks of our sites shows what Chromium and the real `@playwright/mcp` show: recorded, see `record_tasks.py`."""

from __future__ import annotations

import json

import pytest

from agentworld_sim.scenario import site_tasks
from tests.sites.record_tasks import RECORDED, Recorded, hash_of, our_snapshots

KNOWN: Recorded = json.loads(RECORDED.read_text(encoding="utf-8"))


def test_chromium_shows_the_same() -> None:
    for tasks in KNOWN.values():
        every = [one for seen in tasks.values() for one in seen]
        assert sum(one[1] for one in every) >= 0.99 * sum(one[0] for one in every)
        assert sum(one[0] == one[1] for one in every) >= 0.95 * len(every)


@pytest.mark.parametrize(
    "site",
    [pytest.param(site, marks=[pytest.mark.slow] * (site != "forum")) for site in KNOWN],
)
async def test_every_snapshot_is_the_one_that_was_recorded(site: str) -> None:
    tasks = site_tasks(site)
    assert list(KNOWN[site]) == [task.id for task in tasks.tasks]
    for name, seen in KNOWN[site].items():
        ours = await our_snapshots(tasks, name)
        held = [(len(lines), hash_of(lines)) for lines in ours]
        equal = [own for own, (nodes, same, _) in zip(held, seen, strict=True) if nodes == same]
        assert equal == [(nodes, text) for nodes, same, text in seen if nodes == same], name
