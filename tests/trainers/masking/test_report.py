"""The report of a corpus."""

from __future__ import annotations

import json
from random import Random

from agentworld_trainers.masking import MaskReport, MaskSettings, mask_turn

TURNS = [
    ("echo hello world", "hello world echo"),
    ("cat /srv/a.txt", "one two three four five six seven"),
    ("cat /srv/b.txt", "a <script>alert(1)</script> line that nobody has seen before"),
    ("true", ""),
]


def report_of(turns: list[tuple[str, str]]) -> MaskReport:
    report = MaskReport(MaskSettings())
    for number, (action, observation) in enumerate(turns):
        report.add(action, observation, mask_turn(action, observation), f"turn {number}")
    return report


def test_shares_of_turns_and_characters_add_up() -> None:
    report = report_of(TURNS).to_json()
    found = report["categories"]
    assert report["turns"] == 4
    assert {name: one["turns"] for name, one in found.items() if one["turns"]} == {
        "retrieval": 2,
        "action": 1,
        "echo": 1,
    }
    assert sum(one["turns_share"] for one in found.values()) == 1
    characters = [len(observation) for _, observation in TURNS]
    kept = sum(characters) - 0.95 * characters[0]
    assert report["kept_characters_share"] == round(kept / sum(characters), 6)
    assert found["echo"]["examples"][0]["observation"] == "hello world echo"


def test_the_examples_do_not_depend_on_the_order_of_the_turns() -> None:
    turns = [(f"cat {number}", f"text number {number} of many more") for number in range(50)]
    mixed = list(turns)
    Random(1).shuffle(mixed)

    def shown(turns: list[tuple[str, str]]) -> list[str]:
        examples = report_of(turns).to_json()["categories"]["retrieval"]["examples"]
        return [one["action"] for one in examples]

    assert shown(turns) == shown(mixed)
    assert len(shown(turns)) == 3


def test_an_equal_turn_is_shown_once() -> None:
    report = report_of(TURNS[:1] * 5).to_json()
    assert len(report["categories"]["echo"]["examples"]) == 1


def test_the_page_escapes_what_tools_said() -> None:
    page = report_of(TURNS).to_html()
    assert "<script>" not in page
    assert "alert(1)" in page
    assert "4 turns" in page


def test_a_report_of_nothing_is_one() -> None:
    report = report_of([])
    assert json.loads(json.dumps(report.to_json()))["kept_characters_share"] == 0
    assert "0 turns" in report.to_html()
