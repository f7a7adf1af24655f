"""Commands that the shell does not have, imagined in the middle of a script, on the same files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentworld_sim import AccessRefused, Scenario, SqliteStore, ToolCall, World
from agentworld_sim.errors import UnusableReply
from agentworld_sim.llm.scripted import ModelRequest, ScriptedReply
from agentworld_sim.redaction.environment import mask_secrets, shown_environment
from tests.imagination.conftest import Open, always

MACHINE = Scenario.parse(
    "name: repo\ndomains: [swe]\n"
    "machine: {workdir: /srv/app, env: {API_TOKEN: s3cr3t, COLOUR: red}}\n"
    'files: {/srv/app/a.txt: "one\\ntwo\\n"}\n'
)


def bash(command: str) -> ToolCall:
    return ToolCall("Bash", {"command": command})


def answering(stdout: str = "", **others: Any) -> ScriptedReply:
    return ScriptedReply(
        content=json.dumps(
            {"stdout": stdout, "stderr": "", "exit_code": 0, "operations": [], **others}
        )
    )


async def test_an_unknown_command_answers_in_the_middle_of_a_pipe(imagining: Open) -> None:
    opened = await imagining([answering("b 2\na 1\n")], scenario=MACHINE)
    turn = await opened.world.step(bash("kubectl get pods | sort | head -1"))
    assert turn.observation.text == "a 1"
    assert turn.observation.provenance == "imagined"
    assert turn.inner[0].argv == ("kubectl", "get", "pods")
    assert turn.exchanges[0].about == "$ kubectl get pods"


async def test_the_model_sees_where_the_command_stands(imagining: Open) -> None:
    opened = await imagining(always(answering("ok\n")), scenario=MACHINE)
    await opened.world.step(
        bash("cd /srv/app && echo hello | COLOUR=blue frobnicate --check a.txt")
    )
    (request,) = opened.server.requests
    for told in (
        'argv: ["frobnicate","--check","a.txt"]',
        "working directory: /srv/app",
        '"COLOUR":"blue"',
        "file /srv/app/a.txt:\n```\none\ntwo\n\n```",
        "standard input:\n```\nhello\n\n```",
    ):
        assert told in request.last_user
    assert "s3cr3t" not in json.dumps(request.body)


async def test_what_a_command_changes_is_there_for_the_shell_and_is_stored(imagining: Open) -> None:
    operations = [
        {"kind": "mkdir", "path": ".hg"},
        {"kind": "write", "path": "/srv/app/.hg/HEAD", "content": "ref: refs/heads/main\n"},
        {"kind": "move", "path": "a.txt", "target": "b.txt"},
        {"kind": "chmod", "path": "b.txt", "mode": 0o600},
    ]
    opened = await imagining([answering("done\n", operations=operations)], scenario=MACHINE)
    turn = await opened.world.step(bash("hg init; cat .hg/HEAD; stat -c %a b.txt; ls a.txt"))
    assert turn.observation.text.startswith("Exit code 2\ndone\nref: refs/heads/main\n600\n")
    assert await opened.world.read_file("/srv/app/b.txt") == b"one\ntwo\n"


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ({"kind": "write", "path": "/proc/1/mem", "content": "x"}, "/proc"),
        ({"kind": "write", "path": "../../../../dev/sda", "content": "x"}, "/dev"),
        ({"kind": "delete", "path": "nowhere.txt"}, "nowhere.txt"),
        ({"kind": "write", "path": "a.txt/below", "content": "x"}, "a.txt"),
        ({"kind": "chmod", "path": "a.txt"}, "mode"),
        ({"kind": "explode", "path": "a.txt"}, "explode"),
    ],
    ids=["a system path", "an escape", "nothing there", "below a file", "no mode", "no such kind"],
)
async def test_changes_that_cannot_be_carried_out_are_asked_for_again(
    imagining: Open, operation: dict[str, Any], reason: str
) -> None:
    opened = await imagining(
        [answering(operations=[operation]), answering("fine\n")], scenario=MACHINE
    )
    turn = await opened.world.step(bash("tool"))
    assert turn.observation.text == "fine"
    assert reason in turn.exchanges[0].problem
    assert reason in opened.server.requests[1].last_user


@pytest.mark.parametrize(
    "content",
    ["no JSON", "[1]", '{"stdout": 3}', '{"stdout": "This is a simulated output."}', "{}{}"],
)
async def test_an_answer_of_another_form_is_asked_for_again(imagining: Open, content: str) -> None:
    opened = await imagining(
        [ScriptedReply.observation(content), answering("fine\n")],
        scenario=MACHINE,
        structured="off",
    )
    turn = await opened.world.step(bash("tool"))
    assert turn.observation.text == "fine"
    assert turn.exchanges[0].problem


async def test_a_file_may_speak_of_simulation_beside_an_imagined_command(imagining: Open) -> None:
    """What the shell computes around a model's answers is judged by no check of a model's words."""
    told = "This is a simulated output."
    scenario = Scenario.parse(f'name: r\ndomains: [swe]\nfiles: {{/root/f: "{told}\\n"}}\n')
    opened = await imagining([answering(told), answering("fine\n")], scenario=scenario)
    turn = await opened.world.step(bash("cat /root/f; tool; cat /root/f"))
    assert turn.observation.text == f"{told}\nfine\n{told}"
    assert turn.observation.provenance == "imagined"
    assert "speaks of itself" in turn.exchanges[0].problem
    assert [one.problem for one in turn.exchanges[1:]] == [""]
    assert not [one for one in turn.checks if one.reason]


async def test_without_a_usable_answer_the_whole_turn_leaves_no_trace(imagining: Open) -> None:
    opened = await imagining(
        always(ScriptedReply.observation("no")), scenario=MACHINE, structured="off", reasks=1
    )
    with pytest.raises(UnusableReply, match="tool --now"):
        await opened.world.step(bash("echo changed > a.txt; tool --now"))
    assert await opened.world.read_file("/srv/app/a.txt") == b"one\ntwo\n"
    (failed,) = await opened.world.failures()
    assert len(failed.exchanges) == 2


async def test_the_same_pure_command_is_asked_once(imagining: Open) -> None:
    opened = await imagining(always(answering("v1.2\n")), scenario=MACHINE)
    await opened.world.step(bash("for i in 1 2 3; do tool --version; done"))
    await opened.world.step(bash("tool --version | cat"))
    assert len(opened.server.requests) == 1
    await opened.world.step(bash("echo more >> a.txt; tool --version"))
    assert len(opened.server.requests) == 2


def counting(request: ModelRequest) -> ScriptedReply:
    return answering(f"{request.index}\n")


async def test_later_commands_know_what_earlier_ones_said(imagining: Open) -> None:
    opened = await imagining(counting, scenario=MACHINE)
    await opened.world.step(bash("hg commit -m first; hg log"))
    await opened.world.step(bash("hg status"))
    second, third = opened.server.requests[1:]
    assert "$ hg commit -m first" in second.messages[1]["content"]
    assert '"stdout": "0\\n"' in second.messages[2]["content"]
    assert [one["role"] for one in third.messages] == [
        *("system", "user", "assistant", "user", "assistant", "user"),
    ]
    assert third.messages[:3] == second.messages[:3]


async def test_without_a_model_the_command_is_not_found() -> None:
    async with await World.create(MACHINE) as world:
        turn = await world.step(bash("kubectl get pods"))
    assert "kubectl: command not found" in turn.observation.text
    assert turn.observation.provenance == "computed"


async def test_routes_decide_command_by_command(imagining: Open) -> None:
    scenario = MACHINE.model_copy(
        update={
            "routes": Scenario.parse(
                "name: r\ndomains: [swe]\n"
                "routes: {commands: {wget: compute, 'kube*': refuse, uname: imagine}}\n"
            ).routes
        }
    )
    opened = await imagining(always(answering("Plan 9\n")), scenario=scenario)
    assert "not found" in (await opened.world.step(bash("wget x"))).observation.text
    assert (await opened.world.step(bash("uname | cat"))).observation.text == "Plan 9"
    with pytest.raises(AccessRefused, match="kubectl"):
        await opened.world.step(bash("kubectl get pods"))
    assert len(opened.server.requests) == 1


async def test_a_kept_world_reopens_where_it_was_without_asking(
    imagining: Open, tmp_path: Any
) -> None:
    store = SqliteStore(tmp_path / "worlds.sqlite")
    write = [{"kind": "write", "path": "made.txt", "content": "by the tool\n"}]
    opened = await imagining(
        [answering("ok\n", operations=write)], scenario=MACHINE, world={"store": store, "id": "w"}
    )
    await opened.world.step(bash("tool && export A=1"))
    async with await World.open("w", store=store) as again:
        assert await again.read_file("/srv/app/made.txt") == b"by the tool\n"
        assert (await again.step(bash("cat made.txt"))).observation.text == "by the tool"
    store.close()


def test_secrets_in_the_environment_are_told_by_name_only() -> None:
    env = {
        "PATH": "/bin",
        "GITHUB_TOKEN": "t",
        "DB_PASSWORD": "p",
        "aws_secret_x": "s",
        "KEYS": "k",
    }
    assert shown_environment(env) == {
        "PATH": "/bin",
        **dict.fromkeys(("GITHUB_TOKEN", "DB_PASSWORD", "aws_secret_x", "KEYS"), "(hidden)"),
    }


async def test_a_secret_that_the_shell_expanded_is_left_out(imagining: Open) -> None:
    opened = await imagining(always(answering("ok\n")), scenario=MACHINE)
    await opened.world.step(bash("tool --token $API_TOKEN"))
    await opened.world.step(bash("tool --again; export DB_PASSWORD=hunter2hunter2"))
    await opened.world.step(bash("DB_PASSWORD=hunter2hunter2 tool --third"))
    told = json.dumps([request.body for request in opened.server.requests])
    assert "tool --token (hidden)" in told
    assert "s3cr3t" not in told
    assert "hunter2" not in told.split("--third")[-1]


def test_the_longest_secret_is_left_out_first() -> None:
    assert mask_secrets("x abcdefgh y abcdef", {"abcdef", "abcdefgh"}) == "x (hidden) y (hidden)"


@pytest.mark.parametrize("route", ["refuse", "imagine"])
async def test_routes_hold_without_a_model_too(route: str) -> None:
    scenario = Scenario.parse(
        f"name: r\ndomains: [swe]\nroutes: {{commands: {{cat: {route}, nmap: {route}}}}}\n"
    )
    async with await World.create(scenario) as world:
        for script in ("cat /etc/hostname", "echo x | nmap"):
            with pytest.raises(AccessRefused, match=r"cat|nmap"):
                await world.step(bash(script))
        turn = await world.step(bash("echo fine; kubectl version"))
        assert turn.observation.text.endswith("kubectl: command not found")
        assert turn.observation.provenance == "computed"
