"""Documents: what they show runs, and what they point to is there."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SNIPPETS = sorted((ROOT / "docs" / "snippets").glob("*.py"))


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize(
    "snippet", [one for one in SNIPPETS if not one.name.startswith("test_")], ids=ids
)
def test_every_snippet_runs(
    snippet: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(snippet), run_name="__main__")
    printed = capsys.readouterr()
    assert printed.out
    assert not printed.err


def test_every_snippet_that_is_a_test_passes(tmp_path: Path) -> None:
    tests = [str(one) for one in SNIPPETS if one.name.startswith("test_")]
    subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-q", *tests],
        cwd=tmp_path,
        timeout=120,
        check=True,
    )


@pytest.mark.parametrize("snippet", SNIPPETS, ids=ids)
def test_every_snippet_is_shown_somewhere(snippet: Path) -> None:
    assert any(f"<!-- {ids(snippet)} -->" in page.read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_a_page_shows_its_snippets_as_they_are(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name, shown in re.findall(
        r"<!-- (docs/snippets/\S+\.py) -->\n```python\n(.*?)```", text, re.DOTALL
    ):
        assert shown == (ROOT / name).read_text(encoding="utf-8"), name
    assert text.count("<!-- docs/snippets/") == len(
        re.findall(r"<!-- docs/snippets/\S+\.py -->\n```python\n", text)
    )


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_link_within_the_documents_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    broken = [
        target
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []


def test_the_site_leads_to_every_page() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    entries = re.findall(r"[\w/-]+\.md", str(site["project"]["nav"]))
    pages = [str(page.relative_to(ROOT / "docs")) for page in PAGES if "docs" in page.parts]
    assert sorted(entries) == sorted(pages)
