"""Keystrokes: names of keys, control characters and plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NAMED = {
    "C-a": "\x01", "C-b": "\x02", "C-c": "\x03", "C-d": "\x04", "C-e": "\x05", "C-f": "\x06",
    "C-h": "\x7f", "C-k": "\x0b", "C-l": "\x0c", "C-n": "\x0e", "C-p": "\x10", "C-u": "\x15",
    "C-w": "\x17", "C-z": "\x1a", "C-\\": "\x1c", "Enter": "\n", "C-m": "\n", "C-j": "\n",
    "Tab": "\t", "BSpace": "\x7f", "Escape": "\x1b", "Space": " ", "Up": "\x10", "Down": "\x0e",
    "Left": "\x02", "Right": "\x06", "Home": "\x01", "End": "\x05", "DC": "\x1b[3~",
}  # fmt: skip

_SEQUENCES = {
    "\x1b[A": "\x10", "\x1b[B": "\x0e", "\x1b[C": "\x06", "\x1b[D": "\x02", "\x1b[H": "\x01",
    "\x1b[F": "\x05", "\x1bOA": "\x10", "\x1bOB": "\x0e", "\x1bOC": "\x06", "\x1bOD": "\x02",
}  # fmt: skip

_ESCAPE = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Za-z]|.)?", re.DOTALL)


def keys(keystrokes: str) -> Iterator[str]:
    """One character a key: what is typed, or the control character of a key.

    `C-c` and the other names are keys only when they are all of `keystrokes`.
    """
    text = _NAMED.get(keystrokes, keystrokes)
    position = 0
    while position < len(text):
        found = _ESCAPE.match(text, position)
        if found:
            if found[0] in _SEQUENCES:
                yield _SEQUENCES[found[0]]
            position = found.end()
            continue
        yield {"\r": "\n", "\b": "\x7f"}.get(text[position], text[position])
        position += 1


@dataclass(frozen=True, slots=True)
class Line:
    """The line being edited at a prompt, as readline's Emacs mode does."""

    text: str = ""
    at: int = 0
    """Where the cursor stands."""

    def typed(self, key: str) -> Line:
        """The line after one key; keys that do nothing here leave it as it is."""
        before, after = self.text[: self.at], self.text[self.at :]
        if key >= " " and key != "\x7f":
            return Line(before + key + after, self.at + 1)
        if key == "\x7f":
            return Line(before[:-1] + after, max(0, self.at - 1))
        if key == "\x04":
            return Line(before + after[1:], self.at)
        if key == "\x15":
            return Line(after, 0)
        if key == "\x0b":
            return Line(before, self.at)
        if key == "\x17":
            left = re.sub(r"\S*\s*$", "", before)
            return Line(left + after, len(left))
        to = {"\x01": 0, "\x05": len(self.text), "\x02": self.at - 1, "\x06": self.at + 1}
        return Line(self.text, min(len(self.text), max(0, to.get(key, self.at))))
