"""Secrets of a world's environment, kept out of prompts.

A prompt leaves the process, and often the host. What stands in a variable that is named like a secret
is left out wherever it would appear, also where a shell has expanded it into a command line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

HIDDEN_VARIABLES = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
"""A variable with such a word in its name is told by name only."""

HIDDEN = "(hidden)"

SHORTEST = 6
"""Values with fewer characters are not searched for in texts: they would be found everywhere."""


def is_secret(name: str) -> bool:
    """Whether a variable is named like a secret."""
    return any(word in name.upper() for word in HIDDEN_VARIABLES)


def secrets_of(env: Mapping[str, str]) -> frozenset[str]:
    """The values to keep out of texts."""
    return frozenset(
        value for name, value in env.items() if is_secret(name) and len(value) >= SHORTEST
    )


def masked(text: str, secrets: Iterable[str]) -> str:
    """`text` without the secrets."""
    # The longest first: one may be the beginning of another.
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def shown_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The variables as a model is told them."""
    return {name: HIDDEN if is_secret(name) else value for name, value in env.items()}
