"""Forms as browsers send them, and what keeps them from being sent."""

from __future__ import annotations

import pytest

from agentworld_sim.engines.web.document import Document, Element, parse_document
from agentworld_sim.engines.web.forms import PageForms, page_pattern
from agentworld_sim.engines.web.live_state import LiveState
from agentworld_sim.engines.web.requests import FormField


def form_in(html: str) -> tuple[Document, PageForms, Element]:
    document = parse_document(html)
    return document, PageForms(document, LiveState()), next(document.root.descendants("form"))


def fields(inside: str, button: str = "") -> list[FormField]:
    document, forms, form = form_in(f"<form>{inside}</form>")
    return list(forms.fields(form, document.ids.get(button)))


@pytest.mark.parametrize(
    "inside, sent",
    [
        ("<input name=a value=1><input value=2><input name=b>", [("a", "1"), ("b", "")]),
        ("<input name=a value=1 disabled><input name=b readonly value=2>", [("b", "2")]),
        (
            "<fieldset disabled><legend><input name=a></legend><input name=b></fieldset>",
            [("a", "")],
        ),
        ("<input type=checkbox name=a checked><input type=checkbox name=b>", [("a", "on")]),
        (
            "<input type=radio name=a value=1><input type=radio name=a value=2 checked>",
            [("a", "2")],
        ),
        ("<select name=s><option disabled>x<option value=1>y</select>", [("s", "1")]),
        (
            "<select name=s multiple><option selected>a<option>b<option selected>c</select>",
            [("s", "a"), ("s", "c")],
        ),
        ("<select name=s multiple><option>a</select>", []),
        ("<textarea name=t>\nline</textarea>", [("t", "line")]),
        ("<button name=b value=1>x</button><button id=me name=c value=2>y</button>", [("c", "2")]),
        ("<input type=submit name=b value=1><input type=reset name=r value=2>", []),
        ("<input type=image id=me name=i>", [("i.x", "0"), ("i.y", "0")]),
        ("<datalist><input name=a></datalist><input type=hidden name=h value=1>", [("h", "1")]),
        ("<input name=own form=other value=1></form><form id=other>", []),
    ],
)
def test_what_a_form_sends(inside: str, sent: list[FormField]) -> None:
    assert fields(inside, "me") == sent


def test_a_control_outside_of_a_form_may_belong_to_it() -> None:
    _, forms, form = form_in("<form id=f></form><input name=a value=1 form=f>")
    assert list(forms.fields(form, None)) == [("a", "1")]


@pytest.mark.parametrize(
    "form, button, method, url, body",
    [
        ("action=/a?old=1", "", "GET", "http://s.test/a?q=x+y", b""),
        ("", "", "GET", "http://s.test/p?q=x+y", b""),
        ("method=post", "", "POST", "http://s.test/p", b"q=x+y"),
        (
            "method=POST action=a",
            "formmethod=get formaction=/b",
            "GET",
            "http://s.test/b?q=x+y",
            b"",
        ),
        ("method=post enctype=text/plain", "", "POST", "http://s.test/p", b"q=x y\r\n"),
    ],
)
def test_where_a_form_goes(form: str, button: str, method: str, url: str, body: bytes) -> None:
    document, forms, own = form_in(
        f"<form {form}><input name=q value='x y'><button id=b {button}></button></form>"
    )
    request = forms.request(own, document.ids["b"], "http://s.test/p")
    assert request is not None
    assert (request.method, request.url, request.body) == (method, url, body)


def test_a_form_that_goes_to_a_program_goes_nowhere() -> None:
    _, forms, form = form_in("<form action='javascript:x()'></form>")
    assert forms.request(form, None, "http://s.test/") is None


@pytest.mark.parametrize(
    "control, value, valid",
    [
        ("<input required>", "", False),
        ("<input required>", " ", True),
        ("<input required disabled>", "", True),
        ("<input required readonly>", "", True),
        ("<input pattern='[a-z]+'>", "ab", True),
        ("<input pattern='[a-z]+'>", "ab1", False),
        ("<input pattern='[a-z]+'>", "", True),
        ("<input pattern='('>", "x", True),
        ("<input minlength=3>", "ab", False),
        ("<input maxlength=3>", "abcd", False),
        ("<input type=email>", "a@b", True),
        ("<input type=email>", "a b", False),
        ("<input type=email multiple>", "a@b, c@d", True),
        ("<input type=url>", "x", False),
        ("<input type=url>", "http://x", True),
        ("<input type=number min=1 max=9>", "10", False),
        ("<input type=number min=1 max=9>", "0", False),
        ("<input type=number>", "1.5", False),
        ("<input type=number step=any>", "1.5", True),
        ("<input type=number step=0.5 min=1>", "2.5", True),
        ("<input type=date min=2031-01-01>", "2030-12-31", False),
        ("<input type=date max=2031-01-01>", "2030-12-31", True),
        ("<textarea required></textarea>", "", False),
        ("<input type=hidden required>", "", True),
    ],
)
def test_what_is_typed_is_held_against_the_rules_of_the_control(
    control: str, value: str, valid: bool
) -> None:
    document, forms, form = form_in(f"<form>{control}</form>")
    found = next(document.root.descendants("input", "textarea"))
    forms.live.values[found.index] = value
    assert (forms.invalid(form) is None) is valid


@pytest.mark.parametrize(
    "control, valid",
    [
        ("<input type=checkbox required>", False),
        ("<input type=checkbox required checked>", True),
        ("<input type=radio name=a><input type=radio name=a required>", False),
        ("<input type=radio name=a checked><input type=radio name=a required>", True),
        ("<select required><option value=''>choose<option>a</select>", False),
        ("<select required><option value=''>choose<option selected>a</select>", True),
        ("<input type=file required>", False),
        ("<input minlength=3 value=ab>", True),
    ],
)
def test_what_is_chosen_is_held_against_the_rules_of_the_control(control: str, valid: bool) -> None:
    _, forms, form = form_in(f"<form>{control}</form>")
    assert (forms.invalid(form) is None) is valid


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(a*)*", "([a-z]+){9}x", "((a+)b?)+", "(a|a)*b", ".*.*.*.*x", "(", "a{99999}{9}"],
)
def test_a_pattern_that_could_take_forever_is_none(pattern: str) -> None:
    assert page_pattern(pattern) is None


@pytest.mark.parametrize("pattern", ["[a-z]+", "(ab)+", "a{2,3}", r"\d{3}-\d+", "(a|b)c*"])
def test_a_plain_pattern_is_taken(pattern: str) -> None:
    assert page_pattern(pattern) is not None
