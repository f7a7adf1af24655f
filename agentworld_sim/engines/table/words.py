"""Names as words: `listPullRequests`, `list_pull_requests` and `API-list-pull-requests` are one."""

from __future__ import annotations

import re
from functools import lru_cache

_PARTS = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")

_SINGULARS = {
    "people": "person",
    "persons": "person",
    "children": "child",
    "men": "man",
    "women": "woman",
    "indices": "index",
    "matrices": "matrix",
    "vertices": "vertex",
    "criteria": "criterion",
    "aliases": "alias",
    "movies": "movie",
    "cookies": "cookie",
    "caches": "cache",
    "shoes": "shoe",
    "lenses": "lens",
    "buses": "bus",
    "gases": "gas",
    "quizzes": "quiz",
    "leaves": "leave",
    "shelves": "shelf",
    "lives": "life",
}
_UNCHANGED = frozenset(
    "series species news analytics status address process access class progress business media"
    " data metadata info details canvas bonus campus virus analysis basis bus gas lens alias"
    " sms dns https aws ios os css js ms".split()
)
_PLURALS = {one: many for many, one in _SINGULARS.items() if many != "persons"} | {
    "data": "data",
    "media": "media",
    "metadata": "metadata",
    "info": "info",
    "news": "news",
    "series": "series",
    "species": "species",
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
