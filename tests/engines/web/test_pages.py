"""A page in a window: edits, refs, parts of it, and pages that nobody would write."""

from __future__ import annotations

import copy

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from agentworld_sim import UsageError
from agentworld_sim.engines.web.document import MAX_DEPTH, Document, Element, parse_document
from agentworld_sim.engines.web.live_state import LiveState, RefBook, value_of_option
from agentworld_sim.engines.web.page_view import PageView
from tests.properties import examples


def page_of(html: str, **options: object) -> PageView:
    return PageView(parse_document(html), **options)  # pyright: ignore[reportArgumentType]


def one(page: PageView, selector: str) -> Element:
    (element,) = page.document.select(selector)
    return element


def test_a_ref_stays_while_role_and_name_stay_and_a_new_name_gets_a_new_one() -> None:
    page = page_of("<label for=c>Send <input id=n value=2> boxes</label><input id=c type=checkbox>")
    assert 'checkbox "Send 2 boxes" [ref=e4]' in page.snapshot()

    page.set_value(one(page, "#n"), "5")
    text = page.snapshot()
    assert 'textbox [ref=e3]: "5"' in text
    assert 'checkbox "Send 5 boxes" [ref=e5]' in text
    assert (page.element_of("e4"), page.element_of("e5")) == (None, one(page, "#c"))


def test_refs_carry_the_prefix_of_their_document_and_go_on_from_what_was_kept() -> None:
    first = page_of("<button>A</button><button>B</button>", refs=RefBook(prefix="f2"))
    text = first.snapshot()
    assert (
        text
        == '- generic [active] [ref=f2e1]:\n  - button "A" [ref=f2e2]\n  - button "B" [ref=f2e3]'
    )
    again = PageView(first.document, first.live, copy.deepcopy(first.refs))
    assert again.element_of("f2e3") is one(first, "button:last-child")
    assert again.snapshot() == text


def test_what_is_no_longer_shown_cannot_be_pointed_at() -> None:
    page = page_of("<details open><summary>S</summary><button>In it</button></details>")
    page.snapshot()
    ref = page.refs.given[one(page, "button").index][2]
    page.set_open(one(page, "details"), False)
    page.snapshot()
    assert page.element_of(ref) is None


def test_a_snapshot_of_a_part_and_one_of_some_depth() -> None:
    page = page_of("<main><ul><li><a href=/a>A</a></li></ul></main><footer>F</footer>")
    page.snapshot()
    assert page.snapshot(one(page, "ul")) == (
        "- list [ref=e3]:\n  - listitem [ref=e4]:\n"
        '    - link "A" [ref=e5] [cursor=pointer]:\n      - /url: /a'
    )
    assert page.snapshot(depth=1) == (
        "- generic [active] [ref=e1]:\n  - main [ref=e2]\n  - contentinfo [ref=e6]: F"
    )


def test_only_one_radio_button_of_a_group_is_checked() -> None:
    page = page_of("<form><input type=radio name=a checked><input type=radio name=a></form>")
    first, second = page.document.select("input")
    page.set_checked(second, True)
    states = [page.live.is_checked(radio, page.document) for radio in (first, second)]
    assert states == [False, True]


@pytest.mark.parametrize(
    ("html", "value"),
    [
        ("<input value=' a\nb '>", " ab "),
        ("<input type=number value=1e3>", "1e3"),
        ("<input type=number value=ten>", ""),
        ("<input type=date value=2031-02-30x>", ""),
        ("<input type=range min=10 max=20>", "15"),
        ("<input type=range value=200>", "100"),
        ("<input type=color value=red>", "#000000"),
        ("<input type=checkbox>", "on"),
        ("<textarea>\n two\nlines</textarea>", " two\nlines"),
        ("<select><option disabled>a<option> b  c </select>", "b c"),
        (
            "<select><option value=x>a<option selected value=y>b<option selected value=z>c</select>",
            "z",
        ),
        ("<select size=2><option>a<option>b</select>", ""),
    ],
)
def test_values_are_those_that_a_script_would_read(html: str, value: str) -> None:
    document = Document(html)
    (control,) = document.select("input, textarea, select")
    assert LiveState().value_of(control) == value


def test_an_option_says_its_value_or_its_text() -> None:
    options = Document("<select><option value=1>One<option>  Two \n b</select>").select("option")
    assert [value_of_option(option) for option in options] == ["1", "Two b"]


def test_the_focus_is_where_the_page_puts_it_until_it_is_moved() -> None:
    page = page_of("<input autofocus disabled><input id=a autofocus><input id=b>")
    assert page.focus is one(page, "#a")
    page.set_focus(one(page, "#b"))
    assert page.focus is one(page, "#b")
    assert page.snapshot().count("[active]") == 1


def test_what_is_owned_elsewhere_changes_there() -> None:
    page = page_of("<div role=group aria-owns=o></div><p><b id=o><input value=old></b></p>")
    assert page.snapshot().index("old") < page.snapshot().index("paragraph")
    page.set_value(one(page, "input"), "new")
    assert "textbox [ref=e3]: new" in page.snapshot()


def test_a_selector_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'a\[' is no CSS selector"):
        Document("<a>").select("a[")


def test_linked_sheets_count_if_their_text_is_given() -> None:
    html = "<link rel=stylesheet href=a.css><p class=x>Gone</p>Here"
    assert "Gone" in page_of(html).snapshot()
    assert "Gone" not in page_of(html, sheets={"a.css": ".x{display:none}"}).snapshot()


def test_ten_thousand_nested_elements_are_cut_to_what_a_browser_keeps() -> None:
    document = Document("<div>" * 10_000 + "x")
    assert max(element.depth for element in document.elements) == MAX_DEPTH
    assert PageView(document).snapshot() == "- generic [active] [ref=e1]: x"


@pytest.mark.parametrize(
    "html",
    [
        "",
        "\0",
        "plain text",
        "<p aria-labelledby=a id=a aria-owns=a>x",
        "<div id=a aria-owns=b><div id=b aria-owns=a>x",
        "<b aria-owns=c></b><i aria-owns=c></i><u id=c aria-owns=d>u</u><s id=d>s</s>",
        "<label for=x><input id=x aria-labelledby=y></label><span id=y><label for=x>L</label></span>",
        "<style>@media{{{ a:is(,) ::before{content:'\\110000\\0' attr()}</style><a>x",
        "<style>" + "a{" * 500 + "</style><a>x",
        "<frameset><frame></frameset>",
        "<svg><foreignObject><table><tr><svg><title>",
        "<select><optgroup><option><hr></select><datalist><option>",
    ],
)
def test_no_page_is_too_strange(html: str) -> None:
    for rules in ("full", "distilled"):
        yaml.safe_load(page_of(html, rules=rules).snapshot().replace("\0", ""))


TAGS = (
    "a b button dd details div dl em fieldset form h2 i img input label legend li main nav ol option p section"
    " select span summary svg table td textarea th title tr ul"
).split()
ATTRIBUTES = {
    "aria-checked": ["true", "mixed"],
    "aria-hidden": ["true", "false"],
    "aria-label": ["Label", ""],
    "aria-labelledby": ["i1", "i2 i3"],
    "aria-owns": ["i1", "i2"],
    "class": ["none", "block", "flex", "abs", "hand", "before", "contents"],
    "disabled": [""],
    "for": ["i1", "i2"],
    "hidden": [""],
    "href": ["/a", "data:text/plain,b"],
    "id": ["i1", "i2", "i3"],
    "open": [""],
    "placeholder": ["Hint"],
    "role": ["button", "link", "none", "group", "heading", "row", "cell", "textbox", "img"],
    "title": ["Title"],
    "type": ["checkbox", "radio", "text", "submit", "range"],
    "value": ["v", "7"],
}
STYLE = (
    "<style>.none{display:none} .block{display:block} .flex{display:flex} .abs{position:absolute}"
    " .hand{cursor:pointer} .before::before{content:'+'} .contents{display:contents}</style>"
)


def write_element(tag: str, attributes: list[str], content: list[str]) -> str:
    return f"<{tag}{''.join(attributes)}>{''.join(content)}</{tag}>"


attribute = st.sampled_from(sorted(ATTRIBUTES)).flatmap(
    lambda name: st.sampled_from(ATTRIBUTES[name]).map(lambda value: f' {name}="{value}"')
)
markup: st.SearchStrategy[str] = st.recursive(
    st.sampled_from(["one", " two ", "<br>", "<!-- c -->", "Label", "\u00a0", "", "<hr>"]),
    lambda inner: st.builds(
        write_element,
        st.sampled_from(TAGS),
        st.lists(attribute, max_size=3),
        st.lists(inner, max_size=4),
    ),
    max_leaves=14,
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(markup, min_size=1, max_size=4), st.data(), st.sampled_from(["full", "distilled"]))
def test_after_any_edits_a_page_reads_as_one_that_is_read_anew(
    parts: list[str], data: st.DataObject, rules: str
) -> None:
    page = page_of(STYLE + "".join(parts), rules=rules)
    page.snapshot()
    elements = page.document.elements
    for _ in range(data.draw(st.integers(1, 4))):
        element = data.draw(st.sampled_from(elements))
        match element.tag:
            case "input" if element.type in ("checkbox", "radio"):
                page.set_checked(element, data.draw(st.booleans()))
            case "input" | "textarea":
                page.set_value(element, data.draw(st.sampled_from(["", "typed", "Label"])))
            case "select":
                page.select_options(element, data.draw(st.lists(st.integers(0, 2), max_size=2)))
            case "details":
                page.set_open(element, data.draw(st.booleans()))
            case _:
                page.set_focus(element)
        anew = PageView(page.document, page.live, copy.deepcopy(page.refs), rules=page.rules)
        assert page.snapshot() == anew.snapshot()
        assert page.refs == anew.refs
