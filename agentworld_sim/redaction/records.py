"""Secrets taken out of what is recorded.

A secret is known by where it stands (a key or a header that is named like one, and from there on
everywhere), by its shape (tokens of known services, signed tokens, private keys), or because the caller
names it. Each is replaced by its kind, so that equal texts stay equal. What has neither name nor shape of a secret is not found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Self, cast

from agentworld_sim.redaction.environment import SHORTEST, process_secrets

MARK = re.compile(r"\[redacted:[a-z-]+\]")

_ENDINGS = (
    ("password", ("password", "passwd", "passphrase", "passcode", "pwd")),
    ("key", ("apikey", "privatekey", "accesskey", "secretkey", "authkey", "signingkey")),
    ("secret", ("secret", "credential", "authorization", "cookie")),
    ("token", ("token", "bearer", "jwt")),
)
"""Kind to the ends of the words that stand for it."""

_HARMLESS_BEFORE = frozenset(
    "next prev previous page pagination continuation cursor sync change progress max total min num prompt"
    " completion input output usage start end resume has is use uses requires needs show hide".split()
)
_HARMLESS_AFTER = frozenset(
    "count type limit name id expires expiry expiration ttl usage url uri endpoint hint policy length".split()
)
"""`next_page_token` and `token_count` only sound like secrets."""

_DIRECTORIES = frozenset(("PWD", "OLDPWD"))
"""Variables of every shell, unless what stands there is no path: then it is the password of a database."""

_PLAIN = frozenset(
    "true false null none undefined bearer basic string number boolean integer object required optional"
    " secretstr redacted hidden".split()
)
"""Words that are no secret though they stand where one would."""

_SHAPES = (
    (
        "private-key",
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
            re.DOTALL,
        ),
    ),
    ("token", re.compile(r"\beyJ[A-Za-z0-9_-]{8,2048}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*")),
    ("token", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})")),
    (
        "token",
        re.compile(r"\b(?:glpat-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{20,})"),
    ),
    ("token", re.compile(r"\bxox[a-z]-[A-Za-z0-9-]{10,}")),
    ("key", re.compile(r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}")),
    ("key", re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    ("key", re.compile(r"\bAIza[A-Za-z0-9_-]{35}")),
)

_URL = re.compile(r"(?<=://)([^\s/:@\"']*):([^\s/@\"']+)(?=@)")
_SCHEME = re.compile(r"\b(Bearer|Basic|Token)(\s+)([A-Za-z0-9._~+/-]{8,}=*)", re.IGNORECASE)
_NAME = (
    r"(?:(?<![A-Za-z0-9_-])|(?<=\s-)|(?<=\s--)|(?<=^-)|(?<=^--))(?P<name>[A-Za-z][A-Za-z0-9_-]*+)"
)
"""Also as an option: `--token=value`."""
_QUOTED = re.compile(
    _NAME + r"""(?P<between>\\?["']?\s*[=:]\s*(?P<quote>\\?["']))(?P<value>(?:(?!(?P=quote)).)+)"""
)
_BARE = re.compile(_NAME + r"""(?P<between>\\?["']?\s*[=:]\s*)(?P<value>[^\s"'\\,;&}\])\[]{4,})""")
"""`"name": "value"` and `name=value` within a text."""


class Redaction:
    """Takes secrets out of values, and counts them."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """`secrets` are taken out wherever they stand."""
        # The longest first: one may be the beginning of another.
        self._named = sorted(
            {one for one in secrets if len(one) >= SHORTEST}, key=len, reverse=True
        )
        self.counts: Counter[str] = Counter()

    @classmethod
    def of_process(cls, secrets: Iterable[str] = ()) -> Self:
        """Takes out these secrets and those that the variables of this process hold."""
        return cls([*secrets, *process_secrets()])

    def value(self, value: object) -> object:
        """The same JSON value without secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(one) for one in cast("list[object]", value)]
        if isinstance(value, Mapping):
            content = cast("Mapping[str, object]", value)
            # Bytes of images and files: no text in which anything could be searched.
            binary = "mimeType" in content
            return {
                key: one
                if binary and key in ("data", "blob")
                else self._under(secret_kind(key, one), one)
                for key, one in content.items()
            }
        return value

    def text(self, text: str) -> str:
        """The same text without secrets."""
        for secret in self._named:
            if secret in text:
                self.counts["secret"] += text.count(secret)
                text = text.replace(secret, _mark("secret"))
        for kind, shape in _SHAPES:
            text = shape.sub(lambda _, kind=kind: self._count_mark(kind), text)
        if "://" in text:
            text = _URL.sub(lambda m: f"{m[1]}:{self._count_mark('password')}", text)
        text = _SCHEME.sub(lambda m: f"{m[1]}{m[2]}{self._count_mark('token')}", text)
        return _BARE.sub(self._mask_match, _QUOTED.sub(self._mask_match, text))

    def words(self, argv: Sequence[str]) -> list[str]:
        """The words of a command without secrets: also without what stands behind `--password`."""
        words: list[str] = []
        for option, word in pairwise(("", *argv)):
            if option.startswith("-") and "=" not in option and not word.startswith("-"):
                word = cast("str", self._under(secret_kind(option.lstrip("-")), word))
            words.append(self.text(word))
        return words

    def _mask_match(self, found: re.Match[str]) -> str:
        value = found["value"]
        kind = secret_kind(found["name"], value)
        if kind is None or value.lower() in _PLAIN or MARK.search(value) or value.isdigit():
            return found[0]
        return f"{found['name']}{found['between']}{self._count_mark(kind)}"

    def _under(self, kind: str | None, value: object) -> object:
        """A value whose key is named like a secret, if `kind` says so."""
        if kind is None:
            return self.value(value)
        if isinstance(value, str):
            if not value or MARK.fullmatch(value):
                return value
            self._learn(value)
            return self._count_mark(kind)
        if isinstance(value, list):
            return [self._under(kind, one) for one in cast("list[object]", value)]
        return self.value(value)

    def _learn(self, secret: str) -> None:
        """What was a secret in one place, such as an argument, is one in others, such as the answer."""
        if len(secret) >= SHORTEST and secret not in self._named:
            self._named = sorted([*self._named, secret], key=len, reverse=True)

    def _count_mark(self, kind: str) -> str:
        self.counts[kind] += 1
        return _mark(kind)


def secret_kind(name: str, value: object = None) -> str | None:
    """What kind of secret a key, header or variable of that name holds; `None` for none.

    Args:
        value: What stands there, where that is known.
    """
    if name in _DIRECTORIES and isinstance(value, str) and value.startswith("/"):
        return None
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
    for number, word in enumerate(words):
        single = word.removesuffix("s")
        joined = words[number - 1] + single if number else single
        for kind, endings in _ENDINGS:
            if not (single.endswith(endings) or joined.endswith(endings)):
                continue
            before = words[number - 1] if number else ""
            after = words[number + 1] if number + 1 < len(words) else ""
            counted = kind == "token" and word == "tokens" and len(words) == 1
            if before in _HARMLESS_BEFORE or after in _HARMLESS_AFTER or counted:
                return None
            return kind
    return None


def _mark(kind: str) -> str:
    return f"[redacted:{kind}]"
