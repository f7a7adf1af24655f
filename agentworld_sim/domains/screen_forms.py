"""What the three domains with a screen have in common: a state is written as the one before it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from agentworld_sim.checks import CheckInput

ROW = re.compile(r"\[\s*(?P<index>\d+)\] \| ")

_NAMES = {
    "sections": "sections with ### headings",
    "rows": "numbered rows of elements, `[ 0] | class | … | bounds=[…][…]`",
    "phone": "the phone's state and a list of elements",
    "table": "a table with tabs between the columns",
    "xml": "XML",
    "json": "JSON",
    "tree": "an accessibility tree that begins with the root of the page",
}


def representation(text: str) -> tuple[str, str]:
    """Which form a state is written in, and its header line if the form has one.

    The form is empty when it is none that is known.
    """
    first = next((line for line in text.split("\n") if line.strip()), "").strip()
    if first.startswith("### "):
        return "sections", ""
    if ROW.match(first):
        return "rows", ""
    if first.startswith("**Current Phone State:**"):
        return "phone", ""
    if first.count("\t") >= 3:
        return "table", first
    if re.match(r"<[?!\w]", first):
        return "xml", ""
    if re.match(r"\{\s*(?:\"|\Z)|\[\s*(?:[{\"]|\Z)", first):
        return "json", ""
    if re.match(r"(?:\[\w+\] )?RootWebArea\b", first):
        return "tree", ""
    return "", ""


class SameRepresentation:
    """A state is written in the one form in which all earlier ones were written."""

    name = "representation"
    scope: Literal["imagined"] = "imagined"

    def __init__(self, family: Callable[[str], str] = str) -> None:
        """`family` gives what tools have in common whose answers look alike, from a tool's name."""
        self._family = family

    def judge(self, given: CheckInput) -> str | None:
        if given.observation.is_error:
            return None
        family = self._family(given.call.name)
        known = {
            representation(turn.observation.text)
            for turn in given.history
            if self._family(turn.call.name) == family and not turn.observation.is_error
        }
        if len(known) != 1:
            return None
        form, header = known.pop()
        mine, own_header = representation(given.observation.text)
        if not form or (form, header) == (mine, own_header):
            return None
        if form == mine:
            return f"the state's first line must be {header!r}, as before, not {own_header!r}"
        return (
            f"the state has been written as {_NAMES[form]} so far; write the new one the same way"
        )
