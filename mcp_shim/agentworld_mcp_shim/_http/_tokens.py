"""Bearer tokens: where they come from, and whose a request's is. Only hashes are kept."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import cast

from agentworld_mcp_shim._settings import TOKEN_VARIABLES
from agentworld_sim.errors import UsageError

ONE_TOKEN, MANY_TOKENS = TOKEN_VARIABLES

ONE_PRINCIPAL = "default"
"""Who has the only token."""

MIN_TOKEN = 16
"""Characters; a shorter one can be guessed."""


def found_tokens(file: Path | None, environment: MutableMapping[str, str]) -> dict[str, str]:
    """Principal by the hash of its token, from the file and the environment.

    The variables are taken out of `environment`: no process that we start is given them.

    Raises:
        UsageError: the file can be read by others, or something in it is no token. The message never
            has the token.
    """
    tokens: dict[str, str] = {}
    if file is not None:
        for number, line in enumerate(_lines(file), 1):
            principal, _, token = line.strip().partition(" ")
            if principal and not principal.startswith("#"):
                _add(tokens, principal, token.strip(), f"line {number} of {file}")
    many = environment.pop(MANY_TOKENS, "")
    if many:
        for principal, token in _object(many).items():
            _add(tokens, principal, token, MANY_TOKENS)
    one = environment.pop(ONE_TOKEN, "")
    if one:
        _add(tokens, ONE_PRINCIPAL, one, ONE_TOKEN)
    if file is not None and not tokens:
        raise UsageError(
            f"the token file {file} has no tokens. Each line is: PRINCIPAL TOKEN. Without tokens, leave"
            " --token-file out."
        )
    return tokens


def hashed_token(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


class Tokens:
    """Says who a request is from."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._tokens = [(digest.encode(), principal) for digest, principal in tokens.items()]

    @property
    def asked(self) -> bool:
        """Whether there are tokens at all."""
        return bool(self._tokens)

    def principal(self, authorization: str | None) -> str | None:
        """Who has the token in an `Authorization` header; `None` for nobody we know."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        digest = hashed_token(token.strip()).encode()
        found: str | None = None
        # Always all of them, so that the time says nothing.
        for known, principal in self._tokens:
            if hmac.compare_digest(known, digest):
                found = principal
        return found


def _add(tokens: dict[str, str], principal: str, token: str, where: str) -> None:
    if not token.isascii() or not token.isprintable() or " " in token or len(token) < MIN_TOKEN:
        raise UsageError(
            f"{where} has no usable token for {principal!r}: it takes at least {MIN_TOKEN} visible ASCII"
            " characters without spaces. `python -c 'import secrets; print(secrets.token_urlsafe())'`"
            " makes one."
        )
    digest = hashed_token(token)
    if tokens.get(digest, principal) != principal:
        raise UsageError(f"{tokens[digest]!r} and {principal!r} have the same token. Change one.")
    tokens[digest] = principal


def _lines(file: Path) -> list[str]:
    try:
        with file.open(encoding="utf-8") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise UsageError(
                    f"the token file {file} can be read by others (its mode is"
                    f" {stat.S_IMODE(mode):o}). `chmod 600 {file}` makes it yours alone."
                )
            return opened.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"the token file {file} cannot be read: {reason}.") from None


def _object(text: str) -> dict[str, str]:
    try:
        given: object = json.loads(text)
    except ValueError:
        given = None
    named = cast("dict[str, object]", given) if isinstance(given, dict) else {}
    if not named or not all(isinstance(token, str) for token in named.values()):
        raise UsageError(
            f"{MANY_TOKENS} is not a JSON object of principals and their tokens, such as"
            ' {"ci": "…", "alice": "…"}.'
        )
    return cast("dict[str, str]", named)
