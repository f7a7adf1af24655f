"""The corpus as a source of truth for imagined answers."""

from __future__ import annotations

from agentworld_sim.bench.scores import score

from .transitions import transitions


def test_what_a_real_bash_did_is_right_and_nothing_is_without_it() -> None:
    found = list(transitions().transitions())
    assert len(found) > 1000
    for one in found:
        text, changes = one.truth.observation.text, one.truth.changes
        assert score(one, text, False, changes).right
        assert not score(one, f"{text}x", False, changes).right
        assert score(one, text, False, {}).state == (not changes)
