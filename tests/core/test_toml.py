"""TOML with the places of its keys and values."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from agentworld_sim.toml import TomlError, read_toml, toml_literal, toml_text

TEXT = """\
# first
a = 1
b.c = [1, {x = "]", "y z"=[2,[3]]}, 'q' ]  # k
[t."q]q"]   # x
 d = 2020-01-01
[[l]]
e = \"""
x\"""
[l.m]
f=1
[[l]]
e=2
[t]
z={}
"""
SPANS = {
    ("a",): ("a = ", "1", (2, 1)),
    ("b", "c"): ("b.c = ", '[1, {x = "]", "y z"=[2,[3]]}, \'q\' ]', (3, 1)),
    ("b", "c", 1, "y z"): ('"y z"=', "[2,[3]]", (3, 21)),
    ("b", "c", 1, "y z", 1, 0): ("", "3", (3, 31)),
    ("b", "c", 2): ("", "'q'", (3, 37)),
    ("t", "q]q"): ('[t."q]q"]', "", (4, 1)),
    ("t", "q]q", "d"): ("d = ", "2020-01-01", (5, 2)),
    ("l", 0): ("[[l]]", "", (6, 1)),
    ("l", 0, "e"): ("e = ", '"""\nx"""', (7, 1)),
    ("l", 0, "m", "f"): ("f=", "1", (10, 1)),
    ("l", 1): ("[[l]]", "", (11, 1)),
    ("t",): ("[t]", "", (13, 1)),
    ("t", "z"): ("z=", "{}", (14, 1)),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_key_and_value_has_its_place(newline: str) -> None:
    text = TEXT.replace("\n", newline)
    document = read_toml(text)
    assert document.value == tomllib.loads(text)
    for path, (key, value, position) in SPANS.items():
        span = document.spans[path]
        assert text[span.start : span.value] == key
        assert text[span.value : span.end] == value.replace("\n", newline)
        assert document.position(path) == position


def test_what_has_no_place_of_its_own_has_the_one_around_it() -> None:
    document = read_toml(TEXT)
    assert document.position(("l", 1, "no", "such")) == (11, 1)
    assert document.position(("b",)) == (1, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = = 2", "line 1, column 5: invalid value."),
        ("a = 1\na = 2\nb = 3", "line 2, column 6: cannot overwrite a value."),
        ("a = ", "invalid value at the end of the text."),
        ("a = " + "[" * 150 + "]" * 150, "TOML value nested more than 100 levels deep"),
        ("a = " + "[" * 5000, "it is nested too deeply."),
    ],
)
def test_errors_say_where(text: str, message: str) -> None:
    with pytest.raises(TomlError) as raised:
        read_toml(text)
    assert message.lower() in str(raised.value).lower()


VALUE: dict[str, Any] = {
    "a": {"b": {"d": [1]}},
    "e": 'x\x7f\n"\\é',
    "f": [{"a": 1.5}, {"b": [{}]}],
    "g h": True,
}


@pytest.mark.parametrize("value", [VALUE, {}])
def test_what_is_written_is_read_alike(value: dict[str, Any]) -> None:
    assert read_toml(toml_text(value)).value == value
    literal = toml_literal(value)
    assert "\n" not in literal
    assert read_toml(f"x = {literal}").value == {"x": value}


def test_nothing_is_written_for_none() -> None:
    assert toml_text({"a": None, "b": {"c": None, "d": 1}}) == "[b]\nd = 1\n"
