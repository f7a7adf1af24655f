"""Numbers as `bc` has them: decimal digits with a scale, cut and never rounded.

Source: the GNU bc manual, "Numbers" and "Basic expressions".
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt


class DivisionByZero(ArithmeticError):
    """What `1/0` raises."""


@dataclass(frozen=True, slots=True)
class Number:
    """`digits` times 10 to the power of minus `scale`."""

    digits: int
    scale: int = 0

    def at(self, scale: int) -> int:
        """The digits at another scale, cut towards zero."""
        if scale >= self.scale:
            return self.digits * 10 ** (scale - self.scale)
        return _cut(self.digits, 10 ** (self.scale - scale))

    def cut(self, scale: int) -> Number:
        return Number(self.at(scale), scale) if scale < self.scale else self

    @property
    def whole(self) -> int:
        return self.at(0)

    @property
    def truth(self) -> bool:
        return self.digits != 0

    def order(self, other: Number) -> int:
        scale = max(self.scale, other.scale)
        difference = self.at(scale) - other.at(scale)
        return (difference > 0) - (difference < 0)

    def negated(self) -> Number:
        return Number(-self.digits, self.scale)

    def plus(self, other: Number) -> Number:
        scale = max(self.scale, other.scale)
        return Number(self.at(scale) + other.at(scale), scale)

    def minus(self, other: Number) -> Number:
        return self.plus(other.negated())

    def times(self, other: Number, scale: int) -> Number:
        whole = Number(self.digits * other.digits, self.scale + other.scale)
        return whole.cut(min(whole.scale, max(scale, self.scale, other.scale)))

    def over(self, other: Number, scale: int) -> Number:
        if not other.digits:
            raise DivisionByZero
        shift = scale + other.scale - self.scale
        top = self.digits * 10 ** max(0, shift)
        return Number(_cut(top, other.digits * 10 ** max(0, -shift)), scale)

    def modulo(self, other: Number, scale: int) -> Number:
        quotient = self.over(other, scale)
        wanted = max(scale + other.scale, self.scale)
        return self.minus(Number(quotient.digits * other.digits, quotient.scale + other.scale)).cut(
            wanted
        )

    def power(self, exponent: Number, scale: int) -> Number:
        times = exponent.whole
        if times < 0:
            if not self.digits:
                raise DivisionByZero
            return Number(1).over(Number(self.digits**-times, self.scale * -times), scale)
        kept = min(self.scale * times, max(scale, self.scale))
        return Number(self.digits**times, self.scale * times).cut(kept)

    def root(self, scale: int) -> Number:
        kept = max(scale, self.scale)
        return Number(isqrt(self.at(2 * kept)), kept)

    def length(self) -> int:
        return max(len(str(abs(self.digits))), self.scale) if self.digits else max(1, self.scale)


def _cut(top: int, bottom: int) -> int:
    quotient = abs(top) // abs(bottom)
    return quotient if (top < 0) == (bottom < 0) else -quotient


_LETTERS = "0123456789ABCDEF"


def parsed(text: str, base: int = 10) -> Number:
    """A constant of a program: a single digit keeps its value in every base."""
    whole, _, fraction = text.partition(".")
    if base == 10 and not any(char in "ABCDEF" for char in text):
        return Number(int((whole or "0") + fraction), len(fraction))
    single = len(whole) == 1 and not fraction
    value = 0
    for char in whole:
        digit = _LETTERS.index(char)
        value = value * base + (digit if single else min(digit, base - 1))
    if not fraction:
        return Number(value)
    top = 0
    for char in fraction:
        top = top * base + min(_LETTERS.index(char), base - 1)
    part = Number(top).over(Number(base ** len(fraction)), len(fraction))
    return Number(value).plus(part)


def shown(number: Number, base: int = 10) -> str:
    """As `bc` prints it: no zero before the point."""
    sign = "-" if number.digits < 0 else ""
    if base == 10:
        digits = str(abs(number.digits)).rjust(number.scale + 1, "0")
        whole = digits[: len(digits) - number.scale].lstrip("0")
        fraction = digits[len(digits) - number.scale :] if number.scale else ""
        text = whole + ("." + fraction if fraction else "")
        return sign + text if whole or number.digits else "0"
    return sign + _in_base(number, base)


def _in_base(number: Number, base: int) -> str:
    whole, digits = abs(number.whole), list[int]()
    while whole:
        digits.append(whole % base)
        whole //= base
    text = "".join(_digit(d, base) for d in reversed(digits))
    if not number.scale:
        return text or "0"
    unit = 10**number.scale
    rest, fraction, reached = abs(number.digits) % unit, list[int](), 1
    while reached < unit:
        rest *= base
        fraction.append(rest // unit)
        rest %= unit
        reached *= base
    return text + "." + "".join(_digit(d, base) for d in fraction)


def _digit(value: int, base: int) -> str:
    if base <= 16:
        return _LETTERS[value]
    return f" {value:0{len(str(base - 1))}d}"
