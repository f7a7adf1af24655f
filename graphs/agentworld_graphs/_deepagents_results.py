"""deepagents' results, made of a world's observations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Never, cast

from deepagents.backends.protocol import (
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    ReadResult,
    WriteResult,
)
from langgraph.errors import GraphBubbleUp

from agentworld_sim import Observation, World, WorldRef
from agentworld_sim.types.files import FileEntry, normal_path

_ENDED = re.compile(r"\n\[Command (?:succeeded|failed) with exit code (\d+)\]\Z")
_HEADER = re.compile(r"\A@@ .* @@\n")


def execute_response(answer: Observation) -> ExecuteResponse:
    result = structured_result(answer)
    if "error" in result or answer.provenance == "enforced":
        # A control said something else than the machine: what it said counts.
        ended = _ENDED.search(answer.text)
        code = int(ended[1]) if ended else (1 if answer.is_error else None)
        return ExecuteResponse(_ENDED.sub("", answer.text), code)
    return ExecuteResponse(**result)


def read_result(answer: Observation) -> ReadResult:
    if answer.provenance == "enforced" and not answer.is_error:
        content = _HEADER.sub("", answer.text)
        return ReadResult(file_data={"content": content, "encoding": "utf-8"})
    return ReadResult(**structured_result(answer))


def write_result(answer: Observation) -> WriteResult:
    result = structured_result(answer)
    # The tool shows the error as it is.
    return WriteResult(error=answer.text) if "error" in result else WriteResult(**result)


def glob_result(answer: Observation) -> GlobResult:
    result = dict(structured_result(answer))
    return GlobResult(**result, truncation_reason="budget" if result.get("truncated") else None)


_UPLOAD_ERRORS = {
    "Is a directory": "is_directory",
    "Not a directory": "invalid_path",
    "File exists": "invalid_path",
    "No such file or directory": "file_not_found",
    "Permission denied": "permission_denied",
}


def upload_response(path: str, answer: Observation) -> FileUploadResponse:
    error: str | None = structured_result(answer).get("error")
    return FileUploadResponse(path, _UPLOAD_ERRORS.get(error, error) if error else None)


class InterruptedGlob(GlobResult):
    """What `glob` gives inside a graph when the world gave no answer.

    deepagents makes a message of every exception that `glob` raises, and an agent must not learn from
    our failures. So this result raises when it is looked at, which is after that.
    """

    def __init__(self, failure: GraphBubbleUp) -> None:
        self._failure = failure

    def __getattribute__(self, name: str) -> Any:
        if name in ("error", "matches", "truncated", "truncation_reason"):
            raise object.__getattribute__(self, "_failure")
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        return "InterruptedGlob()"

    def __bool__(self) -> Never:
        raise self._failure


def structured_result(answer: Observation) -> Mapping[str, Any]:
    """The structured result; an error that a control enforced has none of its own."""
    structured: Any = answer.structured
    if not isinstance(structured, dict) or (answer.is_error and answer.provenance == "enforced"):
        return {"error": answer.text}
    return cast("dict[str, Any]", structured)


LINKS = 40
"""How many symbolic links are followed on the way to a file, as Linux does."""

SUPERUSER = "root"


async def download_from(world: World, path: str, ref: WorldRef | None) -> FileDownloadResponse:
    """The content of one file at a point of a world's history."""
    if not path.startswith("/"):
        return FileDownloadResponse(path, error="invalid_path")
    state = await world.state(ref)
    real = _without_links(state.files, path)
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


def _without_links(files: Mapping[str, FileEntry], path: str) -> str | None:
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
