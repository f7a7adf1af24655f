"""What must not stand in an argument list, where every user of the host can read it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from agentworld_sim.redaction.records import Redaction, secret_kind

_PLACEHOLDER = re.compile(
    r"\$\{[^}]*\}|\$[A-Za-z_]\w*|%[A-Za-z_]\w*%|\{\{[^}]*\}\}|\{(?:env|file):[^}]*\}"
)
_OPAQUE = 16
"""Letters and digits mixed in one word of this length are taken for a key."""


def placeholders(text: str) -> list[str]:
    """The parts that a client, or the shim, fills in: `${VAR}`, `${input:id}`, `$VAR`, `{env:VAR}`."""
    return _PLACEHOLDER.findall(text)


def url_holds_secret(url: str) -> bool:
    """Whether a URL may hold a secret: a user, a placeholder, a query, a key in its path.

    It errs to the safe side: a URL that is held back works as well.
    """
    try:
        parts = urlsplit(url)
        named = parts.username or parts.password or parts.fragment or parts.query
    except ValueError:
        return True
    words = [*parts.path.split("/"), *parts.netloc.split(".")]
    return bool(named or placeholders(url) or any(_is_opaque(word) for word in words))


def hide_secrets(command: Sequence[str]) -> list[str]:
    """A command to show: values that look like secrets are replaced."""
    redaction = Redaction()
    words: list[str] = []
    for before, word in itertools.pairwise(["", *command]):
        name = before.lstrip("-") if before.startswith("-") and "=" not in before else ""
        if secret_kind(name) and not word.startswith("-"):
            words.append("***")
        elif "://" in word and url_holds_secret(word) and not placeholders(word):
            words.append(f"{word.partition('://')[0]}://***")
        else:
            words.append("***" if _is_opaque(word) else redaction.text(word))
    return words


def _is_opaque(word: str) -> bool:
    plain = re.sub(r"[-_=+.~]", "", word)
    mixed = any(sign.isdigit() for sign in plain) and any(sign.isalpha() for sign in plain)
    return mixed and len(plain) >= _OPAQUE and plain.isalnum()
