"""Files of evidence side by side: what is compared, what is named, what is marked."""

from __future__ import annotations

from agentworld_sim.report.evidence_page import differences, evidence_page
from tests.report.evidence_files import evidence, rung
from tests.report.test_markup import Reader


def test_rungs_stand_beside_each_other_with_intervals() -> None:
    text = evidence_page({"one": evidence(), "two": evidence(model="large")})
    read = Reader(text)
    for part in (
        *("one, known tools", "two, unseen tools", "50.0 [25.0, 75.0] of 4", "vLLM 0.32.0"),
        *("state, 1 field changed, known tools", "one: agreement, AUROC 0.875", "1,234"),
        *("What a threshold buys", "Limits of thinking", "6 of 8 right"),
    ):
        assert part in read.text
    assert read.text.count("Right, in percent") == 1


def test_what_models_said_is_no_markup_and_errors_are_said() -> None:
    text = evidence_page({"one": evidence()})
    assert "<script>" not in text
    assert "Hm &lt;script&gt;" in text
    assert "&lt;b&gt;open&lt;/b&gt;" in text
    assert "(error) gone" in text
    assert '<details class="case known failed silent">' in text


def test_files_that_differ_are_named_and_other_sets_stand_apart() -> None:
    files = {
        "one": evidence(),
        "two": evidence(set="cd34", version="2.0", prompts="mine"),
        "three": evidence(finished=""),
    }
    assert differences(files) == [
        "three is not finished.",
        "The files differ in set (one: ab12, two: cd34, three: ab12).",
        "The files differ in version (one: 1.0, two: 2.0, three: 1.0).",
        "The files differ in prompts (one: v1, two: mine, three: v1).",
    ]
    read = Reader(evidence_page(files))
    assert read.text.count("Right, in percent") == 2
    assert all(one in read.text for one in differences(files))
    assert differences({"one": evidence()}) == []


def test_a_rung_that_a_file_has_not_reached_is_left_empty() -> None:
    short = evidence(rungs=[rung("bare")], sides=["known"])
    text = evidence_page({"one": evidence(), "two": short})
    assert "<td>agreement</td><td>50.0 [25.0, 75.0] of 4</td>" in text
    assert "<td>50.0 [25.0, 75.0] of 4</td><td></td></tr>" in text
