"""Which elements take room on the screen: a guess without layout.

A browser measures rectangles; here an element takes room if its style gives it some, or something in it takes room.
"""

from __future__ import annotations

import re

from agentworld_sim.engines.web.cascade import FLEXIBLE, Declared, Style, Styles
from agentworld_sim.engines.web.document import Element

_REPLACED = frozenset(
    "audio button canvas embed hr iframe img input meter object progress select svg textarea video".split()
)
_ALWAYS = frozenset("dialog fieldset option summary td th".split())
_SHAPES = frozenset("circle ellipse image line path polygon polyline rect text tspan use".split())
_SVG_HIDDEN = frozenset("clipPath defs desc linearGradient marker mask metadata pattern radialGradient symbol title".split())
_ZERO = re.compile(r"-?(?:0+\.?0*|\.0+)(?:[a-z]+|%)?")
_DECIMAL = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORD = re.compile("[^ \t\n\r\f\u200b]")
_VERTICAL = (
    "padding padding-top padding-bottom border border-width border-top border-top-width border-bottom"
    " border-bottom-width"
).split()
_HORIZONTAL = (
    "padding padding-left padding-right border border-width border-left border-left-width border-right"
    " border-right-width"
).split()
_NO_BORDER = frozenset("none hidden initial unset".split())


class Boxes:
    """What takes room, of each element by its number."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        elements = styles.document.elements
        self._room = bytearray(len(elements))
        """Whether the element takes room, shown or `visibility: hidden`."""
        for element in reversed(elements):  # children before their parents
            style = styles.of[element.index]
            if style.rendered and not style.flat:
                declared = styles.declared.get(element.index, {})
                self._room[element.index] = self._takes_room(element, style, declared)

    def is_visible(self, element: Element) -> bool:
        """Whether the element has a box that is wider and higher than nothing, and shown."""
        style = self._styles.of[element.index]
        if style.display == "contents":
            return any(
                self.is_visible(child)
                if isinstance(child, Element)
                else bool(_WORD.search(child)) and style.rendered
                for child in element.children
            )
        return bool(self._room[element.index]) and style.visible

    def _takes_room(self, element: Element, style: Style, declared: Declared) -> bool:
        tag, inline = element.tag, style.display == "inline"
        if element.in_svg:
            return self._svg_room(element)
        if tag == "col" or tag == "colgroup":
            table = element.closest("table")
            return table is not None and next(table.descendants("tr"), None) is not None
        if not declared:
            if tag in _REPLACED or tag in _ALWAYS or (tag == "li" and self._has_marker(element)):
                return True
            return self._content_takes_room(element, style, declared)
        high = any(_is_length(declared.get(name)) for name in _VERTICAL)
        wide = any(_is_length(declared.get(name)) for name in _HORIZONTAL)
        if not inline or tag in _REPLACED:
            heights = (declared.get("height"), declared.get("max-height"))
            widths = (declared.get("width"), declared.get("max-width"))
            if any(map(_is_zero, heights)) and not high or any(map(_is_zero, widths)) and not wide:
                return False
            high = high or _is_length(declared.get("height")) or _is_length(declared.get("min-height"))
            wide = wide or _is_length(declared.get("width")) or _is_length(declared.get("min-width"))
        if tag in _REPLACED or tag in _ALWAYS or (tag == "li" and self._has_marker(element)):
            return True
        if declared.get("content", "").startswith("url("):
            return True
        if inline:
            return wide or self._content_takes_room(element, style, declared)
        out_of_flow = declared.get("position") in ("absolute", "fixed")
        if out_of_flow:
            inset = _is_set(declared.get("inset"))
            high = high or inset or _is_set(declared.get("top")) and _is_set(declared.get("bottom"))
            wide = wide or inset or _is_set(declared.get("left")) and _is_set(declared.get("right"))
        shrinks = (
            out_of_flow
            or style.display.startswith(("inline", "table"))
            or declared.get("float") in ("left", "right")
        )
        if high and (wide or not shrinks):
            return True
        parent = element.parent
        if parent is not None and self._styles.of[parent.index].display in FLEXIBLE and not out_of_flow:
            # It is stretched along the other axis, if there is anything else in the box.
            if high or wide or _is_length(declared.get("flex")) or _is_length(declared.get("flex-grow")):
                return True
        return self._content_takes_room(element, style, declared)

    def _content_takes_room(self, element: Element, style: Style, declared: Declared) -> bool:
        styles = self._styles
        for child in element.children:
            if isinstance(child, str):
                if child and _WORD.search(child):
                    return True
                continue
            if child.tag == "br" and styles.of[child.index].rendered:
                return True
            own = styles.declared.get(child.index)
            if own and own.get("position") in ("absolute", "fixed"):
                continue
            if self._room[child.index]:
                if own and own.get("float") in ("left", "right") and not self._holds_floats(element, style, declared):
                    continue
                return True
            shown = styles.of[child.index]
            if shown.display.startswith("inline-") and shown.rendered and style.display != "inline":
                return True  # a line with a box in it is as high as a text
            if shown.display == "contents" and self._content_takes_room(
                child, shown, own or {}
            ):
                return True
        return any(self._pseudo_takes_room(element, kind) for kind in ("before", "after"))

    def _holds_floats(self, element: Element, style: Style, declared: Declared) -> bool:
        return (
            style.display not in ("block", "list-item", "inline")
            or declared.get("overflow", "visible") not in ("visible", "clip")
            or declared.get("float") in ("left", "right")
            or declared.get("position") in ("absolute", "fixed")
            or "clear" in self._styles.pseudo(element, "after")
            or element.tag == "body"
        )

    def _pseudo_takes_room(self, element: Element, kind: str) -> bool:
        declared = self._styles.pseudo(element, kind)
        if declared.get("content", "none") in ("none", "normal") or declared.get("display") == "none":
            return False
        if declared.get("position") in ("absolute", "fixed"):
            return False
        return bool(declared["content"].strip("'\" ")) or _is_length(declared.get("height"))

    def _svg_room(self, element: Element) -> bool:
        tag = element.tag
        if tag in _SVG_HIDDEN or element.closest("defs", "symbol", "clipPath", "mask") is not None:
            return False
        if tag in ("text", "tspan"):
            return bool(_WORD.search(element.text_content()))
        if tag in _SHAPES:
            return not _is_empty_shape(element)
        return any(self._room[child.index] for child in element.elements)

    def _has_marker(self, item: Element) -> bool:
        for element in (item, item.parent):
            if element is not None:
                declared = self._styles.declared.get(element.index, {})
                style = declared.get("list-style-type", declared.get("list-style"))
                if style is not None:
                    return "none" not in style
        return True


def _is_empty_shape(shape: Element) -> bool:
    """Whether a shape is a point, or a line along an axis."""

    def number(name: str) -> float:
        found = _DECIMAL.match(shape.get(name).strip())
        return float(found[0]) if found else 0.0

    match shape.tag:
        case "path":
            return len(_DECIMAL.findall(shape.get("d"))) <= 2
        case "line":
            return number("x1") == number("x2") or number("y1") == number("y2")
        case _:
            return False


def _is_zero(value: str | None) -> bool:
    return value is not None and _ZERO.fullmatch(value) is not None


def _is_length(value: str | None) -> bool:
    """Whether a value gives a length that is not nothing."""
    if not value or value in _NO_BORDER or value in ("auto", "inherit") or value.startswith(("none", "0 none")):
        return False
    return any(
        part[0] in "123456789.(" or part.startswith(("0.", "var(", "calc(", "thin", "medium", "thick", "max", "min"))
        for part in value.split()
    )


def _is_set(value: str | None) -> bool:
    return value is not None and value not in ("auto", "initial", "unset")
