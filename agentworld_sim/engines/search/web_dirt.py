"""What makes a web less clean than its rows: results that do not help, the same page at other addresses, advertising,
pages that say a fact otherwise, old versions of pages, and pages that must be paid for.

The search engine obeys what a condition (`Conditions.web`) says of a call: the kind of control and its own fields. Those about pages have
their `addresses` and the world's `seed` too, so that a page is the same whenever it is opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from random import Random
from typing import Any
from urllib.parse import unquote

from agentworld_sim.engines.search.page_index import PageIndex
from agentworld_sim.engines.search.search_results import SearchResult
from agentworld_sim.engines.search.web_page import WebPage

Dirt = Sequence[Mapping[str, Any]]

_SPAM_HOSTS = ("bestpicks-online.alt", "dealfinder-hub.alt", "toprated-guide.alt")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"(?<![\w/.,&?=#-])[1-9][0-9,]*[0-9](?:\.[0-9]+)?(?![\w/]|[.,-]\d)")
"""A number of two digits or more that is no part of a word, a date or an address."""


def distractors(
    index: PageIndex, query: str, limit: int, accept: Callable[[WebPage], bool]
) -> list[WebPage]:
    """Pages that have a word of the query and do not help: none of those that it finds."""
    good = {page.url for page in index.search(query, 2 * limit)}
    words = sorted({*_WORD.findall(query)})
    Random(f"noise/{query}").shuffle(words)
    pages: dict[str, WebPage] = {}
    for word in words:
        some = index.search(word, limit, lambda page: page.url not in good and accept(page))
        pages |= {page.url: page for page in some}
    return list(pages.values())[:limit]


def results_with_dirt(
    results: list[SearchResult],
    query: str,
    limit: int,
    dirt: Dirt,
    show: Callable[[WebPage], SearchResult | None],
) -> list[SearchResult]:
    """What a search shows where pages have mirrors, and advertising stands among them; `show` makes a result of a page."""
    for one in dirt:
        if one["kind"] == "DuplicateResults":
            # A site shows the same page for parameters that it does not know.
            ends = ("", *(f"?ref={number + 1}" for number in range(one["copies"])))
            results = [replace(each, url=each.url + end) for each in results for end in ends]
        elif one["kind"] == "SpamResults" and results:
            random = Random(f"spam/{query}")
            results = results[: max(1, limit - one["pages"])]
            for number in range(one["pages"]):
                page = _spam(random.choice(_SPAM_HOSTS), f"{_slug(query)}-{number + 1}")
                if (shown := show(page)) is not None:
                    results.insert(random.randrange(len(results) + 1), shown)
    return results[:limit]


def address_of(url: str) -> str:
    """What all spellings of a page's address have in common, those of its mirrors too: host and path."""
    address = re.split(r"[?#]", url.partition("://")[2] or url, maxsplit=1)[0]
    host, _, path = address.partition("/")
    return f"{host.lower().removeprefix('www.')}/{unquote(path).strip('/')}"


def spam_page(url: str) -> WebPage | None:
    """The advertising at an address of advertising."""
    host, _, path = url.removeprefix("https://").partition("/")
    return _spam(host, path) if host in _SPAM_HOSTS and path else None


def page_with_dirt(page: WebPage, dirt: Dirt) -> WebPage:
    """A page as it is shown."""
    for one in dirt:
        if address_of(page.url) not in one.get("addresses", ()):
            continue
        if one["kind"] == "Contradiction":
            page = _otherwise(page, one["facts"], one["seed"])
        elif one["kind"] == "OutdatedPage":
            page = _cached_copy(page, one["facts"], one["days"], one["seed"])
        elif one["kind"] == "Paywall":
            page = _behind_paywall(page, one["characters"])
    return page


def _otherwise(page: WebPage, facts: int, seed: int) -> WebPage:
    """The page with some of its numbers replaced by others that could be right, each wherever it stands."""
    random = Random(f"{seed}/otherwise/{page.url}")
    numbers = sorted({*_NUMBER.findall(page.text)})
    chosen = random.sample(numbers, min(facts, len(numbers)))
    others = {number: _other_number(number, random) for number in chosen}
    return replace(page, text=_NUMBER.sub(lambda found: others.get(found[0], found[0]), page.text))


def _other_number(number: str, random: Random) -> str:
    whole, point, decimals = number.partition(".")
    value = int(whole.replace(",", ""))
    # Years are near each other; of other numbers, a twentieth to a fifth.
    year = "," not in number and 1500 <= value <= 2100
    step = random.randint(1, 9) if year else max(1, value * random.randint(5, 20) // 100)
    other = value + random.choice((-1, 1)) * step
    return f"{other:,}{point}{decimals}" if "," in whole else f"{other}{point}{decimals}"


def _cached_copy(page: WebPage, facts: int, days: int, seed: int) -> WebPage:
    made = _otherwise(page, facts, seed)
    if not page.date:
        return replace(made, text=f"*Cached copy. This page has changed since.*\n\n{made.text}")
    day = date.fromisoformat(page.date) - timedelta(days=days)
    notice = f"*Cached copy of {day:%B} {day.day}, {day.year}. This page has changed since.*"
    return replace(made, date=day.isoformat(), text=f"{notice}\n\n{made.text}")


def _behind_paywall(page: WebPage, characters: int) -> WebPage:
    if len(page.text) <= characters:
        return page
    shown = page.text[:characters].rpartition(" ")[0]
    notice = "**To continue reading, subscribe or log in.** Subscribers read every article."
    return replace(page, text=f"{shown} …\n\n---\n\n{notice}\n")


def _slug(query: str) -> str:
    return "-".join(_WORD.findall(query.lower())[:8]) or "offers"


def _spam(host: str, path: str) -> WebPage:
    subject = " ".join(path.split("-")[:-1]).title()
    offers = "\n".join(
        f"{number}. **{subject}**: our readers' choice. [See today's price](https://{host}/offers)"
        for number in range(1, 6)
    )
    return WebPage(
        url=f"https://{host}/{path}",
        title=f"{subject}: Best Picks, Prices and Reviews",
        text=f"# {subject}: Best Picks\n\nYou are looking for {subject}? You are in the right place!\n\n{offers}\n",
        teaser=f"You are looking for {subject}? Compare the best offers, prices and reviews today",
    )
