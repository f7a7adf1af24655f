"""BrowserGym's own trees of pages, asked in an environment that has `browsergym-core`.

python oracle.py CHROMIUM PAGES.json OUT.json    PAGES: {name: {html, sheets: {url: text}} or {url, before}}

Of a page that is given by its URL, its programs run, then `before`; the answer has the tree of the document that they
left, too. Chromium should be of the generation that `browsergym-core` pins through Playwright (125).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import playwright.sync_api as playwright
from browsergym.core.observation import _post_extract, _pre_extract, extract_merged_axtree
from browsergym.utils.obs import flatten_axtree_to_str

HOME = "http://page.test/"
LIVE = Path(__file__).parents[1].joinpath("snapshots", "oracle.mjs").read_text(encoding="utf-8")
STATE = LIVE[LIVE.index("() => {\n  const all") : LIVE.index("\n};\n", LIVE.index("const liveState")) + 2]


def tree_of(page: Any) -> str:
    _pre_extract(page)
    tree = extract_merged_axtree(page)
    _post_extract(page)
    return flatten_axtree_to_str(tree)


def main(chromium: str, pages: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with playwright.sync_playwright() as real:
        real.selectors.set_test_id_attribute("bid")
        browser = real.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        found["browser"] = browser.version
        for name, one in pages.items():
            context = browser.new_context(
                viewport={"width": 1280, "height": 720}, java_script_enabled=True
            )
            page = context.new_page()
            page.set_default_timeout(5000)
            if "url" in one:
                page.goto(one["url"])
                page.evaluate(one["before"])
                page.wait_for_timeout(200)
                live = page.evaluate(STATE)
                found[name] = {"html": page.content(), "live": live, "tree": tree_of(page)}
            else:
                page.route("**/*", answers(one))
                page.goto(HOME)
                found[name] = {"tree": tree_of(page)}
            context.close()
        browser.close()
    return found


def answers(one: Any) -> Any:
    def answer(route: Any) -> None:
        url = route.request.url
        if url == HOME:
            route.fulfill(body=one["html"], content_type="text/html; charset=utf-8")
        elif (sheet := one["sheets"].get(url.removeprefix(HOME))) is not None:
            route.fulfill(body=sheet, content_type="text/css")
        else:
            route.fulfill(status=404, body="")

    return answer


if __name__ == "__main__":
    asked = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    Path(sys.argv[3]).write_text(json.dumps(main(sys.argv[1], asked)), encoding="utf-8")
