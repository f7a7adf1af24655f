"""A page as it looked, as one HTML text that needs nothing else: for people who read a record."""

from __future__ import annotations

from html import escape

from agentworld_sim.engines.web.browser_state import BLANK, BrowserState
from agentworld_sim.engines.web.document import Element
from agentworld_sim.engines.web.page_loading import PageLoader, WorldFiles
from agentworld_sim.engines.web.requests import Internet
from agentworld_sim.engines.web.tab_page import TabPage
from agentworld_sim.types.files import MemoryBlobs
from agentworld_sim.types.state import WorldState

_LEFT_OUT = frozenset("base embed frame iframe link meta noscript object script template".split())
_VOID = frozenset("area br col hr img input source track wbr".split())
_LEFT_OUT_ATTRIBUTES = frozenset("autofocus checked open selected srcdoc value".split())


def page_copy(state: WorldState, internet: Internet | None) -> str:
    """The page in front, with what was typed, chosen and opened, and its style sheets; empty if there is none.

    Nothing in it runs and nothing of it is loaded from elsewhere: programs, frames and what happens on events are
    left out.
    """
    browser = BrowserState(state.values)
    tab = browser.tab
    if tab is None or browser.page(tab).url == BLANK:
        return ""
    sheet = PageLoader(browser, state, internet, None).sheet
    files = WorldFiles(state, MemoryBlobs(), {})  # no form is sent
    page = TabPage(browser, tab, files, sheet, distilled=True, read={})
    return "<!doctype html>" + _copy(page.document.root, page)


def _copy(element: Element, page: TabPage) -> str:
    tag, live = element.tag, page.live
    if element in page.document.sheet_links:
        return f"<style>{_sheet_text(page.sheets.get(element.get('href'), ''))}</style>"
    if tag in _LEFT_OUT:
        return ""
    told = {
        name: value
        for name, value in element.attributes.items()
        if not name.startswith("on") and name not in _LEFT_OUT_ATTRIBUTES
    }
    if tag == "style":
        inside = _sheet_text(element.text_content())
    elif tag == "textarea":
        inside = escape(live.value_of(element))
    else:
        every = element.children
        inside = "".join(escape(x) if isinstance(x, str) else _copy(x, page) for x in every)
    if tag == "input" and element.type in ("checkbox", "radio"):
        told |= {"checked": ""} if live.is_checked(element, page.document) else {}
    elif tag == "input":
        told["value"] = live.value_of(element)
    elif tag == "option" and (select := element.closest("select")):
        told |= {"selected": ""} if element in live.selected_options(select) else {}
    elif tag in ("details", "dialog"):
        told |= {"open": ""} if live.is_open(element) else {}
    if page.tree.focus is element and tag != "body":
        told["style"] = f"{told.get('style', '')};outline:2px solid"
    written = "".join(f' {name}="{escape(value)}"' for name, value in told.items())
    return f"<{tag}{written}>" + ("" if tag in _VOID else f"{inside}</{tag}>")


def _sheet_text(sheet: str) -> str:
    """A style sheet that cannot end its element."""
    return sheet.replace("</", "<\\/")
