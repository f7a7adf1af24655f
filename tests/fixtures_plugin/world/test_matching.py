"""What fits an expectation."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_fixtures._expectations import WIDTH, differences, fits, short_repr

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_every_value_fits_itself_and_anything(value: Any) -> None:
    assert fits(value, value)
    assert fits(..., value)


@given(st.dictionaries(st.text(), JSON, min_size=1), st.data())
def test_a_mapping_fits_what_has_more(value: dict[str, Any], data: st.DataObject) -> None:
    kept = data.draw(st.sets(st.sampled_from(sorted(value))))
    assert fits({key: value[key] for key in kept}, value)
    assert fits({"outer": [{key: value[key] for key in kept}]}, {"outer": [value], "more": 1})


@given(JSON, JSON)
def test_two_values_fit_or_the_difference_is_told(one: Any, other: Any) -> None:
    told = differences(one, other)
    assert all(line and "\n" not in line for line in told)
    if type(one) is type(other) and not isinstance(one, dict | list):
        assert fits(one, other) == (one == other)


@given(JSON)
def test_what_is_shown_is_short(value: Any) -> None:
    assert len(short_repr(value)) <= WIDTH
    assert len(short_repr([value] * 1000)) <= WIDTH


@pytest.mark.parametrize(
    ("expected", "actual", "told"),
    [
        (True, 1, "value: wanted True, got 1"),
        (1, True, "value: wanted 1, got True"),
        (1, "1", "value: wanted 1, got '1'"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b: wanted 1, got 2"),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, "a[0].b: wanted 1, got 2"),
        ({"a": [1]}, {"a": [1, 2]}, "a: wanted 1 item, got 2: [1, 2]"),
        ({"a": [1]}, {"a": 1}, "a: wanted [1], got 1"),
        ({"colour": "x"}, {"color": "x"}, "colour: wanted 'x', not given. Did you mean 'color'?"),
        (re.compile("x"), 3, "value: wanted /x/, got 3"),
        (str, 3, "value: wanted a str, got 3"),
    ],
)
def test_a_difference_says_where_what_was_wanted_and_what_was_got(
    expected: Any, actual: Any, told: str
) -> None:
    assert differences(expected, actual) == [told]


def test_numbers_of_two_kinds_are_equal() -> None:
    assert fits(1, 1.0)
    assert fits(pytest.approx(0.3), 0.1 + 0.2)  # pyright: ignore[reportUnknownMemberType]  pytest's own
