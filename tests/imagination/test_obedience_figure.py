"""The figure of `experiments/obedience` in small: a model that disobeys on purpose, in every domain."""

from __future__ import annotations

from experiments.obedience.__main__ import run


async def test_every_turn_is_what_the_controls_say_and_none_shows_what_is_hidden() -> None:
    # Every domain with every control.
    told = await run(360, of_a_world=6)
    whole = told["all"]
    assert (whole["enforced"], whole["leaks"], whole["faults"]) == (whole["turns"], 0, [])
    assert len(told) == 11
    # The model did what it could.
    assert 0.2 < whole["obedient"] / whole["answers"] < 0.8
    assert whole["asked_again"] > 30
    assert whole["rewritten"] > 10
