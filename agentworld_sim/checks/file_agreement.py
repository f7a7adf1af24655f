"""What file tools say agrees with the files: those of the world's tree, and what earlier turns wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any, Literal, cast

from agentworld_sim.checks.file_calls import (
    FILTER_ARGUMENTS,
    RANGE_ARGUMENTS,
    absolute_paths,
    act_of,
    clean_path,
    content_at,
    content_of,
    path_of,
    replacement_of,
    unusual_arguments,
)
from agentworld_sim.checks.file_text import disagreement
from agentworld_sim.ports.steps import CheckInput
from agentworld_sim.regex import lazy_compile
from agentworld_sim.types.files import parent_of
from agentworld_sim.types.turns import Observation, Turn

_RENDERED = (".ipynb", ".pdf", ".docx", ".xlsx")
"""Shown in another form than they are kept in."""

_PASSED_OVER = (
    *("node_modules", "__pycache__", "venv", "dist", "build", "target", "lost+found"),
    *("*.pyc", "*.egg-info", "*.log", "*.tmp"),
)
_NAME = lazy_compile(r"[^\s\"'`,|/\\()\[\]{}<>*:;=│├└─]+")
_MARKED = lazy_compile(r"\[(DIR|FILE)\][ \t]+([^\n]+)")
_SHORTENED = lazy_compile(r"truncat|omitted|\bmore\b|not shown|\.\.\.|…|\blimit", re.IGNORECASE)
_MOST_CHILDREN = 500
_MOST_STRINGS = 3


class FileAgreementCheck:
    """What a file tool says agrees with the files, as far as they are known.

    A file is known from the world's tree, or from an earlier call that wrote, edited or deleted it. A
    tool that reads must then show its content exactly (line numbers, an envelope, a part that was asked
    for and marked cuts aside), and must not deny a file that is there or show one that was deleted. A
    tool that lists must name every known child that is not hidden, usually ignored or filtered out, and
    no deleted one. Tools are recognised by words in their names and by their arguments; where these do
    not decide, or anything may have changed the files in between, the observation is accepted.
    """

    name = "state-agreement"
    scope: Literal["imagined"] = "imagined"

    def judge(self, given: CheckInput) -> str | None:
        act, path = act_of(given.call), path_of(given.call.arguments)
        if path is None or act not in ("read", "list"):
            return None
        known = KnownFiles(given)
        return (_read if act == "read" else _listing)(given, known, path)


def _read(given: CheckInput, known: KnownFiles, path: str) -> str | None:
    text = given.observation.text
    failed = given.observation.is_error or tells_failure(text)
    if known.is_gone(path):
        return None if failed else f"{path} was deleted, and nothing has created it since"
    data = known.content(path)
    if data is None or path.endswith(_RENDERED):
        return None
    try:
        content = data.decode()
    except UnicodeDecodeError:
        return None
    if "\0" in content:
        return None
    arguments = given.call.arguments
    part = any(arguments.get(name) is not None for name in RANGE_ARGUMENTS)
    problem = None
    for shown in _texts(given.observation):
        problem = disagreement(shown, content, part=part)
        if problem is None:
            return None
    if failed:
        return f"{path} exists" if tells_absence(text) else None
    return f"{path} holds other content: {problem}. A file that was written is read back exactly"


def _texts(observation: Observation) -> Iterator[str]:
    """The text, the longest strings of the structured content, and all its strings as lines."""
    yield observation.text
    content: Any = observation.structured
    if content is None and observation.text.lstrip()[:1] in ("{", "["):
        try:
            content = json.loads(observation.text)
        except (ValueError, RecursionError):
            return
    found: list[str] = []
    pending: list[Any] = [content]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            pending += reversed(cast("dict[str, Any]", value).values())
        elif isinstance(value, list):
            pending += reversed(cast("list[Any]", value))
    if len(found) > 1:
        yield "\n".join(found)
    yield from sorted(found, key=len)[-_MOST_STRINGS:]


def _listing(given: CheckInput, known: KnownFiles, path: str) -> str | None:
    observation = given.observation
    text = observation.text
    if observation.structured is not None:
        text += json.dumps(observation.structured, ensure_ascii=False)
    children = known.children(path)
    if tells_absence(text):
        entry = given.before.files.get(path)
        there = entry is not None and entry.kind == "directory" and children
        return f"{path} exists and is a directory" if there else None
    if observation.is_error or not path.startswith("/"):
        return None
    names = _names(text)
    for name in known.deleted_children(path):
        if name in names and name not in children:
            return f"{name!r} was deleted from {path}, and nothing has created it since"
    for kind, name in _MARKED.findall(text):
        held = children.get(name.strip())
        if held is not None and (kind == "DIR") != (held == "directory") and held != "symlink":
            return f"{name.strip()!r} in {path} is a {held}"
    missing = [] if _is_filtered(given, text) else _missing(given, children, path, names, text)
    if not missing:
        return None
    more = f" and {len(missing) - 5:,} more" if len(missing) > 5 else ""
    return f"{path} also contains {', '.join(map(repr, missing[:5]))}{more}"


def _is_filtered(given: CheckInput, text: str) -> bool:
    """Whether something that is there may rightly be left out."""
    arguments = given.call.arguments
    return (
        any(arguments.get(name) for name in FILTER_ARGUMENTS)
        or unusual_arguments(given.call, FILTER_ARGUMENTS)
        or (tells_failure(text) and text.count("\n") < 3)
        or _SHORTENED.search(f"{text[:500]}\n{text[-500:]}") is not None
    )


def _names(text: str) -> set[str]:
    """Everything in a text that may be a name."""
    found: set[str] = set()
    for name in _NAME.findall(text):
        found.add(name)
        found.add(name.rstrip(".@!?"))
    return found


def _missing(
    given: CheckInput, children: dict[str, str], path: str, names: set[str], text: str
) -> list[str]:
    if len(children) > _MOST_CHILDREN:
        return []
    ignored = (*_PASSED_OVER, *_git_ignored(given, path))
    return [
        name
        for name in children
        if not name.startswith(".")
        and name not in names
        # Names with spaces and the like are no single words.
        and (_NAME.fullmatch(name) is not None or name not in text)
        and not any(fnmatch(name, pattern) for pattern in ignored)
    ]


def _git_ignored(given: CheckInput, path: str) -> Iterator[str]:
    """The last parts of the patterns in the `.gitignore` files that hold for a directory."""
    known = KnownFiles(given)
    above = path
    while True:
        data = known.content(f"{above.rstrip('/')}/.gitignore") or b""
        for line in data.decode("utf-8", "replace").splitlines():
            yield line.strip().rstrip("/").rpartition("/")[2]
        if above in ("/", ""):
            return
        above = above.rpartition("/")[0] or "/"


Fact = bytes | Literal["gone", "tree", "unsure"]

_FAILURE = lazy_compile(
    r"\b(?:error|errno|exception|failed|failure|cannot|can't|could not|unable|denied|invalid|refused"
    r"|not found|no such|does not exist|doesn't exist|not permitted|missing|has been deleted)\b",
    re.IGNORECASE,
)
_ABSENCE = lazy_compile(
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

    def deleted_children(self, directory: str) -> list[str]:
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
            for named in (path, *map(clean_path, absolute_paths(turn.call))):
                if named is not None:
                    self._facts[named] = "unsure"
        elif act == "delete":
            self._forget_below(path)
            self._facts[path] = "gone"
        elif act == "write":
            self._facts[path] = (content_of(turn.call) or "").encode("utf-8", "surrogatepass")
        else:
            self._facts[path] = self._content_after_edit(turn, path)

    def _forget_below(self, path: str) -> None:
        for other in [one for one in self._facts if one.startswith(path.rstrip("/") + "/")]:
            del self._facts[other]

    def _content_after_edit(self, turn: Turn, path: str) -> Fact:
        before, change = self.content(path), replacement_of(turn.call)
        if before is None or change is None:
            return "unsure"
        old, new = (text.encode("utf-8", "surrogatepass") for text in change[:2])
        count = before.count(old)
        if count == 1 or (count and change[2]):
            return before.replace(old, new)
        return "unsure"
