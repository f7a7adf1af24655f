"""Secrets of environments: a world's, kept out of prompts, and this process's, kept out of records.

A prompt leaves the process, and often the host. What stands in a variable that is named like a secret
is left out wherever it would appear, also where a shell has expanded it into a command line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache

HIDDEN_VARIABLES = tuple(
    "KEY TOKEN SECRET PASSWORD PASSWD PASSPHRASE CREDENTIAL AUTHORIZATION COOKIE".split()
)
"""A variable with such a word in its name is told by name only."""

HIDDEN = "(hidden)"

SHORTEST = 6
"""Values with fewer characters are not searched for in texts: they would be found everywhere."""

SHORTEST_MIXED, SHORTEST_PLAIN = 10, 20
"""Characters of a secret of this process that has digits and letters, and of any other. Shorter ones are often
words, such as the password of a database for tests: cassettes would differ between machines."""


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Whether a variable is named like a secret."""
    return any(word in name.upper() for word in HIDDEN_VARIABLES)


def secrets_of(env: Mapping[str, str]) -> frozenset[str]:
    """The values to keep out of texts."""
    return frozenset(
        value for name, value in env.items() if is_secret(name) and len(value) >= SHORTEST
    )


def mask_secrets(text: str, secrets: Iterable[str]) -> str:
    """`text` without the secrets."""
    # The longest first: one may be the beginning of another.
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def shown_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The variables as a model is told them."""
    return {name: HIDDEN if is_secret(name) else value for name, value in env.items()}


def process_secrets(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The values of this process's variables that are named like a secret and are no words."""

    def is_word(value: str) -> bool:
        if len(value) < SHORTEST_MIXED or value.startswith(("/", "~", "./")):
            return True
        mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
        return not mixed and len(value) < SHORTEST_PLAIN

    named = {value for name, value in environment.items() if is_secret(name)}
    return sorted(value for value in named if not is_word(value))
