"""The accessibility tree of a page as BrowserGym writes it: Chromium's own tree, one node a line.

`browsergym-core` 0.14 marks every element with its number, which also keeps Chromium from leaving any out, and writes
the tree of the Chromium that it pins (125). Newer ones have more lines (`InlineTextBox`) and properties (`url`).
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from agentworld_sim.engines.web.document import Element
from agentworld_sim.engines.web.live_state import is_listbox, number_of
from agentworld_sim.engines.web.page_view import PageView


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pairs(text: str) -> dict[str, str]:
    return {name: role for name, role in (pair.split(":") for pair in text.split())}


_NUMBERED = _words(
    "a abbr acronym address applet area article aside audio b base basefont bdi bdo big blockquote body br button"
    " canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed"
    " fieldset figcaption figure font footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i img input"
    " ins kbd label legend li link main map mark menu meta meter nav noframes noscript object ol optgroup option output"
    " p param picture pre progress q rp rt ruby s samp script search section select small source span strike strong"
    " style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var video"
    " wbr"
)
"""The elements of HTML; those of SVG and of other languages get no number."""
_TAG_ROLES = _pairs(
    "abbr:Abbr address:group canvas:Canvas dl:DescriptionList figcaption:Figcaption label:LabelText legend:Legend"
    " s:deletion strike:deletion"
)
"""The roles that only Chromium has, and what it takes for another role than ARIA does."""
_INPUT_ROLES = _pairs("color:ColorWell date:Date")
_CHROMIUM_ROLES = _pairs(
    "cell:gridcell img:image none:generic presentation:generic document:generic"
)
_UNNAMED = _words(
    "DescriptionList Figcaption LabelText Legend LayoutTableRow figure generic list listitem paragraph row rowgroup"
)
"""Roles that nothing names but `aria-label`, `title` and the like."""
_CHECKED = _words("checkbox menuitemcheckbox menuitemradio radio switch")
_SELECTED = _words("option tab treeitem")
_LIVE = {"alert": "assertive", "status": "polite", "log": "polite"}
_ORIENTATION = _pairs(
    "listbox:vertical menu:vertical menubar:horizontal scrollbar:vertical separator:horizontal slider:horizontal"
    " tablist:horizontal toolbar:horizontal tree:vertical"
)
_SEVERAL = _words("grid listbox tablist tree treegrid")
_EXPANDABLE = _words(
    "application button checkbox columnheader combobox gridcell link listbox menuitem menuitemcheckbox menuitemradio"
    " row rowheader switch tab treeitem"
)
_LAYOUT_ROLES = {
    "table": "LayoutTable",
    "row": "LayoutTableRow",
    "gridcell": "LayoutTableCell",
    "columnheader": "LayoutTableCell",
    "rowheader": "LayoutTableCell",
    "rowgroup": "generic",
}
_MARKERS = "•◦▪"
_SPACES = re.compile(r"[ \t\n\r\f]+")
_DATE = re.compile(r"(\d{4,})-(\d\d)-(\d\d)")
_TYPED = _words("textbox searchbox combobox ColorWell Date")
_REQUIRED = _words("textbox searchbox combobox spinbutton listbox")
_ATOMIC = _words("img svg audio video canvas embed iframe object")
_FAR = 3
"""How many elements are looked at for what stands beside a space."""


class _Line(NamedTuple):
    depth: int
    bid: str
    said: str


class BrowserGymTree:
    """The tree of a page in its state of now, and the elements by their numbers (`bid`)."""

    def __init__(self, view: PageView) -> None:
        self._view, self._parts = view, view.accessibility
        self._styles = self._parts.styles
        self._lines: list[_Line] = []
        self._after_space = True
        self._layouts: dict[Element, bool] = {}
        self._bids: dict[int, str] = {}
        for element in view.document.elements:
            if element.tag in _NUMBERED:
                self._bids[element.index] = str(len(self._bids))

    def bid_of(self, element: Element) -> str:
        """The number of an element; empty if it has none."""
        return self._bids.get(element.index, "")

    def element_of(self, bid: str) -> Element | None:
        found = (index for index, number in self._bids.items() if number == bid)
        return next((self._view.document.elements[index] for index in found), None)

    def text(self) -> str:
        """The tree, a node a line, indented by tabs."""
        title = self._view.document.title
        self._lines = [_Line(0, "", f"RootWebArea {title!r}, focused")]
        self._add(self._view.document.body, 1, "", False)
        return "\n".join(
            "\t" * depth + (f"[{bid}] " if bid else "") + said for depth, bid, said in self._lines
        )

    def _add(self, element: Element, depth: int, above: str, kept: bool) -> None:
        """Adds an element with all that is in it.

        Args:
            depth: How deep its line stands.
            above: The name of the node around it.
            kept: Whether spaces are kept as they are written.
        """
        style = self._styles.of[element.index]
        in_select = element.tag in ("option", "optgroup") and element.closest("select")
        if not style.rendered and not in_select:
            return
        breaks = element.tag == "br" or (style.display != "inline" and not element.in_svg)
        if breaks:
            self._after_space = True
        shown = style.visible and (not style.aria_hidden or self._takes_focus(element))
        name = ""
        if shown and element.tag != "br":
            role = self._role_of(element)
            name = self._name_of(element, role)
            value = self._value_of(element, role)
            properties = self._properties_of(element, role)
            if role != "generic" or properties:
                said = role if role == "generic" and not name else f"{role} {name.strip()!r}"
                said += "" if value is None else f" value={value!r}"
                said = ", ".join([said, *properties])
                self._lines.append(_Line(depth, self.bid_of(element), said))
                depth += 1
            self._add_inside(element, role, value, depth)
        kept = kept or element.tag == "pre"
        self._add_content(element, depth, name, kept)
        if breaks or element.tag in _ATOMIC:
            self._after_space = element.tag not in _ATOMIC and not style.display.startswith(
                "inline-"
            )

    def _add_content(self, element: Element, depth: int, name: str, kept: bool) -> None:
        style = self._styles.of[element.index]
        if element.tag in ("textarea", "input", "option", "iframe", "title"):
            return
        silent = element.tag in ("select", "optgroup") or (
            element.tag == "details" and not self._view.live.is_open(element)
        )
        hears = style.visible and not style.aria_hidden and not silent
        if hears and (text := self._styles.content(element, "before").strip()):
            self._say(depth, text)
        for place, child in enumerate(element.children):
            if not isinstance(child, str):
                self._add(child, depth, name, kept)
            elif child and hears:
                self._add_text(element, place, depth, name, kept)
        if hears and (text := self._styles.content(element, "after").strip()):
            self._say(depth, text)

    def _say(self, depth: int, text: str) -> None:
        self._lines.append(_Line(depth, "", f"StaticText {text.strip()!r}"))
        self._after_space = False

    def _add_text(self, element: Element, place: int, depth: int, above: str, kept: bool) -> None:
        text: str = element.children[place]  # pyright: ignore[reportAssignmentType]  it was looked at
        if not kept:
            text = _SPACES.sub(" ", text)
            if text == " " and (
                self._means_nothing(element, place, -1) or self._means_nothing(element, place, 1)
            ):
                return
            if self._after_space and text.startswith(" "):
                text = text[1:]
            if self._ends_line(element, place):
                text = text.removesuffix(" ")
            if not text:
                return
        after_space = text.endswith(" ")
        if text not in above:
            self._say(depth, text)
        self._after_space = after_space

    def _ends_line(self, element: Element, place: int) -> bool:
        """Whether nothing of the same line follows."""
        around: Element | None = element
        while around is not None:
            for child in around.children[place + 1 :]:
                if isinstance(child, str):
                    if child.strip():
                        return False
                elif self._styles.of[child.index].rendered:
                    return child.tag == "br" or self._styles.of[child.index].display in (
                        "block",
                        "flex",
                        "grid",
                        "table",
                        "list-item",
                    )
            if self._styles.of[around.index].display != "inline" or around.parent is None:
                return True
            place, around = around.parent.children.index(around), around.parent
        return True

    def _means_nothing(self, element: Element, place: int, way: int) -> bool:
        """Whether a space beside what stands before (-1) or behind (1) it separates no texts."""
        around: Element | None = element
        while around is not None:
            beside = place + way
            if 0 <= beside < len(around.children):
                return self._stands_alone(around, beside, way)
            place = -1 if around.parent is None else around.parent.children.index(around)
            around = around.parent
        return True

    def _stands_alone(self, around: Element, place: int, way: int, steps: int = 0) -> bool:
        child = around.children[place]
        if isinstance(child, str):
            return not child or child[::way][0].isspace()
        style = self._styles.of[child.index]
        if (
            not style.rendered
            or style.display != "inline"
            or child.tag == "br"
            or child.tag in _ATOMIC
        ):
            return True
        if steps > _FAR:
            return False
        if child.children:
            return self._stands_alone(
                child, 0 if way > 0 else len(child.children) - 1, way, steps + 1
            )
        if self._styles.content(child, "before" if way > 0 else "after"):
            return False
        beside = place + way
        return 0 <= beside < len(around.children) and self._stands_alone(
            around, beside, way, steps + 1
        )

    def _add_inside(self, element: Element, role: str, value: object, depth: int) -> None:
        """Adds what Chromium itself puts into an element: markers, typed values, parts of controls."""
        if element.tag == "li" and self._styles.of[element.index].display == "list-item":
            if self._parts.boxes.has_marker(element):
                self._lines.append(_Line(depth, "", f"ListMarker {_marker(element)!r}"))
        elif element.tag in ("input", "textarea"):
            if role == "Date":
                self._add_date(element, depth)
            elif element.type == "file":
                self._lines.append(_Line(depth, "", "button 'Choose File', hidden=True"))
            elif value is not None and role in ("textbox", "searchbox", "combobox", "spinbutton"):
                self._say(depth, f"{value}")

    def _add_date(self, element: Element, depth: int) -> None:
        written = _DATE.fullmatch(self._view.live.value_of(element))
        year, month, day = written.groups() if written else ("", "", "")
        parts = (("Month", month, "mm", 12), ("Day", day, "dd", 31), ("Year", year, "yyyy", 275760))
        for name, text, empty, most in parts:
            if name != "Month":
                self._say(depth, "/")
            said = f"spinbutton {name!r} value={int(text or 0)}, valuemin=1, valuemax={most}"
            self._lines.append(_Line(depth, self.bid_of(element), f"{said}, valuetext={text!r}"))
            self._say(depth + 1, text or empty)

    def _role_of(self, element: Element) -> str:
        tag, written = element.tag, self._parts.roles.of[element.index]
        role = written or "generic"
        if "role" not in element.attributes or role in ("none", "presentation"):
            if tag == "summary" and element.parent is not None and element.parent.tag == "details":
                return "DisclosureTriangle"
            if tag == "input":
                role = _INPUT_ROLES.get(element.type, role)
            elif tag == "svg":
                texts = any(one.text_content().strip() for one in element.descendants("text"))
                role = "SvgRoot" if texts and not self._parts.names.name_of(element).text else "img"
            elif tag == "img":
                role = "img"
            elif (tag == "li" and not _is_item(element)) or (
                tag == "abbr" and "title" not in element.attributes
            ):
                role = "generic"
            else:
                role = _TAG_ROLES.get(tag, role)
        declared = self._styles.declared.get(element.index, {})
        if role == "generic" and declared.get("content", "").startswith("url("):
            return "image"
        role = _CHROMIUM_ROLES.get(role, role)
        if role in _LAYOUT_ROLES and "role" not in element.attributes:
            table = element.closest("table")
            if table is not None and table not in self._layouts:
                self._layouts[table] = _is_layout(table)
            if table is not None and self._layouts[table]:
                role = _LAYOUT_ROLES[role]
        return role

    def _name_of(self, element: Element, role: str) -> str:
        if role in ("StaticText", "SvgRoot"):
            return ""
        if (
            element.tag == "input"
            and element.type in ("submit", "reset", "button")
            and not element.get("value").strip()
        ):
            return element.get("aria-label")
        if role in _UNNAMED:
            return element.get("aria-label")
        if native := {"abbr": "title", "optgroup": "label"}.get(element.tag):
            return element.get(native)
        if self._styles.of[element.index].aria_hidden:
            return element.get("aria-label") or " ".join(element.text_content().split())
        return self._parts.names.name_of(element).text

    def _value_of(self, element: Element, role: str) -> object:
        """What a control holds; `None` where nothing is said of it."""
        live, tag, kind = self._view.live, element.tag, element.type
        if tag == "select" and not is_listbox(element):
            chosen = live.selected_options(element)
            return " ".join(chosen[0].text_content().split()) if chosen else None
        if tag in ("meter", "progress"):
            return _number(element.get("value")) if "value" in element.attributes else None
        if tag == "input" and kind == "file":
            return "No file chosen"
        if tag == "input" and role in ("spinbutton", "slider"):
            return _number(live.value_of(element))
        if tag == "textarea" or (tag == "input" and role in _TYPED):
            value = live.value_of(element)
            return ("•" * len(value) if kind == "password" else value) or None
        return None

    def _properties_of(self, element: Element, role: str) -> list[str]:
        """What is said behind the name and the value, in Chromium's order."""
        attributes, tag, found = element.attributes, element.tag, list[str]()

        def tell(name: str, value: object) -> None:
            found.append(f"{name}={value!r}")

        politeness = attributes.get("aria-live", _LIVE.get(role, "off"))
        if politeness in ("polite", "assertive"):
            tell("live", politeness)
            if attributes.get("aria-atomic", str(role in ("alert", "status"))).lower() == "true":
                found.append("atomic")
            tell("relevant", attributes.get("aria-relevant", "additions text"))
        disabled = self._is_disabled(element)
        if disabled:
            tell("disabled", True)
        if self._styles.of[element.index].aria_hidden and tag not in ("option", "optgroup"):
            tell("hidden", True)
        if self._view.focus is element and element is not self._view.document.body:
            found.append("focused")
        if tag == "input" and role == "combobox":
            found += ["autocomplete='list'", "hasPopup='listbox'"]
        is_menu = tag == "select" and not is_listbox(element)
        if popup := attributes.get("aria-haspopup", "menu" if is_menu else ""):
            if popup != "false":
                tell("hasPopup", "menu" if popup == "true" else popup)
        if role in _SEVERAL:
            tell(
                "multiselectable",
                "multiple" in attributes or attributes.get("aria-multiselectable") == "true",
            )
        if role in _ORIENTATION:
            tell("orientation", attributes.get("aria-orientation", _ORIENTATION[role]))
        is_required = "required" in attributes and role in _REQUIRED and not is_menu
        if is_required or attributes.get("aria-required") == "true":
            found.append("required")
        if role in ("spinbutton", "slider", "progressbar", "meter"):
            most = {
                "spinbutton": "0",
                "meter": "1",
                "progressbar": "1" if tag == "progress" else "100",
            }
            tell(
                "valuemin",
                _number(attributes.get("min", attributes.get("aria-valuemin", "0"))) or 0,
            )
            upper = attributes.get("max", attributes.get("aria-valuemax", most.get(role, "100")))
            tell("valuemax", _number(upper) or 0)
            tell("valuetext", attributes.get("aria-valuetext", ""))
        if role in _CHECKED:
            tell("checked", self._checked(element))
        if role == "DisclosureTriangle":
            assert element.parent is not None
            tell("expanded", self._view.live.is_open(element.parent))
        elif is_menu:
            tell("expanded", False)
        elif role in _EXPANDABLE and attributes.get("aria-expanded") in ("true", "false"):
            tell("expanded", attributes["aria-expanded"] == "true")
        if role == "button" and (pressed := attributes.get("aria-pressed")) in (
            "true",
            "false",
            "mixed",
        ):
            tell("pressed", pressed)
        if role in _SELECTED and not disabled:
            select = element.closest("select") if tag == "option" else None
            tell(
                "selected",
                element in self._view.live.selected_options(select)
                if select is not None
                else attributes.get("aria-selected") == "true",
            )
        if role in ("dialog", "alertdialog"):
            tell("modal", attributes.get("aria-modal") == "true")
        for relation in ("controls", "describedby"):
            if others := attributes.get(f"aria-{relation}"):
                tell(relation, others)
        if tag == "figure" and element.child("figcaption") is not None:
            tell("details", "")
        return found

    def _checked(self, element: Element) -> str:
        if element.tag == "input" and element.type in ("checkbox", "radio"):
            return str(self._view.live.is_checked(element, self._view.document)).lower()
        return element.attributes.get("aria-checked", "false")

    def _takes_focus(self, element: Element) -> bool:
        if "tabindex" in element.attributes:
            return True
        if element.tag == "a":
            return "href" in element.attributes
        return (
            element.tag in ("button", "input", "select", "textarea")
            and not element.is_natively_disabled
        )

    def _is_disabled(self, element: Element) -> bool:
        if element.is_natively_disabled:
            return True
        for around in element.chain():
            written = around.attributes.get("aria-disabled", "").lower()
            if written in ("true", "false"):
                return written == "true" and (around is element or self._takes_focus(element))
        return False


def _number(written: str) -> int | float | None:
    """A number as Chromium keeps it, in 32 bits; `None` where none is written."""
    found = number_of(written.strip())
    if found is None or abs(found) > 3e38:
        return None
    value: float = struct.unpack("f", struct.pack("f", float(found)))[0]
    return int(value) if value.is_integer() else value


def _is_item(item: Element) -> bool:
    around = item.parent
    return around is not None and around.tag in ("ul", "ol", "menu") and not around.get("role")


def _marker(item: Element) -> str:
    lists = [one.tag for one in item.chain() if one.tag in ("ul", "ol", "menu")]
    if lists and lists[0] == "ol":
        # Marking writes the value that each item has of its own into the page, which is 0.
        return f"{item.whole_number('value') or 0}."
    return _MARKERS[min(max(len(lists), 1), 3) - 1]


def _is_layout(table: Element) -> bool:
    """Whether Chromium takes a table for a means of layout."""
    if {"role", "summary", "aria-label"} & set(table.attributes):
        return False
    if next(table.descendants("caption", "thead", "tfoot", "col", "colgroup"), None) is not None:
        return False
    cells = list(table.descendants("td", "th"))
    if len(cells) <= 1:
        return True
    return not any(
        one.tag == "th" or {"headers", "scope", "abbr"} & set(one.attributes) for one in cells
    )
