"""What a page looks like: styles, boxes and roles, shared by all windows that show it in the same state."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from agentworld_sim.engines.web.boxes import Boxes
from agentworld_sim.engines.web.cascade import Styles
from agentworld_sim.engines.web.document import Document
from agentworld_sim.engines.web.live_state import LiveState
from agentworld_sim.engines.web.roles import Roles

_Flags = tuple[tuple[int, bool], ...]


class PageLook:
    """The styles, boxes and roles of a document; nobody changes them."""

    def __init__(self, document: Document, sheets: Mapping[str, str], live: LiveState, width: int):
        self.document = document
        self.styles = Styles(document, sheets, live, width)
        self.boxes = Boxes(self.styles)
        self.roles = Roles(document)


def look_of(document: Document, sheets: Mapping[str, str], live: LiveState, width: int) -> PageLook:
    """How a document looks in a state; what sheets do not ask for is left out of it."""
    texts, is_open = tuple(sorted(sheets.items())), tuple(sorted(live.open.items()))
    look = _look(document, texts, is_open, (), None, width)
    if look.styles.depends_on_state and (live.checked or live.focus is not None):
        checked = tuple(sorted(live.checked.items()))
        look = _look(document, texts, is_open, checked, live.focus, width)
    return look


@lru_cache(maxsize=64)
def _look(
    document: Document,
    sheets: tuple[tuple[str, str], ...],
    is_open: _Flags,
    checked: _Flags,
    focus: int | None,
    width: int,
) -> PageLook:
    live = LiveState(checked=dict(checked), open=dict(is_open), focus=focus)
    return PageLook(document, dict(sheets), live, width)
