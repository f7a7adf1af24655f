"""Arithmetic over a record's fields and a call's arguments, exact to the last decimal."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from decimal import Context, Decimal, DecimalException
from functools import lru_cache
from typing import Any, cast

from agentworld_sim.engines.table.query import number, same
from agentworld_sim.errors import UsageError

MAX_CHARACTERS = 2000
"""Of an expression, and of a text that one gives."""

_EXACT = Context(prec=60, traps=[])
_DIGITS = 308
"""Numbers beyond 10 to this are no JSON numbers that others can read."""

_ALLOWED: tuple[type[ast.AST], ...] = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call),
    *(ast.Name, ast.Attribute, ast.Constant, ast.List, ast.Load),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.UAdd, ast.USub),
    *(ast.And, ast.Or, ast.Not, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
    *(ast.In, ast.NotIn),
)

FUNCTIONS = ("min", "max", "round", "abs", "len", "sum")
"""What an expression may call."""

RECORD, ARGUMENTS = "record", "arguments"
"""In an expression `record.x` and `arguments.x` say which `x` is meant; `x` alone is the record's, if
it has one."""


class CannotEvaluate(Exception):
    """The values at hand do not go into the expression; the text says which."""


def evaluate(expression: str, record: Mapping[str, Any], arguments: Mapping[str, Any]) -> Any:
    """What `expression` gives.

    Args:
        expression: As in Python: `+ - * /`, `min max round abs len sum`, comparisons, `and`,
            `or`, `not`, names, `record.NAME` and `arguments.NAME`.
        record: The record's fields.
        arguments: The call's arguments.

    Returns:
        A JSON value. A number is a text where an operand was a text, as money often is.

    Raises:
        UsageError: it is no such expression; the scenario's author is told.
        CannotEvaluate: a name is missing, or its value is of the wrong kind.
    """
    return _Evaluation(record, arguments).result(parse_expression(expression))


def is_true(expression: str, record: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
    """Whether `expression` holds; it does not where a value is missing. Raises `UsageError`."""
    try:
        return bool(evaluate(expression, record, arguments))
    except CannotEvaluate:
        return False


def names_in(expression: str) -> set[str]:
    """The names of record fields and arguments that an expression uses."""
    tree = parse_expression(expression)
    calls = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in calls
    }
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


@lru_cache(maxsize=512)
def parse_expression(expression: str) -> ast.Expression:
    """The syntax tree. Raises `UsageError` for anything but arithmetic."""
    if len(expression) > MAX_CHARACTERS:
        raise UsageError(
            f"an expression may have {MAX_CHARACTERS} characters: {expression[:40]!r}…"
        )
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{expression!r} is no expression: {error}") from None
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise UsageError(
                f"{expression!r} uses {type(node).__name__}; an expression has names, numbers, texts,"
                f" + - * /, comparisons, and, or, not, and {', '.join(FUNCTIONS)}."
            )
        if isinstance(node, ast.Call) and (
            not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS or node.keywords
        ):
            raise UsageError(
                f"the expression {expression!r} calls something; it may call"
                f" {', '.join(FUNCTIONS)}."
            )
        if isinstance(node, ast.Constant) and isinstance(node.value, bytes | complex):
            raise UsageError(f"the expression {expression!r} has a constant that is no JSON value.")
    return tree


def fill_template(text: str, record: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """`text` with `{name}` replaced by values."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        found = record.get(name, arguments.get(name, match[0]))
        return found if isinstance(found, str) else str(_json(found))

    return re.sub(r"\{(\w+)\}", value, text)


class _Evaluation:
    def __init__(self, record: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
        self._record = record
        self._arguments = arguments
        self._texts = False

    def result(self, tree: ast.Expression) -> Any:
        value = self._value(tree.body)
        if not isinstance(value, Decimal):
            return value
        if not value.is_finite() or value.adjusted() > _DIGITS:
            raise CannotEvaluate("the number has no value")
        return _plain(value) if self._texts else _json(value)

    def _value(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Constant):
            return _exact(node.value)
        if isinstance(node, ast.Name | ast.Attribute):
            return self._lookup(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node.op, self._value(node.left), self._value(node.right))
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.BoolOp):
            wanted = isinstance(node.op, ast.Or)
            value: Any = None
            for part in node.values:
                value = self._value(part)
                if bool(value) is wanted:
                    break
            return value
        if isinstance(node, ast.Compare):
            return self._comparison(node)
        if isinstance(node, ast.Call):
            return self._call(cast("ast.Name", node.func).id, list(map(self._value, node.args)))
        return [self._value(one) for one in cast("ast.List", node).elts]

    def _lookup(self, node: ast.Name | ast.Attribute) -> Any:
        if isinstance(node, ast.Name):
            name, places = node.id, (self._record, self._arguments)
        else:
            whole = node.value
            owner = whole.id if isinstance(whole, ast.Name) else ""
            if owner == RECORD:
                name, places = node.attr, (self._record,)
            elif owner == ARGUMENTS:
                name, places = node.attr, (self._arguments,)
            else:
                inner = self._value(whole)
                if not isinstance(inner, Mapping):
                    raise CannotEvaluate(f"{ast.unparse(whole)!r} has no fields")
                name, places = node.attr, (cast("Mapping[str, Any]", inner),)
        for place in places:
            if name in place:
                return _exact(place[name])
        raise CannotEvaluate(f"{name!r} is not given")

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self._value(node.operand)
        if isinstance(node.op, ast.Not):
            return not value
        found = self._number(value)
        return _EXACT.minus(found) if isinstance(node.op, ast.USub) else found

    def _binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(op, ast.Add) and isinstance(left, list) and isinstance(right, list):
            return [*cast("list[Any]", left), *cast("list[Any]", right)]
        texts = isinstance(left, str) or isinstance(right, str)
        if isinstance(op, ast.Add) and texts and not self._numbers(left, right):
            text = _text(left) + _text(right)
            if len(text) > MAX_CHARACTERS * 100:
                raise CannotEvaluate("the text is too long")
            return text
        one, other = self._number(left), self._number(right)
        try:
            value = _OPERATORS[type(op)](one, other)
        except DecimalException as error:
            raise CannotEvaluate(str(error)) from None
        if not value.is_finite():
            raise CannotEvaluate("division by zero" if not other else "the number has no value")
        return value

    def _numbers(self, left: Any, right: Any) -> bool:
        """Whether both are numbers; a text that is one counts beside a number, and beside another."""
        return number_of(left) is not None and number_of(right) is not None

    def _number(self, value: Any) -> Decimal:
        found = number_of(value)
        if found is None:
            raise CannotEvaluate(f"{value!r} is no number")
        self._texts = self._texts or isinstance(value, str)
        return found

    def _comparison(self, node: ast.Compare) -> bool:
        left = self._value(node.left)
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self._value(part)
            if not _compare(op, left, right):
                return False
            left = right
        return True

    def _call(self, name: str, values: list[Any]) -> Any:
        if name == "len":
            if len(values) != 1 or not isinstance(values[0], str | list | Mapping):
                raise CannotEvaluate("len takes one text or list")
            return Decimal(len(cast("str", values[0])))
        if len(values) == 1 and isinstance(values[0], list) and name in ("min", "max", "sum"):
            values = cast("list[Any]", values[0])
        numbers = [self._number(value) for value in values]
        if name == "sum":
            return sum(numbers, Decimal(0))
        if name == "abs" and len(numbers) == 1:
            return abs(numbers[0])
        if name == "round" and len(numbers) in (1, 2):
            places = int(numbers[1]) if len(numbers) == 2 else 0
            if abs(places) > 30 or numbers[0].adjusted() > 28:
                raise CannotEvaluate("round is for numbers of up to 28 digits")
            return numbers[0].quantize(Decimal(1).scaleb(-places))
        if name in ("min", "max") and numbers:
            return min(numbers) if name == "min" else max(numbers)
        raise CannotEvaluate(f"{name} does not take {len(numbers)} values")


_OPERATORS: Mapping[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: _EXACT.add,
    ast.Sub: _EXACT.subtract,
    ast.Mult: _EXACT.multiply,
    ast.Div: _EXACT.divide,
}


def _compare(op: ast.cmpop, left: Any, right: Any) -> bool:
    if isinstance(op, ast.Eq | ast.NotEq):
        one, other = number_of(left), number_of(right)
        numbers = one is not None and other is not None
        equal = one == other if numbers else same(_json(left), _json(right))
        return equal is isinstance(op, ast.Eq)
    if isinstance(op, ast.In | ast.NotIn):
        if isinstance(right, str):
            found = isinstance(left, str) and left in right
        elif isinstance(right, list | Mapping):
            found = any(same(_json(left), _json(one)) for one in cast("list[Any]", right))
        else:
            raise CannotEvaluate(f"nothing can be in {right!r}")
        return found is isinstance(op, ast.In)
    one, other = number_of(left), number_of(right)
    if one is None or other is None:
        if not (isinstance(left, str) and isinstance(right, str)):
            raise CannotEvaluate(f"{_json(left)!r} and {_json(right)!r} have no order")
        order = (left > right) - (left < right)
    else:
        order = (one > other) - (one < other)
    if isinstance(op, ast.Lt | ast.LtE):
        return order < 0 or (order == 0 and isinstance(op, ast.LtE))
    return order > 0 or (order == 0 and isinstance(op, ast.GtE))


def number_of(value: Any) -> Decimal | None:
    """The number that a value is, also as a decimal text."""
    return value if isinstance(value, Decimal) else number(value)


def _exact(value: Any) -> Any:
    """Numbers as decimals: 0.1 is what JSON shows, not the binary fraction next to it."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        found = number(value)
        if found is None:
            raise CannotEvaluate(f"{value!r} is no number")
        return found
    return value


def _json(value: Any) -> Any:
    if isinstance(value, list):
        return [_json(one) for one in cast("list[Any]", value)]
    if not isinstance(value, Decimal):
        return value
    if value == value.to_integral_value() and abs(value.adjusted()) <= _DIGITS:
        return int(value)
    return float(value)


def _plain(value: Decimal) -> str:
    return format(value, "f")


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return _plain(value)
    return value if isinstance(value, str) else str(value)
