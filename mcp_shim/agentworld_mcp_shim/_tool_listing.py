"""Tool listings that were seen before: a server that changes what its tools say is told apart.

A description is read by a model, and a server may change it after it was trusted. So the listing of each
upstream is remembered as hashes when it is first seen, and a later one is held against it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from agentworld_mcp_shim._listing import Listing
from agentworld_sim.errors import UsageError
from agentworld_sim.types.json import canonical_json

logger = logging.getLogger(__name__)

LISTINGS_FILE = "tool-listings.json"

FORMAT = 1

SHOWN_NAMES = 8
"""Of each kind in one warning."""

Seen = Mapping[str, Mapping[str, str]]
"""Hashes of a tool's fields, by its name and the field's."""


class ToolsChanged(UsageError):
    """An upstream lists other tools than the trusted ones, and `--pinned` was given."""


def seen_in(listing: Listing) -> Seen:
    """The hashes of what a listing says of its tools."""
    named: dict[str, set[tuple[tuple[str, str], ...]]] = {}
    for tool in listing.items("tools/list"):
        fields = cast("dict[str, Any]", tool) if isinstance(tool, dict) else {"": tool}
        name = fields.get("name")
        shown = name if isinstance(name, str) else canonical_json(name)
        named.setdefault(shown, set()).add(tuple(sorted(_fields(fields).items())))
    # A name that is listed twice, in different words, is two tools.
    return {
        name + number * " (again)": dict(fields)
        for name, different in named.items()
        for number, fields in enumerate(sorted(different))
    }


def listing_hash(listing: Listing) -> str:
    """The hash of `tools/list`. The order of tools and of keys does not matter, nor do pages."""
    return "sha256:" + _hash(seen_in(listing))


def changes(old: Seen, new: Seen) -> str | None:
    """What changed between two listings, in words; `None` when nothing did."""
    if old == new:
        return None
    told: list[str] = []
    if added := sorted(new.keys() - old.keys()):
        told.append(f"added {_names(added)}")
    if removed := sorted(old.keys() - new.keys()):
        told.append(f"removed {_names(removed)}")
    changed: list[str] = []
    for name in sorted(old.keys() & new.keys()):
        before, after = old[name], new[name]
        fields = sorted(
            field for field in before.keys() | after.keys() if before.get(field) != after.get(field)
        )
        if fields:
            changed.append(f"{name!r} ({', '.join(fields)})")
    if changed:
        more = f" and {len(changed) - SHOWN_NAMES} more" if len(changed) > SHOWN_NAMES else ""
        told.append(f"changed {', '.join(changed[:SHOWN_NAMES])}{more}")
    return "; ".join(told)


class ToolListings:
    """The listings that this user has seen, in `tool-listings.json`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LISTINGS_FILE

    def trusted(self, upstream: str) -> Seen | None:
        """What was seen of an upstream; `None` when it is new.

        Args:
            upstream: Its key, from `upstream_key`.
        """
        return self._read().get(upstream)

    def remember(self, upstream: str, seen: Seen) -> None:
        """Trusts a listing from now on. Safe beside other processes that do the same."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with _lock(self._path.with_suffix(".lock")):
            known = self._read()
            known[upstream] = seen
            part = self._path.with_suffix(f".{os.getpid()}.part")
            part.write_text(
                json.dumps(
                    {"agentworld_tool_listings": FORMAT, "listings": known},
                    indent=1,
                    sort_keys=True,
                ),
                encoding="utf-8",
            )
            part.replace(self._path)

    def _read(self) -> dict[str, Seen]:
        try:
            value: Any = json.loads(self._path.read_bytes())
            return {
                str(key): {
                    str(name): {str(field): str(one) for field, one in fields.items()}
                    for name, fields in seen.items()
                }
                for key, seen in value["listings"].items()
            }
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            logger.warning(
                "%s cannot be read, so no tool listing is trusted: %s", self._path, error
            )
            return {}


def upstream_key(command: Sequence[str]) -> str:
    """What an upstream is remembered under. A hash, because commands and URLs may hold secrets.

    Paths are taken as absolute, so that `python server.py` in two folders are two servers.
    """
    words = [os.path.abspath(word) if os.path.exists(word) else word for word in command]
    return _hash(words)


def _fields(tool: Mapping[str, Any]) -> dict[str, str]:
    return {key: _hash(value) for key, value in tool.items() if key != "name"}


def _hash(value: object) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:32]


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(map(repr, names[:SHOWN_NAMES])) + more


@contextmanager
def _lock(path: Path) -> Generator[None]:
    """Alone among processes, where the system has such locks."""
    with path.open("wb") as file:
        with contextlib.suppress(ImportError):
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield
