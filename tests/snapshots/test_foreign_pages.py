"""Our snapshots beside Playwright's of pages that other people wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from agentworld_sim.engines.web.document import Document, parse_document
from agentworld_sim.engines.web.live_state import LiveState
from agentworld_sim.engines.web.page_view import PageView, SnapshotRules
from tests.engines.web.recordings import recorded_snapshots
from tests.snapshots.chromium import MINIWOB, MODULES, Seen, ask_chromium
from tests.snapshots.record import RULES, record

_REF = re.compile(r" \[ref=\w+\]")


class Likeness:
    """How much of Playwright's snapshots ours say too: nodes without their refs, and whole pages."""

    def __init__(self, folder: Path, seen: Mapping[str, Seen], rules: SnapshotRules) -> None:
        self.pages = len(seen)
        self.nodes = self.equal = self.whole = self.with_refs = 0
        for name, one in seen.items():
            theirs, ours = one["snapshots"][0], _our_snapshot(folder / name, one, rules)
            wanted, got = _nodes(theirs), _nodes(ours)
            blocks = SequenceMatcher(None, wanted, got, autojunk=False).get_matching_blocks()
            self.nodes += len(wanted)
            self.equal += sum(block.size for block in blocks)
            self.whole += wanted == got
            self.with_refs += theirs == ours

    def __str__(self) -> str:
        return (
            f"{self.pages} pages, {self.nodes} nodes, {self.equal / self.nodes:.2%} equal;"
            f" {self.whole} pages whole, {self.with_refs} with their refs"
        )


def _nodes(snapshot: str) -> list[str]:
    return [_REF.sub("", line) for line in snapshot.split("\n")]


def _our_snapshot(file: Path, seen: Seen, rules: SnapshotRules) -> str:
    html = seen.get("html") or file.read_text(encoding="utf-8", errors="replace")
    document = parse_document(html)
    live = LiveState()
    if written := seen.get("live"):
        for name in ("values", "checked", "selected"):
            getattr(live, name).update({int(key): value for key, value in written[name].items()})
        live.focus = written["focus"]
    return PageView(document, live, sheets=dict(_sheets(document, file)), rules=rules).snapshot()


def _sheets(document: Document, file: Path) -> Iterator[tuple[str, str]]:
    for link in document.root.descendants("link"):
        href = link.get("href")
        path = file.parent / href.split("?")[0]
        if "//" not in href and path.is_file():
            yield href, path.read_text(encoding="utf-8", errors="replace")


def show(likeness: Likeness, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{likeness}")


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(
    "package",
    [
        "spectre.css/docs",
        "startbootstrap-clean-blog/dist",
        "startbootstrap-freelancer/dist",
        "startbootstrap-sb-admin-2",
    ],
)
def test_pages_of_a_package_read_as_in_chromium(
    package: str, rules: SnapshotRules, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = MODULES / package
    names = [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*.html"))
        if "node_modules" not in path.relative_to(folder).parts
    ]
    seen = ask_chromium(folder, {name: [] for name in names}, rules=rules)
    likeness = Likeness(folder, seen, rules)
    show(likeness, capsys)
    assert likeness.equal >= 0.995 * likeness.nodes


def test_pages_that_programs_made_read_as_in_chromium(capsys: pytest.CaptureFixture[str]) -> None:
    names = sorted(str(path.relative_to(MINIWOB)) for path in (MINIWOB / "miniwob").glob("*.html"))
    start = "Math.seedrandom && Math.seedrandom(7); core.startEpisodeReal()"
    seen = ask_chromium(MINIWOB, {name: [] for name in names}, scripts=True, before=start)
    likeness = Likeness(MINIWOB, seen, "distilled")
    show(likeness, capsys)
    assert likeness.pages == 130
    assert likeness.whole >= 119


def test_the_recordings_of_our_own_pages_are_what_chromium_says_today() -> None:
    assert record() == recorded_snapshots()
