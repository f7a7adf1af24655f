"""Near-duplicates, found with MinHash in one permutation (Li, Owen and Zhang, NeurIPS 2012).

A text becomes the set of its runs of three words; the hash of a run chooses a bin, and each bin keeps
its lowest hash. Two sets agree in about as many bins as their Jaccard index says. The bins of a union
are the lower of both, so what stands before a turn is never read again. What shares a stretch of bins
with something else is compared with it; there, bins that nothing fell into take the value of the next
one that is not empty (Shrivastava and Li, ICML 2014), so that short texts are told apart as well.

A library (datasketch) would bring scipy, permutes every hash once for each bin, and does not compare two texts at
a time: here the turn and what stands before it have to be alike, each by itself.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from operator import eq
from zlib import crc32

BINS = 64
RUN = 3
"""Words of a run."""
STRETCH = 6
"""Bins that two must share, in both parts, to be compared. Longer ones find less and compare less."""
STEP = 4
"""Bins from the beginning of a stretch to the beginning of the next. Of pairs with a similarity of 0.9
in both parts, 16 stretches miss less than one in 50; the estimate itself is off by 0.04."""

_EMPTY = 0xFFFFFFFF
_WORD = re.compile(r"\w+|[^\w\s]")
_MIX = 0x9E3779B1


@dataclass(frozen=True, slots=True)
class Sketch:
    """What is kept of a text."""

    bins: array[int]
    """The lowest hash of each bin."""
    empty: int
    """One bit for each bin that nothing fell into."""

    @classmethod
    def of(cls, text: str) -> Sketch:
        found = array("I", [_EMPTY]) * BINS
        empty = 2**BINS - 1
        words = _WORD.findall(text.lower())
        for start in range(max(1, len(words) - RUN + 1) if words else 0):
            run = " ".join(words[start : start + RUN])
            mixed = crc32(run.encode("utf-8", "surrogatepass")) * _MIX & 0xFFFFFFFF
            place = mixed % BINS
            found[place] = min(found[place], mixed // BINS)
            empty &= ~(1 << place)
        return cls(found, empty)

    def __or__(self, other: Sketch) -> Sketch:
        """The sketch of two texts together."""
        return Sketch(array("I", map(min, self.bins, other.bins)), self.empty & other.empty)

    def similarity(self, other: Sketch) -> float:
        """An estimate of the Jaccard index of two texts' runs; two without words are equal."""
        unused = (self.empty & other.empty).bit_count()
        if unused == BINS:
            return 1.0
        same = sum(map(eq, self.bins, other.bins)) - unused
        return same / (BINS - unused)

    def fill_empty_bins(self) -> array[int]:
        """The bins, the empty ones with the value of the next that is not, changed by the distance."""
        if not self.empty or self.empty.bit_count() == BINS:
            return self.bins
        found = array("I", self.bins)
        value = distance = 0
        for place in range(2 * BINS - 1, -1, -1):
            held = self.bins[place % BINS]
            if held != _EMPTY:
                value, distance = held, 0
            elif place < BINS:
                found[place] = (value + distance * _MIX) & 0xFFFFFFFF
            distance += 1
        return found


class Duplicates:
    """Finds what is nearly the same as something before."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._kept: list[tuple[Sketch, Sketch, str]] = []
        self._buckets: dict[bytes, list[int]] = {}

    def add(self, part: Sketch, context: Sketch, name: str, *, kind: bytes = b"") -> str | None:
        """Adds something, unless it is nearly the same as what is there: then gives that one's name.

        Args:
            context: What stands before it.
            kind: Only things of one kind are compared.
        """
        buckets = [self._buckets.setdefault(kind + key, []) for key in _keys(part, context)]
        for place in sorted(set[int]().union(*buckets)):
            other_part, other_context, other = self._kept[place]
            if (
                part.similarity(other_part) >= self._threshold
                and context.similarity(other_context) >= self._threshold
            ):
                return other
        for bucket in buckets:
            bucket.append(len(self._kept))
        self._kept.append((part, context, name))
        return None


def _keys(part: Sketch, context: Sketch) -> Iterator[bytes]:
    mine, before = part.fill_empty_bins(), context.fill_empty_bins()
    mine, before = (mine + mine[:STRETCH]).tobytes(), (before + before[:STRETCH]).tobytes()
    width = len(mine) // (BINS + STRETCH)
    for start in range(0, BINS * width, STEP * width):
        end = start + STRETCH * width
        yield start.to_bytes(2) + mine[start:end] + before[start:end]
