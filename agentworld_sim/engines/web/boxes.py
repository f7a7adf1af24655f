"""Which elements take room on the screen: a guess without layout.

A browser measures rectangles; here an element takes room if its style gives it some, or something in it takes room.
"""

from __future__ import annotations

import re

from agentworld_sim.engines.web.cascade import (
    FLEXIBLE,
    FLOATS,
    OUT_OF_FLOW,
    Declared,
    Style,
    Styles,
)
from agentworld_sim.engines.web.document import Element

_REPLACED = frozenset(
    "audio button canvas embed hr iframe img input meter object progress select svg textarea video".split()
)
_ALWAYS = frozenset("dialog fieldset option summary td th".split())
_SHAPES = frozenset("circle ellipse image line path polygon polyline rect text tspan use".split())
_SVG_HIDDEN = frozenset(
    "clipPath defs desc linearGradient marker mask metadata pattern radialGradient symbol title".split()
)
_ZERO = re.compile(r"-?(?:0+\.?0*|\.0+)(?:[a-z]+|%)?")
_DECIMAL = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORD = re.compile("[^ \t\n\r\f\u200b]")
_VERTICAL = (
    "padding-top padding-bottom border border-width border-top border-top-width border-bottom"
    " border-bottom-width"
).split()
_HORIZONTAL = (
    "padding-left padding-right border border-width border-left border-left-width border-right"
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
            return self._first_visible(element) is not None
        return bool(self._room[element.index]) and style.visible

    def is_inline(self, element: Element) -> bool:
        """Whether the element is part of a line of text."""
        style = self._styles.of[element.index]
        if style.display == "contents":
            return isinstance(self._first_visible(element), str)
        return style.display == "inline" and style.visible and style.rendered

    def _first_visible(self, element: Element) -> Element | str | None:
        """The first thing in an element without a box of its own that is visible."""
        rendered = self._styles.of[element.index].rendered
        for child in element.children:
            if (
                rendered and _WORD.search(child)
                if isinstance(child, str)
                else self.is_visible(child)
            ):
                return child
        return None

    def _takes_room(self, element: Element, style: Style, declared: Declared) -> bool:
        tag = element.tag
        if element.in_svg:
            return self._svg_room(element)
        if tag in ("col", "colgroup"):
            table = element.closest("table")
            return table is not None and next(table.descendants("tr"), None) is not None
        replaced = tag in _REPLACED or declared.get("content", "").startswith("url(")
        inline = style.display == "inline" and not replaced
        out_of_flow = declared.get("position") in OUT_OF_FLOW
        shrinks = out_of_flow or inline or self._shrinks(style, declared)
        high = wide = False
        if declared:
            high = any(_is_length(declared.get(name)) for name in _VERTICAL)
            wide = any(_is_length(declared.get(name)) for name in _HORIZONTAL)
            if not inline:
                high = high or _is_length(declared.get("min-height"))
                wide = wide or _is_length(declared.get("min-width"))
                if not high and (
                    _is_zero(declared.get("height")) or _is_zero(declared.get("max-height"))
                ):
                    return False
                if not wide and (
                    _is_zero(declared.get("width")) or _is_zero(declared.get("max-width"))
                ):
                    return False
                high = high or _is_length(declared.get("height"))
                wide = wide or _is_length(declared.get("width"))
        if replaced:
            attributes = element.attributes
            return not (_is_zero(attributes.get("width")) or _is_zero(attributes.get("height")))
        if tag in _ALWAYS or (tag == "li" and self.has_marker(element)):
            return True
        if out_of_flow:
            inset = _is_set(declared.get("inset"))
            high = (
                high or inset or (_is_set(declared.get("top")) and _is_set(declared.get("bottom")))
            )
            wide = (
                wide or inset or (_is_set(declared.get("left")) and _is_set(declared.get("right")))
            )
        elif axis := self._flex_axis(element):
            grows = _is_length(declared.get("flex")) or _is_length(declared.get("flex-grow"))
            shrinks = axis == "row"
            # Along the other axis an item is as long as the box.
            high = high or grows or (shrinks and wide)
            wide = wide or grows
        if (wide and inline) or (high and (wide or not shrinks)):
            return True
        return self._content_takes_room(element, style, declared, not shrinks)

    def _shrinks(self, style: Style, declared: Declared) -> bool:
        """Whether a box is only as wide as what is in it."""
        return style.display.startswith(("inline-", "table")) or declared.get("float") in FLOATS

    def _flex_axis(self, element: Element) -> str:
        """The axis along which a flexible box lays out the element: `row`, `column`, or nothing."""
        parent = element.parent
        display = self._styles.of[parent.index].display if parent is not None else ""
        if parent is None or display not in FLEXIBLE:
            return ""
        around = self._styles.declared.get(parent.index, {})
        direction = around.get("flex-direction", around.get("flex-flow", "row"))
        return "column" if "grid" in display or "column" in direction else "row"

    def _content_takes_room(
        self, element: Element, style: Style, declared: Declared, fills: bool
    ) -> bool:
        """Whether what is in a box makes it wide and high; `fills` says that it is as wide as what is around it."""
        styles = self._styles
        for child in element.children:
            if isinstance(child, str):
                if child and _WORD.search(child):
                    return True
                continue
            if child.tag == "br" and styles.of[child.index].rendered:
                return True
            own, shown = styles.declared.get(child.index, {}), styles.of[child.index]
            if own.get("position") in OUT_OF_FLOW:
                continue
            if self._room[child.index]:
                if own.get("float") not in FLOATS or self._holds_floats(element, style, declared):
                    return True
            elif shown.display.startswith("inline-") and shown.rendered:
                # A line with a box in it is as high as a text, and some boxes have margins of their own.
                has_margin = child.tag == "input" and child.type in ("checkbox", "radio")
                if fills or (has_margin and not _is_zero(own.get("margin"))):
                    return True
            elif shown.display == "contents" and self._content_takes_room(child, shown, own, fills):
                return True
        return any(self._pseudo_takes_room(element, kind) for kind in ("before", "after"))

    def _holds_floats(self, element: Element, style: Style, declared: Declared) -> bool:
        return (
            style.display not in ("block", "list-item", "inline")
            or declared.get("overflow", "visible") not in ("visible", "clip")
            or declared.get("float") in FLOATS
            or declared.get("position") in OUT_OF_FLOW
            or "clear" in self._styles.pseudo(element, "after")
            or element.tag == "body"
        )

    def _pseudo_takes_room(self, element: Element, kind: str) -> bool:
        declared = self._styles.pseudo(element, kind)
        if (
            declared.get("content", "none") in ("none", "normal")
            or declared.get("display") == "none"
        ):
            return False
        if declared.get("position") in OUT_OF_FLOW:
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

    def has_marker(self, item: Element) -> bool:
        """Whether a list item has a dot or a number before it."""
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
    if (
        not value
        or value in _NO_BORDER
        or value in ("auto", "inherit")
        or value.startswith(("none", "0 none"))
    ):
        return False
    return any(
        part[0] in "123456789.("
        or part.startswith(("0.", "var(", "calc(", "thin", "medium", "thick", "max", "min"))
        for part in value.split()
    )


def _is_set(value: str | None) -> bool:
    return value is not None and value not in ("auto", "initial", "unset")
