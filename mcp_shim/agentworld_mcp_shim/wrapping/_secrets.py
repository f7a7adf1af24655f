"""What must not stand in an argument list, where every user of the host can read it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import parse_qsl, urlsplit

_NAMES = re.compile(
    r"(?:^|[-_.])(?:api)?-?_?(?:key|token|secret|password|passwd|pwd|auth|authorization|credentials?"
    r"|bearer|sig|signature|code|pat)$",
    re.IGNORECASE,
)
_PREFIXED = re.compile(
    r"(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|AKIA|eyJ)[-_A-Za-z0-9]"
)
_HEADER = re.compile(r"([A-Za-z][-A-Za-z0-9]*):\s*\S")
_PLACEHOLDER = re.compile(r"\$\{[^}]*\}|\$[A-Za-z_]\w*|%[A-Za-z_]\w*%|\{\{[^}]*\}\}")
_OPAQUE = 16
"""Letters and digits mixed in one word of this length are taken for a key."""


def placeholders(text: str) -> list[str]:
    """The parts that a client, or the shim, fills in: `${VAR}`, `${env:VAR}`, `${input:id}`, `$VAR`."""
    return _PLACEHOLDER.findall(text)


def looks_secret(word: str) -> bool:
    """Whether a word has the form of a key."""
    if len(word) < _OPAQUE:
        return False
    if _PREFIXED.match(word):
        return True
    plain = re.sub(r"[-_=+/.~]", "", word)
    mixed = any(sign.isdigit() for sign in plain) and any(sign.isalpha() for sign in plain)
    return mixed and len(plain) >= _OPAQUE and plain.isalnum() and "/" not in word


def url_holds_secret(url: str) -> bool:
    """Whether a URL may hold a secret: a user, a placeholder, a key in its path or its query.

    It errs to the safe side: a URL that is held back works as well.
    """
    if placeholders(url):
        return True
    try:
        parts = urlsplit(url)
        named = parts.username or parts.password or parts.fragment
        queries = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return True
    words = [*parts.path.split("/"), *parts.netloc.split("."), *(value for _, value in queries)]
    if parts.query and not queries:
        return True
    return bool(
        named
        or any(_NAMES.search(name) for name, _ in queries)
        or any(looks_secret(word) for word in words)
    )


def veiled(command: Sequence[str]) -> list[str]:
    """A command to show: values that look like secrets become `***`."""
    shown: list[str] = []
    named = False
    for word in command:
        name, equals, value = word.partition("=")
        if named and not word.startswith("-"):
            shown.append("***")
        elif (header := _HEADER.match(word)) and _is_name(header.group(1)):
            shown.append(f"{header.group(1)}: ***")
        elif equals and (_is_name(name) or looks_secret(value)):
            shown.append(f"{name}=***")
        elif "://" in word and url_holds_secret(word) and not placeholders(word):
            shown.append(f"{word.partition('://')[0]}://***")
        elif looks_secret(word):
            shown.append("***")
        else:
            shown.append(word)
        named = not equals and word.startswith("-") and _is_name(word)
    return shown


def holds_secret(command: Sequence[str]) -> bool:
    """Whether `veiled` hides anything of it."""
    return veiled(command) != list(command)


def _is_name(name: str) -> bool:
    return bool(_NAMES.search(name.lstrip("-")))
