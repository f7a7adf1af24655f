"""Files of a world's state, as a download gives them."""

from __future__ import annotations

from collections.abc import Mapping

from deepagents.backends.protocol import FileDownloadResponse

from agentworld_sim import World, WorldRef
from agentworld_sim.types.files import FileEntry, normal_path

LINKS = 40
"""How many symbolic links are followed on the way to a file, as Linux does."""

SUPERUSER = "root"


async def downloaded(world: World, path: str, ref: WorldRef | None) -> FileDownloadResponse:
    """The content of one file at a point of a world's history."""
    if not path.startswith("/"):
        return FileDownloadResponse(path, error="invalid_path")
    state = await world.state(ref)
    real = _resolved(state.files, path)
    entry = state.files.get(real) if real else None
    if real is None or entry is None:
        return FileDownloadResponse(path, error="is_directory" if real == "/" else "file_not_found")
    if entry.kind == "directory":
        return FileDownloadResponse(path, error="is_directory")
    if not _may_read(entry, world.scenario.machine.user):
        return FileDownloadResponse(path, error="permission_denied")
    return FileDownloadResponse(path, await world.read_file(real, at=ref))


def _may_read(entry: FileEntry, user: str) -> bool:
    if user == SUPERUSER:
        return True
    return bool(entry.mode & (0o400 if entry.owner == user else 0o044))


def _resolved(files: Mapping[str, FileEntry], path: str) -> str | None:
    """`path` without symbolic links; `None` when they go in circles."""
    left = [part for part in path.split("/") if part and part != "."]
    done, links = "/", 0
    while left:
        part = left.pop(0)
        done = normal_path(f"{done}/{part}")
        entry = files.get(done)
        if entry is None or entry.kind != "symlink":
            continue
        links += 1
        if links > LINKS:
            return None
        target = entry.content
        done = "/" if target.startswith("/") else normal_path(f"{done}/..")
        left = [one for one in target.split("/") if one and one != "."] + left
    return done
