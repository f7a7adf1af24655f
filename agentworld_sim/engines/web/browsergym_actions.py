"""BrowserGym's actions on a browser's turn, and what an agent of BrowserGym observes after them."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from typing import Any

from agentworld_sim.engines.toolkits.answer import ANSWER
from agentworld_sim.engines.web.browser_state import FAILED
from agentworld_sim.engines.web.browser_turn import BrowserTurn
from agentworld_sim.engines.web.browsergym_tree import BrowserGymTree
from agentworld_sim.engines.web.document import Element, parse_document
from agentworld_sim.engines.web.keyboard import BadKey, Keyboard
from agentworld_sim.engines.web.page_loading import LoadFailed
from agentworld_sim.engines.web.page_view import PageView
from agentworld_sim.engines.web.playwright_answers import Dialect, PlaywrightError, preview
from agentworld_sim.engines.web.playwright_elements import PlaywrightElements
from agentworld_sim.engines.web.requests import WebRequest, normal_url
from agentworld_sim.engines.web.tab_page import Effect, Modal, Way
from agentworld_sim.ports import Answer
from agentworld_sim.types.files import normal_path
from agentworld_sim.types.turns import Observation


def _argument(name: str) -> Parameter:
    kind, is_needed = Parameter.POSITIONAL_OR_KEYWORD, name[-1] != "?"
    return Parameter(name.rstrip("?"), kind, default=Parameter.empty if is_needed else None)


_ACTIONS = {
    name: Signature([_argument(one) for one in takes])
    for name, *takes in map(
        str.split,
        "check bid|clear bid|click bid button? modifiers?|dblclick bid button? modifiers?|drag_and_drop from_bid to_bid"
        "|fill bid value enable_autocomplete_menu?|focus bid|go_back|go_forward|goto url|hover bid|keyboard_press key"
        "|keyboard_type text|new_tab|noop wait_ms?|press bid key_comb|report_infeasible reason|scroll delta_x delta_y"
        "|select_option bid options|send_msg_to_user text|tab_close|tab_focus index|uncheck bid"
        "|upload_file bid file".split("|"),
    )
}
"""The actions, with the names of their arguments; those with a `?` may be left out."""
_KINDS: dict[str, tuple[str, type | tuple[type, ...]]] = {
    **dict.fromkeys(("button", "key", "key_comb", "url", "value"), ("string", str)),
    **dict.fromkeys(("file", "modifiers", "options"), ("string or list", (str, list, tuple))),
    **dict.fromkeys(("delta_x", "delta_y", "wait_ms"), ("number", (int, float))),
    "index": ("integer", int),
}
"""What arguments are, where Playwright looks."""
_CALL = re.compile(
    r"""#[^\n]*|\b([A-Za-z_]\w*+)\s*+(\((?:\"{3}.*?\"{3}|"(?:\\.|[^"\\])*+"|'(?:\\.|[^'\\])*+'|[^"'()])*+\))""",
    re.DOTALL,
)
"""A comment, or a name and what stands between its parentheses; arguments are literals, so no call is in a call."""
_OPENS_TAB = frozenset(["Control", "ControlOrMeta", "Meta", "Shift"])
_SAID = {
    "clear": ("Locator.fill", "Locator.clear"),
    "check": ("Locator.set_checked", "Locator.check"),
    "uncheck": ("Locator.set_checked", "Locator.uncheck"),
    "dblclick": (" click action", " dblclick action"),
}
"""What actions call that which they do as others do it."""
_LONGEST = 20_000
"""Characters of an action that are read."""
_RETRIES = ("", "  -   waiting 20ms", "  -   waiting 100ms", "  -   waiting 100ms")


@dataclass(frozen=True, slots=True)
class PythonDialect(Dialect):
    """Playwright for Python 1.44, which BrowserGym stands on, waiting for half a second."""

    def failure(
        self, action: str, what: str, log: list[str], kind: str = "Error"
    ) -> PlaywrightError:
        owner, _, method = action.partition(".")
        named = re.sub(r"[A-Z]", lambda one: f"_{one[0].lower()}", method)
        head = f"{kind}: {owner.capitalize()}.{named}: {what}\nCall log:\n"
        lines = [re.sub("^    - ", "  -   ", line) for line in log]
        return PlaywrightError(head + "".join(f"{line}\n" for line in lines))

    def timeout(
        self, action: str, doing: str, waiting: str, reason: str, log: list[str]
    ) -> PlaywrightError:
        tried = [f"  -   waiting for element to be {waiting}", f"  -   {reason}"]
        lines = [*log, f"  - attempting {doing} action", *tried]
        for number, wait in enumerate(_RETRIES, 1):
            lines += [f"  - retrying {doing} action, attempt #{number}"]
            lines += [wait, *tried] if wait else tried
        lines += [f"  - retrying {doing} action, attempt #5", "  -   waiting 500ms"]
        return self.failure(action, "Timeout 500ms exceeded.", lines, "TimeoutError")


_DIALECT = PythonDialect("target", wait_us=500_000)


def calls_in(action: str) -> list[tuple[str, Sequence[Any], dict[str, Any]]]:
    """The calls that a text holds, with their arguments; what stands between is passed over, and so are comments."""
    found: list[tuple[str, Sequence[Any], dict[str, Any]]] = []
    action, place = action[:_LONGEST], 0
    while one := _CALL.search(action, place):
        place = one.end()
        if one[1]:
            try:
                call = ast.parse(one[1] + one[2], mode="eval").body
                assert isinstance(call, ast.Call)
                given = [ast.literal_eval(value) for value in call.args]
                named = {str(part.arg): ast.literal_eval(part.value) for part in call.keywords}
                found.append((one[1], given, named))
            except (SyntaxError, ValueError, MemoryError, RecursionError):
                place = one.start(2)
    return found


class BrowserGymCall(PlaywrightElements):
    """One step: the actions of a text, in their order, until one fails."""

    def __init__(self, turn: BrowserTurn) -> None:
        super().__init__(turn, _DIALECT)
        self._said_last: str | None = None
        """To the user."""

    def answer(self, action: str) -> Answer:
        """What is observed after an action, as `obs` of BrowserGym: `axtree_txt`, `last_action_error`, …"""
        browser, tabs = self.turn.browser, len(self.turn.browser.tabs)
        error = doing = ""
        try:
            calls = calls_in(action)
            if not calls:
                raise PlaywrightError("ValueError: Received an empty action.")
            for name, _, _ in calls:
                if name not in _ACTIONS:
                    raise PlaywrightError(f"NameError: Invalid action type '{name}'.")
            for doing, given, named in calls:
                self._do(doing, given, named)
        except PlaywrightError as failure:
            error = str(failure).replace(*_SAID.get(doing, ("", "")))
        self.turn.front()
        if len(browser.tabs) > tabs:
            browser.current = len(browser.tabs) - 1
        url, view = self.page().page.url, self.page().tree
        # Without a window, Chromium's own error page is empty.
        view = PageView(parse_document("")) if url == FAILED else view
        tree = BrowserGymTree(view)
        shown = tree.text()
        pages = [browser.page(tab) for tab in browser.tabs]
        seen = {
            "axtree_txt": shown,
            "focused_element_bid": tree.bid_of(view.focus),
            "url": url,
            "open_pages_urls": [page.url for page in pages],
            "open_pages_titles": [
                "" if page.url == FAILED else parse_document(page.html).title for page in pages
            ],
            "active_page_index": [browser.current],
            "last_action": action,
            "last_action_error": error,
        }
        text = f"{error}\n\n{shown}" if error else shown
        answer = replace(self.turn.answer(""), observation=Observation(text=text, structured=seen))
        return answer.with_values({} if self._said_last is None else {ANSWER: self._said_last})

    def _do(self, name: str, given: Sequence[Any], named: dict[str, Any]) -> None:
        try:
            told = _ACTIONS[name].bind(*given, **named).arguments
        except TypeError as error:
            raise PlaywrightError(f"TypeError: {name}() {error}") from None
        for argument, value in told.items():
            kind, types = _KINDS.get(argument, ("", object))
            if not isinstance(value, types):
                raise PlaywrightError(f"Error: {name}: {argument}: expected {kind}, got {value!r}")
        turn, browser = self.turn, self.turn.browser
        found, log = self._find(told["bid"]) if "bid" in told else (self.page().document.body, [])
        page = self.page()
        match name:
            case "click" | "dblclick":
                self.require_ready(found, log, name)
                if told.get("button", "left") == "left":
                    self._click(name, found, _list(told.get("modifiers", ())))
            case "hover":
                self._hover(found, log)
            case "drag_and_drop":
                for bid in (told["to_bid"], told["from_bid"]):
                    self._hover(*self._find(bid))
                page.press_mouse(self._find(told["from_bid"])[0])
            case "fill" | "clear":
                self.fill(found, told.get("value", ""), log)
            case "check" | "uncheck":
                self.check(found, name == "check", log)
            case "select_option":
                self.choose(found, _list(told["options"]), log)
            case "focus" | "press" | "keyboard_press":
                if "bid" in told and page.takes_focus(found):
                    page.focus(found)
                if name != "focus":
                    self._press(told.get("key") or told["key_comb"])
            case "keyboard_type":
                self.follow(page.type(str(told["text"])))
            case "upload_file":
                self._upload(found, told["file"], log)
            case "noop":
                turn.clock_us += int(min(max(told.get("wait_ms", 1000), 0), 3_600_000) * 1000)
            case "goto":
                self._goto(told["url"])
            case "go_back" | "go_forward":
                tab, before = turn.front(), turn.front().documents
                turn.move(tab, 1 if name == "go_forward" else -1)
                if tab.documents > before:
                    # BrowserGym writes what was typed into the page, so Chromium does not keep it.
                    self.page().live.values.clear()
            case "new_tab" | "tab_close":
                browser.open_tab() if name == "new_tab" else browser.close_tab(turn.front())
                turn.front()
                browser.current = len(browser.tabs) - 1
            case "tab_focus":
                tabs = browser.tabs
                if not -len(tabs) <= told["index"] < len(tabs):
                    raise PlaywrightError("IndexError: list index out of range")
                browser.current = told["index"] % len(tabs)
            case "send_msg_to_user" | "report_infeasible":
                said = told.get("text", told.get("reason"))
                if not isinstance(said, str):
                    raise PlaywrightError(f"ValueError: Forbidden value: {said} is not a string")
                self._said_last = said
            case _:  # scroll: the tree has what is out of sight too
                pass

    def follow(self, effect: Effect) -> None:
        """Goes on; a dialog is dismissed, as Playwright does where nobody listens, and no file is chosen."""
        while isinstance(effect, Modal):
            effect = None if effect.kind == "fileChooser" else self.page().answer(effect, False)
        self.turn.go_on(self.turn.front(), effect, "")

    def _find(self, bid: Any) -> tuple[Element, list[str]]:
        """The element that has a number, and the beginning of Playwright's log."""
        if not isinstance(bid, str):
            raise PlaywrightError(f"ValueError: expected a string, got {bid!r}")
        found = BrowserGymTree(self.page().tree).element_of(bid)
        if found is None:
            raise PlaywrightError(f'ValueError: Could not find element with bid "{bid}"')
        resolved = f"  -   locator resolved to {preview(found)}"
        return found, [f'waiting for get_by_test_id("{bid}")', resolved]

    def _click(self, action: str, found: Element, keys: Sequence[str]) -> None:
        for _ in range(2 if action == "dblclick" else 1):
            effect = self.page().click(found)
            if isinstance(effect, Way) and not _OPENS_TAB.isdisjoint(keys):
                effect = replace(effect, new_tab=True)
            self.follow(effect)
            if effect is not None:
                break

    def _hover(self, found: Element, log: list[str]) -> None:
        if not self.page().tree.is_visible(found):
            self.time_out("hover", "visible and stable", "element is not visible", log)

    def _press(self, key: str) -> None:
        try:
            self.follow(Keyboard(self.page()).press(key))
        except BadKey as error:
            raise PlaywrightError(f'Error: Keyboard.press: Unknown key: "{error}"') from None

    def _upload(self, found: Element, files: str | Sequence[str], log: list[str]) -> None:
        self.require_ready(found, log, "click")
        effect = self.page().click(found)
        if not (isinstance(effect, Modal) and effect.kind == "fileChooser"):
            self.follow(effect)
            what = 'waiting for event "filechooser"'
            logs = f"{'=' * 27} logs {'=' * 27}\n{what}\n{'=' * 60}"
            raise PlaywrightError(f"TimeoutError: Timeout 5000ms exceeded while {what}\n{logs}")
        chooser = self.page().document.elements[effect.element]
        paths = [normal_path(posixpath.join(self.turn.workspace, one)) for one in _list(files)]
        what = ""
        if path := next((one for one in paths if self.turn.files.read(one) is None), None):
            what = f"ENOENT: no such file or directory, access '{path}'"
        elif len(paths) > 1 and "multiple" not in chooser.attributes:
            what = "Error: Non-multiple file input can only accept single file"
        if what:
            raise PlaywrightError(f"Error: FileChooser.set_files: {what}")
        self.page().choose_files(chooser, paths)

    def _goto(self, url: str) -> None:
        log = [f'navigating to "{url}", waiting until "load"']
        try:
            address = normal_url(url)
            scheme, colon, _ = address.partition(":")
            if not colon:
                raise ValueError(url)
            if scheme not in ("http", "https", "about", "data"):
                raise LoadFailed("net::ERR_UNKNOWN_URL_SCHEME")
            self.turn.follow(self.turn.front(), Way(WebRequest(address)))
        except ValueError:
            what = "Protocol error (Page.navigate): Cannot navigate to invalid URL"
            raise _DIALECT.failure("page.goto", what, log) from None
        except LoadFailed as error:
            raise _DIALECT.failure("page.goto", f"{error} at {url}", log) from None


def _list(value: str | Sequence[Any]) -> list[str]:
    return [value] if isinstance(value, str) else [str(one) for one in value]
