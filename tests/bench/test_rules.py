"""Rules of answers: verifiers that travel with calls, kinds of errors, what was said long before; and who makes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.bench import run as runs
from agentworld_sim.bench.computed_worlds import record_controlled
from agentworld_sim.bench.labels import DETERMINISTIC, EXISTING, RUNTIME, content_of
from agentworld_sim.bench.rules import (
    DISTANCE,
    error_kind,
    read_verifier,
    recalled_words,
    rules_of,
)
from agentworld_sim.bench.transitions import RecordedCall, Transition, TransitionSet
from agentworld_sim.errors import UsageError
from agentworld_sim.llm.scripted import ModelRequest, ScriptedModelServer
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.types.turns import Observation
from tests.bench.test_run import model, oracle
from tests.properties import examples


def said(text: str, *, failed: bool = False, **arguments: Any) -> RecordedCall:
    return RecordedCall(
        call=ToolCall("show_order", arguments),
        observation=Observation(text=text, is_error=failed, provenance="real"),
        changes={},
    )


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        ("cat: a: No such file or directory\n", "cat: 'x/y': No such file or directory\n", "cat: a: Permission denied\n"),
        ('{"error": {"code": 404, "message": "none"}}', '{"error": {"code": 404, "message": "nothing"}}', '{"error": {"code": 500, "message": "none"}}'),
        ("Traceback …\nKeyError: 'a'", "KeyError: 'other'", "ValueError: bad"),
        ("503 Service Unavailable", "HTTP status 503", "429 Too Many Requests"),
        ("There is no order 4711.", "There is no order 4711!", "Order 4711 is closed."),
    ],
)  # fmt: skip
def test_errors_are_of_a_kind(one: str, same: str, other: str) -> None:
    call = said(one, failed=True, order_id="4711")
    kinds = [error_kind(text, True, call) for text in (one, same, other)]
    assert kinds[0] == kinds[1] != kinds[2]
    assert error_kind("4711 is open", False, call) == ""


def test_a_machine_says_errors_in_its_output() -> None:
    call = said("")
    assert error_kind("a.txt\nls: b: No such file or directory\n", False, call)
    assert not error_kind("notes on `No such file or directory` and others\n", False, call)
    assert not error_kind('{"text": "Permission denied"}', False, call)
    assert error_kind('{"error": "Insufficient funds."}', False, call)


def late(shop: TransitionSet, *between: RecordedCall) -> Transition:
    """The last of several calls, whose answer repeats the first one's."""
    first = said('{"order_id": "4711", "courier": "Swiftfoot"}')
    calls = (first, *between, replace(first, call=ToolCall("show_order", {"order_id": "4711"})))
    return list(replace(shop.sessions[0], calls=calls).transitions())[-1]


def test_what_was_said_long_before_must_be_said_again(shop: TransitionSet) -> None:
    asked = late(shop, *[said("nothing")] * DISTANCE)
    assert recalled_words(asked) == {"Swiftfoot"}
    assert rules_of(asked, '{"courier": "Swiftfoot", "more": 1}', False) == {"long context": True}
    assert rules_of(asked, '{"courier": "Slowpoke"}', False) == {"long context": False}
    assert recalled_words(late(shop, *[said("nothing")] * (DISTANCE - 1))) == frozenset()
    assert recalled_words(late(shop, *[said("nothing")] * DISTANCE, said("Swiftfoot"))) == set()


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"check": "anser-schema", "schema": {}}, "takes a 'schema', every other check its name"),
        ({"check": "no-prase"}, "Did you mean 'no-praise'"),
        ({"check": "answer-schema"}, "takes a 'schema'"),
        ({"check": "answer-schema", "schema": {}, "code": "1"}, "takes a 'schema'"),
        ({}, "takes a 'schema'|no check"),
    ],
)
def test_a_verifier_that_is_not_understood_is_refused(
    written: Mapping[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        read_verifier(written)


@cache
def controlled() -> tuple[Transition, ...]:
    return tuple(record_controlled().transitions())


def test_true_answers_under_controls_keep_every_rule(tmp_path: Path) -> None:
    kept = [
        rules_of(one, one.truth.observation.text, one.truth.observation.is_error)
        for one in controlled()
    ]
    assert all(all(one.values()) for one in kept)
    counts = {rule: sum(rule in one for one in kept) for rule in runs.RULES}
    assert all(count >= 30 for count in counts.values()), counts
    sessions = {one.session.task: one.session for one in controlled()}
    TransitionSet([*sessions.values()]).write(tmp_path / "controlled.jsonl")
    assert tuple(TransitionSet.load([tmp_path / "controlled.jsonl"]).transitions()) == controlled()


@settings(max_examples=examples(100))
@given(st.data())
def test_no_answer_without_content_obeys(data: st.DataObject) -> None:
    asked = data.draw(st.sampled_from([one for one in controlled() if one.truth.verifiers]))
    truth = asked.truth.observation
    # What a refused call is scored as.
    assert not rules_of(asked, "", not truth.is_error)["control"]
    if truth.is_error:
        assert not rules_of(asked, data.draw(st.text()), False)["control"]


async def test_a_run_tells_the_model_the_instruction_and_counts_who_obeys(tmp_path: Path) -> None:
    session = controlled()[0].session
    asked = [one for one in controlled() if one.session is session][:12]
    (tell,) = {session.instruction}

    def reply(request: ModelRequest) -> str:
        assert tell in str(request.messages)
        place = int(request.last_user.split("### Turn ")[1].split()[0]) - 1
        told = json.loads(oracle(asked[place]))
        if place % 2:
            told["result"] = '{"order_id": "ORD-1", "customer_id": "ada_lind"}'
        return f"<predicted_observation>\n{json.dumps(told)}\n</predicted_observation>"

    with ScriptedModelServer(reply) as served:
        imaginer = model(served.url).imaginer()
        rows = await runs.run(asked, imaginer, tmp_path / "run.jsonl", settings={})
    places = [place for place, one in enumerate(asked) if one.truth.verifiers]
    assert [rows[place].score.rules["control"] for place in places] == [
        not place % 2 for place in places
    ]
    figures = runs.figures_of(rows)
    assert figures["rule: control"].count == len(places)
    assert 0 < figures["rule: control"].share < 100
    assert runs.read_run(tmp_path / "run.jsonl")[1] == rows


def test_content_is_of_the_sort_that_can_be_known_least(shop: TransitionSet) -> None:
    opened, shown, closed, *_ = shop.transitions()
    assert content_of(opened) == RUNTIME
    assert content_of(shown) == content_of(closed) == DETERMINISTIC
    orders = {"orders": {"4711": {"order_id": "4711", "courier": "Swiftfoot"}}}
    for known, calls, sort in (
        (True, (said("Swiftfoot"),), EXISTING),
        (True, (said("Swiftfoot"), said("Swiftfoot")), DETERMINISTIC),
        (True, (said("Swiftfoot", courier="Swiftfoot"),), DETERMINISTIC),
        (True, (said("Slowpoke"),), DETERMINISTIC),
        (False, (said("Slowpoke"),), EXISTING),
    ):
        session = replace(shop.sessions[0], initial=orders, calls=calls, has_state=known)
        assert content_of(list(session.transitions())[-1]) == sort
