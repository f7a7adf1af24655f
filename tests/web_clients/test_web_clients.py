"""Programs that were not made for worlds, in one: curl, Python's clients, search packages, MCP servers, Chromium."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.web_clients.conftest import CLIENTS, Run

FORUM = "https://forum.test"
MODULES = CLIENTS / "node_modules"


@pytest.fixture(scope="module")
def page(led: dict[str, str]) -> str:
    """The address of a page."""
    found = Run(led).program(
        "curl", "-sS", "https://api.tavily.com/search", "-d", json.dumps({"query": "maker founded"})
    )
    return json.loads(found)["results"][0]["url"]


def turns(run: Run) -> list[str]:
    """The calls of the kept world."""
    command = (sys.executable, "-m", "agentworld_sim.cli", "world", "show", "doors", "--jsonl")
    lines = map(json.loads, run.program(*command).splitlines())
    return [line["call"]["arguments"]["url"] for line in lines if "call" in line]


def test_curl_signs_in_and_only_that_is_a_turn(run: Run) -> None:
    before = len(turns(run))
    fields = ("-d", "_username=quiet_harbor", "-d", "_password=test1234")
    for scheme in ("http", "https"):
        seen = run.program("curl", "-sSL", "-b", "", *fields, f"{scheme}://forum.test/login_check")
        assert "quiet_harbor" in seen
    assert run.program("curl", "-sSI", f"{FORUM}/forums").startswith("HTTP/1.1 200")
    assert turns(run)[before:] == [
        f"{scheme}://forum.test/login_check" for scheme in ("http", "https")
    ]


def test_nothing_leaves(run: Run) -> None:
    done = subprocess.run(
        ("curl", "-sS", "-m", "5", "https://example.com/"),
        env=run.variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 56
    assert "CONNECT tunnel failed, response 502" in done.stderr


def test_requests_and_httpx(run: Run, page: str) -> None:
    code = f"""
import httpx, requests
assert requests.get({page!r}).text == httpx.get({page!r}).text
session = requests.Session()
fields = {{"_username": "quiet_harbor", "_password": "test1234"}}
print(session.post("{FORUM}/login_check", data=fields).text)
"""
    assert "quiet_harbor" in run.python(code)


def test_search_packages_of_langchain(run: Run, page: str) -> None:
    code = f"""
from langchain_community.tools import BraveSearch
from langchain_community.utilities import GoogleSerperAPIWrapper
from langchain_exa import ExaSearchResults
from langchain_tavily import TavilyExtract, TavilySearch
query = "maker founded"
assert TavilySearch(max_results=3).invoke({{"query": query}})["results"][0]["url"] == {page!r}
assert TavilyExtract().invoke({{"urls": [{page!r}]}})["results"][0]["raw_content"].startswith("# ")
assert {page!r} in BraveSearch.from_api_key(api_key="any", search_kwargs={{"count": 3}}).run(query)
assert {page!r} in str(GoogleSerperAPIWrapper().results(query))
assert GoogleSerperAPIWrapper().run(query)
assert ExaSearchResults().invoke({{"query": query}}).results[0].url == {page!r}
"""
    run.python(code)


def test_mcp_server_fetch(run: Run, page: str) -> None:
    server = (str(CLIENTS / "venv" / "bin" / "python"), "-m", "mcp_server_fetch")
    (text,) = run.mcp(server, ("fetch", {"url": page}))
    assert text.startswith(f"Contents of {page}:\n")


def test_tavily_mcp(run: Run, page: str) -> None:
    server = ("node", str(MODULES / "tavily-mcp" / "build" / "index.js"))
    calls = (
        ("tavily_search", {"query": "maker founded"}),
        ("tavily_extract", {"urls": [page]}),
    )
    found, opened = run.mcp(server, *calls)
    assert f"URL: {page}\n" in found
    assert "Raw Content: # " in opened


def chromium() -> str:
    program = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    assert program, "no Chromium was found; name one in CHROMIUM"
    return program


def test_a_playwright_script_in_chromium(run: Run, page: str) -> None:
    code = f"""
import os
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(
        executable_path={chromium()!r}, args=["--no-sandbox"], proxy={{"server": os.environ["http_proxy"]}}
    )
    view = browser.new_context(ignore_https_errors=True).new_page()
    view.goto({page!r})
    assert view.locator("h1").inner_text()
    view.goto("{FORUM}/login")
    view.get_by_label("Username").fill("quiet_harbor")
    view.get_by_label("Password").fill("test1234")
    view.get_by_role("button", name="Log in").click()
    assert view.url == "{FORUM}/", view.url
    assert "quiet_harbor" in view.content()
    try:
        view.goto("https://example.com/")
    except Exception as error:
        assert "ERR_TUNNEL_CONNECTION_FAILED" in str(error)
    else:
        raise AssertionError("a page came")
    browser.close()
"""
    run.python(code)


def test_the_mcp_server_of_playwright(run: Run) -> None:
    options = ("--headless --isolated --no-sandbox --ignore-https-errors --proxy-server").split()
    server = ("node", str(MODULES / "@playwright" / "mcp" / "cli.js"), *options)
    server += (run.variables["http_proxy"], "--executable-path", chromium())
    goes = ("browser_navigate", {"url": f"{FORUM}/login"})
    assert 'textbox "Username"' in run.mcp(server, goes, ("browser_snapshot", {}))[1]
