"""What is special about a transition: rare and adversarial states, and how late in its session it comes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from agentworld_sim.bench.transitions import Transition, parse_json, scalars_of

MANY = 100
"""Records of a table that has many."""

LIMIT = 2**31 - 1
"""A number from here on is at its limits."""

LATE = (10, 50, 100)
"""After so many calls a session gets another label."""

_MISLEADING = re.compile(r"[\"{}<>\\\n]|\b(ignore|system:)", re.IGNORECASE)
_ALIKE = str.maketrans("OlI", "011")


def labels_of(transition: Transition) -> list[str]:
    """The labels of a transition. They follow from what was recorded, for every source alike."""
    truth = transition.truth
    tables = {name: held for name, held in transition.before.items() if name != "settings"}
    sizes = {len(records) for records in tables.values()}
    arguments = list(scalars_of(list(truth.call.arguments.values())))
    answer = parse_json(truth.observation.text)
    # A text that is no JSON has lines and quotes of its own.
    said = [] if isinstance(answer, str) else list(scalars_of(answer))
    texts = [one for one in arguments + said if isinstance(one, str)]
    late = [place for place in LATE if transition.place >= place]
    found = {
        f"after {max(late, default=0)} calls": bool(late),
        "a call that fails": truth.observation.is_error,
        "an empty table": 0 in sizes,
        "a table with one record": 1 in sizes,
        f"a table with {MANY} records and more": max(sizes, default=0) >= MANY,
        "ids that look alike": any(_has_alike(arguments, records) for records in tables.values()),
        "letters beyond ASCII": not "".join([*texts, str(answer)]).isascii(),
        "texts that mislead": any(map(_MISLEADING.search, texts)),
        "numbers at their limits": any(_is_high(one) for one in arguments + said),
        "state not known": not transition.session.has_state,
    }
    return [name for name, holds in found.items() if holds]


def _has_alike(arguments: Iterable[Any], keys: Iterable[str]) -> bool:
    """Whether an argument differs from a record's key in case, in letters that look like digits, or in one more
    character at the end alone."""
    looks = {key: _look(key) for key in keys}
    for text in map(str, arguments):
        own = _look(text)
        for key, look in looks.items():
            if key != text and (look == own or look[:-1] == own or look == own[:-1]):
                return True
    return False


def _look(key: str) -> str:
    return key.translate(_ALIKE).casefold()


def _is_high(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) >= LIMIT
