"""The file of a cassette: read with errors that name the line, written whole or appended to by whole answers."""

from __future__ import annotations

import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import yaml

from agentworld_sim.cassette._recorded_answers import Answers, Entry, Key, MalformedEntry
from agentworld_sim.cassette._yaml import Block, dump, loader
from agentworld_sim.errors import UsageError
from agentworld_sim.redaction.records import Redaction
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.refs import hash_ref
from agentworld_sim.types.state import StateChange
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Action, Observation, Trajectory, Turn
from agentworld_sim.whole_file import write_file

T = TypeVar("T")

logger = logging.getLogger(__name__)

FORMAT = 2
"""Version of the format, in the file."""

MARK = "agentworld_cassette"
"""The key that says that a file is one of these."""

HEADER = """\
# Written by agentworld-sim: what could not be computed, answered by a language world model (`tool`,
# `command`) or by a real tool (`real`). Everything else is computed again each time. To record it anew,
# delete this file, or run its test with --sim-mode=live. May be edited by hand.
"""

_KEYS = (MARK, "model", "tools", "volatile", "answers", "computed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cassette:
    """Recorded answers, without secrets."""

    model: bool = False
    """Whether there was a model when it was recorded: without one, worlds compute otherwise."""
    tools: tuple[ToolSpec, ...] = ()
    """The tools as they were, where a server's calls were recorded."""
    volatile: tuple[str, ...] = ()
    """Fields whose values differ each time, as `tool.path`: `*.created_at`, `get_time.now`."""
    entries: tuple[Entry, ...] = ()
    computed: tuple[str, ...] = ()
    """A line for each computed answer; see `ComputedAnswer`."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """
        Raises:
            UsageError: it cannot be read, is no cassette, or of another version; the line is named.
        """
        with _readable_errors(path, "read"):
            return cls.parse(path, path.read_bytes())

    @classmethod
    def find(cls, path: Path) -> Self | None:
        """As `load`; `None` when there is no file."""
        try:
            return cls.load(path)
        except UsageError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    @classmethod
    def parse(cls, path: Path, data: bytes) -> Self:
        """What stands in the bytes of a file. Raises `UsageError` as `load`."""
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise _format_error(path, line, "it is not UTF-8") from None
        if "\ntools:" in text and not text.endswith("\n"):
            # Appended to answer by answer, by a process that was ended meanwhile.
            logger.warning("the last answer in %s is torn and left out", path)
            text = _without_torn(text)
        document = _parse_yaml(path, text)
        if (version := document.get(MARK)) != FORMAT:
            if version is None:
                raise UsageError(
                    f"{str(path)!r} is no cassette of this library: it has no key `{MARK}` (line 1). If"
                    " another recorder wrote it, let one of the two use other folders"
                    " (`sim_cassettes` in pytest's ini file); otherwise delete it and record it again."
                )
            raise UsageError(
                f"the cassette {str(path)!r} has format {version!r} (line {_line(text, MARK)}), and"
                f" this version reads {FORMAT}. Record it again, or use the version that wrote it."
            )
        unknown = next((key for key in document if key not in _KEYS), None)
        if unknown is not None:
            raise _format_error(path, _line(text, unknown), f"there is no key {unknown!r}")
        if not isinstance(document.get("model"), bool):
            raise _format_error(path, _line(text, "model"), "`model` is true or false")

        def items(key: str, read: Callable[[Any], T]) -> tuple[T, ...]:
            return tuple(_items(path, text, document, key, read))

        return cls(
            model=document["model"],
            tools=items("tools", _tool),
            volatile=items("volatile", str),
            entries=tuple(_number_repeats(items("answers", Entry.from_json))),
            computed=items("computed", _computed_line),
        )

    def text(self, *, all_before: bool = False) -> str:
        """The file's text. `all_before` keeps what came before each answer, also where nothing has to be told apart:
        for a file that another process may add to."""
        answers = Answers(self.entries)
        document: dict[str, Any] = {MARK: FORMAT, "model": self.model}
        if self.tools or self.volatile:
            document["tools"] = [tool.to_json() for tool in self.tools]
            document["volatile"] = list(self.volatile)
        if self.entries:
            document["answers"] = [
                one.to_json(with_before=all_before or not answers.is_only(one))
                for one in self.entries
            ]
        if self.computed:
            document["computed"] = Block(self.computed)
        return HEADER + dump(document)

    @property
    def trajectory(self) -> Trajectory:
        """The calls of real tools, as turns."""
        parent = hash_ref("cassette", [tool.to_json() for tool in self.tools])
        turns: list[Turn] = []
        for one in self.entries:
            if one.key.kind != "real":
                continue
            call = ToolCall(one.key.name, one.key.about)
            turn = Turn(
                parent=parent,
                call=call,
                action=Action(canonical_json({"name": call.name, "arguments": call.arguments})),
                observation=Observation.from_json({**one.answer, "provenance": "real"}),
                change=StateChange(clock_us=0),
            )
            parent = turn.ref
            turns.append(turn)
        return Trajectory(tuple(turns))


class Recorder:
    """Appends real calls and their answers to a cassette, one whole answer at a time: for servers, which
    several processes may record into one file, and which may be ended at any time."""

    def __init__(
        self,
        path: Path,
        *,
        tools: Sequence[ToolSpec],
        volatile: Sequence[str] = (),
        secrets: Iterable[str] = (),
    ):
        """
        Args:
            path: The file. One that is there is continued.
            tools: The tools as they are.
            volatile: Fields whose values differ each time.
            secrets: Values that must not be in the file, whatever they look like.

        Raises:
            UsageError: it cannot be written, or is no cassette.
        """
        self._path = path
        self._secrets = tuple(secrets)
        self._lock = threading.Lock()
        redaction = Redaction(self._secrets)
        header = {
            MARK: FORMAT,
            "model": False,
            "tools": redaction.value([tool.to_json() for tool in tools]),
            "volatile": list(volatile),
        }
        with writing(path):
            self._begin(f"{HEADER}{dump(header)}answers:\n")

    def add(self, call: ToolCall, observation: Observation) -> None:
        """Records one call, redacted. Safe to call from several tasks and threads."""
        redaction = Redaction(self._secrets)
        arguments = cast("Mapping[str, Any]", redaction.value(call.arguments))
        answer = cast("dict[str, Any]", redaction.value(observation.to_json()))
        del answer["provenance"]
        text = dump([Entry(Key("real", call.name, arguments), answer).to_json()])
        with self._lock:
            self._append(text.encode())

    def _begin(self, header: str) -> None:
        # What real servers said is not for other users of the host.
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "rb+") as file:
            data = file.read()
            if not data:
                file.write(header.encode())
                return
        cassette = Cassette.parse(self._path, data)
        if cassette.computed or b"\nanswers:" not in data:
            raise UsageError(
                f"the cassette {str(self._path)!r} is a test's: calls of a server need one of their own."
            )
        if not data.endswith(b"\n"):
            write_file(self._path, _without_torn(data.decode()))

    def _append(self, data: bytes) -> None:
        # One write: what other processes append stands before or after it.
        with self._path.open("ab", buffering=len(data) + 1) as file:
            file.write(data)


def is_cassette(path: Path) -> bool:
    """Whether a file says of itself that it is one of these."""
    try:
        with path.open("rb") as file:
            return f"\n{MARK}:".encode() in b"\n" + file.read(4_096)
    except OSError:
        return False


def trim(path: Path, unused: Collection[str]) -> int:
    """Takes answers out of a file.

    Args:
        unused: The answers, as a `CassetteReport` calls them.

    Returns:
        How many there were.

    Raises:
        UsageError: it is no cassette, or cannot be written.
    """
    with writing(path):
        cassette = Cassette.find(path)
        if cassette is None:
            return 0
        kept = tuple(one for one in cassette.entries if one.describe() not in unused)
        shared = any(one.before is not None for one in cassette.entries)
        write_file(path, replace(cassette, entries=kept).text(all_before=shared))
        return len(cassette.entries) - len(kept)


@contextmanager
def writing(path: Path) -> Generator[None]:
    """While it lasts, no other process that asks for it writes cassettes of the same folder."""
    try:
        import fcntl
    except ImportError:
        # Windows: the last one wins.
        yield
        return
    with _readable_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # The folder itself: a file for locking would stay in the user's repository.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


@contextmanager
def _readable_errors(path: Path, what: str = "written") -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"the cassette {str(path)!r} cannot be {what}: {error.strerror}."
        ) from error


def _parse_yaml(path: Path, text: str) -> Mapping[str, Any]:
    try:
        document: object = yaml.load(text, loader())
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise _format_error(
            path, line, f"it is no YAML: {error.problem or error.context}"
        ) from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise _format_error(path, 1, f"it is no YAML: {error}") from None
    if not isinstance(document, Mapping):
        raise _format_error(path, 1, "it is no mapping")
    return cast("Mapping[str, Any]", document)


def _items(
    path: Path, text: str, document: Mapping[str, Any], key: str, read: Callable[[Any], T]
) -> Iterator[T]:
    values: Any = document.get(key) or []
    if not isinstance(values, list):
        raise _format_error(path, _line(text, key), f"`{key}` is a list")
    for number, value in enumerate(cast("list[Any]", values)):
        try:
            yield read(value)
        except MalformedEntry as error:
            raise _format_error(path, _line(text, key, number), str(error)) from None


def _number_repeats(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Equal real calls that were appended one after another are told apart by their order."""
    seen: Counter[str] = Counter()
    for one in entries:
        if one.key.kind == "real" and not one.key.occurrence:
            text = one.key.text
            if seen[text]:
                one.key = replace(one.key, occurrence=seen[text])
            seen[text] += 1
        yield one


def _tool(value: Any) -> ToolSpec:
    try:
        return ToolSpec.from_json(value)
    except (KeyError, TypeError, AttributeError) as error:
        raise MalformedEntry(f"this is no tool ({error})") from None


def _computed_line(value: Any) -> str:
    if not isinstance(value, str) or value.count(" ") < 2:
        raise MalformedEntry(
            "a computed answer is a tool's name and two digests, divided by spaces"
        )
    return value


def _line(text: str, key: str, number: int | None = None) -> int:
    """The line of a key, or of an item below it. Slow: only for errors."""
    top: Any = cast("Any", yaml).compose(text, loader())
    for name, value in top.value:
        if name.value == key:
            place = name if number is None else value.value[number]
            return int(place.start_mark.line) + 1
    return 1


def _without_torn(text: str) -> str:
    """Without the last answer: what is above it ends with its line."""
    return text[: text.rfind("\n- ") + 1]


def _format_error(path: Path, line: int, reason: str) -> UsageError:
    return UsageError(
        f"{str(path)!r} is no cassette of this library: {reason.rstrip('.')} (line {line}). Mend it, or"
        " delete it and record it again."
    )
