"""What the filesystem server takes from libraries, and where it may work."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings, strategies as st

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.engines.shell.glob_patterns import minimatch
from agentworld_sim.engines.shell.toolkits._node import collation_key
from agentworld_sim.engines.shell.toolkits.filesystem import two_files_patch
from tests.engines.toolkits.recordings import RECORDINGS
from tests.properties import examples

LIBRARIES: dict[str, list[Any]] = json.loads(
    (RECORDINGS / "libraries.json").read_text(encoding="utf-8")
)


def test_a_patch_is_the_one_that_the_library_writes() -> None:
    for (before, after), patch in LIBRARIES["patches"]:
        assert two_files_patch("f", before, after) == patch


def test_a_pattern_matches_what_it_matches_in_the_library() -> None:
    for (path, pattern), fits in LIBRARIES["patterns"]:
        assert fits is None or minimatch(path, pattern) is fits, (path, pattern)


def test_names_are_sorted_as_the_library_sorts_them() -> None:
    for names, ordered in LIBRARIES["orders"]:
        assert sorted(names, key=collation_key) == ordered


@given(st.text("ab*?[]{}()|!+@/\\.,-#", max_size=40))
@example("[?--]")
@settings(max_examples=examples(300), deadline=None)
def test_no_pattern_breaks_or_hangs(pattern: str) -> None:
    assert minimatch("aaaaaaaaaaaaaaaaaaaaaaaa/b", pattern) in (True, False)


def test_a_pattern_made_to_hang_does_not() -> None:
    assert not minimatch("a" * 200, "*(a|aa|*(a|*(aa|a)))" * 5 + "c")


async def test_without_a_word_in_the_scenario_it_may_work_everywhere() -> None:
    scenario = Scenario.model_validate(
        {"name": "x", "domains": ["mcp"], "tools": ["filesystem"], "machine": {"workdir": "/srv"}}
    )
    async with await World.create(scenario) as world:

        async def said(tool: str, **arguments: Any) -> str:
            return (await world.step(ToolCall(tool, arguments))).observation.text

        assert await said("list_allowed_directories") == "Allowed directories:\n/srv\n/"
        assert await said("write_file", path="here.txt", content="x") == (
            "Successfully wrote to here.txt"
        )
        assert await said("read_text_file", path="/srv/here.txt") == "x"
        assert await said("write_file", path="/tmp/there.txt", content="y") == (
            "Successfully wrote to /tmp/there.txt"
        )
        assert await said("search_files", path="/tmp", pattern="*.txt") == "/tmp/there.txt"


async def test_a_patch_of_texts_with_nothing_in_common_is_whole_and_quick() -> None:
    before = "".join(f"a{number}\n" for number in range(3000))
    after = "".join(f"b{number}\n" for number in range(3000))
    patch = two_files_patch("f", before, after)
    assert patch.count("\n-a") == patch.count("\n+b") == 3000
