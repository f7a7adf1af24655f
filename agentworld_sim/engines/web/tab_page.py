"""A page that is open in a tab, and what clicks, keys and typing do to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import urldefrag

from pydantic import TypeAdapter

from agentworld_sim.engines.web.browser_state import CONTROLS, BrowserState, TabState
from agentworld_sim.engines.web.document import Document, Element, parse_document
from agentworld_sim.engines.web.forms import (
    PageForms,
    is_text,
)
from agentworld_sim.engines.web.live_state import (
    LiveState,
    RefBook,
    is_listbox,
    value_of_option,
)
from agentworld_sim.engines.web.locators import Locators
from agentworld_sim.engines.web.page_loading import WorldFiles, download_name
from agentworld_sim.engines.web.page_view import PageView
from agentworld_sim.engines.web.requests import Upload, WebRequest, resolve_url

_DIALOG = re.compile(
    r"\s*(?P<decides>return\s+)?(?:window\.)?(?P<kind>confirm|alert)\(\s*(?P<quote>['\"])"
    r"(?P<message>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)\s*\)\s*;?\s*"
)
"""The programs that are understood: a dialog, whose answer decides whether the click counts."""
_GO = re.compile(
    r"\s*(?:window\.|document\.)?location(?:\.href)?\s*=\s*(?P<quote>['\"])(?P<url>[^'\"]*)(?P=quote)\s*;?\s*"
)
_ACTIVE = ("a", "area", "button", "input", "select", "textarea", "summary", "label", "option")


@dataclass(frozen=True, slots=True)
class Way:
    """What leads on from a page."""

    request: WebRequest
    new_tab: bool = False
    download: str | None = None
    """What the file is called that comes, where it is kept and not shown."""


@dataclass(frozen=True, slots=True)
class Modal:
    """What has to be answered before anything else."""

    kind: str
    """`confirm`, `alert` or `fileChooser`."""
    element: int
    message: str = ""
    decides: bool = False
    """Whether its answer does: `return confirm(…)`."""
    sends: bool = False
    """Whether the dialog decides about sending the form of the element, and not about the click."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Only the page's own programs know what comes of a click on this element."""

    element: Element


PagesRead = dict[int, tuple[Any, PageView]]
"""Pages by the number of their tab, with what they follow from."""
Effect = Way | Modal | Unknown | None


class TabPage:
    """The page of a tab, with all that was done to it. `save` keeps it with the tab."""

    def __init__(
        self,
        browser: BrowserState,
        tab: TabState,
        files: WorldFiles,
        sheet: Callable[[str], str | None],
        *,
        distilled: bool,
        read: PagesRead,
    ) -> None:
        """
        Args:
            sheet: Gives the text of a style sheet by its URL.
            distilled: Whether snapshots and refs are those of the newer generation.
            read: The pages of the turn before, which need not be read again.
        """
        self._browser, self._tab, self._files, self._pages = browser, tab, files, read
        self.page = browser.page(tab)
        self.document: Document = parse_document(self.page.html)
        self.kept = browser.live(tab)
        """All that is kept beside the page."""
        prefix = f"f{tab.documents - 1}" if distilled and tab.documents > 1 else ""
        hrefs = self.document.sheet_links.values()
        texts = {href: sheet(resolve_url(self.page.url, href)) for href in hrefs}
        self._sheets = {href: text for href, text in texts.items() if text is not None}
        self._distilled = distilled
        # A page that is changed and then not kept is lost with its turn.
        key, tree = read.pop(tab.number, (None, None))
        if tree is None or key != self._key(self.kept.get(CONTROLS), self.kept.get("refs")):
            live = _live_states().validate_python(self.kept.get(CONTROLS, {}))
            refs = _ref_books().validate_python(self.kept.get("refs", {"prefix": prefix}))
            tree = self._read(live, refs)
        self.tree: PageView = tree
        self.live, self.refs = tree.live, tree.refs

    def _key(self, controls: Any, refs: Any) -> Any:
        """What a page that was read follows from."""
        width = self._browser.width
        return self.page.html, self._sheets, self._distilled, width, controls or None, refs

    def _read(self, live: LiveState, refs: RefBook) -> PageView:
        rules = "distilled" if self._distilled else "full"
        width = self._browser.width
        return PageView(self.document, live, refs, sheets=self._sheets, rules=rules, width=width)

    def save(self) -> None:
        """Keeps what was done to the page."""
        live = _live_states().dump_python(self.live, mode="json", exclude_defaults=True)
        refs: dict[str, Any] | None = self.kept.get("refs")
        # A ref that is given has a new number.
        if self.refs.last != (refs["last"] if refs else 0):
            refs = _ref_books().dump_python(self.refs, mode="json")
        kept = {**self.kept, CONTROLS: live, "refs": refs}
        self._browser.keep_live(self._tab, {name: one for name, one in kept.items() if one})
        self._pages[self._tab.number] = self._key(live, refs), self.tree

    @cached_property
    def locators(self) -> Locators:
        """How Playwright names the elements."""
        return Locators(self.document, self.tree)

    @property
    def forms(self) -> PageForms:
        """The forms, with the files that were chosen in them."""
        chosen: dict[str, list[str]] = self.kept.get("files", {})
        files = {int(index): self._uploads(paths) for index, paths in chosen.items()}
        return PageForms(self.document, self.live, files)

    def _uploads(self, paths: Sequence[str]) -> tuple[Upload, ...]:
        from mimetypes import guess_type

        return tuple(
            Upload(
                path.rpartition("/")[2],
                guess_type(path)[0] or "application/octet-stream",
                self._files.read(path) or b"",
            )
            for path in paths
        )

    def focus(self, element: Element | None) -> None:
        """Gives the focus to an element, or to the body."""
        self.tree.set_focus(element or self.document.body)
        self.kept.pop("marked", None)

    def press_mouse(self, element: Element) -> None:
        """Gives the focus to what the mouse is pressed on."""
        self.focus(next((one for one in element.chain() if self.takes_focus(one)), None))

    def click(self, element: Element, *, asked: bool = False) -> Effect:
        """A click with the mouse. `asked` says that the page's own dialog was answered with yes."""
        if not asked:
            self.press_mouse(element)
        active = next((one for one in element.chain() if self._is_active(one)), None)
        if active is not None and active.is_natively_disabled and active.tag not in ("a", "label"):
            return None
        for one in element.chain():
            if asked or "onclick" not in one.attributes:
                continue
            if dialog := _DIALOG.fullmatch(one.get("onclick")):
                return _modal(dialog, element)
            if go := _GO.fullmatch(one.get("onclick")):
                return self._leads_to(go["url"], element)
            if active is None:
                return Unknown(element)
        return Unknown(element) if active is None else self._activate(active)

    def _is_active(self, element: Element) -> bool:
        if element.tag == "summary":
            around = element.parent
            return (
                around is not None
                and around.tag == "details"
                and around.child("summary") is element
            )
        return element.tag in _ACTIVE and (element.tag != "a" or "href" in element.attributes)

    def _activate(self, element: Element) -> Effect:
        """What an element does when it is clicked, or Enter pressed on it."""
        kind = element.type
        match element.tag:
            case "a" | "area":
                return self._leads_to(element.get("href"), element)
            case "label":
                control = self.document.control_of(element)
                if control is None or control.is_natively_disabled:
                    return None
                if self.takes_focus(control):
                    self.focus(control)
                return self._activate(control)
            case "option":
                select = element.closest("select")
                if select is not None and is_listbox(select):
                    self.choose(select, [element])
            case "summary":
                assert element.parent is not None
                self.tree.set_open(element.parent, not self.live.is_open(element.parent))
            case "input" if kind == "checkbox":
                self.tree.set_checked(element, not self.live.is_checked(element, self.document))
            case "input" if kind == "radio":
                self.tree.set_checked(element, True)
            case "input" if kind == "file":
                return Modal("fileChooser", element.index)
            case "button" | "input" if kind in ("submit", "image", "reset", "button"):
                return self._press_button(element)
            case _:
                pass
        return None

    def _leads_to(self, href: str, element: Element) -> Effect:
        target = resolve_url(self.page.url, href)
        if target.lower().startswith("javascript:"):
            return Unknown(element)
        if not target.startswith(("http://", "https://", "about:")):
            return None
        name = element.attributes.get("download")
        return Way(
            WebRequest(target),
            element.get("target").lower() == "_blank",
            None if name is None else name or download_name(target),
        )

    def _press_button(self, button: Element) -> Effect:
        form = self.document.form_of(button)
        if button.type == "button" or form is None:
            return Unknown(button)
        if button.type == "reset":
            self.forms.reset(form)
            self.tree = self._read(self.live, self.refs)
            return None
        return self.submit(form, button)

    def submit(self, form: Element, button: Element | None, *, asked: bool = False) -> Effect:
        """Sends a form, if nothing in it forbids that."""
        forms = self.forms
        method = ((button.get("formmethod") if button else "") or form.get("method")).lower()
        free = "novalidate" in form.attributes or (button and "formnovalidate" in button.attributes)
        if not free and (wrong := forms.invalid(form)) is not None:
            self.focus(wrong)
            return None
        dialog = _DIALOG.fullmatch(form.get("onsubmit"))
        if dialog and not asked:
            return replace(_modal(dialog, button or form), sends=True)
        if method == "dialog":
            around = form.closest("dialog")
            if around is not None:
                self.tree.set_open(around, False)
                self.focus(None)
            return None
        request = forms.request(form, button, self.page.url)
        if request is None:
            return Unknown(button or form)
        target = (button.get("formtarget") if button else "") or form.get("target")
        return Way(request, target.lower() == "_blank")

    def answer(self, modal: Modal, accept: bool) -> Effect:
        """Goes on after a dialog."""
        element = self.document.elements[modal.element]
        if not accept and modal.decides:
            return None
        if not modal.sends:
            return self.click(element, asked=True)
        form = element if element.tag == "form" else self.document.form_of(element)
        assert form is not None
        return self.submit(form, None if element is form else element, asked=True)

    def choose_files(self, element: Element, paths: Sequence[str]) -> None:
        """Puts files into a file input."""
        self.kept["files"] = {**self.kept.get("files", {}), str(element.index): list(paths)}

    def set_text(self, element: Element, text: str) -> None:
        """Puts text into a text control."""
        if element.tag == "input":
            text = text.replace("\r", "").replace("\n", "")
        self.tree.set_value(element, text)

    def type(self, text: str) -> Effect:
        """Types text where the focus is, at its end."""
        element = self.tree.focus
        if not is_text(element) or element.is_natively_disabled or "readonly" in element.attributes:
            return None
        before = "" if self.kept.pop("marked", None) else self.live.value_of(element)
        longest = element.whole_number("maxlength")
        text = before + text
        self.set_text(element, text if longest is None or longest < 0 else text[:longest])
        return None

    def choose(self, select: Element, options: Sequence[Element]) -> None:
        """Selects options of a select, and no others."""
        every = list(select.descendants("option"))
        self.tree.select_options(select, [every.index(one) for one in options])

    def options(self, select: Element, value: str, *, by_label: bool = False) -> list[Element]:
        """The options with this value or this text."""
        every = select.descendants("option")
        return [
            one
            for one in every
            if " ".join(one.text_content().split()) == value
            or (not by_label and value_of_option(one) == value)
        ]

    def takes_focus(self, element: Element) -> bool:
        """Whether an element can have the focus."""
        if "tabindex" in element.attributes:
            return True
        if element.tag in ("a", "area"):
            return "href" in element.attributes
        if element.tag == "summary":
            return self._is_active(element)
        controls = ("button", "input", "select", "textarea")
        return (
            element.tag in controls
            and element.type != "hidden"
            and not element.is_natively_disabled
        )

    def same_page(self, way: Way) -> bool:
        """Whether a way leads to another place on this page."""
        target = way.request.url
        return (
            "#" in target
            and way.request.method == "GET"
            and urldefrag(target).url == urldefrag(self.page.url).url
        )


@lru_cache(maxsize=1)
def _live_states() -> TypeAdapter[LiveState]:
    return TypeAdapter(LiveState)


@lru_cache(maxsize=1)
def _ref_books() -> TypeAdapter[RefBook]:
    return TypeAdapter(RefBook)


def _modal(dialog: re.Match[str], element: Element) -> Modal:
    decides = dialog["kind"] == "confirm" and bool(dialog["decides"])
    return Modal(dialog["kind"], element.index, _text(dialog["message"]), decides)


def _text(literal: str) -> str:
    """What a text between quotes says in a program."""
    escapes: dict[str, str] = {"n": "\n", "t": "\t"}
    return re.sub(r"\\(.)", lambda found: escapes.get(found[1], found[1]), literal)
