"""Categories of turns: golden cases by hand, at and beside every boundary, and what holds for all."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from agentworld_trainers.masking import CATEGORIES, MaskSettings, TurnMask, mask_turn


def words(*counts: tuple[str, int]) -> str:
    """So many different words of each kind: `a0 a1 b0`."""
    return " ".join(f"{kind}{number}" for kind, count in counts for number in range(count))


def turn(
    action: int, shared: int, new: int, *, ratio: float = 2.0, settings: MaskSettings | None = None
) -> TurnMask:
    """A turn with so many words in the action, of them so many shared, and so many new ones.

    The ratio is reached with blanks, which are characters and no words.
    """
    asked = words(("s", shared), ("a", action - shared)).ljust(1000)
    said = words(("s", shared), ("n", new)).ljust(round(1000 * ratio))
    assert len(asked) == 1000, "too many words for a thousand characters"
    return mask_turn(asked, said, settings or MaskSettings())


def test_the_four_statistics_of_a_turn_worked_by_hand() -> None:
    # A = {read, notes, txt}, O = {notes, txt, has, two, lines}: two shared, six in either.
    found = mask_turn("read notes.txt", "Notes.txt has two lines: TWO")
    assert (found.overlap, found.novelty, found.jaccard) == (2 / 3, 3 / 5, 2 / 6)
    assert found.ratio == 28 / 14
    assert (found.category, found.keep) == ("retrieval", 1.0)


GOLDEN = {
    # (words of A, shared, new, ratio): category. Of O's words, new / (shared + new) are new.
    "retrieval at novelty 0.6": ((10, 2, 3, 2.0), "retrieval"),
    "retrieval needs a ratio above 1": ((10, 2, 3, 1.0), "action"),
    "retrieval just above 1": ((10, 2, 3, 1.001), "retrieval"),
    "expansion at overlap 0.5 and novelty 0.5": ((10, 5, 5, 1.6), "expansion"),
    "expansion needs a ratio above 1.5": ((10, 5, 5, 1.5), "other"),
    "expansion needs overlap 0.5": ((10, 4, 4, 1.6), "other"),
    "below novelty 0.5 there is no expansion": ((10, 6, 5, 1.6), "boilerplate"),
    "action at novelty 0.5 and ratio 1": ((10, 4, 4, 1.0), "action"),
    "action with a lower ratio": ((10, 1, 9, 0.5), "action"),
    "transform below novelty 0.5 and ratio 1": ((10, 4, 3, 0.9), "transform"),
    "transform needs a ratio below 1": ((10, 4, 3, 1.0), "other"),
    "boilerplate at overlap 0.5": ((10, 5, 4, 1.0), "boilerplate"),
    "boilerplate also when the answer is shorter": ((10, 5, 4, 0.5), "boilerplate"),
    "boilerplate below novelty 0.5 only": ((10, 5, 5, 1.2), "other"),
    "echo at overlap 0.7": ((10, 7, 2, 1.0), "echo"),
    "echo below overlap 0.7 is boilerplate": ((100, 69, 20, 1.0), "boilerplate"),
    "echo needs novelty below 0.3": ((10, 7, 3, 1.0), "boilerplate"),
    "echo also when the answer is shorter": ((10, 10, 0, 0.5), "echo"),
    "other: half of it new, hardly longer": ((10, 1, 1, 1.2), "other"),
}
KEPT = {
    "retrieval": 1.0,
    "expansion": 1.0,
    "action": 1.0,
    "transform": 0.5,
    "boilerplate": 0.1,
    "echo": 0.05,
    "other": 1.0,
}


@pytest.mark.parametrize(("counts", "category"), GOLDEN.values(), ids=GOLDEN.keys())
def test_each_category_holds_up_to_its_boundaries(
    counts: tuple[int, int, int, float], category: str
) -> None:
    action, shared, new, ratio = counts
    found = turn(action, shared, new, ratio=ratio)
    assert (found.category, found.keep) == (category, KEPT[category])


def test_a_novelty_just_below_retrievals_boundary_is_none() -> None:
    assert turn(100, 41, 59, ratio=1.2).category == "other"


def test_a_short_answer_with_half_of_it_new_is_an_action_whatever_its_ratio() -> None:
    settings = MaskSettings(short_characters=14)
    assert mask_turn("x y q r s", "x y n0 n111111", settings).category == "action"
    assert mask_turn("x y q r s", "x y n0 n1111112", settings).category == "other"
    assert mask_turn("x y q r s", "x n0 n1 n2 n33", settings).category == "retrieval"


def test_the_published_order_never_finds_an_echo() -> None:
    published = MaskSettings(
        precedence=("retrieval", "expansion", "action", "transform", "boilerplate", "echo")
    )
    assert turn(10, 10, 0, ratio=1.0, settings=published).category == "boilerplate"
    assert turn(10, 10, 0, ratio=0.9, settings=published).category == "transform"


def test_an_empty_observation_is_kept_as_an_action() -> None:
    found = mask_turn("mkdir /srv/a", "")
    assert found == TurnMask("action", 1.0, overlap=0.0, novelty=1.0, jaccard=0.0, ratio=0.0)


def test_an_action_without_characters_counts_as_one_character() -> None:
    found = mask_turn("", "two words")
    assert found == TurnMask("retrieval", 1.0, overlap=0.0, novelty=1.0, jaccard=0.0, ratio=9.0)
    assert mask_turn("", "").jaccard == 1.0


def test_what_is_undefined_is_a_setting() -> None:
    settings = MaskSettings(
        overlap_undefined=1.0,
        novelty_undefined=0.0,
        jaccard_undefined=0.25,
        empty_action_characters=4,
    )
    assert mask_turn("", "", settings) == TurnMask("echo", 0.05, 1.0, 0.0, 0.25, 0.0)
    assert mask_turn("", "abcdefgh", settings).ratio == 2.0


def test_a_word_is_what_the_pattern_says() -> None:
    assert mask_turn('{"path": "a_b"}', "Path a_b.").overlap == 1.0
    spaced = MaskSettings(word=r"\S+")
    assert mask_turn('{"path": "a_b"}', "Path a_b.", spaced).overlap == 0.0


def test_a_fraction_can_be_set_alone() -> None:
    settings = MaskSettings.model_validate({"keep": {"echo": 0.2}})
    assert settings.keep["echo"] == 0.2
    assert settings.keep["boilerplate"] == 0.1


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"precedence": ["echo"]}, "name each of these once"),
        ({"keep": {"ecko": 0.1}}, "ecko"),
        ({"keep": {"echo": 1.5}}, "less than or equal to 1"),
        ({"word": "("}, "not a regular expression"),
        ({"word": "a*"}, "no word"),
        ({"word": "(a)b"}, "groups"),
        ({"shrt": 3}, "shrt"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(told)):
        MaskSettings.model_validate(settings)


TEXTS = st.text(alphabet="ab cd_1.\n", max_size=60)


@given(TEXTS, TEXTS)
def test_shares_lie_between_nothing_and_all_and_order_of_words_never_matters(
    action: str, observation: str
) -> None:
    found = mask_turn(action, observation)
    assert found.category in CATEGORIES
    assert found.keep == KEPT[found.category]
    for share in (found.overlap, found.novelty, found.jaccard):
        assert 0 <= share <= 1
    assert found.ratio >= 0
    again = mask_turn(" ".join(reversed(action.split(" "))), observation.upper())
    assert again == found


@given(TEXTS, TEXTS)
def test_the_statistics_are_those_of_a_literal_transcription(action: str, observation: str) -> None:
    a = frozenset(re.findall(r"\w+", action.lower()))
    o = frozenset(re.findall(r"\w+", observation.lower()))
    found = mask_turn(action, observation)
    if a and o:
        assert found.overlap == len(a & o) / len(a)
        assert found.novelty == len(o - a) / len(o)
        assert found.jaccard == len(a & o) / len(a | o)
    if action:
        assert found.ratio == len(observation) / len(action)


@given(TEXTS)
def test_saying_an_action_back_is_an_echo(text: str) -> None:
    if re.search(r"\w", text):
        assert mask_turn(text, text).category == "echo"
