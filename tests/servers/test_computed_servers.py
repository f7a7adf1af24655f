"""The same calls to a real server and to the computed one: the answers are the same."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from mcp import Client, MCPError
from tests.data.servers.calls import CALLS, LINKS, ROOT, Call
from tests.data.servers.record import answer, file_entries, lay_out, moved, steady
from tests.servers.arguments import wrong
from tests.servers.behind import Behind

EXPLAINED = {
    (
        "sqlite",
        "Error: Missing arguments",
    ): "asked for a tool that it does not have, the server looks"
    " at the arguments first; a mirror knows only which tools there are",
    (
        "time",
        "'message': 'Unknown tool",
    ): "the server mends what its SDK says of unknown tools, which its listing does not show",
    ("time", "[Errno "): "the server tells where its own machine keeps time zones",
}
"""What differs, by server and a part of the real answer, and why it must."""


def begun(behind: Behind, server: str) -> dict[str, Any]:
    """Lays out what a server works on, and the scenario that begins with the same."""
    if server != "filesystem":
        return {"clock": datetime.now(UTC).isoformat()}
    lay_out(behind.folder)
    root = str(behind.folder)
    files: dict[str, Any] = {
        path.replace(ROOT, root): {"directory": True} if entry is None else entry
        for path, entry in file_entries().items()
    }
    files |= {f"{root}/{path}": {"link": target} for path, target in LINKS.items()}
    return {"files": files, "machine": {"workdir": root, "allowed_directories": [root]}}


async def put(client: Client, calls: list[Call]) -> list[dict[str, Any]]:
    """The answers of one side, without what no two runs have in common."""
    answers: list[dict[str, Any]] = []
    for name, arguments in calls:
        try:
            said = answer(await client.call_tool(name, arguments))
        except MCPError as error:
            said = {"code": error.error.code, "message": error.error.message}
        answers.append(_without_clock(steady(said)))
    return answers


def fails(said: dict[str, Any]) -> bool:
    """Whether an answer is an error, of the tool or of the protocol."""
    return "code" in said or said.get("is_error") is True


def _without_clock(value: Any) -> Any:
    """The time of day goes on between two runs; the date and the zone's offset are compared."""
    if isinstance(value, str):
        # Which release of pydantic explains a fault is not to be seen in a schema.
        value = re.sub(r"\n    For further information visit \S+", "", value)
        return re.sub(r"T\d\d:\d\d:\d\d(?=[+-]\d\d:\d\d)", "T<time>", value)
    if isinstance(value, list):
        return [_without_clock(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {key: _without_clock(one) for key, one in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


@pytest.mark.parametrize("server", ["filesystem", "memory", "sqlite", "time"])
async def test_a_computed_server_answers_as_the_real_one(behind: Behind, server: str) -> None:
    scenario = begun(behind, server)
    calls = [(name, moved(given, ROOT, str(behind.folder))) for name, given in CALLS[server]]
    random, asked = Random(server), len(calls)
    async with behind.shown(server, "live", **scenario) as client:
        for tool in (await client.list_tools()).tools:
            calls += [(tool.name, given) for _, given in wrong(tool.input_schema, random)]
        calls.append(("no_such_tool", {}))
        computed = await put(client, calls)
    async with behind.direct(server) as client:
        real = await put(client, calls)
    different = [
        f"{name} {str(given)[:300]}\n  computed: {str(ours)[:600]}\n  real:     {str(theirs)[:600]}"
        for number, ((name, given), ours, theirs) in enumerate(
            zip(calls, computed, real, strict=True)
        )
        if ours != theirs
        # What does not fit a schema, and a tool that is not there, are errors in our own words.
        and not (number >= asked and fails(ours) and fails(theirs))
        and not any(one == server and part in str(theirs) for one, part in EXPLAINED)
    ]
    assert not different, f"{len(different)} of {len(calls)}:\n" + "\n".join(different)
