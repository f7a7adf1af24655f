"""Snapshots of upstreams: what `agentworld mcp snapshot` writes, and a mirror is made from.

A file of JSON, made to be read and compared: our own keys are in a fixed order and every list of ours is
sorted, so that two snapshots differ only where the servers do. What came over the wire keeps its order,
because clients show it to models as it is.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from agentworld_mcp_shim._listing import LISTS, Listing, Page, Pages
from agentworld_sim.errors import UsageError

FORMAT = 1
"""Of the file. A newer one is refused."""

MAX_FILE_BYTES = 256 * 2**20
"""A larger file is no snapshot."""


def save_snapshot(path: Path, listing: Listing, *, secrets: Iterable[str] = ()) -> None:
    """Writes the file, whole or not at all. Raises `UsageError` when it cannot be written."""
    try:
        write_whole(path, snapshot_text(listing, secrets=secrets))
    except OSError as error:
        raise UsageError(f"the snapshot {str(path)!r} cannot be written: {error}.") from error


def write_whole(path: Path, text: str) -> None:
    """Writes a file all at once, or raises `OSError` and leaves what was there."""
    part = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def snapshot_text(listing: Listing, *, secrets: Iterable[str] = ()) -> str:
    """What `save_snapshot` writes."""
    listing = hide(listing, secrets)
    value: dict[str, Any] = {
        "agentworld_snapshot": FORMAT,
        "server_info": listing.identity,
        "instructions": listing.instructions,
        "protocol_version": listing.protocol_version,
        "capabilities": listing.capabilities,
        "lists": {
            method: [{"cursor": cursor, "page": page} for cursor, page in pages.items()]
            for method, pages in sorted(listing.lists.items())
        },
        "failures": dict(sorted(listing.failures.items())),
        "contents": dict(sorted(listing.contents.items())),
        "prompts": dict(sorted(listing.prompts.items())),
    }
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Lone surrogates cannot be written as UTF-8.
        text = json.dumps(value, indent=2)
    return text + "\n"


def hide(listing: Listing, secrets: Iterable[str]) -> Listing:
    """The listing without secrets.

    What is listed is only searched for these very values, because a schema may well speak of a `token`.
    What resources and prompts say is also searched for whatever looks like a secret.
    """
    from agentworld_sim.redaction.records import Redaction

    hidden = tuple(secrets)
    said = cast("Callable[[Page], Page]", Redaction(hidden).value)
    return replace(
        listing,
        identity=_mask(listing.identity, hidden),
        instructions=_mask(listing.instructions, hidden),
        capabilities=_mask(listing.capabilities, hidden),
        lists=_mask(listing.lists, hidden),
        failures=_mask(listing.failures, hidden),
        contents={uri: said(one) for uri, one in listing.contents.items()},
        prompts={name: said(one) for name, one in listing.prompts.items()},
    )


def load_snapshot(path: Path) -> Listing:
    """Reads the file. Nothing else is touched: no process, no network.

    Raises:
        UsageError: there is no such file, it is no snapshot, or it is from a newer release.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"there is no snapshot {str(path)!r}: {error.strerror}. `agentworld mcp snapshot -o"
            f" {path.name} -- COMMAND` makes one."
        ) from error
    if len(data) > MAX_FILE_BYTES:
        raise _no_snapshot(path, f"it is larger than {MAX_FILE_BYTES} bytes")
    try:
        value: object = json.loads(data)
    except ValueError as error:
        raise _no_snapshot(path, f"it is not JSON: {error}") from error
    if not isinstance(value, dict) or "agentworld_snapshot" not in value:
        raise _no_snapshot(path, "it has no 'agentworld_snapshot'")
    content = cast("dict[str, Any]", value)
    version = content["agentworld_snapshot"]
    if version != FORMAT:
        raise UsageError(
            f"the snapshot {str(path)!r} has format {version!r}, and this release knows {FORMAT}."
            " Make it anew with `agentworld mcp snapshot`, or upgrade."
        )
    try:
        return _listing(content)
    except (KeyError, TypeError, ValueError) as error:
        raise _no_snapshot(path, f"{error}") from error


_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "server_info": dict,
    "instructions": (str, type(None)),
    "protocol_version": str,
    "lists": dict,
    **dict.fromkeys(("capabilities", "failures", "contents", "prompts"), dict),
}


def _listing(content: Mapping[str, Any]) -> Listing:
    found: dict[str, Any] = {"capabilities": {}}
    found |= {key: content[key] for key in _KINDS if key in content}
    for key, value in found.items():
        if not isinstance(value, _KINDS[key]):
            raise TypeError(f"{key!r} is {value!r:.50}")
    identity = found.pop("server_info", {"name": "", "version": ""})
    lists = {method: _pages(method, pages) for method, pages in found.pop("lists", {}).items()}
    return Listing(identity=identity, lists=lists, **found)


def _pages(method: str, entries: list[Any]) -> Pages:
    if method not in LISTS:
        raise ValueError(f"'lists' has {method!r}, which is no list request")
    pages: dict[str | None, Page] = {}
    for entry in entries:
        page = entry["page"]
        items = LISTS[method].items
        if not isinstance(page.get(items), list):
            raise TypeError(f"a page of {method!r} has no list {items!r}")
        pages[entry["cursor"]] = page
    if pages and None not in pages:
        raise ValueError(f"{method!r} has no first page (cursor null)")
    return pages


def _no_snapshot(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{str(path)!r} is no snapshot of an MCP server: {why}. `agentworld mcp snapshot -o FILE --"
        " COMMAND` makes one."
    )


def _mask(value: Any, secrets: tuple[str, ...]) -> Any:
    from agentworld_sim.redaction.environment import mask_secrets

    if isinstance(value, str):
        return mask_secrets(value, secrets)
    if isinstance(value, Mapping):
        return {
            _mask(key, secrets): _mask(one, secrets)
            for key, one in cast("Mapping[str, Any]", value).items()
        }
    if isinstance(value, list):
        return [_mask(one, secrets) for one in cast("list[Any]", value)]
    return value
