"""File operations of imagined commands: whether they can be carried out, and carrying them out.

Both work on the same plan: the operations are first played on the tree as it is in the middle of the
turn, and only a plan that went through touches the files. So it is all of a command's changes or none.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from agentworld_sim.engines.shell.live_files import LiveFiles
from agentworld_sim.engines.shell.machine import ShellLimits
from agentworld_sim.types.files import MAX_LINKS, FileEntry, normal_path, parent_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOperation:
    """One change to the files that a command makes."""

    kind: Literal["write", "append", "delete", "move", "chmod", "mkdir"]
    path: str
    """Absolute, or relative to the question's working directory."""
    content: str = ""
    """Of `write` and `append`."""
    target: str = ""
    """Of `move`: the new path."""
    mode: int | None = None
    """Permission bits; needed for `chmod`."""
    base64: bool = False
    """Whether `content` is written so, for bytes that are no text."""

    @classmethod
    def writing(cls, path: str, data: bytes) -> FileOperation:
        """The one that writes these bytes."""
        try:
            return cls(kind="write", path=path, content=data.decode())
        except UnicodeDecodeError:
            return cls(kind="write", path=path, content=b64encode(data).decode(), base64=True)

    @property
    def data(self) -> bytes:
        """What `write` and `append` write."""
        return b64decode(self.content) if self.base64 else self.content.encode()

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {"kind": self.kind, "path": self.path}
        if self.kind in ("write", "append"):
            value["content"] = self.content
        if self.base64:
            value["base64"] = True
        if self.target:
            value["target"] = self.target
        if self.mode is not None:
            value["mode"] = self.mode
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FileOperation:
        return cls(**value)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAnswer:
    """What a command wrote, how it ended and what it changed."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    operations: tuple[FileOperation, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "stdout": self.stdout,
            "stderr": self.stderr,
            "exit_code": self.exit_code,
            "operations": [operation.to_json() for operation in self.operations],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CommandAnswer:
        operations = cast("Sequence[Mapping[str, Any]]", value.get("operations", ()))
        return cls(
            stdout=value["stdout"],
            stderr=value["stderr"],
            exit_code=value["exit_code"],
            operations=tuple(FileOperation.from_json(one) for one in operations),
        )


Validate = Callable[[CommandAnswer], str | None]
"""`None` when the answer can be carried out, otherwise the reason, for whoever must answer again."""


MOST_OPERATIONS = 500

LONGEST_PATH = 4_095
"""Linux's `PATH_MAX`, without the closing zero."""
LONGEST_NAME = 255

SYSTEM = ("/dev", "/proc", "/sys", "/usr/bin")
"""Made by the machine; no command changes what is there."""


class Impossible(Exception):
    """An operation cannot be carried out; says why."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operation, with the places that it really means."""

    operation: FileOperation
    place: str
    target: str = ""


class Plan:
    """The file tree in the middle of a turn, and what operations would make of it."""

    def __init__(self, tree: Mapping[str, FileEntry], *, cwd: str, limits: ShellLimits) -> None:
        self._files = dict(tree)
        self._cwd = cwd
        self._limits = limits
        self.steps: list[Step] = []

    def add(self, operation: FileOperation) -> None:
        """Plays one operation.

        Raises:
            Impossible: it cannot be carried out.
        """
        place = self._place(operation.path, follow=operation.kind in ("write", "append", "chmod"))
        match operation.kind:
            case "write" | "append":
                self._write(operation, place)
            case "mkdir":
                self._mkdir(operation, place)
            case "delete":
                self._present(place)
                self._movable(place)
                self._take_out(place)
            case "move":
                self._move(operation, place)
                return
            case "chmod":
                entry = self._present(place)
                if operation.mode is None:
                    raise Impossible("`chmod` needs a mode")
                self._files[place] = replace(entry, mode=operation.mode)
        self.steps.append(Step(operation, place))

    def check_size(self) -> None:
        """Raises `Impossible` when the files have become too many or too large."""
        sizes = [entry.size for entry in self._files.values() if entry.kind == "file"]
        if len(sizes) > self._limits.files:
            raise Impossible(
                f"the world would hold {len(sizes):,} files, and at most {self._limits.files:,} are"
                " allowed"
            )
        if sum(sizes) > self._limits.total_bytes:
            raise Impossible(
                f"all files together would hold {sum(sizes):,} bytes, and at most"
                f" {self._limits.total_bytes:,} are allowed"
            )

    # The operations

    def _write(self, operation: FileOperation, place: str) -> None:
        held = self._files.get(place)
        if held is not None and held.kind != "file":
            raise Impossible(f"{place} is a {held.kind}, not a file")
        self._make_parents(place)
        size = len(operation.data)
        if operation.kind == "append" and held is not None:
            size += held.size
        if size > self._limits.file_bytes:
            raise Impossible(
                f"{place} would have {size:,} bytes, and at most {self._limits.file_bytes:,} are"
                " allowed"
            )
        mode = operation.mode if operation.mode is not None else held.mode if held else 0o644
        self._files[place] = FileEntry("file", mode, size=size)

    def _mkdir(self, operation: FileOperation, place: str) -> None:
        held = self._files.get(place)
        if held is not None and held.kind != "directory":
            raise Impossible(f"{place} is a {held.kind} already")
        self._make_parents(place)
        mode = operation.mode if operation.mode is not None else 0o755
        self._files[place] = replace(held, mode=mode) if held else FileEntry("directory", mode)

    def _move(self, operation: FileOperation, place: str) -> None:
        entry = self._present(place)
        self._movable(place)
        if not operation.target:
            raise Impossible("`move` needs a target")
        target = self._place(operation.target, follow=False)
        held = self._files.get(target)
        if target == place or target.startswith(place + "/"):
            raise Impossible(f"{place} cannot be moved into itself")
        if held is not None and (held.kind == "directory" or entry.kind == "directory"):
            raise Impossible(f"there is a {held.kind} at {target} already")
        self._make_parents(target)
        for path, moved in self._take_out(place).items():
            self._files[target + path[len(place) :]] = moved
        self.steps.append(Step(operation, place, target))

    # The tree

    def _place(self, path: str, *, follow: bool) -> str:
        """Where `path` really lies; its parents' links are followed, the last part's with `follow`."""
        if not path or "\0" in path:
            raise Impossible(f"not a path: {path!r}")
        _require_text(path, "the path")
        if len(path) > LONGEST_PATH or any(len(p.encode()) > LONGEST_NAME for p in path.split("/")):
            raise Impossible(f"the path is too long: {path[:80]!r}…")
        full = path if path.startswith("/") else f"{self._cwd.rstrip('/')}/{path}"
        done, todo, hops = "", [part for part in full.split("/") if part not in ("", ".")], 0
        while todo:
            part = todo.pop(0)
            if part == "..":
                done = "" if done.count("/") <= 1 else parent_of(done)
                continue
            step = f"{done}/{part}"
            held = self._files.get(step)
            if held is None or held.kind != "symlink" or not (todo or follow):
                done = step
                continue
            hops += 1
            if hops > MAX_LINKS:
                raise Impossible(f"too many symbolic links on the way to {path!r}")
            parts = [one for one in held.content.split("/") if one not in ("", ".")]
            done = "" if held.content.startswith("/") else done
            todo = parts + todo
        done = done or "/"
        self._require_free(done, path)
        return done

    def _require_free(self, place: str, path: str) -> None:
        for system in SYSTEM:
            if place == system or place.startswith(system + "/"):
                raise Impossible(f"{path!r} lies in {system}, which the machine itself keeps")

    def _movable(self, place: str) -> None:
        if any(one == place or one.startswith(place.rstrip("/") + "/") for one in SYSTEM):
            raise Impossible(f"{place} holds parts of the system and has to stay")
        here = normal_path(self._cwd)
        if here == place or here.startswith(place + "/"):
            raise Impossible(f"{place} holds the working directory and has to stay")

    def _present(self, place: str) -> FileEntry:
        entry = self._files.get(place)
        if entry is None:
            raise Impossible(f"there is no {place}")
        return entry

    def _make_parents(self, place: str) -> None:
        above = parent_of(place)
        if above == place:
            return
        held = self._files.get(above)
        if held is None:
            self._make_parents(above)
            self._files[above] = FileEntry("directory", 0o755)
        elif held.kind != "directory":
            raise Impossible(f"{above} is a {held.kind}, not a directory")

    def _take_out(self, place: str) -> dict[str, FileEntry]:
        """What is at a place and below it; it is there no more."""
        below = place.rstrip("/") + "/"
        paths = [path for path in self._files if path == place or path.startswith(below)]
        return {path: self._files.pop(path) for path in paths}


def plan_of(answer: CommandAnswer, plan: Plan) -> tuple[Step, ...]:
    """The steps that carry out an answer's operations.

    Raises:
        Impossible: the answer cannot be used; says why, for whoever has to answer again.
    """
    if not 0 <= answer.exit_code <= 255:
        raise Impossible(f"the exit code is {answer.exit_code}, and must be from 0 to 255")
    _require_text(answer.stdout, "stdout")
    _require_text(answer.stderr, "stderr")
    if len(answer.operations) > MOST_OPERATIONS:
        raise Impossible(
            f"there are {len(answer.operations):,} file operations, and at most {MOST_OPERATIONS}"
            " are allowed"
        )
    for number, operation in enumerate(answer.operations, 1):
        try:
            _require_text(operation.content, "the content")
            if operation.mode is not None and not 0 <= operation.mode <= 0o7777:
                raise Impossible(f"the mode {operation.mode:o} is none")
            plan.add(operation)
        except Impossible as problem:
            raise Impossible(
                f"operation {number} ({operation.kind} {operation.path[:200]!r}): {problem}"
            ) from None
    if answer.operations:
        plan.check_size()
    return tuple(plan.steps)


def carry_out(steps: tuple[Step, ...], files: LiveFiles) -> None:
    """Does what was planned."""
    for step in steps:
        operation, place = step.operation, step.place
        match operation.kind:
            case "write" | "append":
                _write(operation, place, files)
            case "mkdir":
                files.mkdir(place, parents=True)
                if operation.mode is not None:
                    files.chmod(place, operation.mode)
            case "delete":
                files.remove(place, recursive=files.lstat(place).kind == "directory")
            case "move":
                files.mkdir(parent_of(step.target), parents=True)
                files.rename(place, step.target)
            case "chmod":
                files.chmod(place, operation.mode or 0)


def _write(operation: FileOperation, place: str, files: LiveFiles) -> None:
    files.mkdir(parent_of(place), parents=True)
    data, mode = operation.data, operation.mode
    if files.exists(place):
        # Writing anew would give the file a new file's mode.
        mode = files.stat(place).mode if mode is None else mode
        data = files.read(place) + data if operation.kind == "append" else data
    files.write(place, data, mode=mode)


def _require_text(text: str, what: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Impossible(f"{what} holds half of a surrogate pair, which is no text") from None
