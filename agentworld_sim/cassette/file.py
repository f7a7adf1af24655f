"""The file of a cassette: read with errors that name the line, written whole or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from agentworld_sim.cassette._computed import ComputedTurn
from agentworld_sim.cassette._entries import Answers, Entry, Malformed
from agentworld_sim.cassette._yaml import inline, item_lines, loader, mapping_lines
from agentworld_sim.errors import UsageError

FORMAT = 1
"""Version of the format, in the file."""

MARK = "agentworld_tape"
"""The key that says that a file is one of these."""

HEADER = """\
# Written by agentworld-sim: what a test's world could not compute, answered by a language world model
# (`tool`, `command`) or by a real tool (`real`). Everything else is computed again each time.
# Record it anew: run its test with --sim-mode=live, or delete this file. May be edited by hand.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TapeFile:
    """What stands in a cassette."""

    model: bool
    """Whether there was a model when it was recorded: without one, worlds compute otherwise."""
    entries: tuple[Entry, ...] = ()
    computed: tuple[ComputedTurn, ...] = ()

    def text(self, *, all_before: bool = False) -> str:
        """The file's text.

        Args:
            all_before: Keep what came before each answer, also where nothing has to be told apart: for
                a file that another process may add to.
        """
        answers = Answers(self.entries)
        lines = [*mapping_lines({MARK: FORMAT, "model": self.model})]
        if self.entries:
            lines.append("answers:")
            for entry in self.entries:
                with_before = all_before or not answers.alone(entry)
                lines += item_lines(entry.to_json(with_before=with_before))
        if self.computed:
            lines.append("computed:")
            lines += (f"- {inline(one.line())}" for one in self.computed)
        return HEADER + "\n".join(lines) + "\n"


def read_tape(path: Path) -> TapeFile | None:
    """What a file holds; `None` when there is none.

    Raises:
        UsageError: it is no cassette, or of another version; the line is named.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"the cassette {str(path)!r} cannot be read: {error.strerror}.") from error
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _broken(path, line, "it is not UTF-8") from None
    document = _parsed(path, text)
    version = document.get(MARK)
    if version is None:
        raise UsageError(
            f"{str(path)!r} is no cassette of this library: it has no key `{MARK}` (line 1). If another"
            " recorder wrote it, let one of the two use other folders (`sim_cassettes` in pytest's ini"
            " file); otherwise delete it and record it again."
        )
    if version != FORMAT:
        raise UsageError(
            f"the cassette {str(path)!r} has format {version!r} (line {_line(text, MARK)}), and this"
            f" version reads {FORMAT}. Record it again, or use the version that wrote it."
        )
    for key in document:
        if key not in (MARK, "model", "answers", "computed"):
            raise _broken(path, _line(text, key), f"there is no key {key!r}")
    if not isinstance(document.get("model"), bool):
        raise _broken(path, _line(text, "model"), "`model` is true or false")
    return TapeFile(
        model=document["model"],
        entries=tuple(_entries(path, text, document.get("answers", []))),
        computed=tuple(_computed(path, text, document.get("computed", []))),
    )


def write_tape(path: Path, text: str) -> None:
    """Writes a file whole: who reads it meanwhile finds what was there before.

    Raises:
        UsageError: it cannot be written.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            scratch.write_bytes(text.encode())
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(
            f"the cassette {str(path)!r} cannot be written: {error.strerror}."
        ) from error


def is_tape(path: Path) -> bool:
    """Whether a file says of itself that it is one of these."""
    try:
        with path.open("rb") as file:
            return f"\n{MARK}:".encode() in b"\n" + file.read(4_096)
    except OSError:
        return False


def trim(path: Path, unused: Collection[str]) -> int:
    """Takes answers out of a file.

    Args:
        path: The file.
        unused: The answers, as a `TapeReport` calls them.

    Returns:
        How many there were.

    Raises:
        UsageError: it is no cassette, or cannot be written.
    """
    with writing(path):
        file = read_tape(path)
        if file is None:
            return 0
        kept = tuple(one for one in file.entries if one.described() not in unused)
        shared = any(one.before is not None for one in file.entries)
        write_tape(path, replace(file, entries=kept).text(all_before=shared))
        return len(file.entries) - len(kept)


@contextmanager
def writing(path: Path) -> Generator[None]:
    """While it lasts, no other process that asks for it writes cassettes of the same folder."""
    try:
        import fcntl
    except ImportError:
        # Windows: the last one wins.
        yield
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The folder itself: a file for locking would stay in the user's repository.
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        raise UsageError(
            f"the cassette {str(path)!r} cannot be written: {error.strerror}."
        ) from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _parsed(path: Path, text: str) -> Mapping[str, Any]:
    import yaml

    try:
        document: object = yaml.load(text, loader())
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise _broken(path, line, f"it is no YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise _broken(path, 1, f"it is no YAML: {error}") from None
    if not isinstance(document, Mapping):
        raise _broken(path, 1, "it is no mapping")
    return cast("Mapping[str, Any]", document)


def _entries(path: Path, text: str, values: Any) -> Iterator[Entry]:
    if not isinstance(values, list):
        raise _broken(path, _line(text, "answers"), "`answers` is a list")
    for number, value in enumerate(cast("list[Any]", values)):
        try:
            if not isinstance(value, Mapping):
                raise Malformed("an answer is a mapping")
            entry = Entry.from_json(cast("Mapping[str, Any]", value))
        except Malformed as error:
            line = _line(text, "answers", number)
            raise _broken(path, line, str(error)) from None
        yield entry


def _computed(path: Path, text: str, values: Any) -> Iterator[ComputedTurn]:
    if not isinstance(values, list):
        raise _broken(path, _line(text, "computed"), "`computed` is a list")
    for number, value in enumerate(cast("Sequence[Any]", values)):
        try:
            yield ComputedTurn.from_line(value)
        except Malformed as error:
            line = _line(text, "computed", number)
            raise _broken(path, line, str(error)) from None


def _line(text: str, key: str, number: int | None = None) -> int:
    """The line of a key, or of an item below it. Slow: only for errors."""
    import yaml

    compose = cast("Any", yaml).compose
    top: Any = compose(text, loader())
    for name, value in top.value:
        if name.value == key:
            place = name if number is None else value.value[number]
            return int(place.start_mark.line) + 1
    return 1


def _broken(path: Path, line: int, reason: str) -> UsageError:
    return UsageError(
        f"{str(path)!r} is no cassette of this library: {reason.rstrip('.')} (line {line}). Mend it, or"
        " delete it and record it again."
    )
