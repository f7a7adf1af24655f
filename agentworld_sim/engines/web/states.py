"""The states of an accessibility node, as they are written in a snapshot."""

from __future__ import annotations

import re
from typing import Literal

from agentworld_sim.engines.web.document import Document, Element
from agentworld_sim.engines.web.live_state import LiveState


def _roles(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CHECKED = _roles("checkbox menuitemcheckbox menuitemradio option radio switch treeitem")
_DISABLED = _roles(
    "application button checkbox columnheader combobox composite grid gridcell group input link listbox menu menubar"
    " menuitem menuitemcheckbox menuitemradio option radio radiogroup row rowheader scrollbar searchbox select"
    " separator slider spinbutton switch tab tablist textbox toolbar tree treegrid treeitem"
)
_EXPANDED = _roles(
    "application button checkbox columnheader combobox gridcell link listbox menuitem menuitemcheckbox menuitemradio"
    " row rowheader switch tab treeitem"
)
_INVALID = _roles(
    "application checkbox columnheader combobox gridcell listbox radiogroup rowheader searchbox slider spinbutton"
    " switch textbox tree"
)
_LEVEL = _roles("heading listitem row treeitem")
_SELECTED = _roles("columnheader gridcell option row rowheader tab treeitem")
_STATEFUL = _CHECKED | _DISABLED | _EXPANDED | _INVALID | _LEVEL | _SELECTED
_HEADING = re.compile("h[1-6]")


def is_disabled(element: Element, role: str | None) -> bool:
    """Whether an element is disabled: natively, or by `aria-disabled` on it or around it."""
    if element.is_natively_disabled:
        return True
    if role not in _DISABLED:
        return False
    for around in element.chain():
        written = around.attributes.get("aria-disabled", "").lower()
        if written in ("true", "false"):
            return written == "true"
    return False


class States:
    """The states of a page's elements, in the order in which they are written: `checked`, `disabled`, `level=2`, …"""

    def __init__(self, document: Document, live: LiveState, old_rules: bool) -> None:
        self._document = document
        self._live = live
        self._old_rules = old_rules
        self._chosen: dict[Element, set[Element]] = {}

    def begin(self) -> None:
        """Forgets what selects had chosen when the last tree was built."""
        self._chosen = {}

    def of(self, element: Element, role: str, active: bool) -> tuple[str, ...]:
        if role not in _STATEFUL:
            return ("active",) if active else ()
        attributes = element.attributes
        found: list[str] = []
        if role in _CHECKED and (checked := self._check_of(element)):
            found.append("checked" if checked is True else "checked=mixed")
        if role in _DISABLED and is_disabled(element, role):
            found.append("disabled")
        if role in _EXPANDED and attributes.get("aria-expanded") == "true":
            found.append("expanded")
        if active:
            found.append("active")
        if role in _INVALID and not self._old_rules:
            written = attributes.get("aria-invalid", "")
            if written.strip() and written.lower() != "false":
                special = written in ("grammar", "spelling")
                found.append(f"invalid={written}" if special else "invalid")
        if role in _LEVEL and (level := _level(element)):
            found.append(f"level={level}")
        if role == "button" and (pressed := attributes.get("aria-pressed")) in ("true", "mixed"):
            found.append("pressed" if pressed == "true" else "pressed=mixed")
        if role in _SELECTED and self._is_selected(element):
            found.append("selected")
        return tuple(found)

    def _check_of(self, element: Element) -> bool | Literal["mixed"]:
        if element.tag == "input" and element.type in ("checkbox", "radio"):
            return self._live.is_checked(element, self._document)
        written = element.attributes.get("aria-checked")
        return "mixed" if written == "mixed" else written == "true"

    def _is_selected(self, element: Element) -> bool:
        if element.tag != "option":
            return element.get("aria-selected").lower() == "true"
        select = element.closest("select")
        if select is None:
            return False
        if select not in self._chosen:
            self._chosen[select] = set(self._live.selected_options(select))
        return element in self._chosen[select]


def _level(element: Element) -> int:
    if _HEADING.fullmatch(element.tag):
        return int(element.tag[1])
    return max(element.whole_number("aria-level") or 0, 0)
