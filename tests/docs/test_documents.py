"""Documents: what they show runs, and what they point to is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SNIPPETS = sorted((ROOT / "docs" / "snippets").glob("*.py"))


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("snippet", SNIPPETS, ids=ids)
def test_every_snippet_runs(snippet: Path, tmp_path: Path) -> None:
    runs = ["-m", "pytest", "-q"] if snippet.name.startswith("test_") else []
    done = subprocess.run(
        [sys.executable, "-W", "error", *runs, str(snippet)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


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
