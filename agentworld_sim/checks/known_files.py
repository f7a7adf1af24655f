"""What is known of the files when a call is made: the world's tree, and what earlier turns wrote."""

from __future__ import annotations

import re
from typing import Literal

from agentworld_sim.checks._file_tools import (
    act_of,
    content_of,
    named_paths,
    replacement_of,
)
from agentworld_sim.checks.paths import clean_path, content_at, path_of
from agentworld_sim.ports.checks import CheckInput
from agentworld_sim.types.files import parent_of
from agentworld_sim.types.turns import Turn

Fact = bytes | Literal["gone", "tree", "unsure"]

_FAILURE = re.compile(
    r"\b(?:error|errno|exception|failed|failure|cannot|can't|could not|unable|denied|invalid|refused"
    r"|not found|no such|does not exist|doesn't exist|not permitted|missing|has been deleted)\b",
    re.IGNORECASE,
)
_ABSENCE = re.compile(
    r"\b(?:not found|no such file|no such directory|does not exist|doesn't exist|enoent)\b",
    re.IGNORECASE,
)
_HEAD_CHARS = 400


def tells_failure(text: str) -> bool:
    """Whether a short text reads like an error."""
    return len(text) < 4 * _HEAD_CHARS and _FAILURE.search(text[:_HEAD_CHARS]) is not None


def tells_absence(text: str) -> bool:
    """Whether a short text says that there is no such file or directory."""
    return len(text) < _HEAD_CHARS and _ABSENCE.search(text) is not None


class KnownFiles:
    """Facts about files. Where nothing is sure, nothing is known."""

    def __init__(self, given: CheckInput) -> None:
        self._given = given
        self._facts: dict[str, Fact] = {}
        self._default: Fact = "tree"
        for turn in given.history:
            self._follow(turn)

    def content(self, path: str) -> bytes | None:
        """What the file holds; `None` when it is not known or there is none."""
        fact = self._fact(path)
        if isinstance(fact, bytes):
            return fact
        if fact != "tree" or not path.startswith("/"):
            return None
        return content_at(self._given.before, self._given.blobs, path)

    def is_gone(self, path: str) -> bool:
        """Whether an earlier turn removed it."""
        return self._fact(path) == "gone"

    def children(self, directory: str) -> dict[str, str]:
        """Names and kinds of what is sure to be in a directory."""
        prefix = directory.rstrip("/") + "/"
        found: dict[str, str] = {}
        for path, entry in self._given.before.files.items():
            name = path[len(prefix) :]
            if path.startswith(prefix) and name and "/" not in name and self._fact(path) == "tree":
                found[name] = entry.kind
        for path, fact in self._facts.items():
            name = path[len(prefix) :]
            if isinstance(fact, bytes) and path.startswith(prefix) and "/" not in name:
                found[name] = "file"
        return found

    def gone_children(self, directory: str) -> list[str]:
        """Names of what was removed from a directory."""
        return [
            path.rpartition("/")[2]
            for path, fact in self._facts.items()
            if fact == "gone" and path.startswith("/") and parent_of(path) == directory
        ]

    def _fact(self, path: str) -> Fact:
        fact = self._facts.get(path)
        above = path
        while fact is None and above not in ("/", ".", ""):
            above = parent_of(above) if above.startswith("/") else above.rpartition("/")[0]
            if self._facts.get(above) in ("gone", "unsure"):
                return self._facts[above]
        return self._default if fact is None else fact

    def _follow(self, turn: Turn) -> None:
        files = self._given.before.files
        changed = turn.change.files
        for path, entry in changed.items():
            self._facts[path] = "gone" if entry is None and path not in files else "tree"
        said = turn.observation
        if changed or said.is_error or said.provenance in ("computed", "enforced"):
            # The tree has it all.
            return
        act, path = act_of(turn.call), path_of(turn.call.arguments)
        if act in ("read", "list", "look", "elsewhere"):
            return
        if act == "anything":
            self._facts, self._default = {}, "unsure"
        elif act == "touch" or path is None or tells_failure(said.text):
            for named in (path, *map(clean_path, named_paths(turn.call))):
                if named is not None:
                    self._facts[named] = "unsure"
        elif act == "delete":
            self._forget_below(path)
            self._facts[path] = "gone"
        elif act == "write":
            self._facts[path] = (content_of(turn.call) or "").encode("utf-8", "surrogatepass")
        else:
            self._facts[path] = self._edited(turn, path)

    def _forget_below(self, path: str) -> None:
        for other in [one for one in self._facts if one.startswith(path.rstrip("/") + "/")]:
            del self._facts[other]

    def _edited(self, turn: Turn, path: str) -> Fact:
        before, change = self.content(path), replacement_of(turn.call)
        if before is None or change is None:
            return "unsure"
        old, new = (text.encode("utf-8", "surrogatepass") for text in change[:2])
        count = before.count(old)
        if count == 1 or (count and change[2]):
            return before.replace(old, new)
        return "unsure"
