"""Instructions in plain words become controls as far as a rule can say so, and what is left is told."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.errors import ModelFailure, UsageError
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.client import ChatClient
from agentworld_sim.llm.scripted import ModelRequest, Script, ScriptedModelServer
from agentworld_sim.scenario import CompiledInstruction, Scenario, compile_instruction
from agentworld_sim.scenario._instruction import reply_schema, rest_of
from tests.properties import examples

TEXT = "The third search fails with a 503, and never show the price. Be grumpy."
SEARCH: dict[str, Any] = {
    "quote": "The third search fails with a 503",
    "kind": "server-error",
    "tool": "search",
    "status": 503,
    "nth": [3],
}
PRICE: dict[str, Any] = {
    "quote": "never show the price",
    "kind": "withheld-field",
    "fields": ["price"],
}
GRUMPY = {"quote": "Be grumpy", "kind": "none"}


def always(text: str) -> Callable[[ModelRequest], str]:
    return lambda _: text


def reply(*parts: dict[str, Any]) -> str:
    return json.dumps({"parts": parts})


@pytest.fixture
async def compiled() -> AsyncIterator[Any]:
    """Compiles the instruction with a model that says what a script says; gives what it was asked, too."""

    async def run(
        script: Script, text: str = TEXT
    ) -> tuple[CompiledInstruction, list[ModelRequest]]:
        with ScriptedModelServer(script) as server:
            client = ChatClient(ModelSettings(url=server.url, retries=0))
            try:
                return await compile_instruction(text, client), server.requests
            finally:
                await client.close()

    yield run


async def test_what_a_rule_fits_becomes_controls_and_the_rest_is_told(compiled: Any) -> None:
    made, (asked,) = await compiled([reply(SEARCH, PRICE, GRUMPY)])
    assert made == CompiledInstruction(
        controls=(
            {
                "kind": "server-error",
                "name": "server-error",
                "tool": "search",
                "status": 503,
                "nth": [3],
            },
            {"kind": "withheld-field", "name": "withheld-field", "fields": ["price"]},
        ),
        quotes=(SEARCH["quote"], PRICE["quote"]),
        unenforced=("Be grumpy",),
    )
    Scenario.model_validate({"name": "x", "domains": ["mcp"], "controls": list(made.controls)})
    assert asked.last_user == TEXT
    for kind in ("server-error", "hidden-fact", "pagination"):
        assert f"- {kind}: " in str(asked.messages[0]["content"])
    schema = asked.body["response_format"]["json_schema"]["schema"]
    jsonschema.validate({"parts": [SEARCH, PRICE, GRUMPY]}, schema)


async def test_two_controls_of_a_kind_have_names_of_their_own(compiled: Any) -> None:
    other = {**PRICE, "quote": "Be grumpy", "fields": ["mood"]}
    made, _ = await compiled([reply(PRICE, other)])
    assert [one["name"] for one in made.controls] == ["withheld-field", "withheld-field-2"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({**PRICE, "fields": "price"}, "fields"),
        ({**PRICE, "field": ["price"]}, "field: unknown key"),
        ({**PRICE, "kind": "hide-field"}, "hidden-fact"),
        ({**SEARCH, "probability": 0}, "never strikes"),
        ({**PRICE, "quote": "hide the price"}, "quote its own words"),
    ],
)
async def test_a_control_that_is_wrong_is_asked_for_again_with_the_reason(
    compiled: Any, wrong: dict[str, Any], said: str
) -> None:
    made, (_, again) = await compiled([reply(wrong), reply(SEARCH, PRICE)])
    assert said in again.last_user
    assert len(made.controls) == 2


async def test_one_that_stays_wrong_counts_as_not_written(compiled: Any) -> None:
    wrong: dict[str, Any] = {**PRICE, "fields": []}
    made, asked = await compiled(always(reply(SEARCH, {**wrong, "mode": 1})))
    assert len(asked) == 3
    assert [one["kind"] for one in made.controls] == ["server-error"]
    assert made.unenforced == ("and never show the price", "Be grumpy")


async def test_answers_that_are_no_json_are_a_failure(compiled: Any) -> None:
    with pytest.raises(ModelFailure, match="wrote no controls in 3 tries"):
        await compiled(always("I cannot."))


async def test_no_instruction_is_a_mistake_and_asks_nobody(compiled: Any) -> None:
    with pytest.raises(UsageError, match="no instruction"):
        await compiled([], " \n")


def test_every_kind_can_be_written_in_the_schema_of_the_reply() -> None:
    jsonschema.Draft202012Validator.check_schema(reply_schema())


@settings(max_examples=examples(150))
@given(st.lists(st.text("ab .,;\n", max_size=9), max_size=5), st.data())
def test_every_word_is_quoted_or_left(parts: list[str], data: st.DataObject) -> None:
    text = "x".join(parts)
    plain = " ".join(text.split())
    start, end = sorted(data.draw(st.integers(0, len(plain))) for _ in range(2))
    quotes = [plain[start:end]] if plain[start:end].strip() else []
    left = "".join(rest_of(text, quotes))
    for quote in quotes:
        plain = plain.replace(quote, "\0")
    letters = [one for one in plain if one in "abx"]
    assert [one for one in left if one in "abx"] == letters
