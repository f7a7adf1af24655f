"""Pages, headers and URLs that nobody means well with: the answer of a browser, at once, and nothing of the host."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.engines.web import WebEngine, WebRequest, WebResponse
from agentworld_sim.engines.web.document import parse_document
from agentworld_sim.engines.web.forms import PageForms
from agentworld_sim.engines.web.live_state import LiveState
from agentworld_sim.engines.web.page_view import PageView
from agentworld_sim.toolkits import toolkit
from agentworld_sim.types.state import StateChange, WorldState


class Site:
    """Answers with the response of a path, whatever the host, and keeps what it was asked."""

    def __init__(self, responses: Mapping[str, WebResponse]) -> None:
        self._responses = responses
        self.asked: list[WebRequest] = []

    def answer(self, request: WebRequest, state: WorldState) -> tuple[WebResponse, StateChange]:
        self.asked.append(request)
        return self._responses.get(request.path, WebResponse(404)), StateChange(
            clock_us=state.clock_us
        )

    def hosts(self, state: WorldState) -> list[str]:
        return ["a.test"]


async def browser(site: Site, kit: str = "playwright-mcp-ref") -> World:
    scenario = Scenario.model_validate({"name": "hostile", "domains": ["web"]})
    world = await World.create(scenario, engines=[WebEngine(None, site, workspace="/srv/app")])
    world.add_tools(toolkit(kit))
    return world


async def call(world: World, name: str, **arguments: object) -> str:
    return (await world.step(ToolCall(f"browser_{name}", arguments))).observation.text


def page(html: str) -> WebResponse:
    return WebResponse(body=html.encode())


def redirect(location: str) -> WebResponse:
    return WebResponse(302, headers=(("location", location),))


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "https:///x",
        "http://[",
        "http://[::1",
        "http://a b/",
        "http://a.test:port/",
        "http://a.test:99999/",
        "http://a<b>.test/",
        "http://\u2100.test/",
        "",
    ],
)
async def test_what_is_no_url_is_refused_and_asks_nobody(url: str) -> None:
    site = Site({"/": page("here")})
    text = await call(await browser(site), "navigate", url=url)
    assert "Cannot navigate to invalid URL" in text
    assert site.asked == []


@pytest.mark.parametrize("url", ["about:config", "about:srcdoc"])
async def test_a_page_of_the_browser_itself_asks_nobody(url: str) -> None:
    site = Site({"config": page("here")})
    assert "net::ERR_INVALID_URL" in await call(await browser(site), "navigate", url=url)
    assert site.asked == []


@pytest.mark.parametrize(
    "location, error",
    [
        ("file:///etc/passwd", "net::ERR_UNSAFE_REDIRECT"),
        ("javascript:alert(1)", "net::ERR_UNSAFE_REDIRECT"),
        ("data:text/html,x", "net::ERR_UNSAFE_REDIRECT"),
        ("http://[", "net::ERR_INVALID_REDIRECT"),
        ("/", "net::ERR_TOO_MANY_REDIRECTS"),
    ],
)
async def test_a_redirect_leads_to_nothing_but_sites(location: str, error: str) -> None:
    site = Site({"/": redirect(location)})
    text = await call(await browser(site), "navigate", url="http://a.test/")
    assert f"{error} at http://a.test/" in text
    assert {one.url for one in site.asked} == {"http://a.test/"}


@pytest.mark.parametrize(
    "href", ["file:///etc/passwd", " java\nscript:x", "http://[", "http://a.test:bad/"]
)
async def test_a_link_leads_to_nothing_but_sites(href: str) -> None:
    site = Site({"/": page(f"<a href='{href}'>x</a>")})
    world = await browser(site)
    await call(world, "navigate", url="http://a.test/")
    text = await call(world, "click", element="x", ref="e2")
    assert "- Page URL: http://a.test/\n" in text
    assert len(site.asked) == 1


async def test_cookies_that_browsers_refuse_are_not_kept() -> None:
    lines = ["long=" + "x" * 5000, "two=1\r\nx-own: y", ";;;", "=x", "ok=1; expires=never"]
    lines += ["gone=1; expires=Wed, 01 Jan 0001 00:00:00 GMT", "far=2; max-age=" + "9" * 30]
    site = Site({"/": WebResponse(headers=tuple(("set-cookie", line) for line in lines))})
    world = await browser(site)
    for _ in range(2):
        await call(world, "navigate", url="http://a.test/")
    assert site.asked[1].header("cookie") == "ok=1; far=2"


async def test_a_domain_keeps_its_newest_180_cookies() -> None:
    lines = [f"c{number}=1" for number in range(200)]
    site = Site({"/": WebResponse(headers=tuple(("set-cookie", line) for line in lines))})
    world = await browser(site)
    for _ in range(2):
        await call(world, "navigate", url="http://a.test/")
    assert (site.asked[1].header("cookie") or "").split("; ") == [f"{line}" for line in lines[20:]]


@pytest.mark.parametrize(
    "said, path",
    [
        ('filename="../../etc/cron.d/x"', "-..-etc-cron.d-x"),
        ("filename*=utf-8''%00%0d%0a%2e%2e%2fx", "---..-x"),
        ('filename="..."', "download"),
        (f'filename="{"a" * 5000}"', "a" * 255),
    ],
)
async def test_a_download_is_a_file_in_the_folder_of_downloads(said: str, path: str) -> None:
    headers = (
        ("content-type", "application/zip"),
        ("content-disposition", f"attachment; {said}"),
    )
    world = await browser(Site({"/": WebResponse(body=b"x", headers=headers)}))
    text = await call(world, "navigate", url="http://a.test/")
    assert text.splitlines()[-1].endswith(f' to ".playwright-mcp/{path}"')


async def test_a_link_names_no_file_elsewhere() -> None:
    site = Site({"/": page("<a href=/f download=../../x&#10;y>x</a>"), "/f": page("content")})
    world = await browser(site)
    await call(world, "navigate", url="http://a.test/")
    text = await call(world, "click", element="x", ref="e2")
    assert text.splitlines()[-1] == ('- Downloaded file -..-x-y to ".playwright-mcp/-..-x-y"')


async def test_a_dialog_whose_text_has_no_end_is_no_dialog() -> None:
    escapes = "\\a" * 50_000
    site = Site({"/": page(f'<button onclick="return confirm(\'{escapes}">x</button>')})
    world = await browser(site)
    await call(world, "navigate", url="http://a.test/")
    assert "Modal state" not in await call(world, "click", element="x", ref="e2")


@pytest.mark.parametrize("role", ["group", "button", "combobox"])
def test_elements_that_own_one_another_in_a_long_chain_are_read(role: str) -> None:
    parts = [f"<div role={role} id=i{at} aria-owns=i{at + 1}>t</div>" for at in range(600)]
    assert PageView(parse_document("".join(parts))).snapshot().count(f"- {role}") == 600


def test_numbers_that_are_none_are_left_out() -> None:
    html = (
        "<input maxlength=²><input tabindex=²><h1 aria-level=²>x</h1><select size=²><option>a</select>"
        "<input type=range min=1e999 value=nan><p role=heading aria-level=99999999999>x</p>"
    )
    text = PageView(parse_document(html)).snapshot()
    assert 'heading "x" [level=1]' in text
    assert 'slider [ref=e6]: "50"' in text


@pytest.mark.parametrize("value", ["1e999999999", "9" * 5000, "1e300", "1e-999999999", "1e-400"])
@pytest.mark.parametrize("step", ["", "1e-30", "1e-999999999", "1e300", "any"])
def test_numbers_of_any_size_are_held_against_steps(value: str, step: str) -> None:
    document = parse_document(f"<form><input type=number step='{step}' min=1e-400></form>")
    live = LiveState(values={document.elements[-1].index: value})
    PageForms(document, live).invalid(document.elements[-2])


def test_pages_of_thousands_of_the_same_are_read_in_time_that_grows_with_them() -> None:
    document = parse_document(
        "<form>"
        + "<input type=radio name=r required>" * 4_000
        + "</form><table><tr>"
        + "<th>a" * 4_000
    )
    view = PageView(document)
    last = document.select("input")[-1]
    view.set_checked(last, True)
    assert view.role_of(document.select("th")[-1]) == "columnheader"
    assert PageForms(document, view.live).invalid(document.select("form")[0]) is None


async def test_a_request_that_was_not_made_is_not_found() -> None:
    world = await browser(Site({"/": page("x")}), "playwright-mcp")
    await call(world, "navigate", url="http://a.test/")
    for index in (-1, 0, 2):
        text = await call(world, "network_request", index=index)
        assert f"Request #{index} not found" in text


async def test_a_window_is_no_wider_than_a_browser_lets_it_be() -> None:
    world = await browser(Site({"/": page("<p>x")}))
    await call(world, "navigate", url="http://a.test/")
    assert "width: 1e+308" in await call(world, "resize", width=1e308, height=-1)
    assert "paragraph" in await call(world, "snapshot")


async def test_a_ref_of_another_tab_is_none_of_this_one() -> None:
    world = await browser(Site({"/": page("<input aria-label=A>"), "/2": page("<p>B")}))
    await call(world, "navigate", url="http://a.test/")
    await call(world, "tabs", action="new")
    await call(world, "navigate", url="http://a.test/2")
    assert "Ref e3 not found" in await call(world, "click", element="A", ref="e3")
