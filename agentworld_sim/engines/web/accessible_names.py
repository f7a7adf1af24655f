"""The accessible name of every element, as Playwright computes it.

Source: Accessible Name and Description Computation 1.2 and HTML-AAM, with Playwright's deviations (`roleUtils.ts` of
1.64): labels come before `title` and `placeholder`, a submit button without a value is called Submit, block children
stand between spaces, and `<br>` is a space in a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from agentworld_sim.engines.web.document import MAX_DEPTH, Element
from agentworld_sim.engines.web.live_state import LiveState
from agentworld_sim.engines.web.page_look import PageLook

_UNNAMED = frozenset(
    "caption code definition deletion emphasis generic insertion mark paragraph presentation strong subscript"
    " suggestion superscript term time".split()
)
"""Roles that never have a name."""
_FROM_CONTENT = frozenset(
    "button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio row"
    " rowheader switch tab tooltip treeitem".split()
)
_FROM_CONTENT_BELOW = frozenset(
    "caption code contentinfo definition deletion emphasis insertion list listitem mark none paragraph presentation"
    " region row rowgroup section strong subscript superscript table term time".split()
) | {None}
"""Roles that give their content to the name of what they are in; so do elements without a role."""
_NAMING = frozenset(("aria-label", "aria-labelledby", "title"))
_RANGES = frozenset("progressbar scrollbar slider spinbutton meter".split())
_PRESENTATIONAL = ("none", "presentation")
_IGNORED = ("style", "script", "noscript", "template")
_PLACEHOLDER_TYPES = frozenset("text password number search tel email url".split())
_REFERENCE = 10
"""How many levels of elements a reference counts for."""
_INVISIBLE = re.compile("[\u200b\u00ad]")
_SPACES = re.compile(r"[^\S\u00a0]+")


class Name(NamedTuple):
    text: str
    sources: tuple[int, ...] = ()
    """The numbers of the elements that the text comes from."""


_NO_NAME = Name("")


class _Way(NamedTuple):
    """How the computation came to an element."""

    target: str = ""
    """`self`: its own name is wanted; `below`: it is content of what is named; empty: a reference led here."""
    labelled: bool = False
    """By `aria-labelledby`."""
    label: bool = False
    native: bool = False
    """By a `legend`, a `caption` or a `figcaption`."""
    hidden: bool = False
    """What led here is hidden, so what is hidden counts."""

    @property
    def on(self) -> _Way:
        """The way on to the children."""
        if self is _TARGET:
            return _CONTENT
        return self._replace(target="below") if self.target == "self" else self


_TARGET, _CONTENT = _Way("self"), _Way("below")


class AccessibleNames:
    """The names of a page's elements, kept until what they are made of changes."""

    def __init__(self, look: PageLook, live: LiveState, old_rules: bool) -> None:
        self._document = look.document
        self._role_of = look.roles.of
        self._styles = look.styles
        self._hidden = look.styles.hidden
        self._live = live
        self._old_rules = old_rules
        self._names: dict[int, Name] = {}
        self._contents: dict[int, Name] = {}
        """What elements give to the names of what they are in."""
        self._readers: dict[int, set[int]] = {}
        """For an element: the named elements that come to it by a reference."""
        self._target = -1
        self._references = 0
        self._depth = 0
        """How deep the computation is in references."""

    def name_of(self, element: Element) -> Name:
        index = element.index
        if (known := self._names.get(index)) is not None:
            return known
        role = self._role_of[index]
        if role in _UNNAMED or (role is None and self._is_plain(element)):
            name = _NO_NAME
        else:
            self._target = index
            text, sources = self._text(element, _TARGET, set())
            name = Name(flat(text), tuple(dict.fromkeys(sources)))
        self._names[index] = name
        return name

    def _is_plain(self, element: Element) -> bool:
        """Whether an element without a role has nothing that could name it."""
        return (
            _NAMING.isdisjoint(element.attributes)
            and element.tag != "summary"
            and not element.in_svg
        )

    def forget(self, element: Element) -> set[int]:
        """Forgets the names that the element is part of; gives the numbers of those in other places of the page."""
        readers: set[int] = set()
        for around in element.chain():
            self._names.pop(around.index, None)
            self._contents.pop(around.index, None)
            readers |= self._readers.pop(around.index, set())
        return readers

    def _is_hidden(self, element: Element) -> bool:
        return bool(self._hidden[element.index])

    def _text(self, element: Element, way: _Way, visited: set[int]) -> Name:
        index = element.index
        if index in visited or self._depth > MAX_DEPTH:
            return _NO_NAME
        if way is not _CONTENT:
            return self._compute(element, way, visited)
        if (known := self._contents.get(index)) is not None:
            visited.add(index)
            return known
        references = self._references
        name = self._compute(element, way, visited)
        if references == self._references:  # it depends on nothing but what is below it
            self._contents[index] = name
        return name

    def _refer(self, element: Element, way: _Way, visited: set[int]) -> Name:
        """The text of an element that another one refers to."""
        self._references += 1
        self._readers.setdefault(element.index, set()).add(self._target)
        self._depth += _REFERENCE
        try:
            return self._text(element, way, visited)
        finally:
            self._depth -= _REFERENCE

    def _compute(self, element: Element, way: _Way, visited: set[int]) -> Name:
        index, attributes = element.index, element.attributes
        if element.tag in _IGNORED or (self._hidden[index] and not way.hidden):
            visited.add(index)
            return _NO_NAME
        labelled_by: list[Element] = []
        if "aria-labelledby" in attributes:
            labelled_by = self._document.references(attributes["aria-labelledby"])
            if not way.labelled:
                name = join(
                    self._refer(one, _Way(labelled=True, hidden=self._is_hidden(one)), visited)
                    for one in labelled_by
                )
                if name.text:
                    return name
        if way.label or way.labelled or way.target == "below":
            name = self._value_inside(element, way, visited, labelled_by)
            if name is not None:
                visited.add(index)
                return name
        if (label := attributes.get("aria-label", "")).strip():
            visited.add(index)
            return Name(label, (index,))
        role = self._role_of[index]
        presentational = role in _PRESENTATIONAL
        if not presentational:
            name = self._native(element, way, visited, bool(labelled_by))
            if name is not None:
                visited.add(index)
                return name
        if (
            role in _FROM_CONTENT
            or (way.target == "below" and role in _FROM_CONTENT_BELOW)
            or (element.tag == "summary" and not presentational)
            or way.labelled
            or way.label
            or way.native
        ):
            visited.add(index)
            name = self._content(element, way.on, visited)
            if name.text.strip() if way.target == "self" else name.text:
                return Name(name.text, (*name.sources, index))
        visited.add(index)
        if (not presentational or element.tag in ("iframe", "frame")) and element.get(
            "title"
        ).strip():
            return Name(element.get("title"), (index,))
        return _NO_NAME

    def _value_inside(
        self, element: Element, way: _Way, visited: set[int], labelled_by: Sequence[Element]
    ) -> Name | None:
        """The value of a control inside of what is named; None if it is none, or names itself."""
        role, tag = self._role_of[element.index], element.tag
        if role is None or role in _FROM_CONTENT_BELOW:
            return None
        if element in labelled_by:
            return None
        if role == "textbox" or (role == "searchbox" and not self._old_rules):
            is_input = tag in ("input", "textarea")
            return own(
                element, self._live.value_of(element) if is_input else element.text_content()
            )
        if role in ("combobox", "listbox"):
            visited.add(element.index)
            if tag == "select":
                options = self._live.selected_options(element)
                options = options or list(element.descendants("option"))[:1]
                return join(self._text(option, way.on, visited) for option in options)
            return own(element, self._live.value_of(element)) if tag == "input" else _NO_NAME
        if role in _RANGES:
            for attribute in ("aria-valuetext", "aria-valuenow", "value"):
                if attribute in element.attributes:
                    return own(element, element.get(attribute))
            return _NO_NAME
        return _NO_NAME if role == "menu" else None

    def _native(
        self, element: Element, way: _Way, visited: set[int], labelled: bool
    ) -> Name | None:
        """The name that HTML or SVG gives an element of its kind; None if it says nothing of it."""
        title = element.get("title")
        match element.tag:
            case "input" if element.type in ("button", "submit", "reset"):
                value = self._live.value_of(element)
                usual = {"submit": "Submit", "reset": "Reset"}.get(element.type, title)
                return own(element, value if value.strip() else usual)
            case "input" if element.type in ("file", "image"):
                if self._document.labels_of(element) and not way.labelled:
                    return self._from_labels(element, visited)
                if element.type == "file":
                    return own(element, "Choose File")
                texts = (element.get("alt"), title, "Submit")
                return own(element, next(text for text in texts if text.strip()))
            case "button" if not labelled and self._document.labels_of(element):
                return self._from_labels(element, visited)
            case "output" if not labelled:
                named = self._document.labels_of(element)
                return self._from_labels(element, visited) if named else own(element, title)
            case "textarea" | "select" | "input" if not labelled:
                return self._control(element, visited)
            case "meter" | "progress" if not labelled and not self._old_rules:
                return self._control(element, visited)
            case "fieldset" | "figure" if not labelled:
                part = element.child("legend" if element.tag == "fieldset" else "figcaption")
                return own(element, title) if part is None else self._part(part, way, visited)
            case "img" | "area":
                return own(element, element.get("alt") if element.get("alt").strip() else title)
            case "table":
                if (part := element.child("caption")) is not None:
                    visited.add(element.index)
                    return self._part(part, way, visited)
                return own(element, element.get("summary")) if element.get("summary") else None
            case _ if element.tag == "svg" or element.in_svg:
                if (part := element.child("title")) is not None:
                    visited.add(element.index)
                    hidden = self._is_hidden(part)
                    return self._text(part, way.on._replace(labelled=True, hidden=hidden), visited)
                link = element.get("xlink:title") if element.tag == "a" else ""
                return own(element, link) if link.strip() else None
            case _:
                return None

    def _control(self, element: Element, visited: set[int]) -> Name:
        if self._document.labels_of(element):
            return self._from_labels(element, visited)
        title = element.get("title")
        takes_placeholder = element.tag == "textarea" or (
            element.tag == "input"
            and element.type in _PLACEHOLDER_TYPES
            and not (self._old_rules and element.type == "number")
        )
        return own(element, title if title or not takes_placeholder else element.get("placeholder"))

    def _from_labels(self, element: Element, visited: set[int]) -> Name:
        visited.add(element.index)
        names = (
            self._refer(label, _Way(label=True, hidden=self._is_hidden(label)), visited)
            for label in self._document.labels_of(element)
        )
        return join(name for name in names if name.text)

    def _part(self, part: Element, way: _Way, visited: set[int]) -> Name:
        hidden = way.hidden or self._is_hidden(part)
        return self._text(part, way.on._replace(native=True, hidden=hidden), visited)

    def _content(self, element: Element, way: _Way, visited: set[int]) -> Name:
        texts = [self._styles.content(element, "before")]
        sources: list[int] = []
        for child in element.children:
            if isinstance(child, str):
                texts.append(child)
            else:
                self._add(child, self._text(child, way, visited), texts, sources)
        if "aria-owns" in element.attributes:
            for owned in self._document.references(element.attributes["aria-owns"]):
                self._add(owned, self._refer(owned, way, visited), texts, sources)
        texts.append(self._styles.content(element, "after"))
        return Name("".join(texts), tuple(sources))

    def _add(self, child: Element, name: Name, texts: list[str], sources: list[int]) -> None:
        inline = self._styles.of[child.index].display == "inline" and child.tag != "br"
        texts.append(name.text if inline else f" {name.text} ")
        sources.extend(name.sources)


def own(element: Element, text: str) -> Name:
    """A name that comes from the element itself."""
    return Name(text, (element.index,)) if text else _NO_NAME


def join(names: Iterable[Name]) -> Name:
    parts = list(names)
    return Name(
        " ".join(part.text for part in parts),
        tuple(source for part in parts for source in part.sources),
    )


def flat(text: str) -> str:
    """The text with single spaces; non-breaking ones stay."""
    if "\u200b" in text or "\u00ad" in text:
        text = _INVISIBLE.sub("", text)
    return _SPACES.sub(" ", text).strip()


def plain(text: str) -> str:
    """The text with single spaces and without invisible characters."""
    if "\u200b" in text or "\u00ad" in text:
        text = _INVISIBLE.sub("", text)
    return " ".join(text.split())
