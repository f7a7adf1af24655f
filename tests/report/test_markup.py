"""What is put into HTML is text until it is said to be HTML."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given, strategies as st

from agentworld_sim.report import Markup, filters, page, tag


class Reader(HTMLParser):
    """What a browser would see: elements with their attributes, and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


SEEN = st.text(
    st.characters(
        exclude_categories=["Cc", "Cs"],
        exclude_characters="\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    )
)


@given(SEEN, SEEN)
def test_text_and_attributes_are_read_as_they_were_given(text: str, attribute: str) -> None:
    read = Reader(tag("p", text, title=attribute))
    assert (read.text, read.elements) == (text, [("p", {"title": attribute})])


@given(st.text())
def test_no_text_makes_an_element(text: str) -> None:
    read = Reader(tag("p", text, title=text))
    assert [name for name, _ in read.elements] == ["p"]


def test_what_cannot_be_seen_is_written_out() -> None:
    hidden = "a\x00b\x1b[31m\u202ec\x85\ud800\u2028"
    assert tag("p", hidden) == r"<p>a\u0000b\u001b[31m\u202ec\u0085\ud800\u2028</p>"
    assert tag("p", "a\tb\n") == "<p>a\tb\n</p>"


def test_elements_nest_and_finished_html_is_kept() -> None:
    inner = [tag("b", "<x>"), " and ", tag("br")]
    assert tag("p", inner, class_="soft", data_id="1", open=True, hidden=False) == (
        '<p class="soft" data-id="1" open><b>&lt;x&gt;</b> and <br></p>'
    )
    assert isinstance(tag("p"), Markup)


def test_a_page_fetches_nothing_and_runs_nothing() -> None:
    read = Reader(page("A <title>", tag("p", "body")))
    names = [name for name, _ in read.elements]
    assert not {"script", "link", "img", "iframe"} & set(names)
    policies = [have["content"] for _, have in read.elements if "http-equiv" in have]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert not [have for _, have in read.elements if "src" in have or "href" in have]
    assert names.count("h1") == 1 and "A <title>" in read.text


def test_every_filter_hides_what_is_not_of_its_kind() -> None:
    shown = filters({"all": "all", "worst": "the worst"})
    assert "main:has(#show-worst:checked) details.case:not(.worst) { display: none; }" in shown
    assert "not(.all)" not in shown
