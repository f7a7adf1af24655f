"""BrowserGym's own trees and observations, asked in an environment that has `browsergym-core`.

python oracle.py CHROMIUM ASKED.json OUT.json

ASKED has, by name, pages of three kinds: `{html, sheets}`; `{url, before}`, whose programs run, and then `before`; and
`{pages, actions}`, where BrowserGym's environment does one action after the other. Chromium is to be of the generation
that `browsergym-core` pins through Playwright 1.44 (125): newer ones write more.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

gym: Any = import_module("browsergym.core.env")
functions: Any = import_module("browsergym.core.action.functions")
highlevel: Any = import_module("browsergym.core.action.highlevel")
observation: Any = import_module("browsergym.core.observation")
task: Any = import_module("browsergym.core.task")
obs: Any = import_module("browsergym.utils.obs")

HOME = "http://page.test/"
ORACLE = Path(__file__).parents[1].joinpath("snapshots", "oracle.mjs").read_text(encoding="utf-8")
LIVE_STATE = ORACLE.split("const liveState = ")[1].split("\n};\n")[0] + "\n}"
OWN = [functions.check, functions.uncheck, functions.keyboard_press, functions.keyboard_type]


class NoChat:
    """Stands in for the window of BrowserGym's chat, which needs a Chromium of its own."""

    def __init__(self, **options: Any) -> None:
        self.messages: list[Any] = []
        self.recording_start_time = 0

    def add_message(self, role: str, msg: str) -> None:
        self.messages.append({"role": role, "timestamp": 0, "message": msg})

    def close(self) -> None:
        pass


def answers(pages: dict[str, str]) -> Any:
    def answer(route: Any) -> None:
        url: str = route.request.url
        if url in pages:
            kind = "text/css" if url.endswith(".css") else "text/html; charset=utf-8"
            route.fulfill(body=pages[url], content_type=kind)
        elif url.startswith(HOME):
            route.fulfill(status=404, body="")
        else:
            route.abort("namenotresolved")

    return answer


def tree_of(page: Any) -> str:
    observation._pre_extract(page)
    tree = observation.extract_merged_axtree(page)
    observation._post_extract(page)
    return obs.flatten_axtree_to_str(tree)


def one_page(browser: Any, one: Any) -> dict[str, Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.set_default_timeout(5000)
    if "url" in one:
        page.goto(one["url"])
        page.evaluate(one["before"])
        page.wait_for_timeout(200)
        found = {"live": page.evaluate(LIVE_STATE), "html": page.content(), "tree": tree_of(page)}
    else:
        sheets = {HOME + name: text for name, text in one["sheets"].items()}
        page.route("**/*", answers({HOME: one["html"], **sheets}))
        page.goto(HOME)
        found = {"tree": tree_of(page)}
    context.close()
    return found


def observations(chromium: str, one: Any) -> list[dict[str, Any]]:
    actions = highlevel.HighLevelActionSet(
        ["chat", "infeas", "bid", "nav", "tab", "custom"], custom_actions=OWN, demo_mode="off"
    )
    env = gym.BrowserEnv(
        task.OpenEndedTask,
        {"start_url": "about:blank", "goal": ""},
        pw_chromium_kwargs={"executable_path": chromium},
        action_mapping=actions.to_python_code,
    )
    env.reset(seed=1)
    env.context.route("**/*", answers(one["pages"]))
    found: list[dict[str, Any]] = []
    for action in one["actions"]:
        seen = env.step(action)[0]
        found.append(
            {
                "axtree_txt": obs.flatten_axtree_to_str(seen["axtree_object"]),
                "active_page_index": [int(seen["active_page_index"][0])],
                **{
                    name: seen[name]
                    for name in (
                        "focused_element_bid",
                        "url",
                        "open_pages_urls",
                        "open_pages_titles",
                        "last_action",
                        "last_action_error",
                    )
                },
            }
        )
    env.close()
    return found


def main(chromium: str, asked: dict[str, Any]) -> dict[str, Any]:
    gym.Chat = NoChat
    real = gym._get_global_playwright()
    real.selectors.set_test_id_attribute("bid")
    browser = real.chromium.launch(executable_path=chromium)
    found: dict[str, Any] = {"browser": browser.version}
    for name, one in asked.items():
        found[name] = observations(chromium, one) if "actions" in one else one_page(browser, one)
    browser.close()
    return found


if __name__ == "__main__":
    asked = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    Path(sys.argv[3]).write_text(json.dumps(main(sys.argv[1], asked)), encoding="utf-8")
