"""What has an id keeps its fields."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, Literal, cast

from agentworld_sim.checks.file_calls import words_of
from agentworld_sim.plain_text import shorten
from agentworld_sim.ports.steps import CheckInput
from agentworld_sim.regex import lazy_compile
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.types.turns import Observation

Scalar = str | int | float | bool
Identity = tuple[str, str, str]
"""Where such objects stand, the name of the id, and the id."""

_IDS = ("id", "_id", "uuid", "guid", "node_id")
_CODE = lazy_compile(r"[A-Za-z]+[-_]\d+|#?\d+")
_READING = frozenset(
    "get list search read find fetch query show view describe lookup retrieve count check browse status"
    " info ls cat grep glob summarize summarise open load inspect resolve whoami me explore".split()
)
_OPAQUE = frozenset("sql query command cmd commands code script keystrokes expression".split())
_UNSCOPED = frozenset(
    "limit page per_page perPage page_size pageSize offset cursor sort order sort_by order_by direction"
    " query q search keyword keywords text fields include expand since before after format verbose"
    " status state filter filters max_results count top_k".split()
)
_VOLATILE = lazy_compile(
    r"updated|modified|accessed|changed|refreshed|synced|checked|viewed|seen|expires|(?:^|_)now(?:_|$)"
    r"|^last_|_count$|^count$|counts?$|^num_|total|etag|revision|version|timestamp|^time$|^date$|^age$"
    r"|status|state|phase|progress|percent|online|active|available|remaining|uptime|latency|duration"
    r"|views?$|likes?$|stars?|votes?|score|rank|relevance|similarity|distance|confidence|position|index"
    r"|price|amount|balance|cost|rate|volume|quantity|stock|temperature|humidity|usage|load|cpu|memory"
    r"|value|speed|health|snippet|highlight|preview|summary|excerpt|token|signature|nonce|cursor|link|url"
)
_CAMEL = lazy_compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PLAIN_PLACES = frozenset(
    "item result data list value entry record object response content".split()
)
_MOST_OBJECTS = 5_000
_MOST_DEPTH = 40
_ALIKE = 0.5


Fields = Mapping[str, Any]


class IdentityCheck:
    """An object with an id keeps its fields unless something wrote them.

    Objects in JSON answers (structured, or as text) are compared with the latest earlier answer of the
    same family of tools, for example `get_user` and `list_users`, that held an object with the same id
    in the same kind of place and with similar keys. Fields that change by themselves (times of change,
    counts, states, prices, links) are passed over, and nothing is compared across a call that may have
    written: one that does not read and names the id or the kind of object, or that runs a script.
    Arguments that choose another scope, for example another repository, end the comparison too.
    """

    name = "stable-ids"
    scope: Literal["imagined"] = "imagined"

    def judge(self, given: CheckInput) -> str | None:
        family = _family(given.call.name)
        if given.observation.is_error or not _reads(given.call) or _is_opaque(given.call):
            return None
        now = _objects(given.observation, family)
        for turn in reversed(given.history):
            if not now:
                return None
            if not _reads(turn.call) or _is_opaque(turn.call):
                now = _untouched_objects(now, turn.call, family)
                continue
            said = turn.observation
            if (
                said.is_error
                or said.provenance == "enforced"
                or not family & _family(turn.call.name)
            ):
                continue
            for identity, before in _objects(said, family).items():
                same = now.get(identity)
                if same is None or not _is_comparable(
                    identity, same, before, given.call, turn.call
                ):
                    continue
                del now[identity]
                problem = _change(identity, same, before)
                if problem is not None:
                    return f"{problem} in an earlier answer of {turn.call.name!r}, and nothing wrote it"
        return None


@lru_cache(maxsize=4096)
def _family(name: str) -> frozenset[str]:
    """The nouns of a tool's name in the singular; the whole name when it has none."""
    # What stands before the last double underscore names a server.
    words = words_of(name.rpartition("__")[2])
    nouns = {_singular(word) for word in words if word not in _READING and not word.isdigit()}
    return frozenset(
        nouns - {"by", "all", "for", "of", "my", "the", "details", "detail", "id"}
    ) or frozenset({name})


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _reads(call: ToolCall) -> bool:
    words = words_of(call.name.rpartition("__")[2])
    return any(word in _READING for word in words[:2])


def _is_opaque(call: ToolCall) -> bool:
    """Whether the call holds a script or a query, whose names for things may be its own."""
    for name in _OPAQUE & call.arguments.keys():
        value: object = call.arguments[name]
        if name != "query" or (
            isinstance(value, str) and re.match(r"\s*\w+\s*[({]|\s*select\b", value)
        ):
            return True
    words = words_of(call.name)
    return bool({"run", "execute", "exec", "bash", "shell", "terminal", "python"} & set(words))


def _untouched_objects(
    now: Mapping[Identity, Fields], call: ToolCall, family: frozenset[str]
) -> dict[Identity, Fields]:
    """The objects that a call which may write has left alone."""
    if _is_opaque(call) or family & _family(call.name) or family & _nouns_in(call.name):
        return {}
    given = json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
    named = set(re.findall(r"[\w-]+", given))
    return {
        identity: one
        for identity, one in now.items()
        if identity[2] not in named and identity[0] not in _nouns_in(call.name)
    }


def _nouns_in(name: str) -> set[str]:
    return {_singular(word) for word in words_of(name)}


def _objects(observation: Observation, family: frozenset[str]) -> dict[Identity, Fields]:
    """The objects with an id in an answer; of several with one id, none."""
    found: dict[Identity, Fields | None] = {}
    pending: list[tuple[str, Any, int]] = [("", _content(observation), 0)]
    while pending and len(found) < _MOST_OBJECTS:
        place, value, depth = pending.pop()
        if depth > _MOST_DEPTH:
            continue
        if isinstance(value, list):
            pending += [(place, one, depth + 1) for one in cast("list[Any]", value)]
        elif isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            pending += [
                (_place(key, family), one, depth + 1)
                for key, one in fields.items()
                if isinstance(one, dict | list)
            ]
            named = _id_of(fields, {place} if place else family)
            if named is not None:
                identity = (place, *named)
                found[identity] = fields if found.get(identity, fields) == fields else None
    return {identity: fields for identity, fields in found.items() if fields is not None}


def _content(observation: Observation) -> Any:
    if observation.structured is not None:
        return observation.structured
    text = observation.text.strip()
    if text[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


@lru_cache(maxsize=4096)
def _place(key: str, family: frozenset[str]) -> str:
    """The kind of object that stands under a key; the tool's own kind is the empty one."""
    noun = _singular(key.lower())
    return "" if noun in _PLAIN_PLACES or noun in family else noun


def _id_of(fields: Mapping[str, Any], kinds: Collection[str]) -> tuple[str, str] | None:
    names = [name for name in _IDS if name in fields]
    if not names:
        first = next(iter(fields), "")
        if first.endswith(("_id", "Id")):
            # An order that begins with its `customer_id` is no customer.
            own = [f"{kind}{end}" for kind in kinds for end in ("_id", "Id")]
            names = [name for name in own if name in fields] or [first]
    if not names:
        # A key or a number alone is an id only when it looks like one: `PROJ-12`, `number: 12`.
        names = [name for name in ("key", "number") if _CODE.fullmatch(str(fields.get(name, "")))]
    for name in names:
        value: object = fields[name]
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value):
            return name, str(value)
    return None


@lru_cache(maxsize=4096)
def _is_volatile(key: str) -> bool:
    return _VOLATILE.search(_CAMEL.sub("_", key).lower()) is not None


def _is_comparable(
    identity: Identity, now: Fields, before: Fields, call: ToolCall, earlier: ToolCall
) -> bool:
    shared, smaller = now.keys() & before.keys(), min(len(now), len(before))
    if len(shared) < 2 or len(shared) < _ALIKE * smaller:
        return False
    return all(
        name in _UNSCOPED
        or call.arguments[name] == earlier.arguments[name]
        or identity[2] in (str(call.arguments[name]), str(earlier.arguments[name]))
        for name in call.arguments.keys() & earlier.arguments.keys()
    )


def _change(identity: Identity, now: Fields, before: Fields) -> str | None:
    _, name, number = identity
    for key, value in now.items():
        held = before.get(key)
        if not (isinstance(value, str | int | float) and isinstance(held, str | int | float)):
            continue
        if key != name and not _is_volatile(key) and not _is_equal(value, held):
            return f"{key!r} of {name} {number!r} is {_short(value)} here and was {_short(held)}"
    return None


def _is_equal(one: Scalar, other: Scalar) -> bool:
    if one == other or str(one).strip() == str(other).strip():
        return True
    if isinstance(one, str) and isinstance(other, str):
        return _is_beginning(one, other) or _is_beginning(other, one)
    if isinstance(one, bool) or isinstance(other, bool):
        return False
    # A number and its text, a time in two forms: the same thing may be written differently.
    return isinstance(one, str) or isinstance(other, str) or math.isclose(one, other, rel_tol=1e-6)


def _is_beginning(short: str, long: str) -> bool:
    """Whether a text is another one cut short; an empty one is."""
    stem = short.rstrip()
    whole = stem.removesuffix("[truncated]").rstrip("…. ")
    return not stem or (stem.endswith(("…", "...", "[truncated]")) and long.startswith(whole))


def _short(value: Scalar) -> str:
    return shorten(repr(value), 80)
