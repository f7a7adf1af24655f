"""What Playwright's tools do to elements, and how it fails in Playwright's words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict

from agentworld_sim.engines.web.browser_turn import BrowserTurn
from agentworld_sim.engines.web.document import Element
from agentworld_sim.engines.web.forms import TOGGLES
from agentworld_sim.engines.web.live_state import number_of
from agentworld_sim.engines.web.locators import js_string, select
from agentworld_sim.engines.web.playwright_answers import (
    Dialect,
    PlaywrightError,
    PlaywrightReply,
    preview,
)
from agentworld_sim.engines.web.tab_page import Effect, Modal, TabPage
from agentworld_sim.errors import CannotCompute, UsageError

_REF = re.compile(r"(?:f\d+)?e\d+")
_NO_FILL = frozenset(["checkbox", "radio", "file", "submit", "button", "image", "reset", "hidden"])
_LISTED = 10
TIMEOUT_US = 5_000_000
"""What a tool waits on the world's clock for what does not come."""


class PlaywrightElements:
    """The elements of the page in front, as one call finds and changes them."""

    def __init__(self, turn: BrowserTurn, dialect: Dialect) -> None:
        self.turn, self.dialect = turn, dialect
        self.reply = PlaywrightReply(turn, dialect)
        self.said = ""
        """What the agent calls the element."""

    def page(self) -> TabPage:
        return self.turn.page(self.turn.front())

    def file(self, path: str) -> str:
        found = self.reply.path_of(path)
        if self.turn.files.read(found) is None:
            raise PlaywrightError(f"Error: ENOENT: no such file or directory, stat '{found}'")
        return found

    def element(self, target: str) -> tuple[Element, str, list[str]]:
        """The element that an argument names, its locator, and the beginning of Playwright's log."""
        page = self.page()
        if not self.dialect.is_newer or _REF.fullmatch(target):
            found = page.tree.element_of(target)
            if found is None:
                raise PlaywrightError(
                    f"Error: Ref {target} not found in the current page snapshot."
                    " Try capturing new snapshot."
                )
            written, locator = f"aria-ref={target}", page.locators.of(found)
        else:
            written, locator = target, f"locator({js_string(target)})"
            found = self._one_of(page, target)
        waiting = f"  - waiting for locator({js_string(written)})"
        return found, locator, [waiting, f"    - locator resolved to {preview(found)}"]

    def _one_of(self, page: TabPage, selector: str) -> Element:
        try:
            every = select(page.document, selector)
        except UsageError:
            raise PlaywrightError(
                f'Error: browserBackend.callTool: Unexpected token "" while parsing css selector'
                f' "{selector}". Did you mean to CSS.escape it?'
            ) from None
        if not every:
            raise PlaywrightError(f'Error: "{selector}" does not match any elements.')
        if len(every) == 1:
            return every[0]
        lines = [
            f"    {place}) {preview(one)} aka {page.locators.of(one)}"
            for place, one in enumerate(every[:_LISTED], 1)
        ]
        lines += ["    ..."] if len(every) > _LISTED else []
        what = f"Error: strict mode violation: locator({js_string(selector)}) resolved to"
        what = "\n".join([f"{what} {len(every)} elements:", *lines, ""])
        raise self.dialect.failure("", what, [f"  - waiting for locator({js_string(selector)})"])

    def require_ready(self, element: Element, log: list[str], doing: str) -> None:
        tree = self.page().tree
        reason = "enabled" if tree.is_disabled(element) else ""
        reason = reason if tree.is_visible(element) else "visible"
        if reason:
            self._time_out(doing, "visible, enabled and stable", f"element is not {reason}", log)

    def _time_out(self, doing: str, waiting: str, reason: str, log: list[str]) -> None:
        self.turn.clock_us += TIMEOUT_US
        method = {"select option": "selectOption"}.get(doing, doing)
        doing = {"dblclick": "click"}.get(doing, doing)
        raise self.dialect.timeout(f"locator.{method}", doing, waiting, reason, log)

    def fill(self, element: Element, text: str, log: list[str]) -> None:
        log = [*log, f'    - fill("{text}")']
        control = element
        if (label := element.closest("label")) and element.tag not in ("input", "textarea"):
            control = self.page().document.control_of(label) or element
        if "contenteditable" in control.attributes:
            raise CannotCompute("text in an element that is edited as a page is no value of a form")
        waiting = "visible, enabled and editable"
        wrong = _no_fill(control, text)
        if wrong:
            lines = [
                *log,
                "  - attempting fill action",
                f"    - waiting for element to be {waiting}",
            ]
            raise self.dialect.failure("locator.fill", f"Error: {wrong}", lines)
        if control.is_natively_disabled:
            self._time_out("fill", waiting, "element is not enabled", log)
        if "readonly" in control.attributes:
            self._time_out("fill", waiting, "element is not editable", log)
        self.page().focus(control)
        self.page().set_text(control, text)

    def choose(
        self, element: Element, values: Sequence[str], log: list[str], *, by_label: bool = False
    ) -> None:
        page, waiting = self.page(), "visible and enabled"
        if element.tag != "select":
            lines = [*log, "  - attempting select option action"]
            lines.append(f"    - waiting for element to be {waiting}")
            what = "Error: Element is not a <select> element"
            raise self.dialect.failure("locator.selectOption", what, lines)
        if element.is_natively_disabled:
            self._time_out("select option", waiting, "element is not enabled", log)
        chosen = [page.options(element, value, by_label=by_label)[:1] for value in values]
        if not all(chosen):
            self._time_out("select option", waiting, "did not find some options", log)
        options = [one for found in chosen for one in found]
        if any(one.is_natively_disabled for one in options):
            self._time_out("select option", waiting, "option being selected is not enabled", log)
        page.choose(element, options if "multiple" in element.attributes else options[:1])

    def check(self, element: Element, checked: bool, log: list[str]) -> None:
        page = self.page()
        control = element
        if (label := element.closest("label")) and element.tag != "input":
            control = page.document.control_of(label) or element
        if control.tag != "input" or control.type not in TOGGLES:
            raise self.dialect.failure(
                "locator.setChecked", "Error: Not a checkbox or radio button", log
            )
        if page.live.is_checked(control, page.document) == checked:
            return
        if control.type == "radio" and not checked:
            what = (
                "Error: Cannot uncheck radio button. Radio buttons can only be unchecked by selecting"
                " another radio button in the same group."
            )
            raise self.dialect.failure("locator.setChecked", what, log)
        self.require_ready(control, log, "click")
        self.follow(page.click(control))

    def follow(self, effect: Effect) -> None:
        tab = self.turn.front()
        if isinstance(effect, Modal):
            tab.modal = asdict(effect)
        else:
            self.turn.go_on(tab, effect, self.said)


def _no_fill(control: Element, text: str) -> str:
    """Why nothing can be filled in."""
    kind = control.type
    if control.tag == "input" and kind in _NO_FILL:
        return f'Input of type "{kind}" cannot be filled'
    if control.tag == "input" and kind == "number":
        is_number = not text.strip() or number_of(text.strip()) is not None
        return "" if is_number else "Cannot type text into input[type=number]"
    if control.tag == "select":
        return "Element is not an <input>, <textarea> or [contenteditable] element"
    if control.tag not in ("input", "textarea"):
        return (
            "Element is not an <input>, <textarea>, <select> or [contenteditable] and does not have a"
            " role allowing [aria-readonly]"
        )
    return ""
