"""The scripted server's answers have the shape of the real vLLM's.

`tests/data/vllm_0_32_shapes.json` was recorded from it, and `make test-vllm` holds it to that; the
same requests are sent here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from agentworld_sim.llm.scripted import ModelRequest, ScriptedModelServer, ScriptedReply
from tests.vllm.shapes import FILE, capture, shape

RECORDED: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))

NOT_IMITATED = {
    # It has neither a grammar nor a chat template of its own that could refuse.
    *("bad_schema", "refused_by_template"),
}

ANSWERS = [name for name in RECORDED if name.startswith("completion")]


def answered(request: ModelRequest) -> ScriptedReply:
    thinking = "" if request.enable_thinking is False else "The step asks for it."
    return ScriptedReply("an answer", thinking=thinking, chunk_size=5)


@pytest.fixture(scope="module")
def captured() -> Iterator[dict[str, Any]]:
    with (
        ScriptedModelServer(
            answered, model="tiny", api_key="key", max_model_len=8192, block_size=32
        ) as server,
        httpx2.Client(
            base_url=server.root_url, headers={"Authorization": "Bearer key"}, timeout=60
        ) as http,
    ):
        yield capture(http, server.root_url)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_has_the_keys_of_the_real_one(captured: dict[str, Any], name: str) -> None:
    real, ours = shape(RECORDED[name]), shape(captured[name])
    if name == "completion_with_token_ids":
        # It counts tokens and has no vocabulary to number them by.
        for answer in (real, ours):
            del answer["prompt_token_ids"], answer["choices"][0]["token_ids"]
    assert ours == real


@pytest.mark.parametrize("name", RECORDED["stream"])
def test_a_chunk_has_the_keys_of_the_real_one(captured: dict[str, Any], name: str) -> None:
    assert shape(captured["stream"][name]) == shape(RECORDED["stream"][name])


@pytest.mark.parametrize("name", sorted(set(RECORDED["errors"]) - NOT_IMITATED))
def test_a_refusal_is_that_of_the_real_one_to_the_letter(
    captured: dict[str, Any], name: str
) -> None:
    assert captured["errors"][name] == RECORDED["errors"][name]


def test_models_and_version_are_told_as_by_the_real_one(captured: dict[str, Any]) -> None:
    (real,), (ours,) = (told["models"]["data"] for told in (RECORDED, captured))
    # What a caller may do with a model, which nobody looks at.
    assert ours == {key: value for key, value in real.items() if key != "permission"}
    assert captured["version"] == RECORDED["version"]
