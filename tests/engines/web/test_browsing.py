"""A browser in a world: what binds, where it goes, what it keeps, what it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim import MemoryStore, Scenario, ToolCall, ToolSpec, World
from agentworld_sim.engines.web import WebEngine, WebRequest, WebResponse
from agentworld_sim.engines.web.browser_turn import referer_of
from agentworld_sim.engines.web.requests import HTML
from agentworld_sim.errors import CannotCompute
from agentworld_sim.llm.scripted import ScriptedModelServer, ScriptedReply
from agentworld_sim.toolkits import toolkit
from agentworld_sim.types.state import StateChange, WorldState

TOOLS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "actions" / "tools.json").read_text(encoding="utf-8")
)
UNCOMPUTED = {
    "browser_evaluate",
    "browser_run_code",
    "browser_run_code_unsafe",
    "browser_take_screenshot",
}
Site = Callable[[WebRequest], WebResponse]


def page(html: str, *headers: tuple[str, str], status: int = 200) -> WebResponse:
    return WebResponse(status, html.encode(), (*HTML, *headers))


def to(url: str, status: int = 302, *headers: tuple[str, str]) -> WebResponse:
    return WebResponse(status, headers=(("location", url), *headers))


class OneSite:
    """Implements `Internet`: one site, which counts its visitors in the state."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.requests: list[WebRequest] = []

    def hosts(self, state: WorldState) -> list[str]:
        return []

    def answer(
        self, request: WebRequest, state: WorldState
    ) -> tuple[WebResponse, StateChange] | None:
        if request.host != "s.test":
            return None
        self.requests.append(request)
        count = state.values.get("site/visits", 0) + 1
        return self._site(request), StateChange(
            clock_us=state.clock_us, values={"site/visits": count}
        )


class Agent:
    """The tools of Playwright by their short names."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def __call__(self, name: str, **arguments: Any) -> str:
        return (await self.world.step(ToolCall(f"browser_{name}", arguments))).observation.text

    async def go(self, path: str) -> str:
        return await self("navigate", url=f"http://s.test{path}")

    async def click(self, target: str) -> str:
        return await self("click", target=target)

    async def values(self) -> Mapping[str, Any]:
        return (await self.world.state()).values

    async def file(self, path: str) -> bytes:
        return await self.world.read_file(path)


async def browsing(site: Site, store: MemoryStore | None = None) -> tuple[Agent, OneSite]:
    internet = OneSite(site)
    world = await World.create(
        engines=[WebEngine(None, internet, workspace="/srv/app")], store=store or MemoryStore()
    )
    world.add_tools([*toolkit("playwright-mcp"), *toolkit("playwright-toolkit")])
    return Agent(world), internet


@pytest.mark.parametrize(
    "release, kit", [("0.0.83", "playwright-mcp"), ("0.0.68", "playwright-mcp-ref")]
)
@pytest.mark.parametrize("domain, server", [(None, ""), ("mcp", "playwright__")])
async def test_the_tools_of_both_generations_bind_by_themselves(
    release: str, kit: str, domain: Any, server: str
) -> None:
    world = await World.create(engines=[WebEngine(None, OneSite(lambda _: page("")))])
    bound = world.add_tools(
        [
            ToolSpec(name=server + name, input_schema=schema, domain=domain)
            for name, schema in TOOLS[release].items()
        ]
    )
    refused = {tool.name.removeprefix(server) for tool in bound if tool.access == "refuse"}
    assert refused == UNCOMPUTED & set(TOOLS[release])
    assert {str(tool.binds_to).partition("/")[0] for tool in bound if tool.access != "refuse"} == {
        kit
    }


async def test_what_only_a_real_browser_has_is_refused_with_the_reason() -> None:
    world = await World.create(engines=[WebEngine(None, OneSite(lambda _: page("")))])
    schema = TOOLS["0.0.83"]["browser_evaluate"]
    world.add_tools([ToolSpec(name="browser_evaluate", input_schema=schema)])
    assert "runs or draws what only a real browser has" in world.refusal("browser_evaluate")
    agent, _ = await browsing(lambda _: page("<p>x"))
    await agent.go("/")
    with pytest.raises(CannotCompute, match="places of elements"):
        await agent("snapshot", boxes=True)
    await agent("navigate", url="data:text/html,<div contenteditable role=textbox>x</div>")
    with pytest.raises(CannotCompute, match="edited as a page"):
        await agent("type", target="div", text="y")


@pytest.mark.parametrize(
    "url, shown",
    [
        ("data:text/html,<b>x</b> y", "x y"),
        ("data:text/html;base64,PHA+eDwvcD4=", "x"),
        ("data:,plain%20<b>", "plain <b>"),
    ],
)
async def test_a_page_may_stand_in_its_url(url: str, shown: str) -> None:
    agent, internet = await browsing(lambda _: page(""))
    await agent("navigate", url=url)
    answer = await agent("snapshot")
    assert f"- Page URL: {url}\n" in answer
    assert shown in answer
    assert "ERR_INVALID_URL" in await agent("navigate", url="data:text/html;base64,%")
    assert internet.requests == []


@pytest.mark.parametrize(
    "here, target, said",
    [
        ("http://a.test/b?c#d", "http://a.test/e", "http://a.test/b?c"),
        ("http://a.test/b?c", "http://b.test/", "http://a.test/"),
        ("https://a.test/b", "http://a.test/", ""),
        ("about:blank", "http://a.test/", ""),
    ],
)
def test_a_request_says_where_it_comes_from(here: str, target: str, said: str) -> None:
    assert referer_of(here, target) == said


async def test_cookies_go_along_through_redirects() -> None:
    def site(request: WebRequest) -> WebResponse:
        if request.path == "/in":
            return to("/home", 303, ("set-cookie", "sid=7; Path=/"))
        return page(f"<p>{request.header('cookie')} {request.header('referer')}")

    agent, _ = await browsing(site)
    await agent.go("/in")
    assert "sid=7 None" in await agent("snapshot")
    assert (await agent.values())["site/visits"] == 2


@pytest.mark.parametrize(
    "status, method, body",
    [
        (301, "GET", b""),
        (302, "GET", b""),
        (303, "GET", b""),
        (307, "POST", b"a=1"),
        (308, "POST", b"a=1"),
    ],
)
async def test_a_form_is_sent_on_as_the_redirect_says(
    status: int, method: str, body: bytes
) -> None:
    def site(request: WebRequest) -> WebResponse:
        form = "<form method=post action=/send><input name=a value=1><button>Go</button></form>"
        return to("/after", status) if request.path == "/send" else page(form)

    agent, internet = await browsing(site)
    await agent.go("/")
    await agent.click("button")
    last = internet.requests[-1]
    assert (last.path, last.method, last.body) == ("/after", method, body)
    assert internet.requests[1].header("referer") == "http://s.test/"


async def test_a_circle_of_redirects_ends() -> None:
    agent, internet = await browsing(lambda request: to(request.path))
    assert "net::ERR_TOO_MANY_REDIRECTS" in await agent.go("/x")
    assert len(internet.requests) == 21
    assert "Page URL: chrome-error://chromewebdata/" in await agent("snapshot")


async def test_a_host_that_no_site_has_is_not_found_at_once() -> None:
    agent, internet = await browsing(lambda _: page(""))
    for url in ("http://other.test/", "http://s.test.evil/", "https://no.test:81/"):
        assert "net::ERR_NAME_NOT_RESOLVED" in await agent("navigate", url=url)
    assert internet.requests == []


@pytest.mark.parametrize("url", ["file:///etc/passwd", "javascript:alert(1)", "chrome://settings"])
async def test_only_the_web_is_opened(url: str) -> None:
    agent, _ = await browsing(lambda _: page(""))
    assert "protocol is blocked" in await agent("navigate", url=url)


@pytest.mark.parametrize(
    "name, path",
    [
        ('attachment; filename="../../etc/passwd"', "/srv/app/.playwright-mcp/-..-etc-passwd"),
        ('attachment; filename=".bashrc"', "/srv/app/.playwright-mcp/bashrc"),
        ("attachment", "/srv/app/.playwright-mcp/get"),
        ("attachment; filename*=UTF-8''%C3%A4.txt", "/srv/app/.playwright-mcp/ä.txt"),
    ],
)
async def test_a_download_stays_in_its_folder(name: str, path: str) -> None:
    agent, _ = await browsing(lambda _: page("data", ("content-disposition", name)))
    assert "Downloaded file" in await agent.go("/get")
    assert await agent.file(path) == b"data"


async def test_a_file_takes_the_place_of_no_folder() -> None:
    scenario = Scenario.model_validate(
        {"name": "n", "domains": ["web"], "files": {"/srv/app/.playwright-mcp/get/x": "kept"}}
    )
    world = await World.create(
        scenario,
        engines=[
            WebEngine(
                None,
                OneSite(lambda _: page("data", ("content-disposition", "attachment"))),
                workspace="/srv/app",
            )
        ],
    )
    world.add_tools(toolkit("playwright-mcp"))
    await Agent(world).go("/get")
    assert await Agent(world).file("/srv/app/.playwright-mcp/get/x") == b"kept"


async def test_a_snapshot_is_really_in_the_file() -> None:
    agent, _ = await browsing(lambda _: page("<title>T</title><button>Go</button>"))
    answer = await agent.go("/")
    path = re.search(r"\[Snapshot\]\((.*?)\)", answer)
    assert path is not None
    inline = (await agent("snapshot")).partition("```yaml\n")[2].removesuffix("\n```")
    assert (await agent.file(f"/srv/app/{path[1]}")).decode() == inline
    assert inline == '- button "Go" [ref=e2]'


async def test_files_outside_of_the_working_directory_are_not_touched() -> None:
    agent, _ = await browsing(lambda _: page("<input type=file>"))
    await agent.go("/")
    assert "outside allowed roots" in await agent("snapshot", filename="../etc/passwd")
    await agent.click("input")
    assert "outside allowed roots" in await agent("file_upload", paths=["/etc/passwd"])
    assert "ENOENT" in await agent("file_upload", paths=["none.txt"])
    assert "[File chooser]" in await agent("press_key", key="a")


async def test_what_a_page_cannot_do_is_left_alone() -> None:
    agent, _ = await browsing(lambda _: WebResponse(204))
    assert "Page URL: about:blank" in await agent.go("/")


async def test_texts_are_shown_as_texts() -> None:
    plain = (("content-type", "text/plain"),)
    agent, _ = await browsing(lambda _: WebResponse(200, b"<b>no</b> page", plain))
    await agent.go("/x.txt")
    assert "<b>no</b> page" in await agent("snapshot")


async def test_refs_of_one_page_hit_nothing_on_the_next() -> None:
    agent, _ = await browsing(lambda _: page("<button>Go</button>"))
    await agent.go("/1")
    await agent("snapshot")
    await agent.go("/2")
    await agent("snapshot")
    assert "Ref e2 not found" in await agent.click("e2")
    assert "getByRole('button', { name: 'Go' }).click()" in await agent.click("f1e2")


async def test_two_tabs_write_to_one_site() -> None:
    form = "<form method=post><input name=a><button>Go</button></form>"
    agent, internet = await browsing(lambda _: page(form))
    for number in (0, 1):
        await agent("tabs", action="new", url=f"http://s.test/{number}")
        await agent("type", target="input", text=f"tab {number}")
    for number in (1, 0):
        await agent("tabs", action="select", index=number)
        await agent.click("button")
    sent = [request for request in internet.requests if request.method == "POST"]
    assert [(one.path, one.body) for one in sent] == [("/1", b"a=tab+1"), ("/0", b"a=tab+0")]


@pytest.mark.parametrize(
    "html, accept, path",
    [
        ("<a href=/to onclick=\"return confirm('Go?')\">x</a>", True, "/to"),
        ("<a href=/to onclick=\"return confirm('Go?')\">x</a>", False, "/"),
        ("<a href=/to onclick=\"confirm('Go?')\">x</a>", False, "/to"),
        ("<a href=/to onclick=\"alert('It\\'s so')\">x</a>", False, "/to"),
        (
            "<form action=/to onsubmit='return confirm(\"Go?\")'><button>x</button></form>",
            True,
            "/to?",
        ),
        (
            "<form action=/to onsubmit='return confirm(\"Go?\")'><button>x</button></form>",
            False,
            "/",
        ),
    ],
)
async def test_a_dialog_waits_for_its_answer(html: str, accept: bool, path: str) -> None:
    agent, _ = await browsing(lambda _: page(html))
    await agent.go("/")
    assert "### Modal state" in await agent.click("a, button")
    await agent("handle_dialog", accept=accept)
    assert f"Page URL: http://s.test{path}\n" in await agent("snapshot") + "\n"


@pytest.mark.parametrize(
    "html, path",
    [
        ("<a href='#'>x</a>", "/#"),
        ("<a href='#y'>x</a>", "/#y"),
        ("<a href=mailto:a@b.test>x</a>", "/"),
        ("<a href='javascript:void(0)'>x</a>", "/"),
        ("<a>x</a>", "/"),
        ("<div onclick=\"location='/to'\"><a>x</a></div>", "/to"),
        ("<div onclick='unknown()'><a>x</a></div>", "/"),
        ("<a href='//other.test'>x</a>", ""),
    ],
)
async def test_a_click_leads_where_the_page_says(html: str, path: str) -> None:
    agent, internet = await browsing(lambda _: page(html))
    await agent.go("/")
    answer = await agent.click("a")
    url = f"http://s.test{path}" if path else "chrome-error://chromewebdata/"
    assert f"- Page URL: {url}\n" in answer
    assert len(internet.requests) == 1 + (path == "/to")


@pytest.mark.parametrize(
    "keys, value",
    [
        (["a", "B"], "abcaB"),
        (["Backspace"], "ab"),
        (["Control+a", "x"], "x"),
        (["Control+a", "Delete"], ""),
        (["Delete", "ArrowLeft", "Escape", "F5"], "abc"),
        (["Shift+A"], "abcA"),
    ],
)
async def test_keys_are_typed_where_the_focus_is(keys: list[str], value: str) -> None:
    agent, _ = await browsing(lambda _: page("<input aria-label=A value=abc autofocus>"))
    await agent.go("/")
    for key in keys:
        await agent("press_key", key=key)
    shown = re.search(
        r'textbox "A" \[active\] \[ref=\w+\](?:: "?(\w+)"?)?', await agent("snapshot")
    )
    assert shown is not None
    assert (shown[1] or "") == value


async def test_keys_walk_and_choose() -> None:
    html = (
        "<select aria-label=S autofocus><option>x<option disabled>y<option>z</select>"
        "<input type=radio name=r aria-label=R1 checked><input type=radio name=r aria-label=R2>"
        "<input type=checkbox aria-label=C><button tabindex=-1>no</button><button disabled>off</button>"
        "<details><summary>More</summary>inside</details>"
    )
    agent, _ = await browsing(lambda _: page(html))
    await agent.go("/")
    for key in ("ArrowDown", "Tab", "ArrowDown", "Tab", "Space", "Tab", "Enter"):
        await agent("press_key", key=key)
    shown = await agent("snapshot")
    for state in ('"z" [selected]', '"R2" [checked]', '"C" [checked]', "inside", '"More" [active]'):
        assert state in shown


async def test_a_fault_is_told_in_the_servers_form() -> None:
    fault = {"name": "down", "kind": "server-error"}
    about = {"name": "n", "domains": ["web"], "controls": [fault]}
    engine = WebEngine(None, OneSite(lambda _: page("")))
    world = await World.create(Scenario.model_validate(about), engines=[engine])
    world.add_tools(toolkit("playwright-mcp"))
    assert (await Agent(world).go("/")).startswith("### Error\nError: ")


async def test_a_narrow_window_shows_what_is_for_it() -> None:
    html = "<style>@media (max-width: 600px) {h1 {display: none}}</style><h1>Wide</h1><p>Always"
    agent, _ = await browsing(lambda _: page(html))
    await agent.go("/")
    assert "Wide" in await agent("snapshot")
    await agent("resize", width=500, height=600)
    assert "Wide" not in await agent("snapshot")


async def test_an_option_of_a_list_is_chosen_by_a_click() -> None:
    agent, _ = await browsing(lambda _: page("<select multiple><option>a<option>b</select>"))
    await agent.go("/")
    await agent.click("option:nth-child(2)")
    assert 'option "b" [selected]' in await agent("snapshot")


async def test_both_makers_tools_share_the_browser() -> None:
    agent, _ = await browsing(lambda request: page(f"<p>{request.path}</p><a href=/next>on</a>"))
    await agent.go("/first")
    clicked = await agent.world.step(ToolCall("click_element", {"selector": "a"}))
    assert clicked.observation.text == "Clicked element 'a'"
    assert "/next" in await agent("snapshot")
    await agent("navigate_back")
    read = await agent.world.step(ToolCall("extract_text", {}))
    assert read.observation.text == "/first on"


async def test_every_point_of_a_session_can_be_gone_back_to() -> None:
    """The law of worlds, with what was typed, chosen and answered."""
    html = (
        "<form method=post onsubmit=\"return confirm('Sure?')\"><input name=a aria-label=A>"
        "<select name=s><option>x<option>y</select><details><summary>More</summary>text</details>"
        "<button>Go</button></form><a href=/on target=_blank>on</a>"
    )

    def site(request: WebRequest) -> WebResponse:
        if request.method == "POST":
            return to("/done", 303, ("set-cookie", "last=1"))
        return page(html)

    store = MemoryStore()
    agent, internet = await browsing(site, store)
    looks: list[tuple[str, dict[str, Any]]] = [
        ("snapshot", {}),
        ("tabs", {"action": "list"}),
        ("press_key", {"key": "b"}),
    ]
    steps: list[tuple[str, dict[str, Any]]] = [
        ("navigate", {"url": "http://s.test/"}),
        ("snapshot", {}),
        ("type", {"target": "e4", "text": "typed"}),
        ("select_option", {"target": "e5", "values": ["y"]}),
        ("click", {"target": "summary"}),
        ("click", {"target": "a"}),
        ("click", {"target": "button"}),
        ("handle_dialog", {"accept": True}),
        ("navigate_back", {}),
        ("tabs", {"action": "close", "index": 0}),
    ]
    live: dict[str, list[str]] = {}
    for name, arguments in steps:
        await agent(name, **arguments)
        fork = Agent(await agent.world.fork())
        live[agent.world.ref] = [await fork(look, **given) for look, given in looks]
    for ref, expected in live.items():
        opened = await World.open(
            agent.world.id,
            store=store,
            at=ref,
            engines=[WebEngine(None, internet, workspace="/srv/app")],
        )
        opened.add_tools(toolkit("playwright-mcp"))
        fork = Agent(await opened.fork())
        assert [await fork(look, **given) for look, given in looks] == expected
    assert len({tuple(shown) for shown in live.values()}) > 5


async def test_the_same_calls_give_the_same_history() -> None:
    refs: set[str] = set()
    for _ in range(2):
        agent, _ = await browsing(
            lambda _: page("<form method=post enctype=multipart/form-data><button>")
        )
        await agent.go("/")
        await agent.click("button")
        refs.add(agent.world.ref)
    assert len(refs) == 1


IMAGINED = ScriptedReply.observation(
    json.dumps(
        {
            "status": 200,
            "url": "http://i.test/",
            "html": "<title>I</title><a href=/2>on</a><b>here</b>",
        }
    )
)


async def test_a_page_that_no_site_has_is_imagined_once_and_the_same_on_a_revisit() -> None:
    second = json.dumps({"status": 200, "url": "http://i.test/2", "html": "<p>second"})
    with ScriptedModelServer([IMAGINED, ScriptedReply.observation(second)]) as server:
        world = await World.create(model=server.url)
        world.add_tools([replace(tool, binds_to=None) for tool in toolkit("playwright-mcp")])
        agent = Agent(world)
        assert "Page Title: I" in await agent("navigate", url="http://i.test/")
        assert "Page URL: http://i.test/2" in await agent.click("a")
        assert "Page Title: I" in await agent("navigate", url="http://i.test/#top")
        assert len(server.requests) == 2
        schema = TOOLS["0.0.83"]["browser_evaluate"]
        (asked,) = world.add_tools([ToolSpec(name="browser_evaluate", input_schema=schema)])
        assert asked.binds_to == "model/web"
        assert [turn.observation.provenance for turn in (await world.trajectory()).turns] == [
            "imagined",
            "imagined",
            "computed",
        ]
        await world.close()
