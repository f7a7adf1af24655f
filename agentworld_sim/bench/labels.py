"""What is special about a transition: rare and adversarial states, how late in its session it comes, and what sort of
content its answer has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from agentworld_sim.bench.rules import said_words, words_of
from agentworld_sim.bench.transitions import Transition, parse_json, scalars_of

DETERMINISTIC, EXISTING, RUNTIME = "deterministic", "pre-existing", "runtime metadata"
"""Sorts of content."""

LAST = "a task's last call"

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
        "numbers at their limits": any(
            isinstance(one, int | float) and abs(one) >= LIMIT for one in arguments + said
        ),
        LAST: transition.place == len(transition.session.calls) - 1,
        "state not known": not transition.session.has_state,
    }
    found[content_of(transition)] = True
    return [name for name, holds in found.items() if holds]


def content_of(transition: Transition) -> str:
    """What an answer's content is, by the part of it that can be known least: `runtime metadata`, which the environment
    drew by chance; `pre-existing` content of the environment, which nothing before the call has said; or else
    `deterministic`. Where the state is not known, all that is new is taken to be pre-existing."""
    truth, session = transition.truth, transition.session
    words = words_of(truth.observation.text)
    if truth.by_chance and any(
        one in truth.observation.text for one in truth.by_chance if len(one) > 1
    ):
        return RUNTIME
    for one in session.calls[: transition.place]:
        words -= said_words(one)
    words -= said_words(truth, answer=False)
    if not session.has_state:
        return EXISTING if words else DETERMINISTIC
    held = json.dumps(session.initial, ensure_ascii=False) if words else ""
    return EXISTING if any(one in held for one in words) else DETERMINISTIC


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
