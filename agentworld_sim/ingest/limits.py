"""How much of a folder may become a world, and the message when it is too much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentworld_sim.errors import UsageError

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class IngestLimits:
    """Bounds on what `tree_from_directory` takes in."""

    file_bytes: int = 16 * 1024**2
    """Bytes of any one file."""
    files: int = 20_000
    """Number of files."""
    total_bytes: int = 256 * 1024**2
    """Bytes of all files together."""


def check_limits(root: Path, sizes: Mapping[str, int], limits: IngestLimits) -> None:
    """Refuse a folder that is too big, naming what makes it so.

    Raises:
        UsageError: a limit is exceeded.
    """
    large = {path: size for path, size in sizes.items() if size > limits.file_bytes}
    if large:
        _refuse(
            f"{root}: {_counted(len(large), 'file')} larger than {_bytes(limits.file_bytes)}",
            ((path, _bytes(size)) for path, size in _biggest(large)),
            "file_bytes",
        )
    if len(sizes) > limits.files:
        per_folder = Counter(path.rpartition("/")[0] + "/" for path in sizes)
        _refuse(
            f"{root} holds {len(sizes):,} files; the limit is {limits.files:,}",
            ((folder, _counted(count, "file")) for folder, count in _biggest(per_folder)),
            "files",
        )
    total = sum(sizes.values())
    if total > limits.total_bytes:
        _refuse(
            f"{root} holds {_bytes(total)}; the limit is {_bytes(limits.total_bytes)}",
            ((path, _bytes(size)) for path, size in _biggest(sizes)),
            "total_bytes",
        )


def _refuse(what: str, offenders: Iterable[tuple[str, str]], limit: str) -> None:
    lines = "\n".join(f"  {path}  {measure}" for path, measure in offenders)
    raise UsageError(
        f"{what}. The biggest:\n{lines}\n"
        f"Leave them out with lines in .agentworldignore, or raise `limits.{limit}`."
    )


def _biggest(sizes: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:_SHOWN]


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' if count != 1 else ''}"


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
