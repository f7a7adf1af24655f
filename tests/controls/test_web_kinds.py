"""Kinds that make a web less clean: what a search finds and what pages say under them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import ValidationError

from agentworld_sim import Control, ToolCall, World
from agentworld_sim.controls import (
    Contradiction,
    DuplicateResults,
    Noise,
    OutdatedPage,
    Paywall,
    SpamResults,
)
from agentworld_sim.engines.search import WebPage, address_of
from agentworld_sim.engines.search.web_dirt import page_with_dirt, spam_page
from tests.controls.lamp_pages import PAGES, SEARCH_SCENARIO, TEXT, lamps, opening, searching
from tests.properties import examples

FIRST = PAGES[0].url


async def read(world: World, *calls: ToolCall) -> list[str]:
    return [(await world.step(call)).observation.text for call in calls]


async def urls(world: World, query: str) -> list[str]:
    (text,) = await read(world, searching(query))
    return re.findall(r"(?m)^\[\d+\] (\S+)$", text)


async def clean(*calls: ToolCall) -> list[str]:
    async with await lamps() as world:
        return await read(world, *calls)


async def test_a_contradiction_changes_one_number_of_a_page_wherever_it_stands() -> None:
    (right,) = await clean(opening(FIRST))
    async with await lamps(Contradiction(name="c", share=1)) as world:
        wrong, again = await read(world, opening(FIRST), opening(FIRST))
        assert wrong == again != right
        assert len(set(re.findall(r"[\d,.]+", wrong)) - set(re.findall(r"[\d,.]+", right))) == 1
        # Names, dates and addresses stay.
        assert re.sub(r"[\d,.]+ ?(grams|euros)|in \d{4}", "", wrong).count("2024-06-18") == 1
        assert "https://orvelle.example/about-1999" in wrong
        found = await read(world, searching("Ardent lamp"))
    assert found == await clean(searching("Ardent lamp"))


async def test_a_share_of_the_pages_is_struck_and_always_the_same_ones() -> None:
    control = Paywall(name="c", share=0.5, characters=20)
    opened = [opening(page.url) for page in PAGES]
    async with await lamps(control) as world:
        texts = await read(world, *opened)
        struck = [page.url for page, text in zip(PAGES, texts, strict=True) if "subscribe" in text]
        assert 0 < len(struck) < len(PAGES)
        assert await read(world, *opened) == texts
        # However its address is written, it is the same page, and to another reader too.
        spelled = [f"{struck[0]}?ref=1", f"{struck[0]}/#a".replace("https://", "http://www.")]
        for text in await read(
            world, *map(opening, [*spelled, struck[0].removeprefix("https://")])
        ):
            assert "subscribe" in text
        pieces = ToolCall("fetch", {"url": struck[0], "start_index": 5})
        assert "subscribe" in (await read(world, pieces))[0]
        counted = (await world.state()).values["control/c"]
    assert counted == 2 * len(struck) + 4
    async with await lamps(control, seed=4) as world:
        assert await read(world, *opened) != texts


async def test_a_paywall_shows_the_beginning_and_a_notice() -> None:
    async with await lamps(Paywall(name="c", share=1, characters=40)) as world:
        (text,) = await read(world, opening(FIRST))
    beginning, _, notice = text.partition(" …\n\n---\n\n")
    assert PAGES[0].text.startswith(beginning) and len(beginning) <= 40
    assert notice.startswith("**To continue reading, subscribe or log in.**")
    async with await lamps(Paywall(name="c", share=1, characters=9000)) as world:
        assert await read(world, opening(FIRST)) == await clean(opening(FIRST))


async def test_an_outdated_page_says_how_old_it_is() -> None:
    async with await lamps(OutdatedPage(name="c", share=1, days=366)) as world:
        dated, undated = await read(world, opening(PAGES[1].url), opening(PAGES[3].url))
    assert dated.startswith("*Cached copy of June 18, 2023. This page has changed since.*\n\n")
    assert dated.partition("\n\n")[2] != PAGES[1].text
    assert undated.startswith("*Cached copy. This page has changed since.*\n\n")


async def test_dirt_of_several_kinds_comes_together() -> None:
    controls: list[Control] = [
        Paywall(name="a", share=1, characters=150),
        Contradiction(name="b", share=1, facts=9),
        OutdatedPage(name="c", share=1),
    ]
    async with await lamps(*controls) as world:
        (text,) = await read(world, opening(PAGES[1].url))
    assert text.startswith("*Cached copy") and "subscribe" in text and "1,240" not in text


async def test_duplicates_are_the_same_page_and_leave_less_room() -> None:
    async with await lamps(DuplicateResults(name="c", copies=2)) as world:
        found = await urls(world, "Helio series")
        assert len(found) == 10 and len({address_of(one) for one in found}) == 4
        texts = await read(world, *map(opening, found[:3]))
    assert len(set(texts)) == 1 and texts == await clean(opening(found[0])) * 3


async def test_spam_stands_among_the_results_and_says_nothing() -> None:
    async with await lamps(SpamResults(name="c", pages=3)) as world:
        found = await urls(world, "Helio series")
        spam = [one for one in found if "orvelle" not in one]
        assert len(spam) == 3 and len(found) == 10
        (text,) = await read(world, opening(spam[0]))
        assert "You are looking for Helio Series?" in text
        assert await urls(world, "Helio series") == found
        # What nothing is found for is not sold.
        assert await urls(world, "xyzzy") == []
    assert await clean(opening(spam[0])) == [text]


async def test_noise_finds_pages_with_the_words_that_do_not_help() -> None:
    query = "Ardent lamp"
    async with await lamps(Noise(name="c", start=1, end=1)) as world:
        noisy = await urls(world, query)
    async with await lamps() as world:
        assert (await urls(world, query))[0] == FIRST
    assert FIRST not in noisy


def test_noise_grows_as_zerosearch_says() -> None:
    noise = Noise(name="c", start=0.1, end=0.5, calls_to_end=4)
    grown = [round(noise.probability_after(number), 4) for number in range(6)]
    # 0.1 + (4^(i/4) - 1) / 3 * 0.4, worked by hand.
    assert grown == [0.1, 0.1552, 0.2333, 0.3438, 0.5, 0.5]


async def test_noise_comes_as_often_as_its_probability_says() -> None:
    async with await lamps(Noise(name="c", start=0, end=1, calls_to_end=30)) as world:
        for number in range(60):
            # What is opened between is no search.
            await read(world, searching(f"lamp number {number}"), opening(FIRST))
        struck = [
            "control/c" in turn.change.values
            for turn in (await world.trajectory()).turns
            if turn.call.name == "web_search"
        ]
    assert 2 <= sum(struck[:30]) <= 18 and all(struck[30:])


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ({"kind": "paywall", "share": 0}, "share of the control 'c' is 0.0: give more than 0"),
        ({"kind": "contradiction", "share": 1.5}, "share of the control 'c' is 1.5"),
        ({"kind": "contradiction", "facts": 0}, "facts of the control 'c' is 0: give 1 or more"),
        (
            {"kind": "duplicate-results", "copies": 0},
            "copies of the control 'c' is 0: give 1 or more",
        ),
        ({"kind": "noise", "end": 2}, "end of the control 'c' is 2.0: give 0 to 1"),
        ({"kind": "noise", "domain": "mcp"}, "it never strikes there. It does in: search"),
    ],
)
def test_what_cannot_be_is_refused(written: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError) as caught:
        SEARCH_SCENARIO.model_validate(
            {"name": "x", "domains": ["search"], "controls": [{"name": "c", **written}]}
        )
    assert problem in str(caught.value)


@settings(max_examples=examples(150))
@given(st.text(), st.integers(1, 400), st.integers(0, 5))
def test_dirt_can_be_of_any_page(text: str, characters: int, seed: int) -> None:
    url = "https://a.example/"
    page = WebPage(url=url, title="T", text=text)
    about = {"addresses": ["a.example/"], "seed": seed}
    paywall = {"kind": "Paywall", "characters": characters, **about}
    shown = page_with_dirt(page, [paywall]).text
    assert shown == text or (len(text) > characters and "subscribe" in shown)
    otherwise = {"kind": "Contradiction", "facts": 2, **about}
    made = page_with_dirt(page, [otherwise])
    assert made == page_with_dirt(page, [otherwise])
    assert re.sub(r"[\d,.]", "", made.text) == re.sub(r"[\d,.]", "", text)
    elsewhere = replace(page, url="https://b.example/")
    assert page_with_dirt(elsewhere, [otherwise, paywall]) == elsewhere


@given(st.text())
def test_no_other_address_is_one_of_advertising(path: str) -> None:
    assert spam_page(f"https://orvelle.example/{path}") is None


def test_the_text_of_the_tests_has_numbers_that_can_be_wrong() -> None:
    assert "1,240" in TEXT and "48.50" in TEXT
