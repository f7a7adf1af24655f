"""Files of runs: a first line with what decides on the results, and a line for each result.

A file is only ever appended to. Of a process that was killed at any moment it has every result that had come, and
perhaps half a line at the end, which does not count.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from agentworld_sim.errors import UsageError
from agentworld_sim.scoring import is_bench_row
from agentworld_sim.whole_file import write_file

T = TypeVar("T")

About = Mapping[str, Any]
"""What decides on the results of a run; they may lie in `settings`."""

ROWS = "rows in AgentWorldBench form"
RECORDINGS = "recordings of `agentworld bench make`"
CALL_RUN = "a run over recordings"
ROW_RUN = "a run over rows"
TRIALS = "trials of `agentworld bench transfer`"

FORM = "agentworldbench run 1"


def file_kind(path: Path) -> str:
    """What a file of the bench holds, by its first line that is not broken: one of the kinds above; empty for anything
    else."""
    with path.open("rb") as file:
        for line in file:
            try:
                return _kind({**json.loads(line)})
            except (ValueError, TypeError, RecursionError):
                continue
    return ""


def require_kind(path: Path, kind: str) -> None:
    """Raises `UsageError` where a file holds something else."""
    if (found := file_kind(path)) != kind:
        told = found or ("something else" if path.stat().st_size else "nothing")
        raise UsageError(f"{str(path)!r} holds {told}, not {kind}. Name another file.")


def _kind(first: About) -> str:
    if is_bench_row(first):
        return ROWS
    fields = {"settings": CALL_RUN, "format": TRIALS, "tool": RECORDINGS, "state": RECORDINGS}
    fields |= {"form": ROW_RUN} if first.get("form") == FORM else {}
    return next((kind for name, kind in fields.items() if name in first), "")


def read_lines(
    path: Path, kind: str, read: Callable[[dict[str, Any]], T]
) -> tuple[dict[str, Any], list[T]]:
    """The first line of a run's file, and what `read` makes of the others.

    Raises:
        UsageError: it holds something else, or a line is broken.
    """
    require_kind(path, kind)
    first, *lines = path.read_bytes().split(b"\n")
    found: list[T] = []
    # The last one is empty, or was cut off.
    for number, line in enumerate(lines[:-1], 2):
        try:
            found.append(read(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{str(path)!r}, line {number}: this is no line of a run ({error}). Without the line it is"
                " asked again."
            ) from None
    return json.loads(first), found


def begin_lines(
    path: Path, about: About, read: Callable[[dict[str, Any]], T]
) -> tuple[dict[str, Any], list[T]]:
    """The same; a new file is begun where there is none.

    Raises:
        UsageError: also where it holds a run with other settings.
    """
    line = json.dumps(about) + "\n"
    # A kill may have left half of this line; whatever else is there is not written over.
    if path.exists() and not line.encode().startswith(path.read_bytes()):
        head, found = read_lines(path, _kind(about), read)
        if told := difference({"the file": head, "this run": about}):
            raise UsageError(f"{str(path)!r} holds another run: {told} Name another --output.")
        return head, found
    write_file(path, line)
    return {**about}, []


@contextmanager
def append_lines(path: Path) -> Generator[Callable[[Iterable[Any]], None]]:
    """A function that appends dataclasses or JSON objects; they are there for good when it returns. A file
    with a first line only is removed at the end: nothing has come of the run, and another one may have its name."""
    with path.open("r+b") as file:
        said = file.read()
        # Half a line that a kill has left would join the next one.
        file.truncate(said.rfind(b"\n") + 1)
        file.seek(0, 2)

        def write(lines: Iterable[Any]) -> None:
            values = (asdict(one) if is_dataclass(one) else one for one in lines)  # pyright: ignore[reportArgumentType]
            told = "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
            file.write(told.encode("utf-8", "replace"))
            file.flush()

        try:
            yield write
        finally:
            if file.tell() == said.find(b"\n") + 1:
                path.unlink()


def difference(abouts: Mapping[str, About]) -> str:
    """In what runs differ, a sentence; empty if in nothing.

    Args:
        abouts: By the names that the runs go by.
    """
    flat = {who: {**about, **about.get("settings", {})} for who, about in abouts.items()}
    told: list[str] = []
    for name in dict.fromkeys(name for about in flat.values() for name in about):
        values = {who: about.get(name) for who, about in flat.items()}
        if name != "settings" and len({json.dumps(value) for value in values.values()}) > 1:
            told.append(f"{name} ({', '.join(f'{who}: {one}' for who, one in values.items())})")
    return f"they differ in {', '.join(told)}." if told else ""
