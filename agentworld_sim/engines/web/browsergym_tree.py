"""The accessibility tree of a page as BrowserGym writes it: Chromium's own tree, one node a line.

`browsergym-core` 0.14 gives every element a number and a description, so that Chromium leaves none out, and writes the
tree of the Chromium that it pins (125). Newer ones have more lines (`InlineTextBox`) and properties (`url`).
"""

from __future__ import annotations

import re
import struct
from typing import Any

from agentworld_sim.engines.web.document import Element
from agentworld_sim.engines.web.live_state import is_listbox, number_of
from agentworld_sim.engines.web.page_view import PageView
from agentworld_sim.engines.web.roles import is_focusable


def _pairs(text: str) -> dict[str, str]:
    return {name: role for name, role in (pair.split(":") for pair in text.split())}


_BY_TAG = _pairs(
    "address:group canvas:Canvas dl:DescriptionList figcaption:Figcaption img:image label:LabelText legend:Legend"
    " s:deletion strike:deletion"
)
"""The roles that Chromium alone has, and those that it gives to other elements than Playwright does."""
_BY_ROLE = _pairs("cell:gridcell img:image none:generic presentation:generic document:generic")
_UNNAMED = frozenset(
    "DescriptionList Figcaption LabelText Legend SvgRoot figure list listitem paragraph row rowgroup".split()
)
"""Roles that only `aria-label` names."""
_TYPED = frozenset("ColorWell Date combobox searchbox textbox".split())
_TEXTS = frozenset("combobox searchbox spinbutton textbox".split())
_RANGES = {"spinbutton": 0, "slider": 100, "progressbar": 100, "meter": 1}
"""With the upper end where none is written."""
_REQUIRED = frozenset("combobox listbox searchbox spinbutton textbox".split())
_CHECKED = frozenset("checkbox menuitemcheckbox menuitemradio radio switch".split())
_SELECTED = frozenset("option tab treeitem".split())
_SEVERAL = frozenset("grid listbox tablist tree treegrid".split())
_LIVE = {"alert": "assertive", "status": "polite", "log": "polite"}
_ORIENTATION = _pairs(
    "listbox:vertical menu:vertical menubar:horizontal scrollbar:vertical separator:horizontal slider:horizontal"
    " tablist:horizontal toolbar:horizontal tree:vertical"
)
_FLAGS = frozenset("atomic focused required".split())
"""Properties without a value; they are said or not."""
_MARKERS = "•◦▪"
_SPACES = re.compile(r"[ \t\n\r\f]+")
_DATE = re.compile(r"(\d{4,})-(\d\d)-(\d\d)")
_ATOMIC = frozenset("audio canvas embed iframe img object svg video".split())


class BrowserGymTree:
    """The tree of a page as it is now, and its elements by their numbers (`bid`)."""

    def __init__(self, view: PageView) -> None:
        self._view, self._parts = view, view.accessibility
        self._styles = self._parts.styles
        self._lines: list[str] = []
        self._after_space = True
        numbered = [one for one in view.document.elements if not one.in_svg or one.tag == "a"]
        numbered = [one for one in numbered if one.tag not in ("iframe", "frame")]
        self._bids = {one.index: str(number) for number, one in enumerate(numbered)}

    def bid_of(self, element: Element) -> str:
        """The number of an element; empty if it has none."""
        return self._bids.get(element.index, "")

    def element_of(self, bid: str) -> Element | None:
        every = self._view.document.elements
        return next((one for one in every if self._bids.get(one.index) == bid), None)

    def text(self) -> str:
        """The tree, a node a line, indented by tabs."""
        self._lines = []
        self._say(0, "RootWebArea", self._view.document.title, focused=True)
        self._add(self._view.document.body, 1, False)
        return "\n".join(self._lines)

    def _say(
        self, depth: int, role: str, name: str, bid: str = "", value: Any = None, **properties: Any
    ) -> None:
        said = f"[{bid}] {role}" if bid else role
        said += "" if role == "generic" and not name else f" {name.strip()!r}"
        said += "" if value is None else f" value={value!r}"
        told = {name: one for name, one in properties.items() if one is not None}
        parts = [name if name in _FLAGS else f"{name}={one!r}" for name, one in told.items()]
        self._lines.append("\t" * depth + ", ".join([said, *parts]))

    def _say_text(self, depth: int, text: str) -> None:
        self._say(depth, "StaticText", text)
        self._after_space = False

    def _add(self, element: Element, depth: int, kept: bool) -> None:
        """Adds an element with all that is in it; `kept`: spaces stay as they are written."""
        style, tag = self._styles.of[element.index], element.tag
        if not style.rendered and not (tag in ("option", "optgroup") and element.closest("select")):
            return
        breaks = tag == "br" or (style.display != "inline" and not element.in_svg)
        self._after_space = self._after_space or breaks
        name = ""
        if tag != "br" and style.visible and (not style.aria_hidden or is_focusable(element)):
            role = self._role_of(element)
            name, value = self._name_of(element, role), self._value_of(element, role)
            properties = self._properties_of(element, role)
            if role != "generic" or any(one is not None for one in properties.values()):
                self._say(depth, role, name, self.bid_of(element), value, **properties)
                depth += 1
            self._add_own(element, role, value, depth)
        if tag not in ("textarea", "input", "option", "iframe", "title"):
            self._add_content(element, depth, name, kept or tag == "pre")
        if breaks or tag in _ATOMIC:
            self._after_space = tag not in _ATOMIC and not style.display.startswith("inline-")

    def _add_content(self, element: Element, depth: int, name: str, kept: bool) -> None:
        style, styles = self._styles.of[element.index], self._styles
        silent = element.tag in ("select", "optgroup")
        silent = silent or (element.tag == "details" and not self._view.live.is_open(element))
        heard = style.visible and not style.aria_hidden and not silent
        if heard and (text := styles.content(element, "before")).strip():
            self._say_text(depth, text)
        for place, child in enumerate(element.children):
            if not isinstance(child, str):
                self._add(child, depth, kept)
            elif child and heard and (text := child if kept else self._line_text(element, place)):
                if text not in name:
                    self._say_text(depth, text)
                self._after_space = text.endswith(" ")
        if heard and (text := styles.content(element, "after")).strip():
            self._say_text(depth, text)

    def _line_text(self, element: Element, place: int) -> str:
        """A text as it stands in its line."""
        text = _SPACES.sub(" ", str(element.children[place]))
        if text == " " and (self._ends(element, place, -1) or self._ends(element, place, 1)):
            return ""
        return text.removeprefix(" ") if self._after_space else text

    def _ends(self, element: Element, place: int, way: int) -> bool:
        """Whether a space separates no texts, because of what stands before (-1) or behind (1) it."""
        while not 0 <= place + way < len(element.children):
            if element.parent is None:
                return True
            place, element = element.parent.children.index(element), element.parent
        return self._stands_alone(element, place + way, way)

    def _stands_alone(self, around: Element, place: int, way: int) -> bool:
        child = around.children[place]
        if isinstance(child, str):
            return not child or child[::way][0].isspace()
        style = self._styles.of[child.index]
        if not style.rendered or style.display != "inline" or child.tag in ("br", *_ATOMIC):
            return True
        edge = 0 if way > 0 else len(child.children) - 1
        return bool(child.children) and self._stands_alone(child, edge, way)

    def _add_own(self, element: Element, role: str, value: Any, depth: int) -> None:
        """Adds what Chromium itself puts into an element: its marker, what was typed, the parts of a control."""
        if element.tag == "li":
            is_item = self._styles.of[element.index].display == "list-item"
            if is_item and self._parts.boxes.has_marker(element):
                self._say(depth, "ListMarker", _marker(element))
        elif role == "Date":
            written = _DATE.fullmatch(value or "")
            year, month, day = written.groups() if written else ("", "", "")
            for name, text, most in ("Month", month, 12), ("Day", day, 31), ("Year", year, 275760):
                if name != "Month":
                    self._say_text(depth, "/")
                limits = {"valuemin": 1, "valuemax": most, "valuetext": text}
                self._say(depth, "spinbutton", name, self.bid_of(element), int(text or 0), **limits)
                self._say_text(
                    depth + 1, text or ("yyyy" if name == "Year" else name[0].lower() * 2)
                )
        elif element.tag == "input" and element.type == "file":
            self._say(depth, "button", "Choose File", hidden=True)
        elif value is not None and role in _TEXTS and element.tag != "select":
            self._say_text(depth, str(value))

    def _role_of(self, element: Element) -> str:
        tag, role = element.tag, self._parts.roles.of[element.index] or "generic"
        if element.get("role") in ("", "none", "presentation"):
            if tag == "summary" and element.parent is not None and element.parent.tag == "details":
                return "DisclosureTriangle"
            if tag == "abbr":
                return "Abbr" if "title" in element.attributes else "generic"
            if tag == "svg":
                texts = any(one.text_content().strip() for one in element.descendants("text"))
                named = self._parts.names.name_of(element).text
                return "SvgRoot" if texts and not named else "image"
            if tag == "input" and element.type in ("color", "date"):
                return "ColorWell" if element.type == "color" else "Date"
            role = _BY_TAG.get(tag, role)
        declared = self._styles.declared.get(element.index, {})
        is_image = role == "generic" and declared.get("content", "").startswith("url(")
        return "image" if is_image else _BY_ROLE.get(role, role)

    def _name_of(self, element: Element, role: str) -> str:
        is_button = element.tag == "input" and element.type in ("submit", "reset", "button")
        is_plain = role == "generic" and "tabindex" not in element.attributes
        if is_plain or role in _UNNAMED or (is_button and not element.get("value").strip()):
            return element.get("aria-label")
        if native := {"abbr": "title", "optgroup": "label"}.get(element.tag):
            return element.get(native)
        if role == "generic" or self._styles.of[element.index].aria_hidden:
            return element.get("aria-label") or " ".join(element.text_content().split())
        return self._parts.names.name_of(element).text

    def _value_of(self, element: Element, role: str) -> str | int | float | None:
        """What a control holds; `None` where nothing is said of it."""
        live, tag, kind = self._view.live, element.tag, element.type
        if tag == "select" and not is_listbox(element):
            chosen = live.selected_options(element)
            return " ".join(chosen[0].text_content().split()) if chosen else None
        if tag in ("meter", "progress"):
            return _number(element.get("value"))
        if tag not in ("input", "textarea"):
            return None
        if kind == "file":
            return "No file chosen"
        value = live.value_of(element)
        if role in _RANGES:
            return _number(value)
        if role not in _TYPED:
            return None
        return ("•" * len(value) if kind == "password" else value) or None

    def _properties_of(self, element: Element, role: str) -> dict[str, Any]:
        """What is said behind the name and the value, in Chromium's order; `None` where it is not said."""
        has, live, tag = element.attributes, self._view.live, element.tag
        is_menu = tag == "select" and not is_listbox(element)
        suggests = tag == "input" and role == "combobox"
        hidden = self._styles.of[element.index].aria_hidden and tag not in ("option", "optgroup")
        disabled = self._view.is_disabled(element) or has.get("aria-disabled") == "true"
        focused = self._view.focus is element and tag != "body"
        required = "required" in has and role in _REQUIRED and not is_menu
        popup = has.get("aria-haspopup", "menu" if is_menu else "")
        expanded = has.get("aria-expanded") if role != "generic" else None
        found: dict[str, Any] = {}
        if (live_as := has.get("aria-live", _LIVE.get(role))) in ("polite", "assertive"):
            atomic = role in ("alert", "status") or None
            relevant = has.get("aria-relevant", "additions text")
            found = {"live": live_as, "atomic": atomic, "relevant": relevant}
        found |= {
            "disabled": disabled or None,
            "hidden": hidden or None,
            "focused": focused or None,
            "autocomplete": "list" if suggests else None,
            "hasPopup": "listbox" if suggests else {"true": "menu"}.get(popup, popup) or None,
        }
        if role in _SEVERAL:
            multiple = "multiple" in has or has.get("aria-multiselectable") == "true"
            found["multiselectable"] = multiple
        found["orientation"] = has.get("aria-orientation", _ORIENTATION.get(role))
        found["required"] = required or has.get("aria-required") == "true" or None
        if role in _RANGES:
            upper = 1 if tag == "progress" else _RANGES[role]
            found["valuemin"] = _number(has.get("min", has.get("aria-valuemin", ""))) or 0
            found["valuemax"] = _number(has.get("max", has.get("aria-valuemax", ""))) or upper
            found["valuetext"] = has.get("aria-valuetext", "")
        if role in _CHECKED:
            is_native = tag == "input" and element.type in ("checkbox", "radio")
            state = live.is_checked(element, self._view.document) if is_native else None
            said = has.get("aria-checked", False) if state is None else state
            found["checked"] = str(said).lower()
        if role == "DisclosureTriangle" and element.parent is not None:
            found["expanded"] = live.is_open(element.parent)
        elif is_menu or expanded in ("true", "false"):
            found["expanded"] = expanded == "true"
        found["pressed"] = has.get("aria-pressed")
        if role in _SELECTED and not disabled:
            select = element.closest("select")
            options = [] if select is None else live.selected_options(select)
            found["selected"] = element in options or has.get("aria-selected") == "true"
        if role in ("dialog", "alertdialog"):
            found["modal"] = has.get("aria-modal") == "true"
        relations = {name: has.get(f"aria-{name}") for name in ("controls", "describedby")}
        return found | relations


def _number(written: str) -> int | float | None:
    """A number as Chromium keeps it, in 32 bits; `None` where none is written."""
    found = number_of(written.strip())
    if found is None or abs(found) > 1 << 127:
        return None
    value: float = struct.unpack("f", struct.pack("f", float(found)))[0]
    return int(value) if value.is_integer() else value


def _marker(item: Element) -> str:
    lists = [one.tag for one in item.chain() if one.tag in ("ul", "ol", "menu")]
    if lists[:1] == ["ol"]:
        # BrowserGym writes the value of each item into the page, which is 0 where none was given.
        return f"{item.whole_number('value') or 0}."
    return _MARKERS[min(max(len(lists), 1), len(_MARKERS)) - 1]
