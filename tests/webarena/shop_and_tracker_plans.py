"""How tasks that WebArena-Verified has for its shop and its GitLab are done on our shop and our tracker.

Stars and what goes into a cart are sent as the scripts of the real sites' pages send them. Products, projects and people are put into the world as records, as in `plans`. Our tracker names people where GitLab
has their numbers: somebody whose name is the number is a member of the project.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tests.webarena.plans import CREATED, Plan, fill

CUSTOMER = "emma.lopez@gmail.com"
MEMBER = "byteblaze"


def plan_of(task: Mapping[str, Any]) -> Plan | None:
    """How a task is done; `None` for what our sites do not have."""
    expected = [
        one["expected"] for one in task["eval"] if one["evaluator"] == "NetworkEventEvaluator"
    ]
    site = "shop" if task["sites"] == ["shopping"] else "tracker"
    plan = Plan(site=site, user=CUSTOMER if site == "shop" else MEMBER)
    if not all(isinstance(one["url"], str) for one in expected):
        return None
    paths = [urlsplit(re.sub(r"\^?__\w+__", "", one["url"])).path for one in expected]
    known = [_step(plan, path, one) for path, one in zip(paths, expected, strict=True)]
    return plan if all(known) else None


def _step(plan: Plan, path: str, expected: Mapping[str, Any]) -> bool:
    sent = expected.get("post_data", {})
    if plan.site == "shop":
        name = {"password": "-", "firstname": "Emma", "lastname": "Lopez", "created": CREATED}
        plan.add("customers", email=CUSTOMER, **name)
        return _shop_step(plan, path, sent)
    return _tracker_step(plan, path, expected, sent)


def _shop_step(plan: Plan, path: str, sent: Mapping[str, str]) -> bool:
    if found := re.fullmatch(r"/checkout/cart/add/uenc/\.\*/product/(\d+)\$", path):
        if "qty" not in sent:
            return False
        right, wrong = int(found[1]), int(found[1]) + 1
        for number, steps in ((right, plan.right), (wrong, plan.wrong)):
            _product(plan, number)
            steps.append({"open": f"/product-{number}.html"})
            place = f"/checkout/cart/add/uenc/product-{number}/product/{number}/"
            steps.append({"send": (place, f"product={number}&item={number}&qty=1")})
    elif found := re.fullmatch(r"/review/product/post/id/(\d+)/", path):
        _product(plan, int(found[1]))
        stars = int(sent["ratings[4]"]) - 15
        plan.both({"open": path})
        plan.right.append({"click": _radio(stars)})
        plan.wrong.append({"click": _radio(stars % 5 + 1)})
        plan.both({"type": {'textbox "Nickname *"': sent["nickname"]}})
        plan.both({"type": {'textbox "Summary *"': sent["title"]}})
        plan.both({"type": {'textbox "Review *"': sent["detail"]}})
        plan.both({"click": 'button "Submit Review"'})
    elif path == "/newsletter/subscriber/new/":
        plan.both({"open": path})
        plan.right.append({"type": {'textbox "Email *"': sent["email"]}})
        plan.wrong.append({"type": {'textbox "Email *"': f"x{sent['email']}"}})
        plan.both({"click": 'button "Sign Up"'})
    else:
        return False
    return True


def _radio(stars: int) -> str:
    return f'radio "{stars} star{"s" * (stars > 1)}"'


def _product(plan: Plan, number: int) -> None:
    about = {"sku": f"P{number}", "url_key": f"product-{number}", "name": f"Product {number}"}
    about |= {"category": "hair-care", "brand": "Fennimore", "color": "green", "options": ""}
    plan.add("products", id=number, **about, description="-", price=900, stock=9, created=CREATED)


def _tracker_step(
    plan: Plan, path: str, expected: Mapping[str, Any], sent: Mapping[str, str]
) -> bool:
    found = re.fullmatch(r"/([^/]+)/([^/]+)/(-/issues|-/milestones|toggle_star\.json)", path)
    if found is None or expected.get("http_method") != "POST":
        return False
    namespace, name, what = found.groups()
    project, at = _project(plan, namespace, name), f"/{namespace}/{name}"
    if what == "-/issues":
        plan.both({"open": f"{at}/-/issues/new"})
        if person := sent.get("issue[assignee_ids][]"):
            _person(plan, person)
            _member(plan, project, person)
            plan.both({"select": {'combobox "Assignee"': person}})
        if day := sent.get("issue[due_date]"):
            plan.both({"type": {'textbox "Due date"': day}})
        title = sent["issue[title]"]
        title = " ".join(re.findall(r"\w+", title)) if title.startswith("^") else title
        plan.right.append({"type": {'textbox "Title"': title}})
        plan.wrong.append({"type": {'textbox "Title"': "Something else"}})
        plan.both({"click": 'button "Create issue"'})
    elif what == "-/milestones":
        plan.both({"open": f"{at}/-/milestones/new"})
        plan.both({"type": {'textbox "Start date"': sent["milestone[start_date]"]}})
        plan.both({"type": {'textbox "Due date"': sent["milestone[due_date]"]}})
        fill(plan, 'textbox "Title"', sent["milestone[title]"], 'button "Create milestone"')
    else:
        for number in range(expected["response_content"]["star_count"] - 1):
            plan.add("project_stars", project=project, username=f"fan{number}")
        plan.both({"open": at})
        plan.right.append({"send": (path, "")})
        _project(plan, namespace, f"{name}-copy")
        plan.wrong.append({"send": (f"{at}-copy/toggle_star.json", "")})
    return True


def _project(plan: Plan, namespace: str, name: str) -> int:
    held = plan.records.get("projects", [])
    number = 900 + len(held)
    _person(plan, MEMBER)
    about = {"namespace": namespace, "path": name, "name": name, "description": "-"}
    plan.add("projects", id=number, **about, visibility="public", created=CREATED)
    _member(plan, number, MEMBER)
    return number


def _person(plan: Plan, username: str) -> None:
    about = {"name": username, "password": "-", "email": f"{username}@mail.test", "bio": "-"}
    plan.add("people", username=username, **about, location="-", status_message="", created=CREATED)


def _member(plan: Plan, project: int, username: str) -> None:
    plan.add(
        "project_members", project=project, username=username, access_level=40, created=CREATED
    )
