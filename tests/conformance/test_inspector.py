"""The official Inspector, as users run it, in front of the shim over both transports."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.conformance.conftest import inspect

CALLS = (
    ("tools/list",),
    ("tools/call", "--tool-name", "test_simple_text"),
    ("resources/list",),
    ("resources/read", "--uri", "test://static-text"),
    ("resources/templates/list",),
    ("prompts/list",),
    ("prompts/get", "--prompt-name", "test_simple_prompt"),
)


def shown(*arguments: str) -> Any:
    ended = inspect(*arguments)
    assert ended.returncode == 0, ended.stderr[-2000:]
    return json.loads(ended.stdout)


@pytest.mark.parametrize("call", CALLS, ids=[call[0] for call in CALLS])
def test_it_shows_over_http_what_it_shows_of_the_server(
    direct: str, through: str, call: tuple[str, ...]
) -> None:
    asked = ("--transport", "http", "--method", *call)
    assert shown(through, *asked) == shown(direct, *asked)


@pytest.mark.parametrize("call", CALLS, ids=[call[0] for call in CALLS])
def test_it_shows_over_stdio_what_it_shows_of_the_server(
    direct: str, real_rules: list[str], call: tuple[str, ...]
) -> None:
    shim = [sys.executable, "-m", "agentworld_mcp_shim", "--memory"]
    # Only what this call needs is real: a command line of fifty rules is no test of the Inspector.
    needed = [rule for rule in real_rules if rule.startswith((f"{call[0]}=", *call[2:3]))]
    rules = [part for rule in needed for part in ("--access", rule)]
    asked = ("--transport", "http", "--method", *call)
    command = (*shim, *rules, direct)
    assert shown(*command, "--method", *call) == shown(direct, *asked)
