"""Recorded answers: what each is found by, how it stands in a file, and what is said of a miss."""

from __future__ import annotations

import re
import shlex
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, cast

from agentworld_sim.cassette._yaml import Inline
from agentworld_sim.errors import WorldFailure
from agentworld_sim.redaction.records import MARK
from agentworld_sim.types.json import canonical_json

Kind = Literal["tool", "command", "real"]

Place = tuple[int, int]
"""How many turns came before, and how many questions in the same turn; for the order in the file."""

SHOWN = 3
"""Recorded calls that the message of a miss shows."""

SHOWN_DIFFERENCES = 4

_LETTERS = str.maketrans("0123456789abcdef", "zyxwvutsrqponmlk")

_PARTS = {
    "files": "the world's files",
    "values": "the world's records",
    "env": "exported variables, user or host",
    "seed": "the seed that a fork was given",
    "before": "what was imagined earlier",
}


class MalformedEntry(ValueError):
    """What a file holds is not of the form."""


class CassetteMiss(WorldFailure):
    """A call was not recorded, or not so often. Nobody knows what the answer would have been."""


def short_digest(value: object, letters: int = 12) -> str:
    """A digest of a JSON value. Letters alone: YAML takes digits for numbers."""
    data = canonical_json(value).encode()
    return blake2b(data, digest_size=20).hexdigest()[:letters].translate(_LETTERS)


@dataclass(frozen=True, slots=True)
class Key:
    """What a question is, without what came before it and without what was secret in it."""

    kind: Kind
    name: str
    """The tool, or the command's first word."""
    about: Mapping[str, Any]
    """The arguments; of a command `argv`, `cwd` and `stdin`."""
    occurrence: int = 0
    """How many equal ones came before."""
    state: Mapping[str, str] = field(default_factory=dict[str, str])
    """Digests of what the answer may depend on, by part."""
    text: str = field(init=False)
    """The whole, for comparing."""

    def __post_init__(self) -> None:
        whole = [self.kind, self.name, self.about, self.occurrence, self.state]
        object.__setattr__(self, "text", canonical_json(whole))

    def describe(self) -> str:
        """In one line, for people."""
        if self.kind == "command":
            line = f"$ {shlex.join(self.about['argv'])}"
        else:
            line = f"{self.name}({canonical_json(self.about)})"
        line = line if len(line) <= 90 else f"{line[:70]} … {line[-15:]}"
        times = f", time {self.occurrence + 1}" if self.occurrence else ""
        return f"{line}{times}".replace("\n", "⏎")


@dataclass(slots=True)
class Entry:
    """A recorded answer."""

    key: Key
    answer: Mapping[str, Any]
    before: str | None = None
    """Digest of what was imagined earlier; `None` in a file where nothing else has this key."""
    place: Place = (0, 0)

    @property
    def identity(self) -> tuple[str, str]:
        """Tells it from all others of a cassette."""
        return self.key.text, self.before or ""

    def describe(self) -> str:
        """In one line, with a digest that tells it from others."""
        return f"{self.key.describe()} [{short_digest([*self.identity], 6)}]"

    def to_json(self, *, with_before: bool = False) -> dict[str, Any]:
        """As it stands in a file."""
        key = self.key
        value: dict[str, Any]
        if key.kind == "command":
            value = {"command": key.about["argv"], "cwd": key.about["cwd"]}
            if "stdin" in key.about:
                value["stdin"] = key.about["stdin"]
        else:
            value = {key.kind: key.name, "arguments": key.about}
        if key.occurrence:
            value["occurrence"] = key.occurrence + 1
        state = Inline(key.state)
        if with_before and self.before:
            state["before"] = self.before
        if state:
            value["state"] = state
        value["answer"] = self.answer
        return value

    @classmethod
    def from_json(cls, value: Any) -> Entry:
        """Raises `MalformedEntry` when it is none, with the reason."""
        if not isinstance(value, Mapping):
            raise MalformedEntry("an answer is a mapping")
        fields = cast("Mapping[str, Any]", value)
        kinds = [kind for kind in ("tool", "command", "real") if kind in fields]
        if len(kinds) != 1:
            raise MalformedEntry("an answer has one of the keys `tool`, `command` and `real`")
        kind = cast("Kind", kinds[0])
        own = ("cwd", "stdin") if kind == "command" else ("arguments",)
        unknown = fields.keys() - {kind, "occurrence", "state", "answer", *own}
        if unknown:
            raise MalformedEntry(f"an answer has no key {min(unknown)!r}")
        occurrence = fields.get("occurrence", 1)
        if not isinstance(occurrence, int) or isinstance(occurrence, bool) or occurrence < 1:
            raise MalformedEntry("`occurrence` is a number from 1 on")
        state = dict(_mapping(fields.get("state", {}), "state"))
        if not all(isinstance(one, str) for one in state.values()):
            raise MalformedEntry("`state` holds texts")
        before: str | None = state.pop("before", None)
        if kind == "command":
            name, about = _command(fields)
        else:
            name, about = fields[kind], _mapping(fields.get("arguments", {}), "arguments")
            if not isinstance(name, str):
                raise MalformedEntry(f"`{kind}` is a tool's name")
        answer = _mapping(fields.get("answer"), "answer")
        _check_answer(kind, answer)
        return cls(Key(kind, name, about, occurrence - 1, state), answer, before)


class Answers:
    """Answers to be found by what was asked. Safe to use from several threads."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._lock = threading.Lock()
        self._by_key: dict[str, list[Entry]] = {}
        self._by_name: dict[tuple[Kind, str], list[Entry]] = {}
        for entry in entries:
            self._add(entry)

    def __iter__(self) -> Iterator[Entry]:
        with self._lock:
            return iter([one for entries in self._by_key.values() for one in entries])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def exactly(self, key: Key, before: str) -> Entry | None:
        """The one that was recorded after the very same."""
        with self._lock:
            return self._exactly(key, before)

    def find(self, key: Key, before: Callable[[], str] = str) -> Entry | None:
        """The answer to a question. What came before it counts only where it tells two answers apart."""
        with self._lock:
            found = self._by_key.get(key.text) or [
                one
                for one in self._by_name.get((key.kind, key.name), ())
                if one.key.occurrence == key.occurrence
                and one.key.state == key.state
                and same(one.key.about, key.about)
            ]
        if len(found) < 2:
            return found[0] if found else None
        wanted = before()
        return next((one for one in found if one.before in (wanted, None)), None)

    def put(self, entry: Entry) -> Entry:
        """Keeps an answer, unless there is one to the same question; gives the one that is kept."""
        with self._lock:
            held = self._exactly(entry.key, entry.before or "")
            if held is None:
                self._add(entry)
            return held or entry

    def is_only(self, entry: Entry) -> bool:
        """Whether no other answer has the same key."""
        with self._lock:
            return len(self._by_key.get(entry.key.text, ())) < 2

    def _exactly(self, key: Key, before: str) -> Entry | None:
        held = self._by_key.get(key.text, ())
        return next((one for one in held if (one.before or "") == before), None)

    def _add(self, entry: Entry) -> None:
        self._by_key.setdefault(entry.key.text, []).append(entry)
        self._by_name.setdefault((entry.key.kind, entry.key.name), []).append(entry)


def in_order(
    known: Iterable[Entry], new: Iterable[Entry], kept: Iterable[Entry] = ()
) -> list[Entry]:
    """The new ones in the order of their places, and what is kept of the file; what it has already stays in its
    order, so that a difference shows what is different."""
    ranks = {one.identity: rank for rank, one in enumerate(known)}
    ordered: list[tuple[int, int, Entry]] = []
    at = -1
    for one in sorted(new, key=lambda one: (one.place, *one.identity)):
        rank = ranks.get(one.identity, ranks.get((one.key.text, "")))
        if rank is not None:
            at = rank
        # What is new stands behind what came before it.
        ordered.append((at, 0 if rank is not None else len(ordered) + 1, one))
    ordered += [(ranks[one.identity], 0, one) for one in kept]
    return [one for *_, one in sorted(ordered, key=lambda one: one[:2])]


def miss(path: Path, key: Key, recorded: Iterable[Entry] | None, why: str) -> CassetteMiss:
    """The error for a question without an answer, and why nobody is asked instead. `recorded` is `None` when there
    is no file."""
    where, asked = str(path), key.describe()
    if recorded is None:
        return CassetteMiss(f"{asked} was not recorded: there is no cassette {where!r}, and {why}.")
    known = list(recorded)
    alike = [one for one in known if (one.key.kind, one.key.name) == (key.kind, key.name)]
    lines = [f"{asked} was not recorded in {where!r}."]
    if alike:
        ranked = sorted(
            ((list(_key_differences(one.key, key)), one) for one in alike),
            key=lambda found: len(found[0]),
        )
        lines.append(f"Nearest of {len(alike)} recorded:" if len(alike) > 1 else "Recorded is:")
        for found, one in ranked[:SHOWN]:
            shown = "; ".join(found[:SHOWN_DIFFERENCES]) or "what was redacted"
            more = f"; and {len(found) - SHOWN_DIFFERENCES} more" * (len(found) > SHOWN_DIFFERENCES)
            lines += [f"  {one.key.describe()}", f"    differs in {shown}{more}"]
    else:
        names = sorted({one.key.name for one in known})
        lines.append(f"Recorded were calls of: {', '.join(names) or 'none'}.")
    lines.append(f"Nobody else is asked: {why}.")
    return CassetteMiss("\n".join(lines))


def same(recorded: object, given: object) -> bool:
    """Whether two JSON values are equal, where what was redacted in one equals any text."""
    return next(_differences(recorded, given), None) is None


def without_volatile(path: str, value: Any, volatile: Sequence[str]) -> Any:
    """A JSON value without the fields whose values differ each time: patterns of `tool.path`, of which the places
    in lists are no part."""
    if volatile and isinstance(value, Mapping):
        return {
            key: without_volatile(f"{path}.{key}", one, volatile)
            for key, one in cast("Mapping[str, object]", value).items()
            if not any(fnmatchcase(f"{path}.{key}", pattern) for pattern in volatile)
        }
    if volatile and isinstance(value, list):
        return [without_volatile(path, one, volatile) for one in cast("list[object]", value)]
    return value


def _differences(recorded: object, given: object, path: str = "") -> Iterator[str]:
    """What differs between two JSON values, each as `path: recorded X, now Y`."""
    if isinstance(recorded, Mapping) and isinstance(given, Mapping):
        before = cast("Mapping[str, object]", recorded)
        after = cast("Mapping[str, object]", given)
        for key in dict.fromkeys([*before, *after]):
            where = f"{path}.{key}" if path else key
            if key not in after:
                yield f"{where}: recorded {_shorten(before[key])}, not given now"
            elif key not in before:
                yield f"{where}: not recorded, now {_shorten(after[key])}"
            else:
                yield from _differences(before[key], after[key], where)
        return
    if isinstance(recorded, list) and isinstance(given, list):
        ones, others = cast("list[object]", recorded), cast("list[object]", given)
        if len(ones) == len(others):
            for number, (one, other) in enumerate(zip(ones, others, strict=True)):
                yield from _differences(one, other, f"{path}[{number}]")
            return
    was, now = cast("object", recorded), cast("object", given)
    # 1, 1.0 and true are three values.
    if canonical_json(was) != canonical_json(now) and not _is_redacted(was, now):
        yield f"{path or 'arguments'}: recorded {_shorten(was)}, now {_shorten(now)}"


def _is_redacted(recorded: object, given: object) -> bool:
    """Whether a text was recorded as another one with marks in place of its secrets."""
    if not (isinstance(recorded, str) and isinstance(given, str) and MARK.search(recorded)):
        return False
    parts = [re.escape(part) for part in MARK.split(recorded)]
    return re.fullmatch(".+".join(parts), given, re.DOTALL) is not None


def _key_differences(recorded: Key, asked: Key) -> Iterator[str]:
    yield from _differences(recorded.about, asked.about)
    if recorded.occurrence != asked.occurrence:
        yield (
            f"how often: recorded for time {recorded.occurrence + 1}, now time"
            f" {asked.occurrence + 1}"
        )
    for part in dict.fromkeys([*recorded.state, *asked.state]):
        before, now = recorded.state.get(part, "none"), asked.state.get(part, "none")
        if before != now:
            yield f"{_PARTS.get(part, part)} (recorded {before}, now {now})"
    if recorded.text == asked.text:
        yield f"{_PARTS['before']} (there are several answers, for other pasts)"


def _shorten(value: object) -> str:
    text = canonical_json(value)
    return text if len(text) <= 60 else f"{text[:40]} … {text[-12:]}"


def _command(value: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    argv: Any = value["command"]
    words = cast("list[Any]", argv) if isinstance(argv, list) else []
    if not words or not all(isinstance(word, str) for word in words):
        raise MalformedEntry("`command` is a list of words")
    if not isinstance(value.get("cwd"), str):
        raise MalformedEntry("`cwd` is a path")
    about = {"argv": words, "cwd": value["cwd"]}
    if "stdin" in value:
        about["stdin"] = value["stdin"]
    return words[0], about


def _check_answer(kind: Kind, answer: Mapping[str, Any]) -> None:
    forms: Mapping[str, type] = (
        {"stdout": str, "stderr": str, "exit_code": int, "operations": list}
        if kind == "command"
        else {"text": str, "content": list, "is_error": bool, "changes": dict, "structured": object}
    )
    for key, one in answer.items():
        if key not in forms:
            raise MalformedEntry(f"the answer of a `{kind}` has no key {key!r}")
        if not isinstance(one, forms[key]):
            raise MalformedEntry(f"`{key}` in the answer cannot be a {type(one).__name__}")
    if kind != "command" and "text" not in answer:
        raise MalformedEntry("the answer has no `text`")


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise MalformedEntry(f"`{name}` is missing, or is no mapping")
    return cast("Mapping[str, Any]", value)
