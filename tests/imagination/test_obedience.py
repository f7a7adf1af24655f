"""What a model imagines keeps to the controls: it is asked once more, and then a rule makes it obey."""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim import Control, Observation, StepContext, ToolCall
from agentworld_sim.controls import (
    AdversarialText,
    HiddenFact,
    Pagination,
    ServerError,
    Timeout,
    TruncatedResult,
    WithheldField,
)
from agentworld_sim.controls.adversarial_text import adversarial_packs
from agentworld_sim.controls.observation_parts import change_texts
from agentworld_sim.errors import ControlFailure, ObservationRejected
from agentworld_sim.imagination import usage_of
from agentworld_sim.llm.scripted import ScriptedReply
from tests.imagination.conftest import Open, always
from tests.properties import examples

CALL = ToolCall("weather", {"city": "Utrecht"})
OUTAGE = ServerError(name="outage", status=503, nth=(7,))
OBEDIENT, DISOBEDIENT = "Sun.", "503 Service Unavailable\nSun."
FACT = "Tulip-4711"
SECRET = HiddenFact(name="secret", fact=FACT)
INJECTION = next(iter(adversarial_packs().items()))


def said(*texts: str) -> list[ScriptedReply]:
    return [ScriptedReply.observation(text) for text in texts]


async def test_an_answer_that_obeys_is_taken_at_once(imagining: Open) -> None:
    opened = await imagining(said(OBEDIENT), world={"controls": [OUTAGE]})
    turn = await opened.world.step(CALL)
    assert (turn.observation.text, turn.observation.provenance) == (OBEDIENT, "imagined")
    (verdict,) = (one for one in turn.checks if one.check == "controls")
    assert (verdict.accepted, verdict.reason) == (True, "")


async def test_one_that_does_not_is_asked_for_again_with_the_reason(imagining: Open) -> None:
    opened = await imagining(said(DISOBEDIENT, OBEDIENT), world={"controls": [OUTAGE]})
    turn = await opened.world.step(CALL)
    assert turn.observation.text == OBEDIENT
    assert OUTAGE.describe() in opened.server.requests[1].last_user
    usage = usage_of([turn])
    assert (usage.controlled, usage.disobeyed, usage.rewritten) == (2, 1, 0)


@pytest.mark.parametrize(("reasks", "asked"), [(3, 2), (0, 1)])
async def test_what_disobeys_again_is_rewritten_by_rule_and_counted(
    imagining: Open, reasks: int, asked: int
) -> None:
    opened = await imagining(
        always(ScriptedReply.observation(DISOBEDIENT)), world={"controls": [OUTAGE]}, reasks=reasks
    )
    turn = await opened.world.step(CALL)
    assert (turn.observation.text, turn.observation.provenance) == (OBEDIENT, "enforced")
    assert len(opened.server.requests) == len(turn.exchanges) == asked
    usage = usage_of([turn])
    assert (usage.controlled, usage.disobeyed, usage.rewritten) == (asked, asked, 1)


async def test_the_record_is_rewritten_too_when_the_next_reply_cannot_be_read(
    imagining: Open,
) -> None:
    replies = [*said(DISOBEDIENT), ScriptedReply("", finish_reason="length")]
    opened = await imagining(replies, world={"controls": [OUTAGE]}, reasks=1)
    turn = await opened.world.step(CALL)
    assert turn.observation.text == OBEDIENT
    assert len(turn.exchanges) == 2


async def test_an_answer_of_which_nothing_would_be_left_is_none(imagining: Open) -> None:
    reply = always(ScriptedReply.observation("503 Service Unavailable"))
    opened = await imagining(reply, world={"controls": [OUTAGE]})
    with pytest.raises(ObservationRejected, match="nothing of the answer would be left") as told:
        await opened.world.step(CALL)
    assert len(told.value.exchanges) == 4
    assert opened.world.ref == opened.world.root


async def test_of_two_answers_the_one_of_which_something_is_left_is_rewritten(
    imagining: Open,
) -> None:
    replies = said(DISOBEDIENT, *["503 Service Unavailable"] * 3)
    opened = await imagining(replies, world={"controls": [OUTAGE]})
    turn = await opened.world.step(CALL)
    assert (turn.observation.text, turn.observation.provenance) == (OBEDIENT, "enforced")
    assert len(turn.exchanges) == 4


async def test_a_call_that_the_control_answers_asks_no_model(imagining: Open) -> None:
    always_out = ServerError(name="outage", status=503)
    opened = await imagining([], world={"controls": [always_out]})
    turn = await opened.world.step(CALL)
    assert turn.observation.provenance == "enforced"
    assert not [one for one in turn.checks if one.check == "controls"]


async def test_a_world_without_controls_has_no_such_verdict(imagining: Open) -> None:
    opened = await imagining(said(DISOBEDIENT))
    turn = await opened.world.step(CALL)
    assert "503" in turn.observation.text
    assert "controls" not in {one.check for one in turn.checks}


PERSON = WithheldField(name="private", fields=("email",))


@pytest.mark.parametrize(
    ("control", "imagined", "read"),
    [
        (Timeout(name="c", nth=(9,)), "Rain.\nRequest timed out after 30 seconds\n", "Rain."),
        (Pagination(name="c"), "Rain.\n(Page 1 of 3; see the next)\n", "Rain."),
        (TruncatedResult(name="c"), "Rain.\n[output truncated]\n", "Rain."),
        (AdversarialText(name="c", pack=INJECTION[0], nth=(9,)), f"Rain.\n{INJECTION[1][0]}\n", "Rain."),
        (OUTAGE, f"Rain.\nNote: {OUTAGE.describe()}\n", "Rain."),
        (OUTAGE, '{"sky": "Rain.", "note": "503 service unavailable"}', '{"sky": "Rain.", "note": ""}'),
        (SECRET, "Rain.\nThe code is T U L I P 4 7 1 1.\n", "Rain."),
        (SECRET, f"Rain.\ncode: {b64encode(FACT.encode()).decode()}\n", "Rain."),
        (SECRET, "Rain.\n1174-pilut, backwards\n", "Rain."),
        (SECRET, f"Rain.\nThe code is {FACT}.\n", "Rain.\nThe code is ."),
        (SECRET, '{"sky": "Rain.", "Tulip-4711": "\\u0054ulip-4711"}', '{"sky": "Rain.", "": ""}'),
        (PERSON, "name: Ada\nemail: ada@example.org\nWrite to ada@example.org.\n", "name: Ada\n"),
        (PERSON, "name: Ada\nHer email is ada at example.\n", "name: Ada\n"),
        (PERSON, '{"email": "ada@example.org", "to": "ada@example.org"}', '{"to": ""}'),
    ],
)  # fmt: skip
async def test_the_agent_reads_nothing_of_what_only_a_control_says_or_hides(
    imagining: Open, control: Control, imagined: str, read: str
) -> None:
    opened = await imagining(
        always(ScriptedReply.observation(imagined)), world={"controls": [control]}
    )
    turn = await opened.world.step(CALL)
    assert turn.observation.text.rstrip("\n") == read.rstrip("\n")
    assert not turn.observation.is_error


async def test_what_the_control_hides_by_itself_is_no_disobedience(imagining: Open) -> None:
    opened = await imagining(
        said("name: Ada\nemail: ada@example.org"), world={"controls": [PERSON]}
    )
    turn = await opened.world.step(CALL)
    assert turn.observation.text.rstrip("\n") == "name: Ada"
    assert turn.change.values["control/private"] == 1
    assert len(opened.server.requests) == 1


async def test_a_command_in_the_middle_of_a_script_is_rewritten(imagining: Open) -> None:
    answer = {"stdout": "pods\n503 Service Unavailable\n", "stderr": "", "exit_code": 0}
    reply = always(json.dumps({**answer, "operations": []}))
    opened = await imagining(reply, world={"controls": [OUTAGE]})
    turn = await opened.world.step(ToolCall("bash", {"command": "kubectl get pods; echo end"}))
    assert "503" not in turn.observation.text
    assert "pods" in turn.observation.text
    assert usage_of([turn]).rewritten == 1


@dataclass(frozen=True, kw_only=True)
class Broken(Control):
    """Fails when it looks at an observation."""

    name: str = "broken"

    async def handle(self, step: StepContext, next: Any) -> Any:
        return await next(step)

    async def obedient(self, step: StepContext, observation: Observation) -> Observation:
        raise RuntimeError("no")


async def test_a_control_that_fails_on_looking_is_named(imagining: Open) -> None:
    opened = await imagining(said(OBEDIENT), world={"controls": [Broken()]})
    with pytest.raises(ControlFailure, match="'broken'"):
        await opened.world.step(CALL)
    assert opened.world.ref == opened.world.root


@settings(max_examples=examples(150))
@given(st.text(), st.sampled_from(["", "-", " ", "\n", ". "]), st.text(), st.booleans())
def test_however_a_fact_is_spelled_it_is_not_read(
    before: str, between: str, after: str, as_json: bool
) -> None:
    text = f"{before} {between.join(FACT)} {after}"
    observation = Observation(text=json.dumps({"note": text}) if as_json else text)
    disguises = SECRET.disguises
    assert disguises is not None
    hidden = _without_the_fact(observation)
    assert "tulip4711" not in re.sub(r"[\W_]", "", hidden.text).lower()


def _without_the_fact(observation: Observation) -> Observation:
    """As a world does it: what a model may not write is cut, and then what the control hides."""
    step: Any = None  # nobody looks at it
    made = asyncio.run(AlwaysStrikes(name="secret", fact=FACT).obedient(step, observation))
    return change_texts(made, SECRET.hide)


@dataclass(frozen=True, kw_only=True)
class AlwaysStrikes(HiddenFact):
    async def strikes(self, step: StepContext) -> bool:
        return True
