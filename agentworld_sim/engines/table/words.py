"""English as tools are named: verbs, nouns in both numbers, and names as words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from agentworld_sim.engines.table.operation import Does

_PARTS = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")

_IRREGULAR = (
    "people:person persons:person children:child indices:index matrices:matrix criteria:criterion"
    " aliases:alias movies:movie cookies:cookie caches:cache lenses:lens buses:bus leaves:leave"
    " shelves:shelf"
)
_SINGULARS = {many: one for many, _, one in (pair.partition(":") for pair in _IRREGULAR.split())}
_UNCOUNTED = "data media metadata info news series species".split()
_UNCHANGED = frozenset(
    "series species news analytics status address process access class progress business media"
    " data metadata info details canvas bonus campus virus analysis basis bus gas lens alias"
    " sms dns https aws ios os css js ms".split()
)
_PLURALS = {one: many for many, one in _SINGULARS.items() if many != "persons"} | {
    word: word for word in _UNCOUNTED
}


@lru_cache(maxsize=65536)
def words(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case, however they are set apart."""
    return tuple(part.lower() for part in _PARTS.findall(name))


@lru_cache(maxsize=65536)
def snake(name: str) -> str:
    """A name in snake case: `pageSize` is `page_size`."""
    return "_".join(words(name))


@lru_cache(maxsize=65536)
def singular(word: str) -> str:
    """One of what `word` names: `entries` is `entry`. What is singular already stays."""
    if word in _SINGULARS:
        return _SINGULARS[word]
    if word in _UNCHANGED or len(word) < 4 or not word.endswith("s"):
        return "id" if word == "ids" else "pr" if word == "prs" else word
    if word.endswith("ies"):
        return word[:-1] if len(word) < 5 else word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "tuses", "ruses", "nuses", "puses")):
        return word[:-2]
    if word.endswith(("ss", "us", "is")):
        return word
    return word[:-1]


@lru_cache(maxsize=65536)
def plural(word: str) -> str:
    """Several of what `word` names."""
    if word in _PLURALS:
        return _PLURALS[word]
    if word.endswith("y") and word[-2:-1] not in ("a", "e", "i", "o", "u", ""):
        return word[:-1] + "ies"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    return word + "s"


def singulars(name: str) -> tuple[str, ...]:
    """The words of a name, each for one."""
    return tuple(singular(word) for word in words(name))


def is_plural(word: str) -> bool:
    """Whether a word names several."""
    return singular(word) != word


def _all(does: Does, verbs: str) -> dict[str, Does]:
    return dict.fromkeys(verbs.split(), does)


VERBS: Mapping[str, Does] = {
    **_all("create", "create add new insert register post make submit log record schedule book"),
    **_all("create", "place raise send open compose draft append"),
    **_all("read", "get read fetch show describe retrieve view load inspect"),
    **_all("list", "list browse enumerate"),
    **_all("search", "search find query lookup filter"),
    **_all("count", "count"),
    **_all(
        "update", "update edit modify patch change set rename move assign unassign reassign mark"
    ),
    **_all("upsert", "upsert save put store write"),
    **_all("delete", "delete remove drop unsubscribe destroy erase purge discard"),
}
"""Verb to what it does, where nothing else is known."""

ACTIONS: Mapping[str, tuple[str, ...]] = {
    "close": ("closed",),
    "reopen": ("reopened", "open", "opened"),
    "complete": ("completed", "complete", "done"),
    "archive": ("archived",),
    "resolve": ("resolved",),
    "cancel": ("cancelled", "canceled"),
    "approve": ("approved",),
    "reject": ("rejected",),
    "start": ("in_progress", "started", "active"),
}
"""Verb that writes one fixed value, to the values of a state that it writes."""

SKIPPED = frozenset(
    "a an the all of this any every existing single one multiple many several bulk batch"
    " api mcp new current".split()
)
"""Words that say nothing about what a record is."""

GENERIC = frozenset("record details detail info information data object resource".split())
"""Words after a noun that add nothing: `get_user_details`, `IssueRecord`."""

LINKS = frozenset("to from for of in on into within".split())
"""What follows them is what the record belongs to."""

STATES = ("state", "status", "stage", "phase", "lifecycle", "disposition")
"""Names of fields that say where a record stands."""

BEGINNINGS = frozenset(
    "open opened new todo to_do pending draft created backlog requested submitted active lead unread"
    " scheduled not_started".split()
)
"""Values of such a field that a new record has."""

MACHINERY = frozenset(
    "file directory folder dir path browser tab window screenshot element dom console terminal shell"
    " process command clipboard mouse keyboard cursor sql query statement table schema database db"
    " column git commit diff stash worktree container pod cluster kubernetes docker url webpage web"
    " website html time date datetime timezone weather forecast temperature code script expression"
    " repl kernel cell log output help version environment env system cpu memory disk network"
    " port completion embedding vector similarity".split()
)
"""Nouns of machines, programs and measurements: what a tool says of them is no stored record."""

SWITCHES = frozenset("method action operation op command mode verb".split())
"""Arguments that choose what a tool does, where it does several things."""
