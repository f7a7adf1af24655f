"""Secrets are not in a cassette, and what was recorded without them is found with them."""

from __future__ import annotations

import json

from agentworld_sim import Scenario
from agentworld_sim.llm.scripted import ModelRequest, Reply, ScriptedReply
from tests.cassette.lab import Studio, command

TOKEN = "ghp_" + "a1B2" * 8


def _leaking(request: ModelRequest) -> Reply:
    if "argv:" in request.last_user:
        wrote = {"kind": "write", "path": "creds", "content": f"token={TOKEN}\nhunter2hunter2\n"}
        return command(f"logged in with {TOKEN} for hunter2hunter2 and zephyr-9000\n", wrote)
    return ScriptedReply.observation(json.dumps({"session_token": "s3ss10nk3y", "for": TOKEN}))


async def test_no_secret_is_written(studio: Studio) -> None:
    scenario = Scenario.parse(
        "name: s\ndomains: [swe]\nmachine: {env: {DB_PASSWORD: hunter2hunter2}}\n"
    )
    options = {"scenario": scenario, "cassette": {"secrets": ["zephyr-9000"]}}
    said: list[str] = []
    for mode, answering in (("once", _leaking), ("replay", None)):
        async with studio.open(mode, answering, **options) as one:  # pyright: ignore[reportArgumentType]
            turn = await one.call("book", city="Bern", password="correct-horse")
            said.append(turn.observation.text)
            said.append(await one.bash("login --password swordfish1 --user me --api-key=$TOKEN"))
            said.append(await one.bash(f"echo correct-horse {TOKEN} | login --again zephyr-9000"))
            said.append(await one.bash("cat creds"))
            report = await one.end()
    # While it is recorded, the world is told what will be replayed.
    assert said[:4] == said[4:]
    assert report.unused == ()
    for secret in (TOKEN, "hunter2hunter2", "zephyr-9000", "swordfish1", "s3ss10nk3y"):
        assert secret not in studio.text, secret
    assert studio.text.count("correct-horse") == 1  # as plain input of a command, it is no secret
    assert "password: '[redacted:password]'" in studio.text


async def test_another_secret_finds_the_answer(studio: Studio) -> None:
    """A colleague's key is not the one it was recorded with."""
    async with studio.open("once", _leaking, cassette={"secrets": ["zephyr-9000"]}) as one:
        first = await one.call("book", city="Bern", password="correct-horse")
        again = await one.call("book", city="for zephyr-9000 only")
        await one.end()
    async with studio.open("replay") as one:
        turn = await one.call("book", city="Bern", password="battery-staple")
        assert turn.observation.text == first.observation.text
        turn = await one.call("book", city="for breeze-1000 only")
        assert turn.observation.text == again.observation.text
