"""What goes over a world's internet: requests, responses, and who answers them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP
from hashlib import blake2b
from http import HTTPStatus
from typing import Protocol
from urllib.parse import (
    parse_qsl,
    quote,
    unquote,
    urldefrag,
    urlencode,
    urljoin,
    urlsplit,
    urlunsplit,
)

from agentworld_sim.types.state import StateChange, WorldState

_NOT_IN_HOSTS = re.compile(r"[\x00-\x20<>^|\\\x7f]")
Headers = tuple[tuple[str, str], ...]
"""Names in lower case, and values, in their order."""

HTML: Headers = (("content-type", "text/html; charset=utf-8"),)
URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"


@dataclass(frozen=True, slots=True)
class Upload:
    """A file in a form."""

    filename: str
    media_type: str
    content: bytes


FormField = tuple[str, "str | Upload"]


@dataclass(frozen=True, slots=True)
class WebRequest:
    """One request."""

    url: str
    """Absolute, without a fragment."""
    method: str = "GET"
    headers: Headers = ()
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """The value of a header; `None` where there is none."""
        return _header(self.headers, name)

    @property
    def host(self) -> str:
        """The host in lower case, with its port where that is not the scheme's own."""
        return urlsplit(self.url).netloc.rpartition("@")[2].lower()

    @property
    def path(self) -> str:
        """The path, decoded."""
        return unquote(urlsplit(self.url).path) or "/"

    @property
    def query(self) -> list[tuple[str, str]]:
        """The fields in the URL, in their order."""
        return parse_qsl(urlsplit(self.url).query, keep_blank_values=True)

    def form(self) -> list[FormField]:
        """The fields in the body, in their order; none where the body is no form."""
        kind = self.header("content-type") or ""
        if kind.startswith(URLENCODED):
            return list(parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True))
        if not kind.startswith(MULTIPART):
            return []
        head = f"content-type: {kind}\r\n\r\n".encode()
        found: list[FormField] = []
        for part in BytesParser(policy=HTTP).parsebytes(head + self.body).iter_parts():
            content = part.get_payload(decode=True)
            data = content if isinstance(content, bytes) else b""
            name = str(part.get_param("name", "", "content-disposition"))
            filename = part.get_filename()
            value = (
                data.decode("utf-8", "replace")
                if filename is None
                else Upload(filename, part.get_content_type(), data)
            )
            found.append((name, value))
        return found


@dataclass(frozen=True, slots=True)
class WebResponse:
    """What comes back."""

    status: int = 200
    body: bytes = b""
    headers: Headers = HTML
    reason: str | None = None
    """The text after the status; the usual one where it is `None`."""

    def header(self, name: str) -> str | None:
        """The value of a header; `None` where there is none."""
        return _header(self.headers, name)

    def headers_of(self, name: str) -> list[str]:
        """The values of a header that may come several times, `set-cookie`."""
        return [value for own, value in self.headers if own == name]

    @property
    def media_type(self) -> str:
        """Without parameters, in lower case."""
        return (self.header("content-type") or "").partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """The body as text in UTF-8."""
        return self.body.decode("utf-8", "replace")

    @property
    def status_text(self) -> str:
        """The text after the status."""
        return self.reason if self.reason is not None else status_text(self.status)


class Internet(Protocol):
    """All sites of a world."""

    def answer(
        self, request: WebRequest, state: WorldState
    ) -> tuple[WebResponse, StateChange] | None:
        """What a site answers, and what it does to the state: it follows from the two arguments alone.

        The change is relative to `state`, and leaves the clock where it is. `None` where no site has the
        host of the URL.
        """
        ...

    def hosts(self, state: WorldState) -> Sequence[str]:
        """The names of the hosts that answer."""
        ...


class JoinedInternet:
    """Implements `Internet` by others: the first that has the host answers."""

    def __init__(self, parts: Sequence[Internet]) -> None:
        self._parts = tuple(parts)

    def answer(
        self, request: WebRequest, state: WorldState
    ) -> tuple[WebResponse, StateChange] | None:
        answers = (part.answer(request, state) for part in self._parts)
        return next((answer for answer in answers if answer is not None), None)

    def hosts(self, state: WorldState) -> list[str]:
        """The hosts that answer."""
        return [host for part in self._parts for host in part.hosts(state)]


def status_text(status: int) -> str:
    """The usual text of a status; empty for one that nobody knows."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def form_body(fields: Sequence[FormField], encoding: str) -> tuple[bytes, str]:
    """What a form sends in its body, and the body's type.

    Args:
        fields: Line breaks in texts are as the controls have them.
        encoding: The form's `enctype`; what is neither multipart nor plain text is urlencoded.
    """
    if encoding == "text/plain":
        lines = "".join(f"{name}={value}\r\n" for name, value in _plain(fields))
        return lines.encode(), encoding
    if encoding != MULTIPART:
        return urlencode(_plain(fields)).encode(), URLENCODED
    parts: list[bytes] = []
    for name, value in fields:
        head = f'Content-Disposition: form-data; name="{_header_text(_lines(name))}"'
        data = value.content if isinstance(value, Upload) else _lines(value).encode()
        if isinstance(value, Upload):
            head += (
                f'; filename="{_header_text(value.filename)}"\r\nContent-Type: {value.media_type}'
            )
        parts.append(f"{head}\r\n\r\n".encode() + data + b"\r\n")
    # The same form sends the same bytes, and no part can contain the line that ends it.
    boundary = f"----WebKitFormBoundary{blake2b(b''.join(parts), digest_size=8).hexdigest()}"
    line = f"--{boundary}".encode()
    body = b"".join(line + b"\r\n" + part for part in parts) + line + b"--\r\n"
    return body, f"{MULTIPART}; boundary={boundary}"


def url_with_query(url: str, fields: Sequence[FormField]) -> str:
    """`url` with a form's fields in place of its query."""
    parts = urlsplit(url)
    plain = urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
    return f"{plain}?{urlencode(_plain(fields))}"


def normal_url(url: str) -> str:
    """`url` as a browser's address bar shows it. Raises `ValueError` where it is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        return url
    if not parts.hostname or parts.port == 0 or _NOT_IN_HOSTS.search(parts.netloc):
        raise ValueError(f"{url!r} has no valid host")
    host = parts.netloc.lower().removesuffix(":443" if parts.scheme == "https" else ":80")
    safe = "/:?#[]@!$&'()*+,;=%~|"
    rest = (
        quote(parts.path or "/", safe),
        quote(parts.query, safe + '{}`^\\"'),
        quote(parts.fragment, safe),
    )
    shown = urlunsplit((parts.scheme, host, *rest))
    # A query that is there and empty is shown.
    return f"{shown}?" if url.endswith("?") and not parts.query else shown


def resolve_url(base: str, target: str) -> str:
    """`target` as seen from the page at `base`, as the address bar shows it; empty where it is no URL."""
    if target.strip().startswith("#"):
        return urldefrag(base).url + target.strip()
    try:
        joined = urljoin(base, target.strip())
        return normal_url(joined + ("?" if target.endswith("?") and joined[-1:] != "?" else ""))
    except ValueError:
        return ""


def _header(headers: Iterable[tuple[str, str]], name: str) -> str | None:
    return next((value for own, value in headers if own == name), None)


def _lines(text: str) -> str:
    """`text` with the line breaks that forms send."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")


def _plain(fields: Sequence[FormField]) -> list[tuple[str, str]]:
    """What is sent where only texts can be: of a file, its name."""
    return [
        (_lines(name), value.filename if isinstance(value, Upload) else _lines(value))
        for name, value in fields
    ]


def _header_text(name: str) -> str:
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
