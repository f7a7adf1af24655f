"""Requests, forms in their bodies, URLs and cookies."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.engines.web import Upload, WebRequest, WebResponse
from agentworld_sim.engines.web.cookies import after_response, cookie_header
from agentworld_sim.engines.web.requests import (
    MULTIPART,
    URLENCODED,
    FormField,
    form_body,
    normal_url,
    resolve_url,
    url_with_query,
)
from tests.properties import examples

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)
NAMES = st.text("abcÄ[]_ ", min_size=1, max_size=6).map(str.strip).filter(bool)
FILES = st.builds(Upload, st.sampled_from(["a.txt", "b c.bin"]), st.just("text/plain"), st.binary())


@settings(max_examples=examples(150))
@given(fields=st.lists(st.tuples(NAMES, TEXTS | FILES), max_size=4))
def test_a_site_reads_what_a_multipart_form_sends(fields: list[FormField]) -> None:
    body, kind = form_body(fields, MULTIPART)
    request = WebRequest("http://a.test/", "POST", (("content-type", kind),), body)
    assert request.form() == fields


@settings(max_examples=examples(150))
@given(fields=st.lists(st.tuples(TEXTS, TEXTS), max_size=4))
def test_a_site_reads_what_an_urlencoded_form_sends(fields: list[FormField]) -> None:
    body, kind = form_body(fields, "")
    request = WebRequest("http://a.test/", "POST", (("content-type", kind),), body)
    assert (kind, request.form()) == (URLENCODED, fields)
    assert WebRequest(url_with_query("http://a.test/?old", fields)).query == fields


def test_forms_send_line_breaks_as_two_characters() -> None:
    assert form_body([("t", "a\nb\r\nc\rd")], "")[0] == b"t=a%0D%0Ab%0D%0Ac%0D%0Ad"
    assert form_body([("t", "a\nb")], "text/plain") == (b"t=a\r\nb\r\n", "text/plain")


def test_a_file_name_cannot_leave_its_header() -> None:
    body, _ = form_body([('n"\r\n', Upload('x"\r\ny', "text/plain", b""))], MULTIPART)
    assert b'name="n%22%0D%0A"; filename="x%22%0D%0Ay"\r\n' in body


def test_a_body_that_is_no_form_has_no_fields() -> None:
    assert WebRequest("http://a.test/", "POST", (), b"a=1").form() == []


@pytest.mark.parametrize(
    "base, target, shown",
    [
        ("http://a.test/b/c?d#e", "x", "http://a.test/b/x"),
        ("http://a.test/b/c", "?q=1", "http://a.test/b/c?q=1"),
        ("http://a.test/b", "/c?", "http://a.test/c?"),
        ("http://a.test/b", "//B.test:80", "http://b.test/"),
        ("http://a.test/b", "https://b.test:443/ä b", "https://b.test/%C3%A4%20b"),
        ("http://a.test/b?c#d", "#", "http://a.test/b?c#"),
        ("http://a.test/b?c#d", "#e", "http://a.test/b?c#e"),
        ("http://a.test/b", "mailto:x@y.test", "mailto:x@y.test"),
        ("http://a.test/b", "http://[", ""),
    ],
)
def test_links_are_resolved_as_in_a_browser(base: str, target: str, shown: str) -> None:
    assert resolve_url(base, target) == shown
    assert not shown or normal_url(shown).rstrip("#") == shown.rstrip("#")


def cookies(*lines: str, url: str = "http://a.test/x/y", at: int = 0) -> str:
    """The cookies of a request to `url` after a site has set some at http://a.test/x/y."""
    headers = tuple(("set-cookie", line) for line in lines)
    request = WebRequest("http://a.test/x/y")
    kept = after_response((), request, WebResponse(headers=headers), 0)
    return cookie_header(kept, url, at)


@pytest.mark.parametrize(
    "line, url, sent",
    [
        ("a=1", "http://a.test/x/z", "a=1"),
        ("a=1", "http://a.test/", ""),
        ("a=1; Path=/", "http://a.test/", "a=1"),
        ("a=1; Path=/x", "http://a.test/xy", ""),
        ("a=1; Path=/", "http://b.a.test/", ""),
        ("a=1; Path=/; Domain=.a.test", "http://b.a.test/", "a=1"),
        ("a=1; Path=/; Domain=b.test", "http://b.test/", ""),
        ("a=1; Path=/; Domain=test", "http://a.test/", ""),
        ("a=1; Path=/; Secure", "http://a.test/", ""),
        ("a=1; Path=/; Secure", "https://a.test/", "a=1"),
        ("a=1; Path=/; Max-Age=0", "http://a.test/", ""),
        ("a=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "http://a.test/", ""),
        ('a="1; 2"; Path=/', "http://a.test/", "a=1"),
        ("no cookie", "http://a.test/x/", ""),
        ("=1", "http://a.test/x/", ""),
    ],
)
def test_cookies_go_where_they_belong(line: str, url: str, sent: str) -> None:
    assert cookies(line, url=url) == sent


def test_cookies_end_on_the_worlds_clock() -> None:
    assert cookies("a=1; Max-Age=5", at=4_999_999) == "a=1"
    assert cookies("a=1; Max-Age=5", at=5_000_000) == ""


def test_a_later_cookie_takes_the_place_of_an_earlier_one() -> None:
    assert cookies("a=1", "b=2", "a=3") == "a=3; b=2"
    assert cookies("a=1", "a=; Max-Age=0") == ""
    assert cookies("a=1; Path=/", "a=2; Path=/x") == "a=2; a=1"
