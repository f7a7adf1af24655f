"""What engines compute is what real tools say: no check may refuse it were it imagined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agentworld_sim import MemoryStore, Scenario, ToolCall, World
from agentworld_sim.checks import DEFAULT_CHECKS, CheckInput

FILES = {
    "/root/short.txt": "one line\n",
    "/root/code.py": "import os\n\n\ndef main():\n    print(os.getcwd())\n\n\nmain()\n",
    "/root/bare.txt": "no newline at the end",
    "/root/numbers.txt": "".join(f"{n}: row\n" for n in range(1, 40)),
    "/root/long.txt": "".join(f"row {n} of the table\n" for n in range(1, 2501)),
    "/root/wide.txt": "x" * 5000 + "\n" + "narrow\n",
    "/root/empty.txt": "",
    "/root/blank.txt": "\n\n\nafter blank lines\n\n\n",
    "/root/dos.txt": "a\r\nb\r\n",
    "/root/data.json": '{"a": [1, 2], "b": "<think> & \\"quoted\\""}\n',
    "/root/src/pkg/mod.py": "x = 1\n",
    "/root/src/name with spaces.txt": "x\n",
    "/root/.hidden": "x\n",
}
READERS: Mapping[str, tuple[str, str, list[dict[str, Any]]]] = {
    "claude-code": ("Read", "file_path", [{}, {"offset": 3, "limit": 4}, {"limit": 1}]),
    "gemini-cli": ("read_file", "absolute_path", [{}, {"offset": 3, "limit": 4}]),
    "qwen-code": ("read_file", "file_path", [{}, {"offset": 3, "limit": 4}]),
    "deepagents": ("read_file", "file_path", [{}, {"offset": 3, "limit": 4}, {"offset": 0}]),
    "langchain": ("read_file", "file_path", [{}]),
}
LISTERS = {
    "claude-code": ("Glob", {"pattern": "*", "path": "/root"}),
    "gemini-cli": ("list_directory", {"path": "/root"}),
    "deepagents": ("ls", {"path": "/root"}),
    "langchain": ("list_directory", {"dir_path": "/root"}),
}


async def refused(toolkit: str, name: str, calls: list[dict[str, Any]]) -> list[tuple[Any, str]]:
    """What the checks have against computed answers, if these were imagined."""
    store = MemoryStore()
    scenario = Scenario.model_validate(
        {"name": "files", "domains": ("swe",), "files": FILES, "tools": (toolkit,)}
    )
    found: list[tuple[Any, str]] = []
    async with await World.create(scenario, store=store) as world:
        for arguments in calls:
            before = await world.state()
            turn = await world.step(ToolCall(name, arguments))
            imagined = replace(turn.observation, provenance="imagined")
            given = CheckInput(
                turn.call,
                world.tools[name],
                imagined,
                before,
                await world.state(),
                store.blobs,
                (await world.trajectory()).turns[:-1],
            )
            reasons = [check.judge(given) for check in DEFAULT_CHECKS]
            found += [(arguments, reason) for reason in reasons if reason is not None]
    return found


@pytest.mark.parametrize("toolkit", READERS)
async def test_files_that_are_read(toolkit: str) -> None:
    name, argument, pages = READERS[toolkit]
    calls = [{argument: path, **page} for path in [*FILES, "/root/none"] for page in pages]
    assert await refused(toolkit, name, calls) == []


@pytest.mark.parametrize("toolkit", LISTERS)
async def test_directories_that_are_listed(toolkit: str) -> None:
    name, arguments = LISTERS[toolkit]
    inner = {key: value.replace("/root", "/root/src") for key, value in arguments.items()}
    assert await refused(toolkit, name, [arguments, inner]) == []
