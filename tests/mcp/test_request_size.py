"""A request on standard input may be as large as one over HTTP; a larger one gets an error of its own."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from agentworld_mcp_shim._stdio_lines import LimitedLines
from tests.mcp.conftest import wired

if TYPE_CHECKING:
    from tests.mcp.conftest import Shim

MOST = 100


def read(wire: bytes, size: int = 65_536) -> tuple[list[str], list[int | str | None]]:
    """The lines that come through, and the ids of the requests that do not."""
    refused: list[int | str | None] = []
    lines = LimitedLines(MOST, refused.append)
    parts = [wire[at : at + size] for at in range(0, len(wire), size)]
    return [line for part in (*parts, b"") for line in lines.feed(part)], refused


_LINES = st.binary(max_size=3 * MOST).map(lambda line: re.sub(rb"\n|\r(?=\r)", b"", line))


@given(st.lists(_LINES), st.integers(1, 4 * MOST))
def test_lines_that_are_not_too_long_come_as_they_are(lines: list[bytes], size: int) -> None:
    kept, refused = read(b"".join(line + b"\n" for line in lines), size)
    short = [line for line in lines if len(line.rstrip(b"\r")) <= MOST]
    assert kept == [line.decode("utf-8", "replace") for line in short]
    assert len(refused) == len(lines) - len(short)


@pytest.mark.parametrize(
    ("message", "request_id"),
    [
        ({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"id": 8}}, 7),
        ({"method": "tools/call", "params": {"id": 8}, "jsonrpc": "2.0", "id": 'a"b'}, 'a"b'),
        ({"method": "tools/call", "jsonrpc": "2.0", "params": {"x": {}, "id": 8}}, None),
        ({"jsonrpc": "2.0", "method": "notifications/x", "params": {"x": {}}}, None),
    ],
)
@pytest.mark.parametrize("spaced", [True, False])
def test_the_id_of_a_request_that_is_too_large_is_found(
    message: dict[str, Any], request_id: object, *, spaced: bool
) -> None:
    content = {**message, "params": {"text": "x" * 200_000, **message["params"]}}
    separators = (", ", ": ") if spaced else (",", ":")
    line = json.dumps(content, separators=separators).encode()
    assert read(line + b"\n{}\n") == (["{}"], [request_id])
    assert read(line) == ([], [request_id])


def test_a_client_is_told_that_its_request_is_too_large_and_goes_on(shim: Shim) -> None:
    # A process: the lines of a real pipe are limited.
    command = shim.command("--memory", "--max-request-bytes", "10000")
    with wired(command, "legacy", shim.environment) as wire:
        wire.greet()
        large = wire.ask("tools/call", name="bash", arguments={"command": "x" * 1_000_000})
        small = wire.ask("tools/call", name="bash", arguments={"command": "echo fine"})
    assert large["error"]["code"] == -32600
    assert large["error"]["message"] == (
        "a request may have 10,000 bytes, this one is larger. --max-request-bytes allows more."
    )
    assert small["result"]["content"][0]["text"].startswith("fine")
