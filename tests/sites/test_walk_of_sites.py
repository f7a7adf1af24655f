"""Somebody signed in follows every link of a site and sends every form: nothing is broken, and every route was seen."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

import pytest

from agentworld_sim.engines.web.document import Element, parse_document
from agentworld_sim.engines.web.requests import WebResponse
from agentworld_sim.sites.site_problems import site_problems
from tests.sites.small_site import Visitor, scenario_of

Before = list[tuple[str, dict[str, str]]]
SIGNED_IN: dict[str, tuple[str, Before]] = {
    "shop": (
        "mira.halloran@mailbox.test",
        [
            ("/checkout/cart/add/uenc/x/product/3/", {"qty": "1"}),
            ("/checkout/cart/couponPost/", {"coupon_code": "WELCOME10"}),
            ("/catalog/product_compare/add/product/5/", {}),
            ("/checkout/", {"address": "1", "shipping_method": "pickup"}),
            (
                "/rma/returns/create/order_id/1018/",
                {"item": "10181", "qty_requested": "1", "reason": "other", "resolution": "refund"},
            ),
        ],
    ),
    "mail": ("nora.quill@postlane.test", []),
    "tracker": ("mira", [("/harbor/tide-tables/-/merge_requests/6/approve", {})]),
}
LAST = {
    "shop": ["/sales/order/view/order_id/1020/", "/checkout/payment/"],
    "mail": ["/folder/spam"],
    "tracker": [
        "/harbor/tide-tables/-/merge_requests/6",
        "/dashboard/todos?state=done",
        *(
            f"/harbor/dock-planner/{one}"
            for one in (
                "-/issues/1",
                "-/issues/43",
                "-/labels",
                "-/labels/22/edit",
                "-/merge_requests/3",
                "-/merge_requests/4",
                "-/milestones/22",
                "-/milestones/23",
                "-/milestones/new",
                "-/project_members",
                "-/wikis",
                "-/wikis/how-we-work",
                "edit",
            )
        ),
    ],
}
"""Pages that no link leads to, or that have forms which others of their kind lack."""
UNSEEN = {
    # Another page shows its form, or it is where a form is shown again.
    "shop": {
        "/checkout/cart/updateItem/id/{item:int}/",
        "/checkout/cart/couponPost/",
        "/checkout/cart/add/uenc/{uenc}/product/{id:int}/",
        "/newsletter/subscriber/new/",
        "/customer/account/login/",
        "/customer/account/create/",
    },
    "mail": {"/compose", "/settings/folders/{id:int}", "/settings/labels/{id:int}", "/login"},
    "tracker": {
        "/users/sign_in",
        "/{namespace}/{project}/-/issues",
        "/{namespace}/{project}/-/issues/{iid:int}",
    },
}
FILLED = {
    "email": "someone@far.test",
    "number": "1",
    "tel": "555-0100",
    "password": "Password-1",
    "date": "2026-01-01",
    "to": "someone@far.test",
    "cc": "someone@far.test",
    "bcc": "someone@far.test",
    "postcode": "97520",
    "payment[cc_number]": "1234 5678 9012 3456",
    "payment[cc_exp]": "12/30",
    "payment[cc_cid]": "123",
}
"""What is typed into a field, by its name or its type."""


def value_of(field: Element) -> str:
    if field.tag == "select":
        options = list(field.descendants("option"))
        chosen = [one for one in options if "selected" in one.attributes] or options[1:] or options
        return chosen[0].attributes.get("value", chosen[0].text_content())
    if field.tag == "textarea":
        return field.text_content() or "Some words."
    if field.get("name") in FILLED:
        return FILLED[field.get("name")]
    usual = "" if field.type in ("search", "hidden") else "Some words"
    return field.get("value") or FILLED.get(field.type, usual)


@pytest.mark.parametrize("site", list(SIGNED_IN))
def test_every_link_and_every_form_of_a_site_works(site: str) -> None:
    user, before = SIGNED_IN[site]
    visitor = Visitor(scenario_of({"site": site, "user": user}))
    application = visitor.internet.applications[0]
    assert site_problems(application) == []
    for path, fields in before:
        assert visitor.post(path, fields).status == 302, path
    begin, cookies = visitor.state, dict(visitor.cookies)
    seen: set[tuple[str, str, str]] = set()
    waiting: list[tuple[str, str, dict[str, str]]] = [
        ("GET", one, {"action": one}) for one in ("/", *LAST[site])
    ]
    host = f"http://{visitor.host}"

    def visit(method: str, address: str, fields: dict[str, str]) -> WebResponse:
        visitor.state, visitor.cookies = begin, dict(cookies)
        path = address.removeprefix(host)
        response = visitor.get(path) if method == "GET" else visitor.post(path, fields)
        assert response.status in (200, 302, 422), (
            method,
            path,
            fields,
            response.status,
            response.text[:300],
        )
        if response.status == 302:
            after = urljoin(address, response.header("location") or "")
            assert visitor.get(after.removeprefix(host)).status in (200, 302), (path, after)
            if (found := application.routes.find("GET", urlsplit(after).path)) is not None:
                seen.add(("GET", found[0].pattern, "after a form"))
        assert not [one for one in visitor.state.values if "/problem/" in one], (method, path)
        return response

    while waiting:
        method, path, fields = waiting.pop()
        address = urljoin(f"{host}/", path)
        if (
            urlsplit(address).netloc != visitor.host
            or urlsplit(address).path in application.site.static
        ):
            continue
        found = application.routes.find(method, urlsplit(address).path)
        assert found is not None, (method, path)
        key = (method, found[0].pattern, fields.get("action", ""))
        if method == "GET" and key in seen:
            key = (method, found[0].pattern, "another of its kind")
        if key in seen:
            continue
        seen.add(key)
        response = visit(method, address, fields)
        if response.status == 302:
            continue
        page = parse_document(response.text)
        for link in page.select("a[href]"):
            if not (link.get("href") or "").startswith(("tel:", "mailto:")):
                waiting.append(("GET", urljoin(address, link.get("href") or ""), {}))
        for form in page.select("form"):
            way = (form.get("method") or "get").upper()
            target = urljoin(address, form.get("action") or address)
            inputs = [
                one for one in form.descendants("input", "select", "textarea") if one.get("name")
            ]
            sent = {one.get("name") or "": value_of(one) or "" for one in inputs}
            if way == "GET":
                waiting.append(("GET", target, {}))
                continue
            buttons = [one for one in form.descendants("button") if one.get("name")]
            waiting += [
                (way, target, {**sent, one.get("name") or "": one.get("value") or ""})
                for one in buttons
            ]
            waiting += [] if buttons else [(way, target, sent)]
    routes = {(route.method, route.pattern) for route in application.site.routes}
    missing = routes - {(method, pattern) for method, pattern, _ in seen}
    assert {pattern for _, pattern in missing} <= UNSEEN[site]


def test_a_guest_is_led_to_the_login_and_others_find_nothing() -> None:
    guest = Visitor(scenario_of("shop"))
    assert guest.get("/checkout/cart/").header("location") == "/customer/account/login/"
    other = Visitor(scenario_of({"site": "shop", "user": "theo.banks@mailbox.test"}))
    assert other.get("/sales/order/view/order_id/1020/").status == 404
    assert (
        Visitor(scenario_of({"site": "mail", "user": "felix.marsh@postlane.test"}))
        .get("/message/211")
        .status
        == 404
    )


def test_an_order_reckons_in_cents() -> None:
    visitor = Visitor(scenario_of({"site": "shop", "user": "mira.halloran@mailbox.test"}))
    product = visitor.state.values["tables/products/3"]["record"]
    visitor.post("/checkout/cart/add/uenc/x/product/3/", {"qty": "3"})
    visitor.post("/checkout/cart/couponPost/", {"coupon_code": "welcome10"})
    visitor.post("/checkout/", {"address": "1", "shipping_method": "express"})
    done = visitor.post("/checkout/payment/", {"payment[method]": "checkmo", "agreement": "1"})
    order = visitor.state.values[f"tables/orders/{(done.header('location') or '').split('/')[-2]}"][
        "record"
    ]
    subtotal = 3 * (product.get("special_price") or product["price"])
    discount = (subtotal * 10 + 50) // 100
    tax = ((subtotal - discount) * 7 + 50) // 100
    assert [order[one] for one in ("subtotal", "discount", "tax", "total")] == [
        subtotal, discount, tax, subtotal - discount + tax + 1490,
    ]  # fmt: skip
    assert visitor.state.values["tables/products/3"]["record"]["stock"] == product["stock"] - 3


def test_mail_is_delivered_sorted_answered_and_returned() -> None:
    visitor = Visitor(scenario_of({"site": "mail", "user": "nora.quill@postlane.test"}))
    visitor.post("/settings/filters/new", {"subject_text": "away", "folder": "Travel", "star": "1"})
    before = set(visitor.state.values)
    mail = {
        "to": "felix.marsh@postlane.test, no.one@postlane.test",
        "bcc": "nora.quill@postlane.test",
        "subject": "Going away",
        "body": "Hi",
        "action": "send",
    }
    assert visitor.post("/compose", mail).status == 302
    made = [
        visitor.state.values[one]["record"]
        for one in set(visitor.state.values) - before
        if "tables/messages/" in one
    ]
    assert sorted(
        (one["owner"].split("@")[0], one["folder"], one["subject"], one["bcc"]) for one in made
    ) == [
        ("felix.marsh", "inbox", "Going away", ""),
        ("nora.quill", "Travel", "Going away", ""),
        ("nora.quill", "inbox", "Out of office", ""),
        ("nora.quill", "inbox", "Undeliverable: Going away", ""),
        ("nora.quill", "sent", "Going away", "nora.quill@postlane.test"),
    ]


def test_opening_a_mail_reads_it_and_asking_for_its_head_does_not() -> None:
    visitor = Visitor(scenario_of({"site": "mail", "user": "nora.quill@postlane.test"}))
    for method, read in (("HEAD", False), ("GET", True)):
        assert visitor.get("/message/131", method=method).status == 200
        assert visitor.state.values["tables/messages/131"]["record"]["read"] is read


def test_the_tracker_refuses_as_such_sites_do() -> None:
    guest = Visitor(scenario_of("tracker"))
    issue = "/harbor/dock-planner/-/issues/18"
    assert guest.get(f"{issue}/edit").header("location") == "/users/sign_in"
    assert guest.get(issue).status == 200
    assert guest.get("/harbor/dock-planner/-/issues/41").status == 404, "it is confidential"
    wrong = guest.post("/users/sign_in", {"user[login]": "colm", "user[password]": "wrong"})
    assert (wrong.status, "Invalid login or password." in wrong.text) == (422, True)
    right = {"user[login]": "colm", "user[password]": "test1234"}
    assert guest.post("/users/sign_in", right).status == 302
    assert guest.get("/lantern/route-board").status == 200
    assert guest.post(f"{issue}/close", {}).status == 403
    mira = Visitor(scenario_of({"site": "tracker", "user": "mira"}))
    assert mira.get("/lantern/route-board").status == 404
    assert mira.post("/orchard/seed-catalog/-/merge_requests/4/approve", {}).status == 403
    dates = {"milestone[start_date]": "2026-02-01", "milestone[due_date]": "2026-01-01"}
    again = mira.post("/harbor/dock-planner/-/milestones", {"milestone[title]": "2.0", **dates})
    assert (again.status, "Due date must be greater than start date." in again.text) == (422, True)
    assert 'value="2.0"' in again.text
    draft = mira.post("/harbor/dock-planner/-/merge_requests/8/merge", {})
    assert draft.status == 422
