"""The forum: Postmill's routes and names of fields."""

from __future__ import annotations

import re

import pytest

from agentworld_sim.relational.layout import records_of_table
from agentworld_sim.sites.site_application import noted_requests
from tests.sites.small_site import Visitor, scenario_of

ME = "MarvelsGrantMan136"
BOOKS = "10001"
"""The number of the forum `books`, as the field `submission[forum]` has it."""


def signed_in(user: str | None = ME) -> Visitor:
    return Visitor(scenario_of({"site": "forum", "user": user}))


def newest(found: Visitor, table: str) -> dict[str, object]:
    return dict(records_of_table(found.state.values, table)[-1].record)


def submit(found: Visitor, **fields: str) -> str:
    """Creates a submission; gives its path."""
    form = {f"submission[{name}]": text for name, text in {"forum": BOOKS, **fields}.items()}
    response = found.post("/submit", form)
    assert response.status == 302
    return response.header("location") or ""


@pytest.mark.parametrize("user", [None, ME])
def test_every_link_of_the_first_pages_leads_to_a_page(user: str | None) -> None:
    found = signed_in(user)
    seen: set[str] = set()
    waiting = [
        "/",
        "/f/books/1001",
        "/forums",
        "/comments",
        "/user/quiet_harbor",
        "/messages/thread/2",
    ]
    for deeper in (True, False):
        for path in [path for path in waiting if path not in seen]:
            seen.add(path)
            response = found.get(path)
            assert response.status == (
                302 if user is None and path.startswith("/messages") else 200
            ), path
            if deeper:
                waiting += re.findall(r'href="(/[^"#?]*)"', response.text)
    assert len(seen) > 80
    assert not any("/problem/" in key for key in found.state.values)


def test_a_submission_is_created_edited_commented_and_deleted() -> None:
    found = signed_in()
    path = submit(found, title="Ünd nun?", body="One\r\n\r\nTwo")
    number = path.split("/")[3]
    assert path == f"/f/books/{number}/und-nun"
    assert "<p>One</p>\n<p>Two</p>" in found.get(path).text

    edit = {"submission[title]": "And now?", "submission[body]": "Three"}
    assert found.post(f"/f/books/{number}/-/edit", edit).status == 302
    assert "Edited" in found.get(path).text and "<p>Three</p>" in found.get(path).text

    first = found.post(
        f"/f/books/{number}/-/comment", {f"reply_to_submission_{number}[comment]": "Hm."}
    )
    comment = (first.header("location") or "").rsplit("/", 1)[1]
    reply = {f"reply_to_comment_{comment}[comment]": "<b>Yes</b>"}
    found.post(f"/f/books/{number}/-/comment/{comment}", reply)
    assert newest(found, "comments")["parent"] == int(comment)
    page = found.get(path).text
    assert "&lt;b&gt;Yes" in page and page.index("Hm.") < page.index('class="replies"')

    assert (
        found.post(
            f"/f/books/{number}/-/comment/{comment}/edit", {"comment[comment]": "Oh."}
        ).status
        == 302
    )
    assert found.post(f"/f/books/{number}/-/comment/{comment}/delete_own", {}).status == 302
    assert newest(found, "comments")["parent"] is None
    assert found.post(f"/f/books/{number}/-/delete", {}).header("location") == "/f/books"
    assert found.get(path).status == 404


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"title": "", "forum": BOOKS}, "submission_title"),
        ({"title": "x" * 301, "forum": BOOKS}, "submission_title"),
        ({"title": "x", "forum": "77"}, "submission_forum"),
        ({"title": "x", "forum": BOOKS, "url": "javascript:alert(1)"}, "submission_url"),
    ],
)
def test_a_submission_that_does_not_fit_comes_again(form: dict[str, str], field: str) -> None:
    response = signed_in().post(
        "/submit", {f"submission[{name}]": text for name, text in form.items()}
    )
    after = response.text[response.text.index(f'id="{field}"') :]
    assert response.status == 422
    assert after[: after.index("</div>")].count('role="alert"') == 1


def test_a_submission_shows_all_its_comments() -> None:
    found = signed_in()
    held = records_of_table(found.state.values, "comments")
    for number in (1001, 1044, 1080):
        own = [one for one in held if one.record["submission"] == number]
        assert found.get(f"/f/any/{number}").status == 404
        forum = next(
            one.record["forum"]
            for one in records_of_table(found.state.values, "submissions")
            if one.record["id"] == number
        )
        assert found.get(f"/f/{forum}/{number}").text.count('class="comment"') == len(own) > 1


def test_votes_count_once_and_can_be_taken_back() -> None:
    found = signed_in()

    def vote(choice: str) -> str:
        return found.post("/sv/1001.json", {"choice": choice}, accept="application/json").text

    scores = [int(re.sub(r"\D*(-?\d+)\D*", r"\1", vote(one))) for one in ("0", "1", "1", "-1", "0")]
    assert [score - scores[0] for score in scores] == [0, 1, 1, -1, 0]
    assert vote("2") == '{"error": "This choice does not exist."}'
    assert found.post("/cv/20021.json", {"choice": "1"}).status == 302
    assert newest(found, "comment_votes") == {"comment": 20021, "user": ME, "choice": 1}


def test_a_forum_is_created_and_its_moderator_may_more_than_others() -> None:
    found = signed_in()
    about = {
        "name": "sci_fi",
        "title": "sci_fi",
        "description": "A wild place",
        "sidebar": "New\n\nOld",
    }
    form = {f"forum[{name}]": text for name, text in about.items()}
    assert found.post("/create_forum", form).header("location") == "/f/sci_fi"
    assert found.post("/create_forum", {**form, "forum[name]": "SCI_FI"}).status == 422
    assert found.post("/f/sci_fi/edit", {**form, "forum[title]": "Science"}).status == 302
    assert "Science" in found.get("/f/sci_fi").text
    assert found.post("/f/sci_fi/add_moderator", {"moderator[user]": "saltmarsh"}).status == 302
    assert found.post("/f/sci_fi/add_moderator", {"moderator[user]": "nobody"}).status == 422
    assert (found.get("/f/books/edit").status, found.post("/f/books/1001/-/lock", {}).status) == (
        403,
        403,
    )


def test_subscriptions_blocks_messages_and_biographies() -> None:
    found = signed_in()
    found.post("/f/books/subscribe.json", {})
    found.post("/f/books/subscribe.json", {})
    assert [
        one.record["user"] for one in records_of_table(found.state.values, "subscriptions")
    ].count(ME)
    assert (
        found.post("/f/books/unsubscribe.json", {}, accept="application/json").text
        == '{"subscribed": false}'
    )

    assert "quiet_harbor" in found.get("/comments").text + found.get("/?page=2").text
    found.post("/user/quiet_harbor/block_user", {"user_block[comment]": "rude"})
    assert "rude" in found.get(f"/user/{ME}/block_list").text
    assert 'by <a href="/user/quiet_harbor' not in found.get("/all/new").text
    found.post("/user/quiet_harbor/unblock_user", {})
    assert newest(found, "messages") and not records_of_table(found.state.values, "blocks")

    sent = found.post("/user/saltmarsh/compose_message", {"message[body]": "Hello"})
    thread = sent.header("location") or ""
    found.post(thread.replace("/messages/thread/", "/message_reply/"), {"message[body]": "Again"})
    assert newest(found, "messages")["recipient"] == "saltmarsh"
    assert found.get("/messages/thread/9999").status == 404

    form = {"user_biography[biography]": "I am a robot"}
    assert found.post(f"/user/{ME}/edit_biography", form).header("location") == f"/user/{ME}"
    assert found.post("/user/saltmarsh/edit_biography", form).status == 403
    noted = [one["fields"] for one in noted_requests(found.state.values)]
    assert [[*form.popitem()]] in noted


def test_people_sign_up_in_and_out() -> None:
    found = signed_in(None)
    assert found.get("/submit").header("location") == "/login"
    assert found.post("/sv/1001.json", {"choice": "1"}).header("location") == "/login"
    wrong = found.post("/login_check", {"_username": "saltmarsh", "_password": "x"})
    assert wrong.status == 422 and "Invalid credentials." in wrong.text
    found.post("/login_check", {"_username": "SaltMarsh", "_password": "test1234"})
    assert "<summary>saltmarsh</summary>" in found.get("/").text
    found.post("/log_out", {})
    new = {
        "user[username]": "newbie",
        "user[password][first]": "12345678",
        "user[password][second]": "12345678",
    }
    assert found.post("/registration", {**new, "user[password][second]": "1"}).status == 422
    assert found.post("/registration", new).status == 302
    assert "<summary>newbie</summary>" in found.get("/").text
