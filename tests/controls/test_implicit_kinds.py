"""Kinds of control of which the agent is told nothing."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim import Observation, UsageError
from agentworld_sim.controls import (
    AdversarialText,
    ClockSkew,
    DuplicatedWrite,
    HiddenFact,
    IncompleteResult,
    LostWrite,
    OutOfOrder,
    Pagination,
    PartialBatch,
    SlowAnswer,
    StaleRead,
    TruncatedResult,
    WithheldField,
    WrongEncoding,
    WrongUnit,
    WrongValue,
)
from agentworld_sim.controls.adversarial_text import adversarial_packs
from agentworld_sim.controls.observation_parts import NOTHING, change_fields, change_texts
from agentworld_sim.controls.wrong_value import plausible_value
from agentworld_sim.types import ToolCall
from tests.controls.records import (
    ITEMS,
    REPORT,
    REPORT_CALL,
    adding,
    held,
    ordering,
    records,
    texts,
)
from tests.properties import examples

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abcd"), below, max_size=3)
    ),
    max_leaves=12,
)


async def test_a_stale_read_sees_what_was_there_some_turns_ago() -> None:
    async with await records(StaleRead(name="s", tool="items", turns_ago=2, nth=(2,))) as world:
        said = await texts(world, ITEMS, adding("a"), adding("b"), ITEMS, ITEMS)
        assert said[3:] == ["[]", '["a", "b"]']
        assert await held(world) == ["a", "b"]


async def test_a_stale_read_of_what_did_not_change_strikes_nothing() -> None:
    async with await records(StaleRead(name="s")) as world:
        await texts(world, adding("a"), ordering(), ITEMS)
        assert "control/s" not in (await world.state()).values


async def test_a_duplicated_write_is_done_twice_and_told_once() -> None:
    async with await records(DuplicatedWrite(name="d", times=1)) as world:
        said = await texts(world, ITEMS, adding("a"), adding("b"))
        assert json.loads(said[1]) == {"added": 1, "total": 1}
        assert await held(world) == ["a", "a", "b"]


async def test_a_lost_write_is_confirmed_and_not_there() -> None:
    async with await records(LostWrite(name="l", times=1)) as world:
        said = await texts(world, adding("a"), adding("b"))
        assert said == ['{"added": 1, "total": 1}'] * 2
        assert await held(world) == ["b"]


@pytest.mark.parametrize(("share", "done"), [(0.5, "ab"), (0.01, "a"), (0.99, "abcd")])
async def test_of_a_partial_batch_exactly_the_first_part_is_there(share: float, done: str) -> None:
    async with await records(PartialBatch(name="p", share=share)) as world:
        said = await texts(world, adding(*"abcde"))
        assert json.loads(said[0])["added"] == len(done)
        assert await held(world) == list(done)
        await world.step(adding("z"))
        assert (await world.state()).values["control/p"] == 1


async def test_a_truncated_result_ends_without_a_word() -> None:
    async with await records(TruncatedResult(name="t", characters=20)) as world:
        said = await texts(world, REPORT_CALL, adding("a"))
        assert said[0] == REPORT[:20]
        await texts(world, *[adding(f"item {n}") for n in range(9)])
        turn = await world.step(ITEMS)
        assert len(turn.observation.text) == 20
        assert 0 < len(turn.observation.structured["items"]) < 10


async def test_items_out_of_order_are_all_there() -> None:
    async with await records(OutOfOrder(name="o", tool="items")) as world:
        await world.step(adding(*map(str, range(20))))
        turn = await world.step(ITEMS)
        shuffled = json.loads(turn.observation.text)
        assert shuffled != (await held(world))
        assert sorted(shuffled) == sorted(await held(world))
        assert turn.observation.structured == {"items": shuffled}


async def test_a_slow_answer_takes_time_and_says_the_same() -> None:
    async with await records(SlowAnswer(name="s", by_us=7_000_000)) as world:
        turn = await world.step(ITEMS)
        assert turn.observation == Observation(text="[]", structured={"items": []})
        assert turn.change.clock_us - world.scenario.clock_us == 7_100_000


@pytest.mark.parametrize(("factor", "price"), [(100, 1250), (0.1, 1.25)])
async def test_a_wrong_unit_is_in_text_and_structured_content(factor: float, price: float) -> None:
    async with await records(WrongUnit(name="w", fields=("pri*", "paid"), factor=factor)) as world:
        turn = await world.step(ordering())
        assert json.loads(turn.observation.text) == turn.observation.structured
        assert turn.observation.structured["price"] == price
        assert turn.observation.structured["paid"] is True
        assert '\n  "id": 7' in turn.observation.text
        assert f"price: {price} EUR" in (await texts(world, REPORT_CALL))[0]


async def test_a_withheld_field_is_nowhere_in_the_answer() -> None:
    async with await records(WithheldField(name="w", fields=("*email", "owner"))) as world:
        turn = await world.step(ordering())
        assert turn.observation.structured["customer"] == {"name": "Ann Müller"}
        assert "ann@example.com" not in json.dumps(turn.observation.to_json())
        said = (await texts(world, REPORT_CALL))[0]
        assert said == REPORT.replace("owner = Ann\n", "")


async def test_a_wrong_value_is_the_same_each_time() -> None:
    async with await records(WrongValue(name="w", fields=("price", "date", "paid"))) as world:
        first, second = await texts(world, ordering(1), ordering(2))
        wrong = json.loads(first)
        assert first == second
        assert wrong["paid"] is False
        assert wrong["price"] != 12.5
        assert 10 <= wrong["price"] <= 15
        assert wrong["date"] != "2026-03-02"
        assert wrong["date"][:9] == "2026-03-0"


@settings(max_examples=examples(150))
@given(
    st.integers() | st.booleans() | st.floats(-1e9, 1e9) | st.just("Ann") | st.dates().map(str),
    st.randoms(),
)
def test_a_plausible_value_is_another_of_the_same_type(value: Any, random: Any) -> None:
    other = plausible_value(value, random)
    assert other != value
    assert type(other) is type(value)


async def test_letters_beyond_ascii_are_read_in_another_encoding() -> None:
    async with await records(WrongEncoding(name="w")) as world:
        turn = await world.step(ordering())
        assert turn.observation.structured["customer"]["name"] == "Ann MÃ¼ller"
        await world.step(ITEMS)
        assert (await world.state()).values["control/w"] == 1


@pytest.mark.parametrize("encoding", ["utf-8", "klingon"])
def test_an_encoding_that_changes_nothing_is_refused(encoding: str) -> None:
    with pytest.raises(UsageError, match="give one that is not UTF-8"):
        WrongEncoding(name="w", encoding=encoding)


async def test_pages_are_asked_for_by_a_further_parameter() -> None:
    async with await records(Pagination(name="p", tool="items", size=2)) as world:
        assert "page" in (await world.listing())["items"].input_schema["properties"]
        await world.step(adding(*"abcde"))
        turn = await world.step(ITEMS)
        assert turn.observation.text == '["a", "b"]\n(page 1 of 3; page=2 gives the next)\n'
        assert turn.observation.structured == {"items": ["a", "b"]}
        last = await world.step(ToolCall("items", {"page": 3}))
        assert last.observation.text == '["e"]'
        assert (await texts(world, ToolCall("items", {"page": 4}))) == ["[]"]


async def test_an_answer_of_one_page_is_left_as_it_is() -> None:
    async with await records(Pagination(name="p", times=1)) as world:
        await texts(world, adding("a"), ITEMS)
        assert "control/p" not in (await world.state()).values
        await texts(world, REPORT_CALL, ToolCall("items", {"page": 9}))


async def test_the_same_call_again_gives_the_whole_answer() -> None:
    async with await records(IncompleteResult(name="i", tool="items", polls=2)) as world:
        await world.step(adding(*"abcdef"))
        said = [json.loads(text) for text in await texts(world, ITEMS, ITEMS, ITEMS, ITEMS)]
        assert [len(one) for one in said] == [2, 4, 6, 2]


async def test_a_hidden_fact_is_told_by_the_tool_that_reveals_it_alone() -> None:
    hidden = HiddenFact(name="h", fact="Code  word: SWORDFISH", revealed_by="items")
    async with await records(hidden) as world:
        await world.step(adding("code word: swordfish"))
        said = await texts(world, REPORT_CALL, ITEMS)
        assert said == [REPORT.replace("code word: swordfish\n", ""), '["code word: swordfish"]']


@settings(max_examples=examples(150))
@given(JSON, st.sampled_from(["ü", 'a"b', "12.5", "code word"]), st.booleans())
def test_a_hidden_fact_is_in_no_part_of_any_answer(value: Any, fact: str, ascii_only: bool) -> None:
    number = [float(fact)] if fact == "12.5" else []
    told = {"said": value, fact: number, "note": f"it is {fact.upper()}!", "list": [fact, *number]}
    before = Observation(
        text=json.dumps(told, ensure_ascii=ascii_only),
        structured=told,
        content=({"type": "text", "text": fact}, {"type": "text", "text": "other"}),
    )
    after = change_texts(before, HiddenFact(name="h", fact=fact).hide)
    assert fact not in json.dumps(after.structured, ensure_ascii=False).replace('\\"', '"').lower()
    assert (
        fact
        not in json.dumps(json.loads(after.text), ensure_ascii=False).replace('\\"', '"').lower()
    )
    assert after.content == ()


async def test_an_adversarial_text_is_marked_in_the_record() -> None:
    pack = adversarial_packs()["exfiltration"]
    async with await records(AdversarialText(name="a", pack="exfiltration")) as world:
        turns = [await world.step(ITEMS) for _ in range(len(pack) + 1)]
        assert [turn.observation.text for turn in turns] == [
            f"[]\n{text}\n" for text in (*pack, pack[0])
        ]
        assert turns[1].change.values == {"control/a": 2, "control/a/text": "exfiltration/2"}
        assert turns[1].observation.provenance == "enforced"


def test_a_pack_is_named_and_known() -> None:
    with pytest.raises(UsageError, match=r"'exfiltrat'\. Did you mean 'exfiltration'"):
        AdversarialText(name="a", pack="exfiltrat")


@pytest.mark.parametrize("by_us", [3_600_000_000, -3_600_000_000])
async def test_a_clock_that_is_wrong_leaves_the_worlds_own_alone(by_us: int) -> None:
    async with await records(ClockSkew(name="c", by_us=by_us)) as world:
        turn = await world.step(ITEMS)
        assert turn.change.clock_us - world.scenario.clock_us == 100_000
        assert turn.observation == Observation(text="[]", structured={"items": []})


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: ClockSkew(name="c", by_us=0), "by_us of the control 'c' is 0"),
        (lambda: WrongUnit(name="c", fields=("a",), factor=1), "factor of the control 'c' is 1"),
        (lambda: PartialBatch(name="c", share=1.0), "share of the control 'c' is 1.0"),
        (lambda: HiddenFact(name="c", fact=" "), "fact of the control 'c' is empty"),
        (lambda: Pagination(name="c", size=0), "size of the control 'c' is 0: give 1 or more"),
    ],
)
def test_what_would_change_nothing_is_refused(make: Any, problem: str) -> None:
    with pytest.raises(UsageError) as raised:
        make()
    assert problem in str(raised.value)


@settings(max_examples=examples(150))
@given(JSON)
def test_what_is_withheld_is_in_no_part_of_any_json(value: Any) -> None:
    before = Observation(text=json.dumps(value, indent=2), structured=value)
    after = change_fields(before, ("a", "b"), lambda name, one: NOTHING)

    def names(one: Any) -> set[str]:
        if isinstance(one, list):
            return set[str]().union(*map(names, cast("list[Any]", one)))
        own = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
        return set(own).union(*map(names, own.values()))

    assert not names(after.structured) & {"a", "b"}
    if isinstance(value, list | dict):
        assert json.loads(after.text) == after.structured
