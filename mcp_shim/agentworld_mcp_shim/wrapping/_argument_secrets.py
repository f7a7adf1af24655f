"""What must not stand in an argument list, where every user of the host can read it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from agentworld_sim.redaction.records import Redaction, secret_kind

_PLACEHOLDER = re.compile(
    r"\$\{[^}]*\}|\$[A-Za-z_]\w*|%[A-Za-z_]\w*%|\{\{[^}]*\}\}|\{(?:env|file):[^}]*\}"
)
_HEADER = re.compile(r"([A-Za-z][-A-Za-z0-9]*):\s*\S")
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
    """A command to show: values that look like secrets become `***`."""
    words: list[str] = []
    follows_name = False
    for word in command:
        name, equals, value = word.partition("=")
        header = _HEADER.match(word)
        if follows_name and not word.startswith("-"):
            words.append("***")
        elif header and _names_secret(header[1]):
            words.append(f"{header[1]}: ***")
        elif equals and (_names_secret(name) or _is_opaque(value)):
            words.append(f"{name}=***")
        elif "://" in word and url_holds_secret(word) and not placeholders(word):
            words.append(f"{word.partition('://')[0]}://***")
        elif _is_opaque(word):
            words.append("***")
        else:
            words.append(word)
        follows_name = not equals and word.startswith("-") and _names_secret(word)
    return words


def _is_opaque(word: str) -> bool:
    if Redaction().text(word) != word:
        return True
    plain = re.sub(r"[-_=+.~]", "", word)
    mixed = any(sign.isdigit() for sign in plain) and any(sign.isalpha() for sign in plain)
    return mixed and len(plain) >= _OPAQUE and plain.isalnum()


def _names_secret(name: str) -> bool:
    # A person's screen is stricter than a record: these are also words for other things.
    return secret_kind(name) is not None or bool(
        re.search(
            r"(?:^|[-_])(?:auth|code|key|pat|sig|signature)$", name.lstrip("-"), re.IGNORECASE
        )
    )
