"""What keys do to a page."""

from __future__ import annotations

import re

from agentworld_sim.engines.web.document import Element
from agentworld_sim.engines.web.forms import TOGGLES, is_submit_button, is_text
from agentworld_sim.engines.web.tab_page import Effect, TabPage

_NAMED_KEYS = frozenset(
    "Enter Tab Escape Backspace Delete ArrowUp ArrowDown ArrowLeft ArrowRight Home End PageUp PageDown"
    " Insert Space Shift Control Alt Meta ControlOrMeta F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12".split()
)


class BadKey(ValueError):
    """There is no such key."""


class Keyboard:
    """The keyboard in front of a page."""

    def __init__(self, page: TabPage) -> None:
        self._page = page

    def press(self, key: str) -> Effect:
        """Presses a key, `Tab`, `a`, `Shift+Tab`.

        Raises:
            BadKey: there is none.
        """
        *modifiers, key = key.split("+") if len(key) > 1 else [key]
        key = {"Space": " "}.get(key, key)
        for one in (*modifiers, key):
            if (
                len(one) != 1
                and one not in _NAMED_KEYS
                and not re.fullmatch(r"Key[A-Z]|Digit\d", one)
            ):
                raise BadKey(one)
        element = self._page.tree.focus
        match key:
            case "Tab":
                self._page.focus(self._next_stop(-1 if "Shift" in modifiers else 1))
            case "Enter":
                return self._enter(element)
            case "a" | "A" if modifiers and modifiers[0] in ("Control", "Meta", "ControlOrMeta"):
                self._page.kept["marked"] = True
            case _ if modifiers and modifiers != ["Shift"]:
                return None
            case "Backspace" | "Delete" if (
                is_text(element) and "readonly" not in element.attributes
            ):
                all_of_it = self._page.kept.pop("marked", None)
                if all_of_it or key == "Backspace":
                    self._page.set_text(
                        element, "" if all_of_it else self._page.live.value_of(element)[:-1]
                    )
            case "ArrowDown" | "ArrowUp":
                self._step(element, 1 if key == "ArrowDown" else -1)
            case " " if not is_text(element):
                if element.tag in ("button", "summary") or element.type in (
                    *TOGGLES,
                    "submit",
                    "reset",
                ):
                    return self._page.click(element)
            case _ if len(key) == 1:
                return self._page.type(key)
            case _:
                pass
        return None

    def _enter(self, element: Element) -> Effect:
        if element.tag in ("a", "button", "summary") or is_submit_button(element):
            return self._page.click(element)
        if element.tag == "textarea":
            return self._page.type("\n")
        form = self._page.document.form_of(element) if element.tag == "input" else None
        if form is None:
            return None
        forms = self._page.forms
        button = forms.submitter(form)
        if button is not None:
            return None if button.is_natively_disabled else self._click_button(button)
        return self._page.submit(form, None) if forms.sends_on_enter(form) else None

    def _click_button(self, button: Element) -> Effect:
        """A click that Enter in a field makes: the focus stays where it is."""
        before = self._page.tree.focus
        effect = self._page.click(button)
        if self._page.tree.focus is button:
            self._page.focus(before)
        return effect

    def _step(self, element: Element, by: int) -> None:
        if element.tag == "select" and "multiple" not in element.attributes:
            options = [one for one in element.descendants("option") if not one.is_natively_disabled]
            chosen = self._page.live.selected_options(element)
            at = options.index(chosen[0]) if chosen and chosen[0] in options else -1
            if options:
                self._page.choose(element, [options[min(max(at + by, 0), len(options) - 1)]])
        elif element.type == "radio" and element.tag == "input":
            group = [
                one
                for one in self._page.document.radio_group(element)
                if not one.is_natively_disabled
            ]
            self._page.focus(group[(group.index(element) + by) % len(group)])
            self._page.tree.set_checked(self._page.tree.focus, True)

    def _next_stop(self, by: int) -> Element | None:
        """The element that Tab comes to; the body behind the last one."""

        def order(element: Element) -> int:
            return element.whole_number("tabindex") or 0

        stops = [
            one
            for one in self._page.document.elements
            if self._page.takes_focus(one)
            and order(one) >= 0
            and self._page.tree.is_visible(one)
            and self._is_stop(one)
        ]
        stops.sort(key=lambda one: order(one) or 1 << 31)
        here = self._page.tree.focus
        if here in stops:
            at = stops.index(here) + by
            return stops[at] if 0 <= at < len(stops) else None
        after = [one for one in stops if (one.index - here.index) * by > 0]
        if here is self._page.document.body and by < 0:
            after = stops
        return after[0 if by > 0 else -1] if after else None

    def _is_stop(self, element: Element) -> bool:
        """Whether Tab stops at a radio button: one of each group is enough."""
        if element.tag != "input" or element.type != "radio":
            return True
        group = self._page.document.radio_group(element)
        checked = [one for one in group if self._page.live.is_checked(one, self._page.document)]
        return not checked or element in checked
