"""Names: of words that exist nowhere, or of such as there really are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from random import Random
from typing import Any

from agentworld_sim.errors import UsageError
from agentworld_sim.extras import require
from agentworld_sim.fiction.recipe import Names

TRIES = 40
"""Names drawn of one form, none of them new, before the next form is used."""
_SLOT = re.compile(r"{(\w+)}")


@cache
def _grammar() -> Mapping[str, Any]:
    import yaml

    text = (
        resources.files(__name__.rpartition(".")[0])
        .joinpath("names.yaml")
        .read_text(encoding="utf-8")
    )
    return yaml.load(text, yaml.CSafeLoader)


def name_kinds() -> tuple[str, ...]:
    """What a column's `make: {name: …}` may say."""
    return tuple(_grammar()["kinds"])


def _parts(word: str) -> Sequence[Sequence[str]]:
    """Lists of which one each makes a word."""
    grammar = _grammar()
    if word == "number":
        return [[str(number) for number in range(2, 100)]]
    if parts := grammar["words"].get(word):
        return parts
    return [grammar["plain"].get(word) or real_words()[word]]


@cache
def real_words() -> Mapping[str, Sequence[str]]:
    """Words of the names of real people and places, by what they are; of Faker."""
    people = require("faker.providers.person.en_US", extra="fiction").Provider
    places = require("faker.providers.geo", extra="fiction").Provider
    lands = require("faker.providers.address", extra="fiction").Provider
    return {
        "first": sorted(people.first_names),
        "last": sorted(people.last_names),
        "city": sorted({place[2] for place in places.land_coords}),
        "country": sorted(set(lands.countries)),
    }


def draw_names(kind: str, names: Names, count: int, chance: Random) -> list[str]:
    """Names that all differ.

    Raises:
        UsageError: the grammar has fewer names; or real ones are asked for without Faker.
    """
    forms: list[str] = _grammar()["kinds"][kind][names]
    found: dict[str, None] = {}
    for form in forms:
        texts, words = _SLOT.split(form)[::2], _SLOT.findall(form)
        lists = [_parts(word) for word in words]
        refusals = 0
        while len(found) < count and refusals < TRIES:
            name = texts[0]
            for parts, text in zip(lists, texts[1:], strict=True):
                for part in parts:
                    name += part[int(chance.random() * len(part))]
                name += text
            refusals = refusals + 1 if name in found else 0
            found[name] = None
    if len(found) < count:
        raise UsageError(
            f"there are not {count} {names} names of the kind {kind!r}: {len(found)} were found. Ask for fewer"
            " rows, or give the kind another form."
        )
    return list(found)
