"""What WebArena-Verified's evaluator said of its tasks for a forum, a shop and a tracker, done on ours: recorded, see `record.py`."""

from __future__ import annotations

import json

from tests.webarena.record import VERDICTS


def test_our_browser_and_chromium_are_judged_alike() -> None:
    verdicts: dict[str, dict[str, str]] = json.loads(VERDICTS.read_text(encoding="utf-8"))
    assert len(verdicts) == 95 + 31
    for kind in ("right", "wrong"):
        assert all(told[f"ours-{kind}"] == told[f"chromium-{kind}"] for told in verdicts.values())
    assert sum(told["ours-right"] == "success" for told in verdicts.values()) == 90 + 31
    assert {told["ours-wrong"] for told in verdicts.values()} == {"failure"}
