"""The tree of an HTML page as a browser builds it: immutable, cheap to walk, shared by all that read it."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from agentworld_sim.errors import UsageError
from agentworld_sim.extras import require

if TYPE_CHECKING:
    import turbohtml

EXTRA = "browser"

MAX_DEPTH = 200
"""Elements that are nested deeper become siblings, as in browsers (there: 512)."""

FOCUS = "agentworld-focus"
"""An attribute that stands for the focus while a selector is matched."""
_FOCUS_CLASS = re.compile(r":focus(-within)?(?:-visible)?(?![-\w])")
Mark = tuple[int, str, bool]
"""The number of an element, an attribute, and whether the element has it."""
_LABELABLE = ("button", "input", "meter", "output", "progress", "select", "textarea")
_CONTROLS = ("button", "input", "optgroup", "option", "select", "textarea")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,9}")
_SPACE = re.compile(r"[ \t\n\f\r]+")


class Element:
    """An element of a page.

    `index` is its number in document order (`html` is 0); it names the element in what is kept beside the page.
    `children` are elements and texts in order; a comment stands there as an empty text.
    """

    __slots__ = ("attributes", "children", "depth", "in_svg", "index", "last", "parent", "tag")

    def __init__(
        self, tag: str, attributes: dict[str, str], parent: Element | None, index: int
    ) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Element | str] = []
        self.parent = parent
        self.index = index
        self.last = index
        """The number of the last element inside."""
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.in_svg = parent is not None and (
            parent.tag == "svg" or (parent.in_svg and parent.tag != "foreignObject")
        )

    def get(self, attribute: str) -> str:
        """The attribute's value; empty if there is none."""
        return self.attributes.get(attribute, "")

    @property
    def type(self) -> str:
        """The type of an input or a button, in small letters."""
        written = self.get("type").lower()
        if self.tag == "button":
            return written if written in ("reset", "button") else "submit"
        return written if written in INPUT_TYPES else "text"

    @property
    def elements(self) -> Iterator[Element]:
        """The child elements."""
        return (child for child in self.children if isinstance(child, Element))

    def child(self, tag: str) -> Element | None:
        """The first child element with this tag."""
        return next((child for child in self.elements if child.tag == tag), None)

    def descendants(self, *tags: str) -> Iterator[Element]:
        """The elements below this one in document order: all, or those with one of the tags."""
        for child in self.children:
            if isinstance(child, Element):
                if not tags or child.tag in tags:
                    yield child
                yield from child.descendants(*tags)

    def chain(self) -> Iterator[Element]:
        """This element, its parent, and so on up to the root."""
        element: Element | None = self
        while element is not None:
            yield element
            element = element.parent

    def closest(self, *tags: str) -> Element | None:
        """This element or the nearest one around it with one of the tags."""
        return next((element for element in self.chain() if element.tag in tags), None)

    def whole_number(self, attribute: str) -> int | None:
        """The value of an attribute that holds a whole number; None where it holds none."""
        written = self.get(attribute).strip()
        return int(written) if _WHOLE_NUMBER.fullmatch(written) else None

    @property
    def is_natively_disabled(self) -> bool:
        """Whether a control is disabled by its own `disabled`, its `optgroup`'s or its `fieldset`'s."""
        if self.tag not in _CONTROLS:
            return False
        if "disabled" in self.attributes:
            return True
        for around in self.chain():
            if "disabled" in around.attributes:
                if around.tag == "optgroup" and self.tag == "option":
                    return True
                if around.tag == "fieldset":
                    legend = around.child("legend")
                    return legend is None or legend not in self.chain()
        return False

    def text_content(self) -> str:
        return "".join(
            child if isinstance(child, str) else child.text_content() for child in self.children
        )

    def __repr__(self) -> str:
        return f"<{self.tag} {self.attributes}> ({self.index})"


INPUT_TYPES = frozenset(
    "button checkbox color date datetime-local email file hidden image month number password radio"
    " range reset search submit tel text time url week".split()
)


class Document:
    """A page: its elements in document order, its ids, its labels."""

    def __init__(self, html: str) -> None:
        require("turbohtml", extra=EXTRA)
        import turbohtml

        tree = turbohtml.parse(
            html, scripting=True, positions=False, allow_declarative_shadow_roots=False
        )
        assert tree.root is not None  # the HTML standard makes html, head and body of any text
        self._tree = tree
        self.elements: list[Element] = []
        self._element_of: dict[turbohtml.Node, Element] = {}
        self._nodes: list[turbohtml.Element] = []
        self._lock = Lock()
        self.root = self._add(tree.root, None)
        for node in tree.root.descendants:
            parent = self._element_of.get(node.parent) if node.parent is not None else None
            if parent is None:
                continue  # below a template
            if isinstance(node, turbohtml.Text):
                parent.children.append(node.data)
            elif isinstance(node, turbohtml.Element):
                self._add(node, parent)
            elif isinstance(node, turbohtml.Comment):
                parent.children.append("")
        for element in reversed(self.elements):
            if element.parent is not None:
                element.parent.last = max(element.parent.last, element.last)
        self.body = self.root.child("body") or self.root.child("frameset") or self.root

    def _add(self, node: turbohtml.Element, parent: Element | None) -> Element:
        attributes = {
            name: " ".join(value) if isinstance(value, list) else value or ""
            for name, value in node.attrs.items()
        }
        if parent is not None and parent.depth >= MAX_DEPTH:
            parent = parent.parent
        element = Element(node.tag, attributes, parent, len(self.elements))
        self._element_of[node] = element
        self._nodes.append(node)
        self.elements.append(element)
        if parent is not None:
            parent.children.append(element)
        return element

    @property
    def title(self) -> str:
        """The title as the window shows it."""
        found = next(self.root.descendants("title"), None)
        return _SPACE.sub(" ", found.text_content()).strip() if found is not None else ""

    @cached_property
    def ids(self) -> Mapping[str, Element]:
        """The first element with each id."""
        found: dict[str, Element] = {}
        for element in self.elements:
            if identifier := element.attributes.get("id"):
                found.setdefault(identifier, element)
        return found

    def siblings_of(self, element: Element) -> tuple[Element | None, Element | None]:
        """The elements before and after one in the same parent."""
        before: Element | None = self.elements[element.index - 1] if element.index else None
        while before is not None and before.parent is not element.parent:
            before = before.parent
        after = self.elements[element.last + 1] if element.last + 1 < len(self.elements) else None
        return before, after if after is not None and after.parent is element.parent else None

    def html_of(self, element: Element) -> str:
        """An element with all that is in it, as HTML."""
        return self._nodes[element.index].html

    def references(self, identifiers: str) -> list[Element]:
        """The elements that a list of ids names, each once."""
        found = (self.ids.get(one) for one in identifiers.split())
        return list(dict.fromkeys(element for element in found if element is not None))

    @cached_property
    def _labels(self) -> Mapping[Element, Sequence[Element]]:
        found: dict[Element, list[Element]] = {}
        for label in self.elements:
            if label.tag == "label" and (control := self.control_of(label)) is not None:
                found.setdefault(control, []).append(label)
        return found

    @cached_property
    def _radio_buttons(self) -> Mapping[tuple[str, Element | None], Sequence[Element]]:
        found: dict[tuple[str, Element | None], list[Element]] = {}
        for element in self.elements:
            if element.tag == "input" and element.type == "radio" and element.get("name"):
                found.setdefault((element.get("name"), self.form_of(element)), []).append(element)
        return found

    def radio_group(self, radio: Element) -> Sequence[Element]:
        """The radio buttons of which only one can be checked, with `radio` itself."""
        return self._radio_buttons.get((radio.get("name"), self.form_of(radio)), [radio])

    def form_of(self, control: Element) -> Element | None:
        """The form that a control belongs to: named by its `form`, else the one around it."""
        if "form" in control.attributes:
            form = self.ids.get(control.get("form"))
            return form if form is not None and form.tag == "form" else None
        return control.closest("form")

    @cached_property
    def sheet_links(self) -> Mapping[Element, str]:
        """The links to style sheets, with their `href`."""
        return {
            link: link.get("href")
            for link in self.root.descendants("link")
            if "stylesheet" in link.get("rel").lower().split() and link.get("href")
        }

    def control_of(self, label: Element) -> Element | None:
        """The control that a label names: by its `for`, else the first one inside it."""
        if "for" in label.attributes:
            named = self.ids.get(label.get("for"))
            return named if named is not None and _is_labelable(named) else None
        return next(filter(_is_labelable, label.descendants(*_LABELABLE)), None)

    def labels_of(self, control: Element) -> Sequence[Element]:
        return self._labels.get(control, ())

    @cached_property
    def simple_selectors(self) -> frozenset[str]:
        """The tags, `.classes` and `#ids` that occur."""
        found = {element.tag.lower() for element in self.elements}
        for element in self.elements:
            found.update(f".{name}" for name in element.get("class").split())
        return frozenset(found | {f"#{identifier}" for identifier in self.ids})

    def select(self, selector: str, marks: Sequence[Mark] = ()) -> list[Element]:
        """The elements that a CSS selector matches, in document order.

        Args:
            marks: Attributes that elements have or have not, whatever is written; `FOCUS` among them stands for
                `:focus`.

        Raises:
            UsageError: it is no selector.
        """
        try:
            with self._lock, self._with_marks(marks):
                nodes = self._tree.select(_with_focus(selector))
        except ValueError as error:
            raise UsageError(f"{selector!r} is no CSS selector: {error}") from None
        return [self._element_of[node] for node in nodes if node in self._element_of]

    @contextmanager
    def _with_marks(self, marks: Sequence[Mark]) -> Generator[None]:
        before = [(index, name, name in self._nodes[index].attrs) for index, name, _ in marks]
        try:
            self._mark(marks)
            yield
        finally:
            self._mark(before)

    def _mark(self, marks: Sequence[Mark]) -> None:
        for index, name, held in marks:
            attributes = self._nodes[index].attrs
            if held:
                attributes[name] = ""
            else:
                attributes.pop(name, None)


def _with_focus(selector: str) -> str:
    return _FOCUS_CLASS.sub(
        lambda found: f":is([{FOCUS}],:has([{FOCUS}]))" if found[1] else f"[{FOCUS}]", selector
    )


def _is_labelable(element: Element) -> bool:
    return element.tag in _LABELABLE and element.type != "hidden"


@lru_cache(maxsize=64)
def parse_document(html: str) -> Document:
    """The tree of a page; any text is one. The same text gives the same document."""
    return Document(html)
