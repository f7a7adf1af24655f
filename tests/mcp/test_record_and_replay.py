"""`--record` and `--replay`: what a real server said is said again, without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_mcp_shim._results import SIMULATED, observation_of, tool_result
from agentworld_sim.cassette import Cassette
from mcp import MCPError
from tests.mcp.conftest import Shim
from tests.mcp.test_passthrough import BEHIND, ERAS, real, wire

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("picture", {}),
    ("count", {}),
    ("work", {"steps": 2}),
    ("count", {}),
]


def without_mark(result: dict[str, Any]) -> dict[str, Any]:
    result.get("_meta", {}).pop("agentworld/simulated", None)
    if not result.get("_meta", True):
        del result["_meta"]
    return result


@ERAS
async def test_what_was_recorded_is_replayed_to_the_byte(
    shim: Shim, tmp_path: Path, mode: str
) -> None:
    path = tmp_path / "calls.jsonl"
    names = real("picture", "count", "work")
    async with shim.client(*names, "--record", str(path), *BEHIND, mode=mode) as client:
        said = [without_mark(wire(await client.call_tool(*call))) for call in CALLS]
    before = shim.called_for_real()
    async with shim.client("--replay", str(path), *BEHIND, mode=mode) as client:
        again = [without_mark(wire(await client.call_tool(*CALLS[n]))) for n in (3, 2, 0, 1)]
    # Calls of the same tool with the same arguments keep their order, the others may move.
    assert again == [said[1], said[2], said[0], said[3]]
    assert shim.called_for_real() == before


@pytest.mark.promise("redacted-cassettes")
async def test_secrets_in_arguments_and_answers_are_not_in_the_file(
    shim: Shim, tmp_path: Path
) -> None:
    path = tmp_path / "calls.jsonl"
    secret = "open sesame 4711"
    async with shim.client(*real("secret"), "--record", str(path), *BEHIND) as client:
        assert secret in str(await client.call_tool("secret", {"password": secret}))
    assert secret not in path.read_text(encoding="utf-8")
    async with shim.client("--replay", str(path), *BEHIND) as client:
        answer = await client.call_tool("secret", {"password": "another"})
        assert "the password is [redacted:secret]" in str(answer.content)
        with pytest.raises(MCPError) as missed:
            await client.call_tool("secret", {"password": "x", "more": 1})
    assert missed.value.error.data == {"error": "CassetteMiss"}
    assert "more: not recorded, now 1" in missed.value.error.message


def test_the_cassette_says_which_tools_there_were(shim: Shim, tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    shim.run(*real("picture"), "--record", str(path), "--volatile", "*.at", *BEHIND)
    cassette = Cassette.load(path)
    assert "picture" in [tool.name for tool in cassette.tools]
    assert cassette.volatile == ("*.at",)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--record", "a", "--replay", "b"], "Give one of them"),
        (["--record", "a"], "no tool is set to real"),
        (["--volatile", "*.at"], "--volatile is about a cassette"),
        (["--replay", "b", "--volatile", "at"], "--volatile 'at' is not of the form TOOL.FIELD"),
        (["--replay", "b", "--access", "picture=real"], "names another source"),
        (["--replay", "b", "--bind", "picture=terminal/bash"], "names another source"),
    ],
)
def test_options_that_contradict_each_other_are_told(
    shim: Shim, arguments: list[str], message: str
) -> None:
    ended = shim.run(*arguments, *BEHIND)
    assert (ended.returncode, message in ended.stderr) == (2, True)


def test_a_replay_without_a_server_is_told(shim: Shim) -> None:
    ended = shim.run("--replay", "b")
    assert (ended.returncode, "name its command" in ended.stderr) == (2, True)


VALUES = st.none() | st.booleans() | st.integers() | st.text()
FIELDS = st.dictionaries(st.text(min_size=1), VALUES, max_size=3)
TEXTS = st.fixed_dictionaries({"type": st.just("text"), "text": st.text()})
IMAGES = st.fixed_dictionaries(
    {"type": st.just("image"), "data": st.text(), "mimeType": st.just("image/png")},
    optional={"_meta": FIELDS},
)
RESULTS = st.fixed_dictionaries(
    {"content": st.lists(TEXTS | IMAGES, max_size=3), "isError": st.booleans()},
    optional={
        "structuredContent": FIELDS,
        "_meta": FIELDS.filter(bool),
    },
)


@given(RESULTS)
def test_a_result_goes_into_an_observation_and_out_again_without_loss(
    result: dict[str, Any],
) -> None:
    seen = observation_of(result)
    again = tool_result(
        seen.text,
        {},
        structured=seen.structured,
        content=seen.content,
        is_error=seen.is_error,
    ).model_dump(by_alias=True, exclude_unset=True)
    meta = {key: one for key, one in again.pop("_meta").items() if key != SIMULATED}
    again |= {"_meta": meta} if meta else {}
    if again["structuredContent"] is None:
        del again["structuredContent"]
    assert again == result
