"""What Playwright's MCP server says: the sections of an answer, and the words of its errors.

Two generations: 0.0.68 takes `ref` and shows every snapshot (`--snapshot-mode full`, the form that the world
model was trained on); 0.0.83 takes `target` and writes snapshots into files. Recordings of both stand beside the
tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from agentworld_sim.engines.web.browser_state import BLANK, TabState
from agentworld_sim.engines.web.browser_turn import DOWNLOADS, BrowserTurn
from agentworld_sim.engines.web.document import Element, parse_document
from agentworld_sim.plain_text import shorten
from agentworld_sim.types.files import normal_path
from agentworld_sim.types.turns import Observation

_PREVIEWED_CHILDREN = 5
_PREVIEWED_TEXT = 50
_PREVIEWED_ATTRIBUTES = 500
_EVENT = 100
TIMES = "\N{MULTIPLICATION SIGN}"
_BOOLEAN = frozenset(["checked", "selected", "disabled", "readonly", "multiple"])
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())


class PlaywrightError(Exception):
    """The tool fails with this text."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """A generation of the server."""

    key: Literal["ref", "target"]
    """The argument that names an element."""
    wait_us: int = 5_000_000
    """What a tool waits on the world's clock for what does not come."""

    @property
    def is_newer(self) -> bool:
        return self.key == "target"

    def failure(
        self, action: str, what: str, log: list[str], kind: str = "Error"
    ) -> PlaywrightError:
        """A failed action, with the log of what Playwright did. `action` is its method, `locator.click`."""
        caller = "browserBackend.callTool" if self.is_newer else action
        lines = [f"\x1b[2m{line}\x1b[22m" for line in log]
        text = "\n".join([f"{kind}: {caller}: {what}", "Call log:", *lines, ""])
        return PlaywrightError(text)

    def timeout(
        self, action: str, doing: str, waiting: str, reason: str, log: list[str]
    ) -> PlaywrightError:
        """An element that is not ready in five seconds: for `doing` it has to be `waiting`, and it is not:
        `reason`."""
        wait, retry = f"waiting for element to be {waiting}", f"    - retrying {doing} action"
        lines = [
            *log,
            f"  - attempting {doing} action",
            f"    2 {TIMES} {wait}",
            f"      - {reason}",
            retry,
        ]
        lines += ["    - waiting 20ms", f"    2 {TIMES} {wait}", f"      - {reason}", retry]
        lines += ["      - waiting 100ms", f"    10 {TIMES} {wait}", f"       - {reason}"]
        lines += [f"     - retrying {doing} action", "       - waiting 500ms"]
        return self.failure(action, "Timeout 5000ms exceeded.", lines, "TimeoutError")


@dataclass(slots=True)
class PlaywrightReply:
    """An answer in the making."""

    turn: BrowserTurn
    dialect: Dialect
    results: list[str] = field(default_factory=list[str])
    code: list[str] = field(default_factory=list[str])
    snapshot: Literal["none", "after", "asked"] = "none"
    """Whether the page is shown: because something was done to it, or because it was asked for."""
    filename: str | None = None
    """Where an asked snapshot is written."""
    depth: int | None = None
    part: Element | None = None
    """The element that an asked snapshot shows."""

    def text(self) -> str:
        """The whole answer, after all is done."""
        browser, tab = self.turn.browser, self.turn.browser.tab
        sections = [("Result", self.results, ""), ("Ran Playwright code", self.code, "js")]
        shown = self._snapshot(tab) if tab is not None and self.snapshot != "none" else ""
        if self.told_tabs() or self.snapshot != "none":
            if len(browser.tabs) != 1:
                sections.append(("Open tabs", self.tab_lines(), ""))
            if browser.tabs:
                # The older one shows the first tab, whichever is in front.
                front = browser.current if self.dialect.is_newer else 0
                sections.append(("Page", self._page_lines(browser.tabs[front]), ""))
        if tab is not None and tab.modal is not None:
            sections.append(("Modal state", [modal_line(tab.modal)], ""))
        if tab is not None and self.snapshot != "none":
            in_file = self.filename is not None or (
                self.dialect.is_newer and self.snapshot == "after"
            )
            if in_file:
                link = self.write(self.filename, "page", "yml", "Snapshot", shown)
                sections.append(("Snapshot", [link], ""))
            else:
                sections.append(("Snapshot", [shown], "yaml"))
        if tab is not None and tab.modal is None:
            sections.append(("Events", self._event_lines(tab), ""))
        return _sections_text(sections)

    def told_tabs(self) -> bool:
        """Whether anything of the tabs is other than the agent was last told; it is told now."""
        changed = False
        for tab in self.turn.browser.tabs:
            header = self._header(tab)
            changed = changed or header != (tab.header or ["", BLANK, False, 0, 200])
            tab.header = header
        return changed

    def tab_lines(self) -> list[str]:
        """The open tabs."""
        browser = self.turn.browser
        if not browser.tabs:
            return ["No open tabs. Navigate to a URL to create one."]
        return [
            f"- {place}:{' (current)' if place == browser.current else ''}"
            f" [{self._title(tab)}]({browser.page(tab).url})"
            for place, tab in enumerate(browser.tabs)
        ]

    def write(self, name: str | None, prefix: str, extension: str, title: str, text: str) -> str:
        """Writes a file, under `name` in the working directory or a name of its own, and gives its link."""
        own = f"{DOWNLOADS}/{prefix}-{file_time(self.turn.clock_us)}.{extension}"
        path = self.path_of(name) if name is not None else f"{self._workspace}/{own}"
        self.turn.files.write(path, text.encode())
        return f"- [{title}]({self._relative(path)})"

    def path_of(self, name: str) -> str:
        """The path of a file in the working directory.

        Raises:
            PlaywrightError: it lies elsewhere.
        """
        path = normal_path(name if name.startswith("/") else f"{self._workspace}/{name}")
        if not path.startswith(f"{self._workspace}/"):
            raise PlaywrightError(
                f"Error: File access denied: {path} is outside allowed roots."
                f" Allowed roots: {self._workspace or '/'}"
            )
        return path

    @property
    def _workspace(self) -> str:
        return self.turn.workspace.rstrip("/")

    def _relative(self, path: str) -> str:
        rest = path.removeprefix(f"{self._workspace}/")
        return rest if "/" in rest or rest.startswith(".") else f"./{rest}"

    def _snapshot(self, tab: TabState) -> str:
        if tab.modal is not None:
            return ""
        tree = self.turn.page(tab).tree
        return tree.snapshot(self.part, depth=self.depth)

    def _title(self, tab: TabState) -> str:
        html = self.turn.browser.page(tab).html
        return "" if tab.modal is not None else parse_document(html).title

    def _messages(self, tab: TabState) -> list[str]:
        return [
            text
            for document, text in tab.console
            if document == tab.documents or not self.dialect.is_newer
        ]

    def _header(self, tab: TabState) -> list[Any]:
        page = self.turn.browser.page(tab)
        is_front = tab is self.turn.browser.tab
        status = page.status if self.dialect.is_newer else 200
        return [self._title(tab), page.url, is_front, len(self._messages(tab)), status]

    def _page_lines(self, tab: TabState) -> list[str]:
        page, title, errors = self.turn.browser.page(tab), self._title(tab), self._messages(tab)
        lines = [f"- Page URL: {page.url}"]
        if title:
            lines.append(f"- Page Title: {title}")
        if self.dialect.is_newer and not 200 <= page.status < 300:
            lines.append(f"- HTTP status: {page.status} {page.status_text}".rstrip())
        if errors:
            lines.append(f"- Console: {len(errors)} errors, 0 warnings")
        return lines

    def _event_lines(self, tab: TabState) -> list[str]:
        lines: list[str] = []
        new = [text for _, text in tab.console[tab.told :]]
        if new:
            first, last = tab.told + 1, len(tab.console)
            tab.told = last
            path = f"{DOWNLOADS}/console-{file_time(tab.console_us)}.log"
            content = "".join(f"[       0ms] {text}\n" for _, text in tab.console)
            self.turn.files.write(f"{self._workspace}/{path}", content.encode())
            where = f"#L{first}" if first == last else f"#L{first}-L{last}"
            lines.append(f"- New console entries: {path}{where}")
            if not self.dialect.is_newer:
                lines += [f"- {_middle_cut(text)}" for text in new]
        for name, path in self.turn.downloaded:
            lines.append(f"- Downloading file {name} ...")
            lines.append(f'- Downloaded file {name} to "{self._relative(path)}"')
        return lines


def modal_line(modal: dict[str, Any]) -> str:
    """What waits for an answer."""
    if modal["kind"] == "fileChooser":
        return "- [File chooser]: can be handled by browser_file_upload"
    about = f'"{modal["kind"]}" dialog with message "{modal["message"]}"'
    return f"- [{about}]: can be handled by browser_handle_dialog"


def error_text(error: str, modal: dict[str, Any] | None = None) -> str:
    """The answer of a tool that failed."""
    lines = [] if modal is None else [modal_line(modal)]
    return _sections_text([("Error", [error], ""), ("Modal state", lines, "")])


def failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    """A failure that a control makes, in the server's form."""
    return Observation(text=error_text(f"Error: {error}"), is_error=True)


def file_time(clock_us: int) -> str:
    """A time as it stands in the names of files: `2026-11-22T10-15-13-581Z`."""
    time = datetime.fromtimestamp(clock_us / 1e6, UTC)
    return f"{time:%Y-%m-%dT%H-%M-%S}-{time.microsecond // 1000:03}Z"


def preview(element: Element) -> str:
    """An element as Playwright's log shows it."""
    written = [
        f" {name}" if name in _BOOLEAN and not value else f' {name}="{value}"'
        for name, value in element.attributes.items()
    ]
    attributes = shorten("".join(sorted(written, key=len)), _PREVIEWED_ATTRIBUTES)
    if element.tag in _VOID:
        return f"<{element.tag}{attributes}/>"
    is_text = len(element.children) <= _PREVIEWED_CHILDREN and all(
        isinstance(child, str) for child in element.children
    )
    text = element.text_content() if is_text else "…"
    return f"<{element.tag}{attributes}>{shorten(text, _PREVIEWED_TEXT)}</{element.tag}>"


def _middle_cut(text: str) -> str:
    half = _EVENT // 2
    return text if len(text) <= _EVENT else f"{text[:half]}...{text[-3 - half :]}"


def _sections_text(sections: list[tuple[str, list[str], str]]) -> str:
    lines: list[str] = []
    for title, content, fence in sections:
        if content:
            lines.append(f"### {title}")
            lines += [f"```{fence}", *content, "```"] if fence else content
    return "\n".join(lines)
