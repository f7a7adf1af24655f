"""Names of our own: enough of them, all different, and none that there really is."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module, resources
from itertools import product
from random import Random
from typing import Any

import pytest
import yaml
from faker.providers import address, geo, person

from agentworld_sim.errors import UsageError
from agentworld_sim.fiction.name_grammar import draw_names, name_kinds


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value.lower()
    elif isinstance(value, tuple | list | set | frozenset | dict):
        for one in value:  # pyright: ignore[reportUnknownVariableType]
            yield from texts(one)


def real_names() -> set[str]:
    """All names, cities, regions and countries of all of Faker's languages."""
    found = set(texts(geo.Provider.land_coords))
    for package in (address, person):
        for module in pkgutil.iter_modules(package.__path__):
            provider = import_module(f"{package.__name__}.{module.name}").Provider
            for name in dir(provider):
                if any(word in name for word in ("cit", "countr", "name", "state", "region")):
                    found |= set(texts(getattr(provider, name)))
    return found


def invented_words() -> Iterator[str]:
    """Every word of our own that a name may have."""
    text = resources.files("agentworld_sim.fiction").joinpath("names.yaml").read_text("utf-8")
    for parts in yaml.safe_load(text)["words"].values():
        yield from ("".join(one) for one in product(*parts))


@pytest.mark.slow
def test_no_invented_word_is_a_real_name_of_a_person_a_city_or_a_country() -> None:
    real, words = real_names(), list(invented_words())
    assert len(real) > 50_000 and {"verona", "müller", "john", "norway"} <= real
    assert len(words) == len(set(words)) > 10_000
    assert [word for word in words if word.lower() in real] == []


@pytest.mark.parametrize("kind", name_kinds())
def test_names_differ_and_follow_from_their_seed(kind: str) -> None:
    names = draw_names(kind, "invented", 900, Random(5))
    assert len(set(names)) == 900
    assert draw_names(kind, "invented", 900, Random(5)) == names
    assert draw_names(kind, "invented", 300, Random(5)) == names[:300]
    assert not set(names) & set(draw_names(kind, "real", 900, Random(5)))


def test_more_names_than_there_are_is_refused() -> None:
    with pytest.raises(UsageError, match=r"not 100000 invented names of the kind 'country': \d+ "):
        draw_names("country", "invented", 100_000, Random(0))
