"""A page as an agent reads it: a document, what a user has changed on it, and its snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

from agentworld_sim.engines.web.accessibility_tree import AccessibilityTree
from agentworld_sim.engines.web.document import Document, Element
from agentworld_sim.engines.web.live_state import LiveState, RefBook
from agentworld_sim.engines.web.page_look import look_of
from agentworld_sim.engines.web.snapshot_yaml import snapshot_yaml
from agentworld_sim.engines.web.states import is_disabled

SnapshotRules = Literal["full", "distilled"]


class PageView:
    """A document in a window, with what was typed and checked on it.

    Args:
        document: What was loaded.
        live: What was changed since; the page changes it.
        refs: The refs that snapshots gave so far; the page adds to them.
        sheets: The texts of linked style sheets, by the `href` of the link.
        rules: How snapshots are made: `full` as Playwright did until 1.59 (`@playwright/mcp` 0.0.68), `distilled` as
            since 1.64 (0.0.79), where what is said twice is left out.
        width: The width of the window in pixels.
    """

    def __init__(
        self,
        document: Document,
        live: LiveState | None = None,
        refs: RefBook | None = None,
        *,
        sheets: Mapping[str, str] | None = None,
        rules: SnapshotRules = "distilled",
        width: int = 1280,
    ) -> None:
        self.document = document
        self.live = LiveState() if live is None else live
        self.refs = RefBook() if refs is None else refs
        self._sheets: Mapping[str, str] = {} if sheets is None else sheets
        self.rules: SnapshotRules = rules
        self._width = width
        self._kept_tree: AccessibilityTree | None = None

    def snapshot(self, element: Element | None = None, *, depth: int | None = None) -> str:
        """The accessibility tree as YAML.

        Args:
            element: Where to begin; the whole page if None.
            depth: Levels to show, the top one is 0; all if None or 0.
        """
        tree = self._tree
        content = tree.build(element or self.document.body, self.focus, depth or 0)
        return snapshot_yaml(content, old_rules=self.rules == "full", depth=depth)

    @property
    def _tree(self) -> AccessibilityTree:
        if self._kept_tree is None:
            look = look_of(self.document, self._sheets, self.live, self._width)
            self._kept_tree = AccessibilityTree(
                look, self.live, self.refs, old_rules=self.rules == "full"
            )
        return self._kept_tree

    @property
    def focus(self) -> Element:
        """The element in focus: the body if no other is."""
        if self.live.focus is not None:
            element = self.document.elements[self.live.focus]
            return element if self._tree.styles.of[element.index].rendered else self.document.body
        for element in self._autofocus:
            if self.is_visible(element) and not self.is_disabled(element):
                return element
        return self.document.body

    @cached_property
    def _autofocus(self) -> Sequence[Element]:
        return [element for element in self.document.elements if "autofocus" in element.attributes]

    def element_of(self, ref: str) -> Element | None:
        """The element that was last called `ref`; None if none was, or it is not shown any more."""
        for index, (_, _, given) in self.refs.given.items():
            if given == ref:
                element = self.document.elements[index]
                return element if self.is_visible(element) else None
        return None

    def role_of(self, element: Element) -> str:
        return self._tree.roles.of[element.index] or "generic"

    def name_of(self, element: Element) -> str:
        """The accessible name."""
        return self._tree.names.name_of(element).text

    def is_hidden(self, element: Element) -> bool:
        """Whether it is there for nobody, or not for people who hear the page."""
        return bool(self._tree.styles.hidden[element.index])

    def is_visible(self, element: Element) -> bool:
        """Whether it takes room on the screen."""
        return self._tree.boxes.is_visible(element)

    def is_disabled(self, element: Element) -> bool:
        return is_disabled(element, self.role_of(element))

    def set_value(self, control: Element, value: str) -> None:
        """Types into an input or a textarea."""
        self.live.values[control.index] = value
        self._change(control)

    def set_checked(self, control: Element, checked: bool) -> None:
        """Checks or unchecks a checkbox or a radio button, of which only one of a group is checked."""
        is_choice = control.type == "radio" and checked
        for one in self.document.radio_group(control) if is_choice else [control]:
            self.live.checked[one.index] = checked and one is control
            self._change(one)

    def select_options(self, select: Element, numbers: Sequence[int]) -> None:
        """Chooses options of a select, counted from 0."""
        self.live.selected[select.index] = list(numbers)
        self._change(*select.descendants("option"), select)

    def set_open(self, element: Element, is_open: bool) -> None:
        """Opens or closes a `details` or a `dialog`."""
        self.live.open[element.index] = is_open
        self._kept_tree = None

    def set_focus(self, element: Element | None) -> None:
        """Moves the focus; None gives it back to the page."""
        self.live.focus = None if element is None else element.index
        if self._kept_tree is not None and self._kept_tree.styles.depends_on_state:
            self._kept_tree = None

    def _change(self, *elements: Element) -> None:
        if self._kept_tree is None:
            return
        if self._kept_tree.styles.depends_on_state:
            self._kept_tree = None
            return
        for element in elements:
            self._kept_tree.forget(element)
