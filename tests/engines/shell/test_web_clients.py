"""`curl` and `wget` before a small internet, beside recordings of the real ones (`record_web_clients.py`)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.engines.shell import ShellEngine
from agentworld_sim.engines.shell.live_files import quote_word
from agentworld_sim.engines.shell.live_shell import Keep, ShellRun
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.network_door import NetworkDoor
from agentworld_sim.errors import EngineFailure
from agentworld_sim.types.files import FileTree
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import Route
from tests.engines.shell.conftest import MachineShell
from tests.engines.shell.imagining import MACHINE, TOOLS, FunctionImaginer, ImaginedWorld
from tests.engines.shell.record_web_clients import RECORDED, plain
from tests.engines.shell.small_internet import SmallInternet
from tests.properties import examples


class ShellWithInternet(MachineShell):
    """A machine before `SmallInternet`."""

    def __init__(self) -> None:
        super().__init__(Machine(has_internet=True))
        self.values: dict[str, Any] = {}

    def run(self, script: str, stdin: str | None = None, *, keep: Keep = "cwd") -> ShellRun:
        state = WorldState(files=FileTree({}), clock_us=self.clock_us, seed=1, values=self.values)
        self.live.start_turn(self.clock_us, self.seed)
        self.live.network = NetworkDoor(SmallInternet, state, self.live.files.clock)
        result = self.live.run(script, self.session, keep=keep)
        self.live.collect(self.blobs)
        self.clock_us, self.session = self.live.files.clock.now_us(), result.session
        self.values |= self.live.network.change.values
        return result


def test_they_do_what_the_real_ones_do() -> None:
    recorded: list[dict[str, Any]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    shell = ShellWithInternet()
    shell.run("mkdir /srv/w; cd /srv/w")
    for one in recorded:
        run = shell.run(one["script"])
        said = {
            "stdout": plain(run.stdout),
            "stderr": plain(run.stderr),
            "exit_code": run.exit_code,
        }
        assert {"script": one["script"], **said} == one


def test_a_form_of_output_that_cannot_be_read_is_a_warning() -> None:
    run = ShellWithInternet().run("curl -w @missing http://shop.test/empty")
    assert run.exit_code == 0 and run.stderr.endswith("Warning: Failed to read missing\n")


@pytest.mark.parametrize("command", ["curl --proxy-header x", "curl -v", "wget -S", "wget -r"])
def test_an_option_that_is_not_computed_is_refused_aloud(command: str) -> None:
    name, option, *_ = command.split()
    with pytest.raises(EngineFailure, match=f"the option {option} of {name}"):
        ShellWithInternet().run(f"{command} http://shop.test/")


WORDS = st.sampled_from(
    [
        *(
            "-s",
            "-S",
            "-L",
            "-o",
            "-O",
            "-i",
            "-I",
            "-X",
            "-d",
            "-H",
            "-u",
            "-b",
            "-c",
            "-f",
            "-w",
            "-F",
            "-G",
            "-k",
        ),
        *(
            "-x",
            "-q",
            "-nv",
            "-P",
            "--spider",
            "--json",
            "--header",
            "--post-data",
            "-",
            "",
            "a",
            "@a",
            "a=@a",
            "a=<a",
        ),
        *(
            "%{http_code}%",
            "%{",
            "@-",
            "a: b",
            "a:",
            "k=v",
            "/",
            "/dev/null",
            "http://shop.test/there",
        ),
        *(
            "http://shop.test/echo?a#b",
            "http://",
            "http://a:b/",
            "ftp://x",
            "shop.test:99999",
            "http://[::1",
            "é",
        ),
    ]
)


@given(st.sampled_from(["curl", "wget"]), st.lists(WORDS | st.text(max_size=5), max_size=6))
@settings(max_examples=examples(150), deadline=None)
def test_any_words_are_answered_or_refused_aloud(program: str, words: list[str]) -> None:
    shell = ShellWithInternet()
    script = " ".join(map(quote_word, (program, *(word.replace("\0", "") for word in words))))
    try:
        run = shell.run(f"echo x > a; {script}")
    except EngineFailure as refused:
        assert "the option" in str(refused) or "several URLs" in str(refused)
    else:
        assert 0 <= run.exit_code < 100
        assert "Error" not in run.stderr.replace("ERROR", "")
    finally:
        shell.live.close()


def test_the_clients_are_there_on_machines_with_internet_alone() -> None:
    shell, plain_shell = ShellWithInternet(), MachineShell(Machine())
    asked = (
        "which curl wget; command -v curl; type wget; ls /usr/bin/curl; curl --version | head -c 11"
    )
    assert shell.out(asked) == (
        "/usr/bin/curl\n/usr/bin/wget\n/usr/bin/curl\nwget is /usr/bin/wget\n/usr/bin/curl\ncurl 7.88.1"
    )
    assert "Package: wget\n" in shell.out("cat /var/lib/dpkg/status")
    assert shell.out("/usr/bin/curl -s http://shop.test/; apt list curl 2>/dev/null") == (
        "<h1>Shop</h1>\nListing...\ncurl/now 7.88.1-10+deb12u8 amd64 [installed,local]\n"
    )
    assert plain_shell.run("which curl; curl http://shop.test/").exit_code == 127
    assert "Package: wget\n" not in plain_shell.out("cat /var/lib/dpkg/status")


async def test_records_and_files_change_in_one_turn() -> None:
    scenario = Scenario.model_validate(
        {
            "name": "shell-and-web",
            "domains": ["terminal", "web"],
            "sites": [{"site": "forum", "user": "saltmarsh"}],
            "tools": ["claude-code", "playwright-mcp"],
        },
        strict=False,
    )
    send = (
        "for i in 1 2; do curl -sS -o answer.html -w '%{http_code} %{redirect_url}\\n' http://forum.test/user/saltmarsh/edit_biography"
        " -d 'user_biography[biography]=I write from a shell.'; done; curl -s http://forum.test/user/saltmarsh | grep -c 'from a shell'"
    )
    async with await World.create(scenario, model=False) as world:
        before = world.ref
        fork = await world.fork()
        turn = await world.step(ToolCall("Bash", {"command": send}))
        page = await world.step(
            ToolCall("browser_navigate", {"url": "http://forum.test/user/saltmarsh"})
        )
        shown = await world.step(ToolCall("browser_snapshot", {}))
        again = await fork.step(ToolCall("Bash", {"command": send}))
        await fork.close()
        assert world.ref != before and (await world.state(turn.ref)).values
    assert turn.observation.text == "302 http://forum.test/user/saltmarsh\n" * 2 + "1"
    assert not turn.observation.is_error and not page.observation.is_error
    assert "I write from a shell." in shown.observation.text
    assert sum(key.startswith("sites/forum/request/") for key in turn.change.values) == 2
    assert any(path.endswith("/answer.html") for path in turn.change.files)
    assert again.change == turn.change and again.ref == turn.ref


async def imagined(**routes: Route) -> ImaginedWorld:
    imaginer = FunctionImaginer()
    machine = Machine(has_internet=True)
    engine = ShellEngine(machine, imaginer=imaginer, routes=routes, internet=SmallInternet)
    world = await World.create(MACHINE, engines=[engine])
    world.add_tools(TOOLS)
    return ImaginedWorld(world, imaginer)


async def test_an_imagined_command_in_the_same_turn_sends_no_form_twice() -> None:
    """The turn is computed again from its beginning when the model has answered."""
    async with await imagined() as here:
        notes = "http://shop.test/notes"
        turn = await here.turn(f"curl -s {notes} -d one | kit; curl -s {notes}")
    assert turn.observation.text == "<kit|kept\n>\none\n"
    assert [one.argv for one in turn.inner] == [("kit",)]
    assert turn.change.values == {"notes/0": "one"}


async def test_a_client_is_imagined_where_a_route_says_so() -> None:
    async with await imagined(curl="imagine") as here:
        asked = "curl x; wget -qO- http://shop.test/; which curl"
        assert await here.out(asked) == "<curl x|>\n<h1>Shop</h1>\n/usr/bin/curl\n"


async def test_terminals_of_many_worlds_read_pages_at_the_same_time() -> None:
    url = "https://paper.example/news"
    pages = {url: {"title": "News", "text": "Rain in the north, and some sun."}}
    scenario = Scenario.model_validate(
        {"name": "p", "domains": ["terminal"], "pages": pages, "tools": ["claude-code"]},
        strict=False,
    )
    call = ToolCall(
        "Bash", {"command": f"curl -s {url} | grep -o 'some sun'; curl -sI {url} | head -1"}
    )
    async with await World.create(scenario, model=False) as world:
        forks = [await world.fork(seed=number) for number in range(8)]
        turns = await asyncio.gather(*(one.step(call) for one in forks))
        for one in forks:
            await one.close()
    assert {turn.observation.text for turn in turns} == {"some sun\nHTTP/1.1 200 OK"}
    assert all(not turn.change.values for turn in turns)
