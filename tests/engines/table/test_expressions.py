"""Arithmetic over records: exact, and nothing else."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim.engines.table.expressions import (
    CannotEvaluate,
    evaluate,
    fill_template,
    is_true,
    names_in,
)
from agentworld_sim.errors import UsageError

RECORD: dict[str, Any] = {
    "balance": 0.1,
    "price": "19.90",
    "stock": 7,
    "name": "Atlas",
    "tags": ["a", "b"],
    "owner": {"login": "ada", "limit": 3},
    "active": True,
    "amount": 1,
}
ARGUMENTS: dict[str, Any] = {"amount": 0.2, "by": 3, "suffix": "-2"}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("balance + arguments.amount", 0.3),
        ("balance + amount", 1.1),
        ("record.amount + arguments.amount", 1.2),
        ("price + 0.10", "20.00"),
        ("price * 3", "59.70"),
        ("stock - by", 4),
        ("stock / 2", 3.5),
        ("stock / 7", 1),
        ("min(stock, by)", 3),
        ("max(stock, by, 9)", 9),
        ("round(stock / 3, 2)", 2.33),
        ("abs(by - stock)", 4),
        ("sum([stock, by])", 10),
        ("len(tags) + len(name)", 7),
        ("name + suffix", "Atlas-2"),
        ("name + '-' + stock", "Atlas-7"),
        ("stock > by and active", True),
        ("1 < by < 3", False),
        ("'a' in tags", True),
        ("'z' not in tags", True),
        ("owner.limit + 1", 4),
        ("price == 19.9", True),
        ("not active", False),
        ("12345678901234567890123456789 + 1", 12345678901234567890123456790),
        ("tags + ['c']", ["a", "b", "c"]),
        ("None", None),
    ],
)
def test_an_expression_gives_what_json_would_show(expression: str, value: Any) -> None:
    found = evaluate(expression, RECORD, ARGUMENTS)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os')",
        "name.upper()",
        "stock // 2",
        "stock % 2",
        "1 if stock else 0",
        "[x for x in tags]",
        "lambda: 1",
        "(a := 1)",
        "open('x')",
        "f'{name}'",
        "tags[0]",
        "2 ** 9999999",
        "1 <<  3",
        "stock +",
        "",
        "b'x'",
        "min(*tags)",
        "x" * 3000,
    ],
)
def test_anything_but_arithmetic_is_refused_aloud(expression: str) -> None:
    with pytest.raises(UsageError, match="expression"):
        evaluate(expression, RECORD, ARGUMENTS)


@pytest.mark.parametrize(
    "expression",
    ["missing + 1", "name - 1", "stock / 0", "tags > 1", "owner.nothing", "name < 1"],
)
def test_what_has_no_value_is_no_value(expression: str) -> None:
    with pytest.raises(CannotEvaluate):
        evaluate(expression, RECORD, ARGUMENTS)
    assert not is_true(expression, RECORD, ARGUMENTS)


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-9999, max_value=9999),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-9999, max_value=9999),
)
def test_money_in_texts_is_exact(one: Decimal, other: Decimal) -> None:
    found = evaluate("a + b", {"a": str(one)}, {"b": str(other)})
    assert Decimal(found) == one + other


def test_the_names_of_an_expression_are_known() -> None:
    assert names_in("min(stock, arguments.by) + 1") == {"stock", "arguments", "by"}


def test_a_text_is_filled_with_values() -> None:
    assert fill_template("{name} has {stock}, not {by} {nobody}", RECORD, ARGUMENTS) == (
        "Atlas has 7, not 3 {nobody}"
    )
