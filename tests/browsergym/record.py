"""Records what BrowserGym says of our pages, and prints how much of it ours says too.

python -m tests.browsergym.record PYTHON CHROMIUM [MINIWOB]

PYTHON is that of an environment with `browsergym-core` 0.14; CHROMIUM one of the generation that it pins (here 126, of
npm's `@sparticuz/chromium` 126.0.0); MINIWOB the folder `html` of the package `miniwob`, of whose pages nothing is kept.
All pages that the tasks of our sites lead to are compared; every fourth is kept, with those of `engines/web/pages`.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agentworld_sim import World
from agentworld_sim.engines.web.browser_state import BrowserState
from agentworld_sim.engines.web.browsergym_tree import BrowserGymTree
from agentworld_sim.engines.web.document import parse_document
from agentworld_sim.engines.web.live_state import LiveState
from agentworld_sim.engines.web.page_view import PageView
from agentworld_sim.engines.web.requests import WebRequest, resolve_url
from agentworld_sim.scenario import site_tasks
from agentworld_sim.scenario.site_file import SHIPPED
from agentworld_sim.sites.site_internet import scenario_internet
from agentworld_sim.testing.task_proof import TaskAgent, calls_of
from tests.engines.web.recordings import PAGES

HERE = Path(__file__).parent
RECORDED = HERE / "recorded.json.gz"
ACTIONS: dict[str, Any] = json.loads((HERE / "actions.json").read_text(encoding="utf-8"))
START = "Math.seedrandom && Math.seedrandom(7); core.startEpisodeReal()"

Page = Mapping[str, Any]
"""Its `html`, its `sheets` by their `href`, its `tree`, and `live` if programs changed it."""


def our_tree(page: Page) -> str:
    live = LiveState()
    for name, held in page.get("live", {}).items():
        if name != "focus":
            getattr(live, name).update({int(key): value for key, value in held.items()})
    document = parse_document(page["html"])
    sheets = {
        href: page["sheets"].get(href.lstrip("/"), "") for href in document.sheet_links.values()
    }
    return BrowserGymTree(PageView(document, live, sheets=sheets)).text()


def likeness(pages: Iterable[Page]) -> tuple[int, int, int]:
    """How many nodes BrowserGym's trees have, how many of them ours have, and how many trees are whole."""
    nodes = equal = whole = 0
    for page in pages:
        theirs, ours = page["tree"].split("\n"), our_tree(page).split("\n")
        blocks = SequenceMatcher(None, theirs, ours, autojunk=False).get_matching_blocks()
        nodes, whole = nodes + len(theirs), whole + (theirs == ours)
        equal += sum(block.size for block in blocks)
    return nodes, equal, whole


async def site_pages(site: str) -> dict[str, dict[str, Any]]:
    """The pages that the tasks of a site lead to, each once."""
    found: dict[str, dict[str, Any]] = {}
    tasks = site_tasks(site)
    for task in tasks.tasks:
        scenario = tasks.scenario_of(task.id)
        world, internet = await World.create(scenario), scenario_internet(scenario)
        call = calls_of(world)

        async def noted(tool: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
            if tool == "submit_answer":
                return "", False
            answer = await call(tool, arguments)  # noqa: B023 -- called in this turn of the loop
            state = await world.state()  # noqa: B023
            browser = BrowserState(state.values)
            page, sheets = browser.page(browser.tab), dict[str, str]()
            for href in parse_document(page.html).sheet_links.values():
                request = WebRequest(resolve_url(page.url, href))
                if came := internet and internet.answer(request, state):  # noqa: B023
                    sheets[href.lstrip("/")] = came[0].body.decode()
            found.setdefault(page.html, {"html": page.html, "sheets": sheets})
            return answer

        agent = TaskAgent(noted, tasks.home)
        for step in task.steps:
            await agent.do(step)
            await agent.snapshot() if "dialog" in step else None
        await world.close()
    return {f"{site}/{number}": page for number, page in enumerate(found.values())}


def ask(python: str, chromium: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    with TemporaryDirectory() as scratch:
        request, out = Path(scratch) / "asked.json", Path(scratch) / "out.json"
        request.write_text(json.dumps(asked), encoding="utf-8")
        command = [python, str(HERE / "oracle.py"), chromium, str(request), str(out)]
        subprocess.run(command, check=True, timeout=900)
        return json.loads(out.read_text(encoding="utf-8"))


def miniwob(python: str, chromium: str, folder: Path) -> dict[str, Any]:
    files = sorted((folder / "miniwob").glob("*.html"))
    asked = {file.stem: {"url": file.as_uri(), "before": START} for file in files}
    found = ask(python, chromium, asked)
    found.pop("browser")
    for page in found.values():
        hrefs = parse_document(page["html"]).sheet_links.values()
        paths = {href: folder / "miniwob" / href for href in hrefs}
        page["sheets"] = {
            href.lstrip("/"): path.read_text() for href, path in paths.items() if path.is_file()
        }
    return found


def main(python: str, chromium: str, *more: str) -> None:
    asked: dict[str, Any] = {
        f"own/{path.stem}": {"html": path.read_text(encoding="utf-8"), "sheets": {}}
        for path in sorted(PAGES.glob("*.html"))
    }
    for file in sorted(SHIPPED.glob("*/tasks.yaml")):
        asked |= asyncio.run(site_pages(file.parent.name))
    seen = ask(python, chromium, {**asked, "actions": ACTIONS})
    version, observations = seen.pop("browser"), seen.pop("actions")
    pages = {name: {**asked[name], **one} for name, one in seen.items()}
    groups = {name.partition("/")[0]: dict[str, Any]() for name in pages}
    for name, page in pages.items():
        groups[name.partition("/")[0]][name] = page
    for folder in more:
        groups["miniwob"] = miniwob(python, chromium, Path(folder))
    for name, group in groups.items():
        nodes, equal, whole = likeness(group.values())
        print(f"{name}: {equal} of {nodes} nodes, {whole} of {len(group)} trees whole")
    kept = {name: pages[name] for name in pages if name.startswith("own/")}
    kept |= {name: pages[name] for name in [*pages][len(kept) :: 4]}
    recorded = {"chromium": version, "pages": kept, "observations": observations}
    text = json.dumps(recorded, ensure_ascii=False).encode()
    RECORDED.write_bytes(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
