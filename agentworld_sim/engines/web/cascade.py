"""The style of every element, as far as an accessibility tree needs it: what is displayed, and what may be clicked."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agentworld_sim.engines.web.document import Document, Element
from agentworld_sim.engines.web.live_state import LiveState, is_listbox
from agentworld_sim.engines.web.stylesheet import Rule, declarations, media_matches, rules_of

_DISPLAY: dict[str, str] = {
    tag: display
    for display, tags in {
        "block": "address article aside blockquote body center dd details dialog dir div dl dt fieldset"
        " figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend listing main"
        " menu nav ol optgroup option p plaintext pre search section summary ul xmp",
        "none": "area base basefont datalist head link meta noembed noframes noscript param rp script style"
        " template title",
        "inline-block": "button input marquee meter progress select textarea",
        "list-item": "li",
        "table": "table",
        "table-caption": "caption",
        "table-cell": "td th",
        "table-column": "col",
        "table-column-group": "colgroup",
        "table-footer-group": "tfoot",
        "table-header-group": "thead",
        "table-row": "tr",
        "table-row-group": "tbody",
        "ruby": "ruby",
        "ruby-text": "rt",
        "contents": "slot",
        "inline math": "math",
        "block math": "mfrac mi mn mo mover mrow ms mspace msqrt mroot msub msubsup msup mtable mtd mtext mtr munder"
        " munderover semantics",
    }.items()
    for tag in tags.split()
}
"""How browsers display elements without a style sheet; the rest are inline."""
_SVG_DISPLAY = {
    "text": "block",
    "foreignObject": "block",
    "desc": "none",
    "metadata": "none",
    "title": "none",
}
_OWN_CURSOR = frozenset("button input label optgroup option select textarea".split())
"""Elements that do not take their cursor from around them."""
_IGNORED = frozenset("style script noscript template".split())
_UNRENDERED_CONTENT = frozenset("audio canvas iframe object textarea video".split())
_STRING = re.compile(
    r"""\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|attr\(\s*([-\w]+)\s*\)|(/))"""
)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|\n|(.))", re.DOTALL)
_NO_SCALE = re.compile(r"\bscale[xy]?\(\s*0?\.?0*\s*[,)]")

Declared = Mapping[str, str]
_NOTHING: Declared = {}


class Style(NamedTuple):
    """The computed style of an element."""

    display: str
    visible: bool
    """`visibility: visible`."""
    pointer: bool
    """The cursor over it is a hand."""
    clickable: bool
    """It takes pointer events."""
    rendered: bool
    """Nothing around it keeps it from being rendered, as `Element.checkVisibility()` says."""
    aria_hidden: bool
    """It or what is around it is `display: none` or `aria-hidden`."""
    flat: bool
    """It is scaled to nothing."""


class Styles:
    """The styles of a document for a state of its page."""

    def __init__(self, document: Document, sheets: Mapping[str, str], live: LiveState, width: int):
        self.document = document
        self.declared: dict[int, dict[str, str]] = defaultdict(dict)
        """What rules and `style` attributes declare, by the number of the element."""
        self._pseudo: dict[str, dict[int, dict[str, str]]] = {
            "before": defaultdict(dict),
            "after": defaultdict(dict),
        }
        rules = sorted(_rules_for(document, sheets, width), key=lambda rule: rule.specificity)
        self.depends_on_state = any(rule.depends_on_state for rule in rules)
        self._apply(rules, live)
        self.of = self._compute(live)
        """The style of each element, by its number."""
        self.hidden = bytearray(len(self.of))
        """Whether assistive technology is not to see an element, by its number."""
        for element in reversed(document.elements):  # children before their parents
            self.hidden[element.index] = self._is_hidden(element)

    def _apply(self, rules: Sequence[Rule], live: LiveState) -> None:
        marks = live.marks()
        found = [
            (rule, self.document.select(rule.selector, marks if rule.depends_on_state else ()))
            for rule in rules
        ]
        inline = [
            (element.index, declarations(written))
            for element in self.document.elements
            if (written := element.attributes.get("style"))
        ]
        for important in (False, True):
            for rule, elements in found:
                if declared := rule.important if important else rule.normal:
                    into = self._pseudo[rule.pseudo] if rule.pseudo else self.declared
                    for element in elements:
                        into[element.index].update(declared)
            for number, own in inline:
                self.declared[number].update(own[important])

    def _compute(self, live: LiveState) -> list[Style]:
        styles: list[Style] = []
        shared: dict[Style, Style] = {}
        declared_of = self.declared.get
        root = Style("inline", True, False, True, True, False, False)
        for element in self.document.elements:
            parent = element.parent
            style = self._style_of(
                element,
                declared_of(element.index, _NOTHING),
                root if parent is None else styles[parent.index],
                live,
            )
            styles.append(shared.setdefault(style, style))
        return styles

    def _style_of(
        self, element: Element, declared: Declared, above: Style, live: LiveState
    ) -> Style:
        tag, attributes = element.tag, element.attributes
        display = declared.get("display") or "unset"
        if display in _NOT_DISPLAY:
            display = "inline" if display in ("initial", "unset") and "display" in declared else ""
        display = display or _default_display(element, live)
        if (
            above.display in FLEXIBLE
            or declared.get("position") in OUT_OF_FLOW
            or declared.get("float") in FLOATS
        ):
            display = _BLOCKS.get(display, display)
        visible, pointer, clickable = above.visible, above.pointer, above.clickable
        if tag in _OWN_CURSOR:
            pointer = tag == "input" and element.type == "image"
        elif tag in ("a", "area") and "href" in attributes:
            pointer = True
        if declared:
            value = declared.get("visibility", "inherit")
            visible = visible if value in ("inherit", "unset") else value in ("visible", "initial")
            value = declared.get("cursor", "")
            if value in ("inherit", "unset"):
                pointer = above.pointer
            elif value:
                pointer = value == "pointer"
            value = declared.get("pointer-events", "inherit")
            clickable = clickable if value in ("inherit", "unset") else value != "none"
        rendered = (
            above.rendered
            and display != "none"
            and (element.parent is None or self._renders_content(element.parent, element, live))
        )
        return Style(
            display,
            visible,
            pointer,
            clickable,
            rendered,
            above.aria_hidden
            or display == "none"
            or attributes.get("aria-hidden", "").lower() == "true",
            above.flat or _NO_SCALE.search(declared.get("transform", "")) is not None,
        )

    def _renders_content(self, element: Element, child: Element, live: LiveState) -> bool:
        tag = element.tag
        if tag == "details":
            return live.is_open(element) or child is element.child("summary")
        if tag == "select":
            return is_listbox(element)
        if tag in _UNRENDERED_CONTENT:
            return False
        return self.declared.get(element.index, _NOTHING).get("content-visibility") != "hidden"

    def _is_hidden(self, element: Element) -> bool:
        tag, style = element.tag, self.of[element.index]
        if tag in _IGNORED:
            return True
        if style.display == "contents" and tag != "slot":
            return all(
                self.hidden[child.index]
                if isinstance(child, Element)
                else not (child.strip() and style.rendered)
                for child in element.children
            )
        if not (style.rendered and style.visible) and not (
            tag == "option" and element.closest("select") is not None
        ):
            return True
        return style.aria_hidden

    def pseudo(self, element: Element, kind: str) -> Declared:
        """What is declared for `before` or `after` of an element."""
        return self._pseudo[kind].get(element.index, _NOTHING)

    def content(self, element: Element, kind: str) -> str:
        """The text that style sheets put `before` or `after` the content of an element."""
        declared = self._pseudo[kind].get(element.index)
        if declared is None:
            return ""
        written = declared.get("content", "")
        if not written or declared.get("display") == "none":
            return ""
        if declared.get("visibility", "visible") == "hidden":
            return ""
        text = _content_text(element, written)
        is_block = (
            declared.get("display", "inline") != "inline"
            or declared.get("position") in OUT_OF_FLOW
            or declared.get("float") in FLOATS
            or self.of[element.index].display in FLEXIBLE
        )
        return f" {text} " if is_block and text is not None else text or ""


def _default_display(element: Element, live: LiveState) -> str:
    tag, attributes = element.tag, element.attributes
    if element.in_svg:
        return _SVG_DISPLAY.get(tag, "inline")
    if "hidden" in attributes:
        return "none"
    if tag == "dialog" and not live.is_open(element):
        return "none"
    if tag == "input" and element.type == "hidden":
        return "none"
    if tag == "audio" and "controls" not in attributes:
        return "none"
    return _DISPLAY.get(tag, "inline")


_NOT_DISPLAY = frozenset("inherit initial unset revert revert-layer".split())
OUT_OF_FLOW = ("absolute", "fixed")
FLOATS = ("left", "right", "inline-start", "inline-end")
FLEXIBLE = frozenset("flex inline-flex grid inline-grid".split())
_BLOCKS = {
    "inline": "block",
    "inline-block": "block",
    "inline-flex": "flex",
    "inline-grid": "grid",
    "inline-table": "table",
}
"""What a display becomes in a flexible box, and of what is out of the flow."""


def _content_text(element: Element, written: str) -> str | None:
    """The text of a value of `content`; None if it is not only texts and attributes."""
    parts: list[str] = []
    place = 0
    written = written.strip()
    while place < len(written):
        found = _STRING.match(written, place)
        if found is None:
            return None
        double, single, attribute, slash = found.groups()
        if slash:
            parts = []
        elif attribute:
            parts.append(element.get(attribute))
        else:
            parts.append(_ESCAPE.sub(_unescape, double if double is not None else single))
        place = found.end()
    return "".join(parts)


def _unescape(found: re.Match[str]) -> str:
    if found[1]:
        return chr(min(int(found[1], 16), 0x10FFFF))
    return found[2] or ""


def _rules_for(document: Document, sheets: Mapping[str, str], width: int) -> list[Rule]:
    """The rules of a page's sheets whose tags, classes and ids occur on the page, in their order."""
    found: list[Rule] = []
    for element in document.elements:
        if element.tag == "style":
            text = element.text_content()
        elif element in document.sheet_links:
            text = sheets.get(element.get("href"), "")
        else:
            continue
        media = element.get("media")
        if (
            text
            and (not media or media_matches(media, width))
            and "disabled" not in element.attributes
        ):
            found += rules_of(text, width)
    if not found:
        return found
    occurring = document.simple_selectors
    return [rule for rule in found if occurring.issuperset(rule.needs)]
