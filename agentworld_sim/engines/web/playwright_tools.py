"""The tools of Playwright's MCP server, in both of its generations, on a browser's turn."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from agentworld_sim.engines.web.browser_state import TabState
from agentworld_sim.engines.web.forms import TOGGLES, page_pattern
from agentworld_sim.engines.web.keyboard import BadKey, Keyboard
from agentworld_sim.engines.web.locators import js_string
from agentworld_sim.engines.web.page_loading import LoadFailed
from agentworld_sim.engines.web.playwright_answers import (
    TIMES,
    PlaywrightError,
    error_text,
    preview,
)
from agentworld_sim.engines.web.playwright_elements import TIMEOUT_US, PlaywrightElements
from agentworld_sim.engines.web.requests import WebRequest, normal_url
from agentworld_sim.engines.web.snapshot_search import snippets
from agentworld_sim.engines.web.tab_page import Modal, Way
from agentworld_sim.errors import CannotCompute
from agentworld_sim.ports import Answer

_FOR_PEOPLE = frozenset(["element", "startElement", "endElement", "level", "promptText"])
"""Arguments that change nothing: descriptions, levels below which no message is, the text for a prompt."""
_WIDEST = 10_000_000
"""Pixels of a window, as in Chromium."""
_HANDLED_BY = {"fileChooser": "browser_file_upload"}
_UNSAFE_PORTS = frozenset([1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 53, 110, 143, 6000])


class PlaywrightCall(PlaywrightElements):
    """One call of one tool."""

    def answer(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """What a tool answers."""
        self.said = arguments.get("element", "")
        try:
            self._run(name, arguments)
            return self.turn.answer(self.reply.text())
        except PlaywrightError as error:
            modal = self.turn.browser.tab and self.turn.browser.tab.modal
            return self.turn.answer(error_text(str(error), modal), is_error=True)

    def _run(self, name: str, arguments: Mapping[str, Any]) -> None:
        modal = self.turn.browser.tab and self.turn.browser.tab.modal
        handles = _HANDLED_BY.get(modal["kind"], "browser_handle_dialog") if modal else ""
        needs = name in ("browser_file_upload", "browser_handle_dialog")
        shows = name == "browser_snapshot" and not self.dialect.is_newer
        free = ("browser_tabs", "browser_close", "browser_navigate", "browser_install")
        if modal and name != handles and not shows and name not in free:
            raise PlaywrightError(f'Error: Tool "{name}" does not handle the modal state.')
        if needs and not modal:
            raise PlaywrightError(
                f'Error: The tool "{name}" can only be used when there is related modal state present.'
            )
        getattr(self, name.removeprefix("browser_"))(**_snake(arguments))

    # Pages and tabs

    def navigate(self, url: str) -> None:
        tab = self.turn.front()
        if not re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:(?!\d)", url):
            url = f"http{'' if url.startswith('localhost') else 's'}://{url}"
        self._go(tab, url)
        self.reply.snapshot = "after"
        self.reply.code.append(f"await page.goto('{url}');")

    def _go(self, tab: TabState, url: str) -> None:
        scheme = url.partition(":")[0].lower()
        if scheme not in ("http", "https", "about", "data"):
            kinds = "Allowed protocols: http:, https:, about:, data:."
            raise PlaywrightError(
                f'Error: Access to "{scheme}:" protocol is blocked. Attempted URL: "{url}"'
                if self.dialect.is_newer
                else f'Error: Access to "{scheme}:" URL is blocked. {kinds} Attempted URL: {url}'
            )
        log = [f'  - navigating to "{url}", waiting until "domcontentloaded"']
        try:
            shown = normal_url(url)
        except ValueError:
            what = "Protocol error (Page.navigate): Cannot navigate to invalid URL"
            raise self.dialect.failure("page.goto", what, log) from None
        tab.modal, tab.console, tab.told = None, [], 0
        tab.since, tab.console_us = self.turn.browser.requests, self.turn.clock_us
        try:
            port = re.match(r"https?://[^/?#]*:(\d+)(?=[/?#]|$)", url)
            if port and int(port[1]) in _UNSAFE_PORTS:
                self.turn.loader.tab = tab.number
                self.turn.loader.fail(url, "net::ERR_UNSAFE_PORT")
                raise LoadFailed("net::ERR_UNSAFE_PORT")
            self.turn.follow(tab, Way(WebRequest(shown)))
        except LoadFailed as error:
            raise self.dialect.failure("page.goto", f"{error} at {shown}", log) from None

    def navigate_back(self) -> None:
        self.turn.back(self.turn.front())
        self.reply.snapshot = "after"
        self.reply.code.append("await page.goBack();")

    def tabs(self, action: str, index: float | None = None, url: str | None = None) -> None:
        browser = self.turn.browser
        if action == "select" and index is None:
            raise PlaywrightError("Error: Tab index is required")
        if index is not None and action != "new" and not 0 <= index < len(browser.tabs):
            raise PlaywrightError(f"Error: Tab {_number(index)} not found")
        if action == "new":
            tab = browser.open_tab()
            browser.current = len(browser.tabs) - 1
            if url is not None:
                self._go(tab, url)
                self.reply.snapshot = "after"
                self.reply.code.append(f"await page.goto('{url}');")
        elif action == "close":
            tab = browser.tab if index is None else browser.tabs[int(index)]
            if tab is not None:
                browser.close_tab(tab)
        elif action == "select" and index is not None:
            browser.current = int(index)
        else:
            self.turn.front()
        self.reply.told_tabs()
        self.reply.results.append("\n".join(self.reply.tab_lines()))

    def close(self) -> None:
        for tab in list(self.turn.browser.tabs):
            self.turn.browser.close_tab(tab)
        self.reply.results.append("\n".join(self.reply.tab_lines()))
        self.reply.code.append("await page.close()")

    def install(self) -> None:
        self.reply.results.append("Browser chrome successfully installed.")
        self.reply.told_tabs()

    def resize(self, width: float, height: float) -> None:
        self.turn.save()
        self.turn.front()
        self.turn.browser.width = int(min(max(width, 0), _WIDEST))
        self.turn.forget_pages()
        size = f"{{ width: {_number(width)}, height: {_number(height)} }}"
        self.reply.code.append(f"await page.setViewportSize({size});")

    def emulate_media(self, **features: str | None) -> None:
        names = {"color_scheme": "colorScheme", "reduced_motion": "reducedMotion"}
        names["forced_colors"] = "forcedColors"
        given = {names.get(name, name): value for name, value in features.items()}
        self.reply.code.append(f"await page.emulateMedia({_object(given)});")

    # What is looked at

    def snapshot(
        self,
        target: str | None = None,
        filename: str | None = None,
        depth: float | None = None,
        boxes: bool = False,
    ) -> None:
        self.turn.front()
        self.reply.part = None if target is None else self.element(target)[0]
        self.reply.snapshot, self.reply.filename = "asked", filename
        self.reply.depth = None if depth is None else int(depth)
        if boxes:
            raise CannotCompute("the places of elements on the screen are a real browser's alone")

    def find(
        self, text: str | None = None, regex: str | None = None, filename: str | None = None
    ) -> None:
        if not text and not regex:
            raise PlaywrightError('Provide either "text" or "regex" to search for.')
        if text and regex:
            raise PlaywrightError('Provide only one of "text" or "regex", not both.')
        lines = self.page().tree.snapshot().split("\n")
        if regex:
            literal = re.fullmatch(r"/(.*)/([a-z]*)", regex)
            source, flags = literal.groups() if literal else (regex, "")
            pattern = page_pattern(source, re.IGNORECASE if "i" in flags else 0)
            if pattern is None:
                raise PlaywrightError(
                    'Invalid arguments for tool "browser_find":\n✖ Invalid regular expression\n  → at regex'
                )
            query = f"/{source}/{flags.replace('g', '')}"
            found = [place for place, line in enumerate(lines) if pattern.search(line)]
        else:
            query = f'"{text}"'
            found = [place for place, line in enumerate(lines) if str(text).lower() in line.lower()]
        said = f"No matches found for {query}."
        if found:
            matches = "match" if len(found) == 1 else "matches"
            shown = "\n\n----\n\n".join(snippets(lines, found))
            said = f"Found {len(found)} {matches} for {query}:\n\n{shown}"
        self._say("Found", said, filename, "find", "txt")

    def console_messages(self, all: bool = False, filename: str | None = None) -> None:
        tab = self.turn.front()
        texts = [
            text
            for document, text in tab.console
            if all or document == tab.documents or not self.dialect.is_newer
        ]
        # All that a page without programs says are errors, which every level has.
        head = f"Total messages: {len(texts)} (Errors: {len(texts)}, Warnings: 0)"
        self._say("Console", "\n".join([head, "", *texts]), filename, "console", "log")

    def network_requests(
        self,
        static: bool = False,
        filter: str | None = None,
        filename: str | None = None,
        include_static: bool = False,
    ) -> None:
        lines: list[str] = []
        hidden, pattern = 0, page_pattern(filter or "")
        for number, about in enumerate(self._requests(), 1):
            status = about.get("status")
            if not (static or include_static) and status is not None and status < 400:
                hidden += 1
                continue
            came = (
                f"[FAILED] {about['error']}" if status is None else f"[{status}] {about['reason']}"
            )
            if pattern is None or pattern.search(about["url"]):
                place = f"{number}. " if self.dialect.is_newer else ""
                lines.append(f"{place}[{about['method']}] {about['url']} => {came}")
        if hidden and self.dialect.is_newer:
            one = hidden == 1
            lines.append(
                f'\nNote: {hidden} static request{"" if one else "s"} not shown, run with "static"'
                f" option to see {'it' if one else 'them'}."
            )
        self._say("Network", "\n".join(lines), filename, "network", "log")

    def network_request(
        self, index: int, part: str | None = None, filename: str | None = None
    ) -> None:
        requests = self._requests()
        if not 0 < index <= len(requests):
            raise PlaywrightError(
                f"Request #{index} not found. Use browser_network_requests to see available indexes."
            )
        about = requests[index - 1]
        parts: dict[str, str] = {
            "request-headers": _headers(about.get("headers", ())),
            "request-body": about.get("body", ""),
            "response-headers": _headers(about.get("answered", ())),
            "response-body": self._body(about),
        }
        said = parts[part] if part is not None else _details(index, about)
        if said:
            self._say("Request", said, filename, "request", "log")

    def _body(self, about: Mapping[str, Any]) -> str:
        """What came; pages alone are kept."""
        page = self.turn.browser.page(self.turn.front())
        return page.html if page.url.partition("#")[0] == about["url"] else ""

    def _requests(self) -> list[Mapping[str, Any]]:
        tab, browser = self.turn.front(), self.turn.browser
        found = (browser.request(number) for number in range(tab.since, browser.requests))
        return [one for one in found if one["tab"] == tab.number]

    def _say(self, title: str, text: str, filename: str | None, prefix: str, kind: str) -> None:
        if filename is not None:
            text = self.reply.write(filename, prefix, kind, title, text)
        self.reply.results.append(text)

    def wait_for(
        self, time: float | None = None, text: str | None = None, text_gone: str | None = None
    ) -> None:
        if time is None and not text and not text_gone:
            raise PlaywrightError("Error: Either time, text or textGone must be provided")
        if time is not None:
            self.turn.clock_us += int(min(30, max(0, time)) * 1_000_000)
            self.reply.code.append(
                f"await new Promise(f => setTimeout(f, {_number(time)} * 1000));"
            )
        locators = self.page().locators
        for wanted, state in ((text_gone, "hidden"), (text, "visible")):
            if not wanted:
                continue
            found = locators.visible_text(wanted)
            if bool(found) != (state == "visible"):
                log = [f"  - waiting for getByText({js_string(wanted)}).first() to be {state}"]
                log += [
                    f"    14 {TIMES} locator resolved to visible {preview(one)}"
                    for one in found[:1]
                ]
                self.turn.clock_us += TIMEOUT_US
                failure = self.dialect.failure(
                    "locator.waitFor", "Timeout 5000ms exceeded.", log, "TimeoutError"
                )
                raise PlaywrightError(str(failure).replace("browserBackend.callTool: ", ""))
            written = json.dumps(wanted, ensure_ascii=False)
            self.reply.code.append(
                f"await page.getByText({written}).first().waitFor({{ state: '{state}' }});"
            )
        seconds = f"{_number(time)}{' seconds' if self.dialect.is_newer else ''}" if time else ""
        self.reply.results.append(f"Waited for {text or text_gone or seconds}")
        self.reply.snapshot = "after"

    # What is done to a page

    def click(
        self,
        target: str,
        double_click: bool = False,
        button: str | None = None,
        modifiers: Sequence[str] = (),
    ) -> None:
        found, locator, log = self.element(target)
        given = {"button": button, "modifiers": list(modifiers) or None}
        said = {name: value for name, value in given.items() if value is not None}
        options = _object(said, lines=self.dialect.is_newer) if said else ""
        action = "dblclick" if double_click else "click"
        self.require_ready(found, log, action)
        self.reply.code.append(f"await page.{locator}.{action}({options});")
        self.reply.snapshot = "after"
        if button in (None, "left"):
            new_tab = bool({"Control", "ControlOrMeta", "Meta", "Shift"} & set(modifiers))
            for _ in range(2 if double_click else 1):
                effect = self.page().click(found)
                if isinstance(effect, Way) and new_tab:
                    effect = Way(effect.request, True, effect.download)
                self.follow(effect)
                if effect is not None:
                    break

    def hover(self, target: str) -> None:
        _, locator, _ = self.element(target)
        self.reply.code.append(f"await page.{locator}.hover();")
        self.reply.snapshot = "after"

    def drag(self, start_target: str, end_target: str) -> None:
        found, start, _ = self.element(start_target)
        end = self.element(end_target)[1]
        self.page().press_mouse(found)
        self.reply.code.append(f"await page.{start}.dragTo(page.{end});")
        self.reply.snapshot = "after"

    def drop(
        self,
        target: str,
        paths: Sequence[str] = (),
        data: Mapping[str, str] | None = None,
    ) -> None:
        if not paths and data is None:
            raise PlaywrightError('Error: At least one of "paths" or "data" must be provided.')
        log = self.element(target)[2]
        for path in paths:
            self.file(path)
        # Only programs of a page accept what is dropped.
        raise self.dialect.failure(
            "locator.drop",
            "Drop target did not accept the drop — its dragover handler did not call preventDefault()",
            [*log, "  - attempting drop action"],
        )

    def type(self, target: str, text: str, submit: bool = False, slowly: bool = False) -> None:
        found, locator, log = self.element(target)
        if slowly:
            self.reply.snapshot = "after"
            self.page().focus(found)
            for part in re.split(r"(\n)", text):
                self.follow(
                    Keyboard(self.page()).press("Enter") if part == "\n" else self.page().type(part)
                )
            self.reply.code.append(f"await page.{locator}.pressSequentially({js_string(text)});")
        else:
            self.fill(found, text, log)
            self.reply.code.append(f"await page.{locator}.fill({js_string(text)});")
        if submit:
            self.reply.snapshot = "after"
            self.reply.code.append(f"await page.{locator}.press('Enter');")
            self.follow(Keyboard(self.page()).press("Enter"))

    def press_key(self, key: str) -> None:
        self.turn.front()
        try:
            effect = Keyboard(self.page()).press(key)
        except BadKey as error:
            action = "browserBackend.callTool" if self.dialect.is_newer else "keyboard.press"
            raise PlaywrightError(f'Error: {action}: Unknown key: "{error}"') from None
        self.reply.code += [f"// Press {key}", f"await page.keyboard.press('{key}');"]
        if key == "Enter":
            self.reply.snapshot = "after"
        self.follow(effect)

    def select_option(self, target: str, values: Sequence[str]) -> None:
        found, locator, log = self.element(target)
        self.choose(found, values, log)
        written = ", ".join(map(js_string, values))
        code = written if self.dialect.is_newer and len(values) == 1 else f"[{written}]"
        self.reply.code.append(f"await page.{locator}.selectOption({code});")
        self.reply.snapshot = "after"

    def fill_form(self, fields: Sequence[Mapping[str, str]]) -> None:
        for one in fields:
            found, locator, log = self.element(one[self.dialect.key])
            value, done = one["value"], f"await page.{locator}"
            if one["type"] in TOGGLES:
                self.check(found, value == "true", log)
                newer = "check()" if value == "true" else "uncheck()"
                done += f".{newer if self.dialect.is_newer else f'setChecked({value})'};"
            elif one["type"] == "combobox":
                self.choose(found, [value], log, by_label=True)
                done += f".selectOption({js_string(value)});"
            else:
                self.fill(found, value, log)
                done += f".fill({js_string(value)});"
            self.reply.code.append(done)

    def file_upload(self, paths: Sequence[str] | None = None) -> None:
        tab = self.turn.front()
        assert tab.modal is not None
        files = None if paths is None else [self.file(path) for path in paths]
        page = self.page()
        number: int = tab.modal["element"]
        element = page.document.elements[number]
        if files is not None:
            if len(files) > 1 and "multiple" not in element.attributes:
                raise PlaywrightError(
                    "fileChooser.setFiles: Error: Non-multiple file input can only accept single file"
                )
            page.choose_files(element, files)
        tab.modal = None
        said = "undefined" if files is None else json.dumps(files, ensure_ascii=False)
        self.reply.code.append(f"await fileChooser.setFiles({said.replace(', ', ',')})")
        self.reply.snapshot = "after"

    def handle_dialog(self, accept: bool) -> None:
        tab = self.turn.front()
        assert tab.modal is not None
        modal, tab.modal = Modal(**tab.modal), None
        self.follow(self.page().answer(modal, accept))


def _headers(headers: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in headers)


def _details(index: int, about: Mapping[str, Any]) -> str:
    status = f"[{about['status']}] {about['reason']}" if "status" in about else ""
    lines = [f"#{index} [{about['method']}] {about['url']}", "", "  General"]
    lines.append(f"    status:    {status or '[FAILED] ' + about['error']}")
    lines.append(f"    type:      {'document' if about['kind'] == 'document' else 'other'}")
    kinds = [value for name, value in about.get("answered", ()) if name == "content-type"]
    lines += [f"    mimeType:  {kind.partition(';')[0].strip()}" for kind in kinds]
    for title, key in (("Request", "headers"), ("Response", "answered")):
        if about.get(key):
            lines += ["", f"  {title} headers"]
            lines += [f"    {name}: {value}" for name, value in about[key]]
    calls = 'Call browser_network_request with part="{}" to read the {} body.'
    lines.append("")
    lines += [calls.format("request-body", "request")] if about.get("body") else []
    lines += [calls.format("response-body", "response")] if status else []
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:.15g}"


def _object(given: Mapping[str, Any], *, lines: bool = False) -> str:
    """An object as JavaScript writes it."""

    def literal(value: Any) -> str:
        if isinstance(value, str):
            return js_string(value)
        if isinstance(value, list):
            return f"[{', '.join(map(literal, cast('list[Any]', value)))}]"
        return "null" if value is None else _object(value)

    parts = [f"{name}: {literal(value)}" for name, value in given.items()]
    inside = ",\n  ".join(parts) if lines else ", ".join(parts)
    return f"{{\n  {inside}\n}}" if lines else f"{{ {inside} }}"


def _snake(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The names of arguments as Python has them; `ref` and `target` are one."""
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        if name in _FOR_PEOPLE:
            continue
        name = re.sub(r"[A-Z]", lambda one: f"_{one[0].lower()}", name)
        found[re.sub(r"\bref$|(?<=_)ref$", "target", name)] = value
    return found
