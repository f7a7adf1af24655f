"""The accessibility tree of a page as Playwright's snapshots show it, before and after the distiller.

Source: Playwright's `ariaSnapshot.ts` and `ariaSnapshotDistiller.ts` (1.59 and 1.64). There the whole tree is built and
then made smaller; here both happen in one walk, element by element, so that what an element gives can be kept until
something in it changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agentworld_sim.engines.web.accessibility_node import AccessibilityNode
from agentworld_sim.engines.web.accessible_names import AccessibleNames, plain
from agentworld_sim.engines.web.document import MAX_DEPTH, Document, Element
from agentworld_sim.engines.web.live_state import LiveState, RefBook
from agentworld_sim.engines.web.page_look import PageLook
from agentworld_sim.engines.web.states import States

_BREAK = "\0"
"""Stands between two texts that do not become one."""
_PRESENTATIONAL = ("none", "presentation")

Part = AccessibilityNode | str


class _Above(NamedTuple):
    """What an element's part of the tree depends on, of what is above it."""

    name: str = ""
    """The name of the node that it is in."""
    named: bool = False
    """A node above has its name from its content."""
    hand: bool = False
    """A node above is what a click here goes to."""
    textbox: bool = False
    level: int = 0
    """How many nodes are above it; counted if there is a depth to keep to."""


class _Piece(NamedTuple):
    """What an element gives to the tree."""

    above: _Above
    parts: tuple[Part, ...]
    told: Mapping[int, bool]
    """Elements that a name above may come from: False if the tree tells their content, True if it ceased to."""
    has_nodes: bool


class AccessibilityTree:
    """The trees of one page, one after the other."""

    def __init__(self, look: PageLook, live: LiveState, refs: RefBook, *, old_rules: bool) -> None:
        self.document = look.document
        self.styles, self.boxes, self.roles = look.styles, look.boxes, look.roles
        self.names = AccessibleNames(look, live, old_rules)
        self._live = live
        self._refs = refs
        self._old_rules = old_rules
        self._states = States(look.document, live, old_rules)
        self._pieces: dict[int, _Piece] = {}
        self._with_ref: set[int] = set()
        self._owned = _owned_elements(look.document)
        self._owner_of = {
            owned.index: owner for owner, elements in self._owned.items() for owned in elements
        }
        self._focus = 0
        self._depth = 0

    def build(self, root: Element, focus: Element, depth: int = 0) -> tuple[Part, ...]:
        """The tree from an element on.

        Args:
            depth: Levels that will be shown; all if 0.
        """
        if focus.index != self._focus:
            self.forget(focus)
            self.forget(self.document.elements[self._focus])
            self._focus = focus.index
        self._states.begin()
        kept, self._depth = self._pieces, depth
        if depth:
            self._pieces = {}
        try:
            parts = self._piece(root, _Above()).parts
        finally:
            self._pieces, self._depth = kept, 0
        return self._merge(parts, "")

    def forget(self, element: Element) -> None:
        """Builds anew what depends on an element."""
        waiting, done = [element.index], set[int]()
        while waiting:
            index = waiting.pop()
            if index not in done:
                done.add(index)
                changed = self.document.elements[index]
                for around in changed.chain():
                    self._pieces.pop(around.index, None)
                    if around.index in self._owner_of:
                        waiting.append(self._owner_of[around.index])
                waiting += self.names.forget(changed)

    def _piece(self, element: Element, above: _Above) -> _Piece:
        index = element.index
        piece = self._pieces.get(index)
        if piece is None or piece.above != above:
            piece = self._pieces[index] = self._make(element, above)
        return piece

    def _make(self, element: Element, above: _Above) -> _Piece:
        styles, index = self.styles, element.index
        style = styles.of[index]
        visible = self.boxes.is_visible(element)
        seen = visible or not styles.hidden[index]
        node: AccessibilityNode | None = None
        sources: tuple[int, ...] = ()
        within = above
        if seen:
            node, sources = self._node(element, visible)
        if node is not None:
            within = _Above(
                node.name,
                bool(sources) or above.named,
                above.hand or (node.pointer and bool(node.ref)),
                node.role == "textbox",
                above.level + 1 if self._depth else 0,
            )
        parts: list[Part] = [node.children[0]] if node is not None and node.children else []
        told: dict[int, bool] = {}
        has_nodes = False
        block = style.display != "inline" or element.tag == "br"
        if block:
            parts.append(" ")
        if text := styles.content(element, "before"):
            parts.append(text)
        shows_text = seen and not within.textbox and element.tag != "iframe"
        children: Sequence[Element | str] = element.children
        if index in self._owned:
            children = (*children, *self._owned[index])
        for child in children:
            if isinstance(child, str):
                if child and shows_text:
                    parts.append(child)
                continue
            if child.index in self._owner_of and child.parent is element:
                continue
            piece = self._piece(child, within)
            parts += piece.parts
            if piece.told:
                told.update(piece.told)
            has_nodes = has_nodes or piece.has_nodes
        if text := styles.content(element, "after"):
            parts.append(text)
        if block:
            parts.append(" ")
        if node is None:
            return _Piece(above, tuple(parts), told, has_nodes)
        self._set_properties(node, element)
        left = self._distill(node, element, sources, parts, told, has_nodes, above)
        return _Piece(above, left, told if above.named else {}, True)

    def _node(
        self, element: Element, visible: bool
    ) -> tuple[AccessibilityNode | None, tuple[int, ...]]:
        """The node of an element before anything is in it, and the elements that its name comes from."""
        index, tag = element.index, element.tag
        self._with_ref.discard(index)
        style = self.styles.of[index]
        role = self.roles.of[index] or "generic"
        name, sources, clickable = "", (), style.clickable
        if tag in ("iframe", "frame"):
            role, clickable = "iframe", True
        elif role in _PRESENTATIONAL:
            return None, ()
        else:
            children = element.children
            if (
                role == "generic"
                and len(children) == 1
                and isinstance(children[0], str)
                and children[0]
                and self.boxes.is_inline(element)
            ):
                return None, ()
            text, sources = self.names.name_of(element)
            name = plain(text) if text else ""
        ref = ""
        if visible and clickable:
            ref = self._refs.give(index, role, name)
            self._with_ref.add(index)
        active = index == self._focus
        is_text_input = tag == "textarea" or (
            tag == "input" and element.type not in ("checkbox", "radio", "file")
        )
        return AccessibilityNode(
            role=role,
            name=name,
            element=index,
            ref=ref,
            pointer=style.pointer,
            active=active,
            states=self._states.of(element, role, active),
            marked_hidden=not self._old_rules and element.get("aria-hidden").lower() == "true",
            children=(self._live.value_of(element),) if is_text_input else (),
        ), sources

    def _set_properties(self, node: AccessibilityNode, element: Element) -> None:
        if node.role == "link" and (url := element.attributes.get("href")) is not None:
            if url.startswith("data:") and "," in url and not self._old_rules:
                url = url[: url.index(",") + 1] + "…"
            node.properties = (("url", url),)
        if node.role == "textbox":
            placeholder = element.attributes.get("placeholder")
            if placeholder is not None and placeholder != node.name:
                node.properties = (("placeholder", placeholder),)
        if node.marked_hidden:
            node.states = (*node.states, "aria-hidden")

    def _merge(self, parts: Sequence[Part], name: str) -> tuple[Part, ...]:
        """The parts with neighbouring texts as one; nothing if they only repeat the name."""
        merged: list[Part] = []
        texts: list[str] = []
        for part in (*parts, _BREAK):
            if isinstance(part, str) and part is not _BREAK:
                texts.append(part)
                continue
            if texts and (text := plain("".join(texts))):
                merged.append(text)
            texts = []
            if part is not _BREAK:
                merged.append(part)
        if len(merged) == 1 and merged[0] == name and not (self._old_rules and _BREAK in parts):
            return ()
        return tuple(merged)

    def _distill(
        self,
        node: AccessibilityNode,
        element: Element,
        sources: Sequence[int],
        parts: Sequence[Part],
        told: dict[int, bool],
        has_nodes: bool,
        above: _Above,
    ) -> tuple[Part, ...]:
        """What is left of a node in the tree: itself, what is in it, or nothing."""
        index, is_generic = element.index, node.role == "generic"
        node.children = self._merge(parts, node.name)
        if self._old_rules:
            if is_generic and not node.name and _is_wrapper(node):
                return node.children or (_BREAK,)
            return (node,)
        is_target = bool(node.ref and node.pointer and not above.hand)
        beyond = bool(self._depth) and above.level > self._depth
        tells_itself = bool(node.ref) and not beyond and (has_nodes or not is_generic)
        from_content = [
            source
            for source in sources
            if source != index and source <= element.last and source in self._with_ref
        ]
        for source in from_content if node.ref else ():
            told.setdefault(source, True)
        if tells_itself:
            told[index] = False
        if node.role == "img" and not node.name and not node.children and not is_target:
            return ()
        if node.ref and from_content:
            if not any(told[source] for source in from_content):
                node.name = ""
            else:
                told.update(dict.fromkeys(from_content, False))
        if (
            is_generic
            and not node.properties
            and not node.marked_hidden
            and len(node.children) == 1
        ):
            child = node.children[0]
            if not isinstance(child, str) and _is_text_only(child):
                node.children = child.children
        if above.name and is_generic and node.is_bare:
            text = node.name
            if text:
                text = "" if node.children else text
            elif len(node.children) == 1 and isinstance(node.children[0], str):
                text = node.children[0]
            if text and text == above.name:
                if node.ref:
                    told[index] = True
                return ()
        if is_generic and not node.name and _is_wrapper(node) and (node.children or not is_target):
            return node.children
        return (node,)


def _is_wrapper(node: AccessibilityNode) -> bool:
    """Whether there is nothing in a node but one that has a ref."""
    children = node.children
    return len(children) <= 1 and all(
        not isinstance(child, str) and child.ref for child in children
    )


def _is_text_only(node: AccessibilityNode) -> bool:
    children = node.children
    is_text = len(children) == 1 and isinstance(children[0], str)
    return is_text and node.role == "generic" and not node.name and node.is_bare


def _owned_elements(document: Document) -> Mapping[int, Sequence[Element]]:
    """Elements that `aria-owns` moves to another place of the tree, by the number of what owns them.

    An element that comes before its owner, or is in it, stays where it is; so does one that would be nested too deep.
    """
    found: dict[int, list[Element]] = {}
    deeper: dict[int, int] = {}
    """By how much what is moved lies deeper than it is written."""
    for owner in document.elements:
        if "aria-owns" in owner.attributes:
            around = next((one.index for one in owner.chain() if one.index in deeper), -1)
            depth = owner.depth + deeper.get(around, 0) + 1
            for owned in document.references(owner.attributes["aria-owns"]):
                is_moved = owned.index > owner.last and owned.index not in deeper
                if is_moved and depth < MAX_DEPTH:
                    deeper[owned.index] = depth - owned.depth
                    found.setdefault(owner.index, []).append(owned)
    return found
