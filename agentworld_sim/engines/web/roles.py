"""The ARIA role of every element, as Playwright computes it.

Source: WAI-ARIA 1.2 and HTML-AAM, with Playwright's deviations (`roleUtils.ts` of 1.64).
"""

from __future__ import annotations

from agentworld_sim.engines.web.document import Document, Element
from agentworld_sim.engines.web.live_state import is_listbox


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pairs(text: str) -> dict[str, str]:
    return {name: role for name, role in (pair.split(":") for pair in text.split())}


_ROLES = _words(
    "alert alertdialog application article banner blockquote button caption cell checkbox code columnheader"
    " combobox complementary contentinfo definition deletion dialog directory document emphasis feed figure form"
    " generic grid gridcell group heading img insertion link list listbox listitem log main mark marquee math meter"
    " menu menubar menuitem menuitemcheckbox menuitemradio navigation none note option paragraph presentation"
    " progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider"
    " spinbutton status strong subscript superscript switch tab table tablist tabpanel term textbox time timer"
    " toolbar tooltip tree treegrid treeitem"
)
_BY_TAG = _pairs(
    "article:article aside:complementary blockquote:blockquote button:button caption:caption code:code"
    " datalist:listbox dd:definition del:deletion details:group dfn:term dialog:dialog dt:term em:emphasis"
    " fieldset:group figure:figure h1:heading h2:heading h3:heading h4:heading h5:heading h6:heading hr:separator"
    " html:document ins:insertion li:listitem main:main mark:mark math:math menu:list meter:meter nav:navigation"
    " ol:list optgroup:group option:option output:status p:paragraph progress:progressbar search:search strong:strong"
    " sub:subscript sup:superscript svg:img table:table tbody:rowgroup textarea:textbox tfoot:rowgroup thead:rowgroup"
    " time:time tr:row ul:list"
)
_BY_INPUT_TYPE = _pairs(
    "button:button checkbox:checkbox file:button image:button number:spinbutton radio:radio range:slider"
    " reset:button submit:button"
)
_LISTABLE = _words("email search tel text url")
_PARENTS_OF = {
    **dict.fromkeys(("dd", "dt"), ("dl", "div")),
    **dict.fromkeys(("tbody", "tfoot", "thead"), ("table",)),
    **dict.fromkeys(("td", "th"), ("tr",)),
    "div": ("dl",),
    "li": ("ol", "ul"),
    "tr": ("thead", "tbody", "tfoot", "table"),
}
"""Whose presentational role an element takes over."""
_SECTIONS = ("article", "aside", "main", "nav", "section")
_SECTION_ROLES = _words("article complementary main navigation region")
_GLOBAL = _words(
    "aria-atomic aria-busy aria-controls aria-current aria-describedby aria-details aria-dropeffect aria-flowto"
    " aria-grabbed aria-hidden aria-keyshortcuts aria-label aria-labelledby aria-live aria-owns aria-relevant"
    " aria-roledescription"
)
_LABELS = _words("aria-label aria-labelledby")
_NOT_LABELLED = _words(
    "caption code deletion emphasis generic insertion paragraph presentation strong subscript superscript"
)
_PRESENTATIONAL = ("none", "presentation")
_FOCUSABLE = _words("button details select textarea")


class Roles:
    """The roles of a document's elements."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.of: list[str | None] = [self._role_of(element) for element in document.elements]
        """The role of each element by its number; None where it has none."""

    def _role_of(self, element: Element) -> str | None:
        explicit = explicit_role(element)
        if explicit is None:
            return self._implicit_role(element)
        if explicit in _PRESENTATIONAL:
            implicit = self._implicit_role(element)
            if _keeps_role(element, implicit):
                return implicit
        return explicit

    def _implicit_role(self, element: Element) -> str | None:
        role = self._tag_role(element)
        if role is None:
            return None
        below = element
        while (above := below.parent) is not None:
            if above.tag not in _PARENTS_OF.get(below.tag, ()):
                break
            explicit = explicit_role(above)
            if explicit in _PRESENTATIONAL and not _keeps_role(above, explicit):
                return explicit
            below = above
        return role

    def _tag_role(self, element: Element) -> str | None:
        tag, attributes = element.tag, element.attributes
        match tag:
            case "a" | "area":
                return "link" if "href" in attributes else None
            case "header" | "footer":
                if any(_prevents_landmark(around) for around in element.chain()):
                    return None
                return "banner" if tag == "header" else "contentinfo"
            case "form" | "section":
                named = "aria-label" in attributes or "aria-labelledby" in attributes
                return ("form" if tag == "form" else "region") if named else None
            case "img":
                decorative = attributes.get("alt") == "" and not element.get("title")
                plain = (
                    not _has_global_attribute(element, None)
                    and "tabindex" not in element.attributes
                )
                return "presentation" if decorative and plain else "img"
            case "input":
                return self._input_role(element)
            case "select":
                return "listbox" if is_listbox(element) else "combobox"
            case "td":
                table = element.closest("table")
                grid = table is not None and explicit_role(table) in ("grid", "treegrid")
                return "gridcell" if grid else "cell"
            case "th":
                return self._header_role(element)
            case _:
                return _BY_TAG.get(tag)

    def _input_role(self, element: Element) -> str | None:
        kind = element.type
        if kind == "hidden":
            return None
        if kind in _LISTABLE:
            options = self.document.references(element.get("list"))
            if options and options[0].tag == "datalist":
                return "combobox"
            return "searchbox" if kind == "search" else "textbox"
        return _BY_INPUT_TYPE.get(kind, "textbox")

    def _header_role(self, element: Element) -> str | None:
        scope = element.get("scope")
        if scope in ("col", "colgroup"):
            return "columnheader"
        if scope in ("row", "rowgroup"):
            return "rowheader"
        before, after = self.document.siblings_of(element)
        if before is None and after is None:
            table = element.closest("table")
            in_row = element.parent is not None and element.parent.tag == "tr"
            if in_row and table is not None and len(list(table.descendants("tr"))) <= 1:
                return None
            return "columnheader"
        if before is not None and after is not None and before.tag == after.tag == "th":
            return "columnheader"
        return "rowheader" if _is_filled_cell(before) or _is_filled_cell(after) else "columnheader"


def explicit_role(element: Element) -> str | None:
    """The first role that the author gave and that exists."""
    written = element.attributes.get("role")
    return next((role for role in written.split() if role in _ROLES), None) if written else None


def _prevents_landmark(element: Element) -> bool:
    role = element.attributes.get("role")
    return element.tag in _SECTIONS if role is None else role in _SECTION_ROLES


def _is_filled_cell(element: Element | None) -> bool:
    if element is None or element.tag != "td":
        return False
    return bool(element.text_content().strip()) or next(element.elements, None) is not None


def _has_global_attribute(element: Element, role: str | None) -> bool:
    for attribute in element.attributes:
        if attribute in _GLOBAL:
            prohibited = (attribute in _LABELS and role in _NOT_LABELLED) or (
                attribute == "aria-roledescription" and role == "generic"
            )
            if not prohibited:
                return True
    return False


def is_focusable(element: Element) -> bool:
    """Whether an element can have the focus, as far as it says itself."""
    if element.is_natively_disabled:
        return False
    tag = element.tag
    if tag in _FOCUSABLE or (tag == "input" and "hidden" not in element.attributes):
        return True
    return (
        tag in ("a", "area") and "href" in element.attributes
    ) or "tabindex" in element.attributes


def _keeps_role(element: Element, role: str | None) -> bool:
    """Whether an element that is said to be presentational is not."""
    return _has_global_attribute(element, role) or is_focusable(element)
