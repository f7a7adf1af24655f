"""The browser's tools in a world: what binds, what is kept, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentworld_sim import AccessRefused, MemoryStore, ToolCall, ToolSpec, UsageError, World
from agentworld_sim.toolkits import known_tools

BROWSER_TOOLS = [one.spec for one in known_tools().values() if one.toolkit == "playwright-toolkit"]

SITE: dict[str, Any] = {
    f"https://site.test/{name}": {"html": f"<h1>{name}</h1><a href='/{after}'>on</a>"}
    for name, after in (("", "b"), ("b", "c"), ("c", ""))
}


async def browsing(store: MemoryStore | None = None) -> World:
    world = await World.create(store=store)
    world.add_tools(BROWSER_TOOLS)
    await world.step(ToolCall("serve_pages", {"pages": SITE}))
    return world


async def ask(world: World, name: str, **arguments: Any) -> str:
    return (await world.step(ToolCall(name, arguments))).observation.text


async def test_every_point_of_a_session_can_be_gone_back_to() -> None:
    """The law of worlds: reopening or forking anywhere gives the state that was live there."""
    store = MemoryStore()
    world = await browsing(store)
    live: dict[str, list[str]] = {}
    steps: list[tuple[str, dict[str, Any]]] = [
        ("navigate_browser", {"url": "https://site.test/"}),
        ("click_element", {"selector": "a"}),
        ("click_element", {"selector": "a"}),
        ("previous_webpage", {}),
        ("navigate_browser", {"url": "https://site.test/none"}),
        ("previous_webpage", {}),
        ("click_element", {"selector": "b"}),
    ]
    looks = ("current_webpage", "extract_text", "extract_hyperlinks", "previous_webpage")
    for name, arguments in steps:
        await ask(world, name, **arguments)
        fork = await world.fork()
        live[world.ref] = [await ask(fork, look) for look in looks]
    for ref, expected in live.items():
        opened = await World.open(world.id, store=store, at=ref)
        opened.add_tools(BROWSER_TOOLS)
        fork = await opened.fork()
        assert [await ask(fork, look) for look in looks] == expected


async def test_the_same_calls_give_the_same_history() -> None:
    refs: set[str] = set()
    for _ in range(2):
        world = await browsing()
        await ask(world, "navigate_browser", url="https://site.test/")
        await ask(world, "click_element", selector="a")
        refs.add(world.ref)
    assert len(refs) == 1


async def test_what_is_looked_at_changes_nothing_but_the_clock() -> None:
    world = await browsing()
    await ask(world, "navigate_browser", url="https://site.test/")
    values = dict((await world.state()).values)
    for look in ("current_webpage", "extract_text", "extract_hyperlinks"):
        await ask(world, look)
    await ask(world, "get_elements", selector="a", attributes=["href"])
    assert dict((await world.state()).values) == values


@pytest.mark.parametrize(
    "shown, html",
    [
        ("a b", "<div>a \n <i>b</i></div>"),
        ("a\nb", "<div>a<div>b</div></div>"),
        ("a\n\nb\n\nc", "<div><p>a</p><p>b</p>c</div>"),
        ("a\nb", "<div>a<br>b</div>"),
        ("a", "<div>a<span hidden>b</span><script>c</script></div>"),
        ("a", "<div>a<span style='color: red; display:none'>b</span></div>"),
        ("1\t2\n3\t4", "<div><table><tr><td>1</td><td>2</td></tr><tr><td>3<td>4</table></div>"),
        ("", "<div> <p></p> </div>"),
    ],
)
async def test_text_is_shown_as_in_a_browser(shown: str, html: str) -> None:
    world = await World.create()
    world.add_tools(BROWSER_TOOLS)
    await ask(world, "serve_pages", pages={"https://x.test/": {"html": html}})
    await ask(world, "navigate_browser", url="https://x.test")
    found: list[dict[str, str]] = json.loads(await ask(world, "get_elements", selector="div"))
    assert [one["innerText"] for one in found[:1]] == ([shown] if shown else [])


def spec(name: str, **others: Any) -> ToolSpec:
    return ToolSpec(name=name, input_schema={"type": "object", "properties": {}}, **others)


async def test_without_a_model_and_pages_nothing_binds_by_its_name() -> None:
    world = await World.create()
    (bound,) = world.add_tools([spec("current_webpage")])
    assert bound.access == "refuse"
    assert "needs a language world model" in world.refusal("current_webpage")
    world.add_tools([spec("current_web")])
    assert "Did you mean 'current_webpage'?" in world.refusal("current_web")
    with pytest.raises(UsageError, match=r"playwright-toolkit/opens.*does not exist"):
        world.add_tools([spec("opens", binds_to="playwright-toolkit/opens")])


async def test_a_browser_without_pages_refuses_to_open_one() -> None:
    world = await World.create()
    world.add_tools(BROWSER_TOOLS)
    with pytest.raises(AccessRefused, match="has no pages to show"):
        await ask(world, "navigate_browser", url="https://x.test")


async def test_two_names_of_one_page_are_one() -> None:
    world = await World.create()
    world.add_tools(BROWSER_TOOLS)
    pages = {"HTTP://X.test:80#there": {"html": "<p>here</p>", "status": 203}}
    await ask(world, "serve_pages", pages=pages)
    answer = await ask(world, "navigate_browser", url="http://x.test/#other")
    assert answer.endswith("status code 203")
    assert await ask(world, "current_webpage") == "http://x.test/#other"
