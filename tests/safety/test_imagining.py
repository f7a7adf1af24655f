"""With a language world model: what fails raises, what is secret stays so, what is imagined is marked."""

from __future__ import annotations

import json
import pickle
import traceback
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim import AccessRefused, Scenario, SqliteStore, ToolCall, ToolSpec, World
from agentworld_sim.errors import ModelFailure
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import (
    Disconnect,
    ErrorReply,
    OverflowReply,
    RawReply,
    Reply,
    Script,
    ScriptedModelServer,
    ScriptedReply,
    StreamError,
)

SECRET = "k-of-the-model-4711"
RUN = ToolSpec(name="run", binds_to="shell/run")
MAIL = ToolSpec(
    name="send_mail",
    description="Send a mail.",
    input_schema={"type": "object", "properties": {"to": {"type": "string"}}},
)
CALLS = {
    "a tool": ToolCall("send_mail", {"to": "a@b.example"}),
    "a command": ToolCall("run", {"command": "echo one > note; hg log | sort; echo two"}),
}


def program(*operations: dict[str, Any], stdout: str = "") -> ScriptedReply:
    """What the model says of one command."""
    told = {"stdout": stdout, "stderr": "", "exit_code": 0, "operations": operations}
    return ScriptedReply(json.dumps(told))


class Open:
    """Opens worlds with a scripted model."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack

    async def __call__(
        self,
        script: Script,
        *,
        scenario: Scenario | None = None,
        store: SqliteStore | None = None,
        reasks: int = 1,
    ) -> tuple[World, ScriptedModelServer]:
        server = self._stack.enter_context(ScriptedModelServer(script, api_key=SECRET))
        settings = ModelSettings(url=server.url, api_key=SECRET, retries=0, reasks=reasks)
        made = await World.create(scenario, id="w", model=WorldModel(settings), store=store)
        world = await self._stack.enter_async_context(made)
        world.add_tools([RUN, MAIL])
        return world, server


@pytest.fixture
async def imagining() -> AsyncIterator[Open]:
    async with AsyncExitStack() as stack:
        yield Open(stack)


# Without a model


@pytest.mark.promise("no-model")
@pytest.mark.parametrize("url", [None, ""])
async def test_without_a_model_nothing_is_imagined(
    monkeypatch: pytest.MonkeyPatch, url: str | None
) -> None:
    monkeypatch.delenv("AGENTWORLD_MODEL_URL", raising=False)
    if url is not None:
        monkeypatch.setenv("AGENTWORLD_MODEL_URL", url)
    scenario = Scenario.parse(
        "name: bare\ndomains: [terminal]\nroutes: {commands: {hg: imagine}, tools: {run: imagine}}"
    )
    for given in (None, scenario):
        async with await World.create(given) as world:
            assert world.model is None
            bound = [tool.name for tool in world.add_tools([MAIL]) if tool.access == "simulate"]
            assert bound == [] or given is None
            with pytest.raises(AccessRefused):
                await world.step(CALLS["a tool"])
    async with await World.create() as world:
        world.add_tools([RUN])
        turn = await world.step(ToolCall("run", {"command": "hg log; kubectl get pods"}))
        assert turn.observation.structured["exit_code"] == 127
        assert turn.observation.structured["stderr"].count("command not found") == 2
        assert (turn.observation.provenance, turn.inner) == ("computed", ())


# When it fails

FAULTS: dict[str, Reply] = {
    "a bad request": ErrorReply(400),
    "a refused key": ErrorReply(401),
    "a limit": ErrorReply(429),
    "a defect": ErrorReply(500),
    "too long": OverflowReply(),
    "dead before the answer": Disconnect(),
    "dead in mid-stream": Disconnect(after_chunks=2, reset=True),
    "an error in mid-stream": StreamError(),
    "a page": RawReply.html_page(),
    "no JSON": RawReply.invalid_json(),
    "an error under 200": RawReply.error_with_status_200(),
    "nothing at all": RawReply.empty(),
    "an empty answer": ScriptedReply("", thinking="Here is the answer: sent."),
    "a cut answer": ScriptedReply("<predicted_observation>Se", finish_reason="length"),
    "prose": ScriptedReply("Sure! Here is the predicted observation:\n\nsent"),
}


@pytest.mark.promise("model-failure")
@pytest.mark.promise("no-trace")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_what_goes_wrong_with_a_model_raises_and_is_no_observation(
    imagining: Open, fault: Reply, call: ToolCall
) -> None:
    world, _ = await imagining(lambda _: fault)
    before = await world.state()
    with pytest.raises(ModelFailure):
        await world.step(call)
    assert len(await world.trajectory()) == 0
    assert (world.ref, await world.state()) == (world.root, before)
    turn = await world.step(ToolCall("run", {"command": "ls"}))
    assert (turn.observation.text, turn.observation.provenance) == ("", "computed")


# What is secret


@pytest.mark.promise("key-stays-secret")
async def test_the_key_is_in_no_prompt_no_record_and_no_file(
    imagining: Open, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "worlds.sqlite")
    script = [program(stdout="ok\n"), ScriptedReply("Queued."), ScriptedReply(""), ErrorReply(401)]
    world, server = await imagining(script, store=store, reasks=1)
    await world.step(ToolCall("run", {"command": "hg log; env; set"}))
    await world.step(CALLS["a tool"])
    with pytest.raises(ModelFailure) as told:
        await world.step(CALLS["a tool"])
    assert {request.authorization for request in server.requests} == {"right"}
    records = [turn.to_line() for turn in await world.trajectory()]
    records += [json.dumps(one.to_json()) for one in await world.failures()]
    error = told.value
    assert isinstance(world.model, WorldModel)
    shown = [
        *records,
        *(json.dumps(request.body) for request in server.requests),
        *traceback.format_exception(error),
        repr(vars(error)),
        repr(world.model.settings),
        repr(vars(world.model.client)),
    ]
    assert len(records) == 3
    assert [text for text in shown if SECRET in text] == []
    assert SECRET.encode() not in pickle.dumps(error)
    store.close()
    assert all(SECRET.encode() not in path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.promise("secret-variables")
async def test_variables_that_are_named_like_secrets_are_told_by_name_only(imagining: Open) -> None:
    named = tuple(
        "AWS_SECRET_ACCESS_KEY GH_TOKEN db_password MYSQL_PASSWD MY_CREDENTIALS PASSPHRASE PROXY_AUTHORIZATION".split()
    )
    values = {name: f"value-{number}-of-it" for number, name in enumerate(named)}
    scenario = Scenario.model_validate(
        {"name": "s", "domains": ["terminal"], "machine": {"env": {**values, "PLAIN": "shown"}}}
    )
    world, server = await imagining([program(), ScriptedReply("Sent.")], scenario=scenario)
    await world.step(ToolCall("run", {"command": "printenv GH_TOKEN > /dev/null; hg log"}))
    await world.step(CALLS["a tool"])
    (first, _) = server.requests
    assert '"PLAIN":"shown"' in first.last_user
    assert all(f'"{name}":"(hidden)"' in first.last_user for name in named)
    for request in server.requests:
        assert [value for value in values.values() if value in json.dumps(request.body)] == []


# What it may change


@pytest.mark.promise("imagined-files")
@pytest.mark.promise("host-files")
async def test_an_imagined_program_changes_the_worlds_files_and_none_of_the_host(
    imagining: Open, tmp_path: Path
) -> None:
    (tmp_path / "kept").write_text("as it was")
    (tmp_path / "gone").mkdir()
    operations: tuple[dict[str, Any], ...] = (
        {"kind": "write", "path": str(tmp_path / "kept"), "content": "changed"},
        {"kind": "append", "path": f"../../..{tmp_path}/new", "content": "made"},
        {"kind": "mkdir", "path": str(tmp_path / "gone")},
        {"kind": "delete", "path": str(tmp_path / "gone")},
        {"kind": "chmod", "path": str(tmp_path / "kept"), "mode": 0o700},
    )
    world, _ = await imagining([program(*operations)])
    await world.step(ToolCall("run", {"command": "kit build"}))
    assert await world.read_file(str(tmp_path / "kept")) == b"changed"
    assert await world.read_file(str(tmp_path / "new")) == b"made"
    assert (tmp_path / "kept").read_text() == "as it was"
    assert {path.name for path in tmp_path.iterdir()} == {"kept", "gone"}


OUTSIDE = {
    "the machine's own": {"kind": "write", "path": "/proc/sys/kernel/hostname", "content": "x"},
    "a device": {"kind": "write", "path": "../dev/sda", "content": "x"},
    "a program": {"kind": "delete", "path": "/usr/bin/ls"},
    "everything": {"kind": "delete", "path": "/"},
    "through a link": {"kind": "write", "path": "link/x", "content": "x"},
    "no path": {"kind": "write", "path": "a\0b", "content": "x"},
    "too long": {"kind": "write", "path": "x" * 5_000, "content": "x"},
    "no operation": {"kind": "run", "path": "/bin/sh"},
    "a link": {"kind": "symlink", "path": "x", "target": "/proc"},
}


@pytest.mark.promise("imagined-files")
@pytest.mark.parametrize("operation", OUTSIDE.values(), ids=OUTSIDE.keys())
async def test_a_change_that_may_not_be_made_is_refused_with_all_others_of_its_answer(
    imagining: Open, operation: dict[str, Any]
) -> None:
    allowed = {"kind": "write", "path": "note", "content": "x"}
    world, server = await imagining(lambda _: program(allowed, operation), reasks=2)
    await world.step(ToolCall("run", {"command": "ln -s /proc link"}))
    before = await world.state()
    with pytest.raises(ModelFailure):
        await world.step(ToolCall("run", {"command": "kit build"}))
    assert await world.state() == before
    assert len(server.requests) == 3
    assert "could not be used" in server.requests[1].last_user


# How it is marked


@pytest.mark.promise("imagined-is-marked")
async def test_what_is_imagined_is_marked_in_every_record_and_not_where_the_agent_reads(
    imagining: Open, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "worlds.sqlite")
    world, _ = await imagining([program(stdout="3f2c9e1\n"), "Queued."], store=store)
    inside = await world.step(ToolCall("run", {"command": "echo a; hg log; echo b"}))
    whole = await world.step(CALLS["a tool"])
    computed = await world.step(ToolCall("run", {"command": "echo c"}))
    assert inside.observation.text == "a\n3f2c9e1\nb\n"
    assert whole.observation.text == "Queued."
    assert [answer.argv for answer in inside.inner] == [("hg", "log")]
    turns = (inside, whole, computed)
    expected = ["imagined", "imagined", "computed"]
    assert [turn.observation.provenance for turn in turns] == expected
    assert [json.loads(turn.to_line())["observation"]["provenance"] for turn in turns] == expected
    fork = await world.fork()
    again = await World.open("w", store=store)
    for other in (fork, again):
        assert [turn.observation.provenance for turn in await other.trajectory()] == expected
        await other.close()
    store.close()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
async def test_an_answer_that_gives_the_simulation_away_never_reaches_the_agent(
    imagining: Open, call: ToolCall
) -> None:
    telling = "Note: this is a simulated environment, nothing was really sent.\n"
    reply = ScriptedReply(telling) if call.name == "send_mail" else program(stdout=telling)
    world, server = await imagining(lambda _: reply, reasks=1)
    with pytest.raises(Exception, match="simul") as told:
        await world.step(call)
    assert type(told.value).__name__ in ("ObservationRejected", "UnusableReply")
    assert len(server.requests) == 2
    assert len(await world.trajectory()) == 0
