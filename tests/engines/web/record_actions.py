"""Records what the real `@playwright/mcp` answers, call by call, on the pages in `actions/`.

python -m tests.engines.web.record_actions CLI ref|target|locators    CLI is the package's `cli.js`; Chromium is /usr/bin/chromium

The recordings are replayed by `test_playwright_recordings.py`. Timestamps and the server's own address are replaced.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from agentworld_sim.engines.web.playwright_answers import TIMES
from agentworld_sim.engines.web.requests import WebRequest
from tests.engines.web.action_site import answer

HERE = Path(__file__).parent / "actions"
PAGES = Path(__file__).parent / "pages"
SITE = "http://orders.web.test"
"""As long as the server's own address: texts are cut at a length."""


class Handler(BaseHTTPRequestHandler):
    """Answers as the test's site does."""

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _send(self, body: bytes = b"") -> None:
        headers = tuple((name.lower(), value) for name, value in self.headers.items())
        response = answer(WebRequest(SITE + self.path, self.command, headers, body))
        self.send_response(response.status, response.status_text)
        for name, value in response.headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(response.body)

    def do_GET(self) -> None:
        self._send()

    def do_POST(self) -> None:
        self._send(self.rfile.read(int(self.headers.get("content-length") or 0)))


class Server:
    """The real MCP server."""

    def __init__(self, arguments: list[str], folder: str) -> None:
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            text=True,
        )
        self._last = 0
        info = {"name": "recorder", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=info)
        self._send(method="notifications/initialized")

    def _send(self, **message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._last += 1
        self._send(id=self._last, method=method, params=parameters)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = cast("dict[str, Any]", json.loads(line))
            if message.get("id") == self._last and "method" not in message:
                return message["result"]
            if "id" in message:
                self._send(id=message["id"], result={"roots": []})
        raise RuntimeError("the server is gone")

    def call(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        result = self.ask("tools/call", name=name, arguments=arguments)
        text = "\n".join(one.get("text", "") for one in result["content"])
        return text, result.get("isError", False)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)


def record(cli: str, key: str) -> str:
    """The recording: each call as JSON, and its answer."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{http.server_port}"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "up.txt").write_text("hello up")
        options = ["--headless", "--isolated", "--no-sandbox", "--executable-path"]
        options += ["/usr/bin/chromium", "--output-dir", f"{folder}/.playwright-mcp"]
        options += ["--snapshot-mode", "full"] if key == "ref" else []
        server = Server(["node", cli, *options], folder)
        said: list[str] = []

        def do(name: str, **arguments: Any) -> str:
            given = json.loads(
                json.dumps(arguments).replace(SITE, base).replace("/srv/app/", f"{folder}/")
            )
            text, failed = "", False
            for _ in range(4):
                text, failed = server.call(f"browser_{name}", given)
                # A machine that is busy tries less often in five seconds.
                if f" 9 {TIMES} " not in text:
                    break
            time.sleep(0.3)
            text = re.sub(rf"1[3-6] {TIMES} locator", f"14 {TIMES} locator", text)
            text = text.replace(base, SITE).replace(folder, "/srv/app")
            text = re.sub(r"\d{4}-\d\d-\d\dT[\d-]+Z", "TIME", text)
            said.append(
                f"#### {name} {json.dumps(arguments)}{' FAILS' if failed else ''}\n{text}\n"
            )
            return text

        def ref(role: str, name: str) -> str:
            text = server.call("browser_snapshot", {})[0]
            found = re.search(rf'{role} "{re.escape(name)}.*?\[ref=(\w+)\]', text)
            return found[1] if found else "e999"

        script(do, lambda role, name: {"element": name, key: ref(role, name)}, key)
        server.close()
    http.shutdown()
    return "\n".join(said)


def script(do: Callable[..., str], at: Callable[[str, str], dict[str, str]], key: str) -> None:
    """All calls, in their order."""
    newer = key == "target"

    def field(role: str, name: str, kind: str, value: str) -> dict[str, str]:
        found = at(role, name)
        return {"name": name, "type": kind, key: found[key], "value": value}

    def orders() -> None:
        do("navigate", url=f"{SITE}/orders.html")

    do("tabs", action="list")
    do("click", element="x", **{key: "e5"})
    do("navigate_back")
    orders()
    do("snapshot")
    do("click", **at("button", "Send"))
    do("type", **at("textbox", "Query"), text="ab", submit=True)
    do("type", **at("textbox", "Query"), text="a'b\"c\nd", slowly=True)
    do("type", **at("textbox", "Text"), text="l'ine\ntwo")
    do("type", **at("textbox", "Fixed"), text="z")
    do("type", **at("textbox", "Off"), text="z")
    do("type", **at("spinbutton", "Count"), text="abc")
    do("type", **at("spinbutton", "Count"), text="12")
    do("type", **at("textbox", "Query"), text="abc")
    do("click", **at("button", "Send"))
    do("type", **at("spinbutton", "Count"), text="5")
    do("type", **at("checkbox", "Agree"), text="5")
    do("type", **at("button", "Send"), text="5")
    do("select_option", **at("button", "Send"), values=["x"])
    do("select_option", **at("combobox", "Size"), values=["Huge"])
    fields = [
        field("radio", "Two", "radio", "true"),
        field("combobox", "Size", "combobox", "Medium"),
        field("slider", "Level", "slider", "7"),
        field("checkbox", "Agree", "checkbox", "true"),
    ]
    do("fill_form", fields=fields)
    do("fill_form", fields=[field("checkbox", "Agree", "checkbox", "false")])
    do("select_option", **at("listbox", "Many"), values=["A", "C"])
    do("select_option", **at("combobox", "Size"), values=["s"])
    do("click", **at("button", "Same"))
    do("click", **at("button", "Same"), doubleClick=True, button="right", modifiers=["Shift"])
    for stop in ("Tab", "Tab", "Shift+Tab", "Nonsense", "a"):
        do("press_key", key=stop)
        do("snapshot")
    for role, name in (
        ("textbox", "Search here"),
        ("link", "a very long"),
        ("button", "Edit"),
        ("button", "Edit post"),
        ("button", "Tip"),
        ("listbox", "Many"),
        ("img", "Gone"),
        ("heading", "Orders"),
        ("textbox", "Long label"),
    ):
        do("hover", **at(role, name))
    do("click", **at("generic", "Shipping"))
    do("click", **at("button", "OK"))
    do("snapshot")
    do("click", **at("link", "Get notes"))
    do("wait_for", time=1)
    do("click", **at("link", "To end"))
    do("click", **at("link", "Redirect"))
    do("network_requests", **{"static" if newer else "includeStatic": True})
    do("console_messages", level="info")
    do("navigate_back")
    do("snapshot")
    do("click", **at("button", "Send"))
    do("navigate_back")
    do("click", **at("button", "Alert"))
    do("click", element="x", **{key: "e2"})
    do("snapshot")
    do("handle_dialog", accept=True)
    do("handle_dialog", accept=True)
    do("click", **at("button", "Remove"))
    do("handle_dialog", accept=False)
    if not newer:
        # The newer one does not wait for the page that comes.
        do("click", **at("button", "Remove"))
        do("handle_dialog", accept=True)
        orders()
        do("click", **at("button", "Submit it"))
        do("handle_dialog", accept=True)
    orders()
    do("click", **at("button", "Scan"))
    do("press_key", key="a")
    do("file_upload", paths=["/srv/app/up.txt"])
    do("click", **at("button", "Upload it"))
    do("file_upload", paths=[])
    do("navigate", url=f"{SITE}/table.csv")
    do("navigate", url="file:///etc/passwd")
    do("navigate", url=f"{SITE}/notes.txt")
    do("snapshot")
    do("navigate", url=f"{SITE}/missing.html")
    do("console_messages", level="error")
    do("navigate", url=f"{SITE}/signup.html")
    do("click", **at("button", "Check name"))
    do("click", **at("radio", "Student"))
    do("type", **at("textbox", "E-mail"), text="ada@example.org")
    do("click", **at("button", "Create account"))
    do("navigate", url=f"{SITE}/filter.html")
    do("select_option", **at("combobox", "Sort by"), values=["Price: high to low"])
    do("click", **at("checkbox", "On sale"))
    do("press_key", key="Tab")
    do("snapshot")
    orders()
    do("click", **at("link", "Other tab"))
    do("tabs", action="select", index=1)
    do("snapshot")
    do("tabs", action="new")
    do("tabs", action="select", index=7)
    do("tabs", action="select")
    do("tabs", action="close")
    do("tabs", action="select", index=0)
    do("tabs", action="close", index=1)
    do("drag", **parts(at, key))
    do("resize", width=800, height=600)
    do("wait_for", text="Orders")
    do("wait_for", textGone="zzz")
    do("wait_for")
    do("wait_for", textGone="Orders")
    do("press_key", key="Enter")
    do("type", **at("textbox", "Query"), text="abc")
    if newer:
        newer_calls(do)
    do("press_key", key="Enter")
    do("navigate", url=f"{SITE}/loop")
    do("navigate", url="http://nowhere.test/")
    do("tabs", action="list")
    do("close")
    do("close")
    do("snapshot")


def parts(at: Callable[[str, str], dict[str, str]], key: str) -> dict[str, str]:
    """The arguments of `browser_drag`."""
    start, end = at("heading", "Orders"), at("button", "Alert")
    end_of = key.capitalize()
    named = {"startElement": "a", "endElement": "b"}
    return {**named, f"start{end_of}": start[key], f"end{end_of}": end[key]}


def newer_calls(do: Callable[..., str]) -> None:
    """What the older generation does not have."""
    do("click", target='button:has-text("Reset")')
    do("click", target="button")
    do("click", target="nav")
    do("find", text="same")
    do("find", regex="/ord.rs/i")
    do("find", text="zzz")
    do("find")
    do("snapshot", depth=2)
    do("snapshot", target="fieldset, ol, [aria-label=Many]")
    do("snapshot", filename="a.yml")
    do("emulate_media", colorScheme="dark")
    do("drop", target="#q")
    do("network_requests", static=False)
    do("network_request", index=9)
    do("type", target="#q", text="abc")


def record_locators(cli: str) -> dict[str, dict[str, str]]:
    """The locator that Playwright writes for each ref of each page; what lies behind something else has none."""
    found: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        options = ["--headless", "--isolated", "--no-sandbox", "--timeout-action", "300"]
        options += ["--executable-path", "/usr/bin/chromium", "--allow-unrestricted-file-access"]
        server = Server(["node", cli, *options], folder)
        for page in sorted([*HERE.glob("*.html"), *PAGES.glob("*.html")]):
            server.call("browser_navigate", {"url": page.as_uri()})
            shown = server.call("browser_snapshot", {})[0]
            codes = found[page.stem] = {}
            for prefix, ref in re.findall(r"\[ref=(f\d+)?(e\d+)\]", shown):
                text = server.call("browser_hover", {"target": prefix + ref})[0]
                if code := re.search(r"await page\.(.*)\.hover\(", text):
                    codes[ref] = code[1]
        server.close()
    return found


if __name__ == "__main__":
    cli, key = sys.argv[1:]
    if key == "locators":
        written = json.dumps(record_locators(cli), ensure_ascii=False, indent=0)
        (HERE / "locators.json").write_text(written + "\n", encoding="utf-8")
    else:
        (HERE / f"{key}.md").write_text(record(cli, key), encoding="utf-8")
