"""The cookies of a browser (RFC 6265), as JSON values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from agentworld_sim.engines.web.requests import WebRequest, WebResponse

Cookie = Mapping[str, Any]
"""`name`, `value`, `domain`, `path`; `host_only`, `secure`; `http_only` where no script may read it; `expires_us`, where it ends at a time."""

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_LONGEST = 4096
"""Characters of a name and its value."""
_MOST = 180
"""Cookies of a domain; the oldest go."""
_SECOND_US = 1_000_000


def cookie_header(kept: Sequence[Cookie], url: str, clock_us: int) -> str:
    """What a request to `url` says of cookies; empty where there are none for it."""
    parts = urlsplit(url)
    found = [
        one
        for one in kept
        if _is_for(one, parts.hostname or "", parts.path or "/")
        and (not one["secure"] or parts.scheme == "https")
        and not _is_over(one, clock_us)
    ]
    # Longer paths come first, and those of one length as they were made.
    found.sort(key=lambda one: -len(one["path"]))
    return "; ".join(f"{one['name']}={one['value']}" for one in found)


def after_response(
    kept: Sequence[Cookie], request: WebRequest, response: WebResponse, clock_us: int
) -> list[Cookie]:
    """The cookies after a response, the oldest first. What no browser would take is left out."""
    after = [one for one in kept if not _is_over(one, clock_us)]
    for line in response.headers_of("set-cookie"):
        cookie = _read(line, request, clock_us)
        if cookie is None:
            continue
        same = [one for one in after if _place(one) == _place(cookie)]
        if _is_over(cookie, clock_us):
            after = [one for one in after if one not in same]
        elif same:
            after[after.index(same[0])] = cookie
        else:
            after.append(cookie)
            own = [one for one in after if one["domain"] == cookie["domain"]]
            after = [one for one in after if one not in own[:-_MOST]]
    return after


def _place(cookie: Cookie) -> tuple[str, str, str]:
    return cookie["name"], cookie["domain"], cookie["path"]


def _is_over(cookie: Cookie, clock_us: int) -> bool:
    return "expires_us" in cookie and cookie["expires_us"] <= clock_us


def _is_for(cookie: Cookie, host: str, path: str) -> bool:
    domain, above = cookie["domain"], cookie["path"].rstrip("/")
    if host != domain and (cookie["host_only"] or not host.endswith(f".{domain}")):
        return False
    return path == cookie["path"] or path.startswith(f"{above}/")


def _read(line: str, request: WebRequest, clock_us: int) -> Cookie | None:
    pair, *written = line.split(";")
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals or not name or len(pair) > _LONGEST or _CONTROL.search(line):
        return None
    said = {
        key.strip().lower(): text.strip() for key, _, text in (o.partition("=") for o in written)
    }
    parts = urlsplit(request.url)
    host, domain = parts.hostname or "", said.get("domain", "").lstrip(".").lower()
    # A site sets cookies for itself and the domains it lies in; a top-level domain is nobody's.
    if domain and ((domain != host and not host.endswith(f".{domain}")) or "." not in domain):
        return None
    folder = parts.path.rpartition("/")[0] or "/"
    cookie: dict[str, Any] = {
        "name": name,
        "value": value.strip('"'),
        "domain": domain or host,
        "path": said["path"] if said.get("path", "").startswith("/") else folder,
        "host_only": not domain,
        "secure": "secure" in said,
    }
    if "httponly" in said:
        cookie["http_only"] = True
    expires_us = _expiry_us(said, clock_us)
    return cookie if expires_us is None else {**cookie, "expires_us": expires_us}


def _expiry_us(said: Mapping[str, str], clock_us: int) -> int | None:
    try:
        return clock_us + int(said["max-age"]) * _SECOND_US
    except (KeyError, ValueError):
        pass
    try:
        return int(parsedate_to_datetime(said["expires"]).timestamp() * _SECOND_US)
    except (KeyError, ValueError):
        return None
