"""The files of a freshly installed machine."""

from __future__ import annotations

from functools import lru_cache

from agentworld_sim.engines.shell._image_texts import text_files
from agentworld_sim.engines.shell._system import INSTALLED_US, system_mounts
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.types.files import Blobs, FileEntry, FileTree, blob_id

__all__ = ["base_tree", "system_mounts"]

_DIRECTORIES = """
/ /boot /dev /etc /etc/apt /etc/default /home /media /mnt /opt /proc /root /run /srv /sys /tmp /usr /usr/bin
/usr/lib /usr/lib64 /usr/local /usr/local/bin /usr/local/lib /usr/local/sbin /usr/sbin /usr/share
/usr/share/zoneinfo /usr/share/zoneinfo/Etc /var /var/cache /var/cache/apt /var/lib /var/lib/dpkg
/var/log /var/log/apt /var/mail /var/tmp
"""

_MODES = {"/root": 0o700, "/tmp": 0o1777, "/var/tmp": 0o1777, "/proc": 0o555, "/sys": 0o555}

_OWNERS = {"/var/mail": ("root", "mail", 0o2775)}

_LINKS = {
    "/bin": "usr/bin",
    "/etc/localtime": "/usr/share/zoneinfo/Etc/UTC",
    "/etc/mtab": "../proc/self/mounts",
    "/etc/os-release": "../usr/lib/os-release",
    "/lib": "usr/lib",
    "/lib64": "usr/lib64",
    "/sbin": "usr/sbin",
    "/var/run": "/run",
}


def base_tree(machine: Machine, clock_us: int, blobs: Blobs) -> FileTree:
    """The file tree of a fresh machine, without what is mounted.

    Args:
        machine: Whose files they are.
        clock_us: The world's first moment; what a boot writes is as young as that.
        blobs: Where the contents go.
    """
    for data, _, _ in _contents(machine).values():
        blobs.put(data)
    return _tree(machine, clock_us)


@lru_cache(maxsize=32)
def _tree(machine: Machine, clock_us: int) -> FileTree:
    booted_us = clock_us - machine.boot_seconds * 1_000_000
    entries: list[tuple[str, FileEntry]] = []
    for path in _DIRECTORIES.split():
        owner, group, mode = _OWNERS.get(path, ("root", "root", _MODES.get(path, 0o755)))
        mtime = booted_us if path in ("/run", "/tmp") else INSTALLED_US
        entries.append((path, FileEntry("directory", mode, mtime, owner=owner, group=group)))
    for path, target in _LINKS.items():
        entries.append((path, FileEntry("symlink", 0o777, INSTALLED_US, target)))
    for path, (data, mode, group) in _contents(machine).items():
        young = path in ("/etc/hostname", "/etc/hosts", "/etc/resolv.conf")
        mtime = booted_us if young else INSTALLED_US
        entry = FileEntry("file", mode, mtime, blob_id(data), len(data), "root", group)
        entries.append((path, entry))
    for user in machine.extra_users:
        if user.uid >= 1000:
            entry = FileEntry("directory", 0o755, INSTALLED_US, owner=user.name, group=user.name)
            entries.append((user.home, entry))
    return FileTree.from_entries(entries, directory_mtime_us=clock_us)


@lru_cache(maxsize=8)
def _contents(machine: Machine) -> dict[str, tuple[bytes, int, str]]:
    """File contents by path, with mode and group."""
    found = {
        path: (text.encode(), 0o644, "root") for path, text in sorted(text_files(machine).items())
    }
    found["/etc/shadow"] = (found["/etc/shadow"][0], 0o640, "shadow")
    found["/usr/share/zoneinfo/Etc/UTC"] = (_UTC, 0o644, "root")
    found["/var/log/wtmp"] = (b"", 0o664, "utmp")
    return found


_HEADER = b"\0" * 15 + b"".join(n.to_bytes(4, "big") for n in (0, 0, 0, 0, 1, 4))
_UTC = b"TZif2" + _HEADER + b"\0" * 6 + b"UTC\0" + b"TZif2" + _HEADER + b"\0" * 6 + b"UTC\0\nUTC0\n"
"""Coordinated universal time as `tzfile(5)` describes it."""
