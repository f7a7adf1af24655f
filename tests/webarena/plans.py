"""How the tasks that WebArena-Verified has for its forum are done on ours, rightly and wrongly.

A plan is made from the requests that the evaluator expects. It shows that pages, forms, votes and redirects of our
forum send what the real one's do; it does not show that an agent finds out what to send. What the tasks are about
(submissions, comments and forums of a copy of a real site, which is not here) is put into the world as records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

USER = "MarvelsGrantMan136"
HOME = "http://forum.test/"
CREATED = "2026-01-05T09:00:00Z"


@dataclass
class Plan:
    """Records that a task needs, and steps."""

    site: str = "forum"
    user: str = USER
    records: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, Any])
    right: list[dict[str, Any]] = field(default_factory=list[Any])
    wrong: list[dict[str, Any]] = field(default_factory=list[Any])

    @property
    def home(self) -> str:
        return f"http://{self.site}.test/"

    def both(self, *steps: Mapping[str, Any]) -> None:
        self.right += map(dict, steps)
        self.wrong += map(dict, steps)

    def add(self, table: str, **record: Any) -> None:
        held = self.records.setdefault(table, [])
        if record not in held:
            held.append(record)

    def submission(
        self, number: int, forum: str = "books", title: str = "A submission", **more: Any
    ) -> None:
        about = {
            "id": number,
            "forum": forum,
            "author": "quiet_harbor",
            "title": title,
            "points": 1,
        }
        about |= {"stamp": 1_767_603_600, "created": CREATED, "locked": False, "pinned": False}
        self.add("submissions", **(about | more))

    def forum(self, name: str, number: int) -> None:
        self.add(
            "forums",
            id=number,
            name=name,
            title=name,
            description="-",
            sidebar="-",
            created=CREATED,
        )


def plan_of(task: Mapping[str, Any]) -> Plan:
    """How a task is done. Votes and subscriptions are sent as the script of the real site's pages sends them."""
    plan = Plan()
    expected = [
        one["expected"] for one in task["eval"] if one["evaluator"] == "NetworkEventEvaluator"
    ]
    for one in expected:
        url = one["url"] if isinstance(one["url"], list) else [one["url"]]
        path = url[-1].replace("__REDDIT__", "").strip("^$")
        data: dict[str, str] = one.get("post_data", {})
        if vote := re.fullmatch(r"/sv/(\d+)\.json", path):
            _vote(plan, int(vote[1]), data["choice"])
        elif "subscribe" in path:
            _subscribe(
                plan, path.split("/")[2], one["headers"]["referer"].removeprefix("__REDDIT__")
            )
        elif path == "/create_forum":
            names = {key: text for key, text in data.items() if key.startswith("forum[")}
            typed = {f'textbox "{key[6:-1].title()}"': text for key, text in names.items()}
            plan.both({"open": "/forums"}, {"open": path}, {"type": typed})
            plan.wrong.append({"type": {'textbox "Description"': "Something else"}})
            plan.both({"click": 'button "Create forum"'})
        elif path.endswith("edit_biography"):
            plan.both({"open": f"/user/{USER}"}, {"click": 'link "Edit biography"'})
            fill(plan, 'textbox "Biography"', data["user_biography[biography]"], 'button "Save"')
        elif path.endswith("/edit"):
            _edit(plan, path, data)
        elif "submission[title]" in data:
            _submit(plan, url[-1], data)
        elif path.endswith("/-/comment") and ("{{" in path or "\\d" in path):
            # On the submission that was made just now.
            (text,) = data.values()
            fill(plan, 'textbox "Comment"', text, 'button "Post"')
        elif comment := re.fullmatch(r"/f/([^/]+)/(\d+)/-/comment(?:/(\d+))?", path):
            _comment(plan, comment[1], int(comment[2]), comment[3], data)
        else:
            raise ValueError(path)
    return plan


def _vote(plan: Plan, number: int, choice: str) -> None:
    plan.submission(number)
    plan.both({"open": f"/f/books/{number}"})
    plan.right.append({"send": (f"/sv/{number}.json", f"choice={choice}")})
    plan.wrong.append({"send": (f"/sv/{number}.json", f"choice={-int(choice)}")})


def _subscribe(plan: Plan, forum: str, page: str) -> None:
    plan.forum(forum, 20_004)
    plan.submission(int(page.split("/")[3]), forum)
    plan.both({"open": page})
    plan.right.append({"send": (f"/f/{forum}/subscribe.json", "")})
    plan.wrong.append({"send": (f"/f/{forum}/unsubscribe.json", "")})


def fill(plan: Plan, element: str, text: str, button: str) -> None:
    """Types a text and sends the form; wrongly another text."""
    plan.right.append({"type": {element: text}})
    plan.wrong.append({"type": {element: text + " Or not."}})
    plan.both({"click": button})


def _edit(plan: Plan, path: str, data: Mapping[str, str]) -> None:
    _, _, forum, number, *_ = path.split("/")
    body = data["submission[body]"].strip("^$").replace(r"\s*", "\n").strip()
    plan.submission(int(number), forum, data["submission[title]"], author=USER, body="As it was.")
    plan.forum(forum, 20_001)
    plan.both({"open": f"/f/{forum}/{number}"}, {"click": 'link "Edit"'})
    fill(plan, 'textbox "Body"', body, 'button "Edit submission"')


def _submit(plan: Plan, address: str, data: Mapping[str, str]) -> None:
    number = int(data["submission[forum]"]) if data["submission[forum]"].isdigit() else 20_003
    name = address.rpartition("/")[2]
    name = name if re.fullmatch(r"\w+", name) and name != "submit" else f"forum_{number}"
    plan.forum(name, number)
    plan.both(
        {"open": f"/f/{name}"},
        {"click": 'link "Submit"'},
        {"select": {'combobox "Forum"': str(number)}},
    )
    if "submission[url]" in data:
        link = data["submission[url]"].replace("__REDDIT__/", HOME)
        plan.both({"type": {'textbox "URL"': link}})
    if body := data.get("submission[body]"):
        plan.both({"type": {'textbox "Body"': body.strip("^$").replace(r"\s*", "")}})
    fill(
        plan, 'textbox "Title"', data["submission[title]"].strip("^$"), 'button "Create submission"'
    )


def _comment(
    plan: Plan, forum: str, number: int, comment: str | None, data: Mapping[str, str]
) -> None:
    (text,) = data.values()
    plan.forum(forum, 20_002)
    plan.submission(number, forum)
    plan.both({"open": f"/f/{forum}/{number}"})
    if comment is not None:
        about = {
            "submission": number,
            "author": "saltmarsh",
            "body": "-",
            "points": 1,
            "created": CREATED,
        }
        plan.add("comments", id=int(comment), **about)
        plan.both({"click": 'link "Reply" after "link \\"saltmarsh\\""'})
    fill(plan, 'textbox "Comment"', text, 'button "Post"')
