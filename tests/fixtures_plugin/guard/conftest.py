"""For tests of the guard: a folder that may change, one that may not, and a way to see that nothing has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from agentworld_fixtures._guard import Guard

# Only `make test-frameworks` has it: other tests' servers would run on it, instead of on asyncio's loop.
collect_ignore = [] if find_spec("uvloop") else ["test_uvloop.py"]


@dataclass(frozen=True)
class Places:
    """Where things happen."""

    inside: Path
    """May change."""
    outside: Path
    """May not. It holds the file `kept`, and an empty folder `empty`."""

    @property
    def kept(self) -> Path:
        return self.outside / "kept"


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    """Fails when anything in `outside` has changed."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    (outside / "empty").mkdir(parents=True)
    (outside / "kept").write_text("as it was")
    here, before = Path.cwd(), seen(outside)
    yield Places(inside, outside)
    os.chdir(here)
    assert seen(outside) == before


@pytest.fixture
def guard(places: Places) -> Iterator[Guard]:
    with Guard(writable=[places.inside]) as guard:
        yield guard


def seen(folder: Path) -> dict[str, object]:
    """All that a change could be seen by, except times of access."""
    found: dict[str, object] = {}
    for path in sorted([folder, *folder.rglob("*")]):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        found[str(path)] = (
            status.st_mode,
            status.st_uid,
            status.st_nlink,
            status.st_mtime_ns,
            status.st_ino,
            content,
        )
    return found
