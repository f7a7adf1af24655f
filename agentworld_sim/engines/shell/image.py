"""The files of a simulated machine: of a fresh one, its programs, and `/proc` and `/dev`."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import PurePosixPath
from random import Random
from zlib import crc32

from bashkit import FileSystem

from agentworld_sim.engines.shell._command import HELPER, IMAGINE
from agentworld_sim.engines.shell.file_times import set_times
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.programs import DATA, Package, command_names, packages_of
from agentworld_sim.engines.shell.wasi.package_files import (
    PACKAGE_FOLDERS,
    PACKAGES_AT,
    WHEELS_AT,
    package_files,
    read_layer,
)
from agentworld_sim.errors import UsageError
from agentworld_sim.types.files import Blobs, FileEntry, FileTree, blob_id

_OTHER_MODES = {"/etc/shadow": (0o640, "shadow"), "/var/log/wtmp": (0o664, "utmp")}
"""Mode and group, where they are not 644 and root."""


def _data_files(folder: str) -> dict[str, bytes]:
    """The files in a folder of `data`, at the paths that they have on the machine."""
    root = DATA / folder
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    return {f"/{path.relative_to(root).as_posix()}": path.read_bytes() for path in paths}


@lru_cache(maxsize=8)
def _contents(machine: Machine) -> dict[str, bytes]:
    """Contents by path."""
    found = _data_files("rootfs")
    name = machine.hostname
    passwd, groups = found["/etc/passwd"].decode(), found["/etc/group"].decode()
    for user in machine.extra_users:
        passwd += f"{user.name}:x:{user.uid}:{user.gid}:{user.gecos}:{user.home}:{user.shell}\n"
        if f":{user.gid}:\n" not in groups:
            groups += f"{user.name}:x:{user.gid}:\n"
    if machine.wheels:
        found |= package_files(machine.packages, machine.wheels)
    users = [line.partition(":")[0] for line in passwd.splitlines()]
    texts = {
        "/etc/debian_version": f"{machine.debian_version}\n",
        "/etc/group": groups,
        "/etc/hostname": f"{name}\n",
        "/etc/hosts": f"127.0.0.1\tlocalhost\n127.0.1.1\t{name}\n\n::1\tlocalhost ip6-localhost"
        " ip6-loopback\nff02::1\tip6-allnodes\nff02::2\tip6-allrouters\n",
        "/etc/passwd": passwd,
        "/etc/shadow": "".join(f"{user}:*:19980:0:99999:7:::\n" for user in users),
        "/var/lib/dpkg/status": "\n".join(map(_status_text, packages_of(machine))),
    }
    return {**found, **{path: text.encode() for path, text in texts.items()}}


def _status_text(package: Package) -> str:
    """A package in the list of those installed."""
    return (
        f"Package: {package.name}\n"
        "Status: install ok installed\n"
        "Maintainer: Debian Developers <debian-devel@lists.debian.org>\n"
        f"Architecture: {package.arch}\n"
        f"Version: {package.version}\n"
        f"Description: {package.summary}\n"
    )


PROGRAM_START = "\x7fELF\x02\x01\x01"
"""How a program's file begins. It must also be a word that the embedded shell can run as a command
without effect, because the shell reads the file as a script."""

INSTALLED_US = 1_726_315_200_000_000
"""2024-09-14: when the machine's programs were built."""


@lru_cache(maxsize=8)
def system_mounts(
    names: tuple[str, ...], imagined: frozenset[str] = frozenset()
) -> Mapping[str, FileSystem]:
    """File systems by mount point, to be mounted read-only, with the programs `names`. All worlds share them.

    Those in `imagined` look installed although the shell does not have them.
    """
    programs = {f"/{name}": _program(name) for name in names}
    programs |= {f"/{name}": _stand_in(name) for name in imagined}
    fs = _mount(programs)
    for path in programs:
        fs.chmod(path, 0o755)
    if "python3" not in names:
        return {"/usr/bin": fs}
    return {"/usr/bin": fs, _LIBRARY: _library(), **_zones()}


_LIBRARY = "/usr/lib/python3.12"


@cache
def _library() -> FileSystem:
    """The standard library of Python."""
    # Imported late: it is part of an extra.
    from agentworld_sim.engines.shell.wasi.python.library import library_files

    found = library_files()
    return _mount({f"/{name}": data for name, data in found.items()}, "/lib-dynload")


@cache
def zone_files() -> Mapping[str, bytes]:
    """What the package `tzdata`, a part of an extra, says of time zones, by name; nothing where it is missing."""
    try:
        package = files("tzdata")
    except ModuleNotFoundError:
        return {}
    names = package.joinpath("zones").read_text("utf-8").split()
    names += ["iso3166.tab", "tzdata.zi", "zone.tab", "zone1970.tab"]
    return {name: package.joinpath("zoneinfo", name).read_bytes() for name in names}


@cache
def _zones() -> Mapping[str, FileSystem]:
    found = {f"/{name}": data for name, data in zone_files().items()}
    return {"/usr/share/zoneinfo": _mount(found)} if found else {}


@lru_cache(maxsize=8)
def package_mounts(machine: Machine) -> Mapping[str, FileSystem]:
    """The packages of the machine's Python by mount point, to be mounted read-only. All worlds share them.

    Raises:
        UsageError: they are more than the embedded shell's file system takes.
    """
    layer = read_layer(machine.packages, machine.wheels) if machine.wheels else {}
    found: dict[str, FileSystem] = {}
    for point, name in {PACKAGES_AT: "packages/", WHEELS_AT: "wheels/"}.items() if layer else ():
        chosen = {place: data for place, data in layer.items() if place.startswith(name)}
        try:
            found[point] = _mount({f"/{n.removeprefix(name)}": d for n, d in chosen.items()})
        except RuntimeError as error:
            raise UsageError(
                f"the machine cannot hold so many or so large packages: {error}. Name fewer in `packages`, or put"
                " fewer into the folder of `wheels`."
            ) from None
    return found


def _mount(files: Mapping[str, bytes], *folders: str) -> FileSystem:
    """A file system with these files, and folders that may be empty."""
    fs = empty_files()
    parents = {str(parent) for path in files for parent in PurePosixPath(path).parents}
    made = sorted({*parents, *folders} - {"/"})
    for folder in made:
        fs.mkdir(folder, True)
    for path, data in files.items():
        fs.write_file(path, data)
    set_times(fs, {INSTALLED_US: ["/", *made, *files]})
    return fs


_ZCAT = 'set -o pipefail; if [ -z "$*" ]; then base64 -w 0; fi | /proc/self/exe gunzip -c "$@" | base64 -d'
SCRIPTS = {
    # It looks for its packages from the place by which it was called: in a virtual environment, a link.
    **dict.fromkeys(
        ("python", "python3", "python3.12"), '__PYVENV_LAUNCHER__=$0 exec python3 "$@"'
    ),
    "zcat": _ZCAT,
    "zgrep": 'for f in "$@"; do if [ "$n" ]; then a+=("$l"); fi; l=$f; n=1; done; if [ -f "$l" ]; then'
    ' zcat -f "$l" | grep "${a[@]}"; else grep "$@"; fi',
    "zmore": _ZCAT,
    "zless": _ZCAT,
}
"""Programs that are scripts around others on a real machine too."""

_PIECE = re.compile(r"&&|\$[@*\w{]|[^&$]{1,2}")


def _stand_in(name: str) -> bytes:
    return _program_of(f'exec {HELPER} {IMAGINE} {name} "$@"', 8_192 + crc32(name.encode()) % 8_000)


def _program(name: str) -> bytes:
    about = f'[ "$*" = --version ] && exec {HELPER} about {name} --version\n' * (name != "[")
    script = f'{about}{SCRIPTS.get(name, f"""exec {name} "$@" """.rstrip())}\n'
    return _program_of(script, 24_576 + crc32(name.encode()) % 6_000 * 8)


def _program_of(script: str, size: int) -> bytes:
    # In pieces too short for `strings` to take for text.
    lines = ("\\\n".join(_PIECE.findall(line)) for line in script.splitlines())
    start = f"{PROGRAM_START}\n{chr(10).join(lines)}\n#\0".encode()
    return start + bytes(size)


_PLACES = [line.split() for line in (DATA / "folders.txt").read_text("utf-8").splitlines()[1:]]


def base_tree(machine: Machine, clock_us: int, blobs: Blobs) -> FileTree:
    """The file tree of a fresh machine at the world's first moment, without what is mounted."""
    for data in _contents(machine).values():
        blobs.put(data)
    return _tree(machine, clock_us)


@lru_cache(maxsize=32)
def _tree(machine: Machine, clock_us: int) -> FileTree:
    booted_us = clock_us - machine.boot_seconds * 1_000_000
    entries: list[tuple[str, FileEntry]] = []
    for path, mode, other in _PLACES:
        mtime = booted_us if path in ("/run", "/tmp") else INSTALLED_US
        if mode == "->":
            entry = FileEntry("symlink", 0o777, mtime, other)
        else:
            entry = FileEntry("directory", int(mode, 8), mtime, group=other)
        entries.append((path, entry))
    more = [_LIBRARY] * ("python3" in command_names(machine))
    for path in (*more, *(PACKAGE_FOLDERS if machine.wheels else ())):
        entries.append((path, FileEntry("directory", 0o755, INSTALLED_US)))
    for path, data in _contents(machine).items():
        mode, group = _OTHER_MODES.get(path, (0o644, "root"))
        mode = 0o755 if path.startswith("/usr/local/bin/") else mode
        young = path in ("/etc/hostname", "/etc/hosts", "/etc/resolv.conf")
        mtime = booted_us if young else INSTALLED_US
        entry = FileEntry("file", mode, mtime, blob_id(data), len(data), "root", group)
        entries.append((path, entry))
    for user in machine.extra_users:
        if user.uid >= 1000:
            entry = FileEntry("directory", 0o755, INSTALLED_US, owner=user.name, group=user.name)
            entries.append((user.home, entry))
    return FileTree.from_entries(entries, directory_mtime_us=clock_us)


RANDOM_BYTES = 65_536
"""What one read of `/dev/urandom` finds, the largest request of common scripts excepted."""

ZERO_BYTES = 1_048_576

_ASKS = re.compile(r"/dev\b|/proc\b|random\b|(?:^|[;&|(\s])(?:source|\.)\s")


class VolatileFiles:
    """The `/proc` and `/dev` of one world: files whose content is the machine's present moment or chance.

    The embedded shell's own `/dev/urandom` gives the host's entropy and its `/proc` names another machine.
    These two file systems are mounted over them.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._filled = False
        self.proc = empty_files()
        self.dev = empty_files()
        for path, text in _proc_texts(machine).items():
            parent = path.rpartition("/")[0]
            if parent:
                self.proc.mkdir(parent, True)
            self.proc.write_file(path, text.encode())
        for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx"):
            self._device(name, b"")
        for name in ("pts", "shm"):
            self.dev.mkdir("/" + name)
        for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
            self.dev.symlink(f"/proc/self/fd/{number}", "/" + name)
        self._own = self._devices()

    def has_foreign_files(self) -> bool:
        """Whether somebody made files in `/dev`: they are no part of the world's state."""
        return self._devices() != self._own

    def _devices(self) -> set[str]:
        folders = ("/", "/pts/", "/shm/")
        return {folder + entry["name"] for folder in folders for entry in self.dev.read_dir(folder)}

    @property
    def mounts(self) -> dict[str, FileSystem]:
        return {"/proc": self.proc, "/dev": self.dev}

    def prepare(self, script: str, clock_us: int, random: Random, *, opaque: bool) -> bool:
        """Brings what `script` may read up to date; whether it may read chance."""
        if not opaque and not _ASKS.search(script):
            return False
        up_s = up_seconds(self._machine, clock_us)
        idle_s = up_s * self._machine.cpus * 0.97
        self.proc.write_file("/uptime", f"{up_s:.2f} {idle_s:.2f}\n".encode())
        boot_s = int(clock_us / 1_000_000 - up_s)
        self.proc.write_file("/stat", _stat(self._machine, up_s, boot_s).encode())
        for name in ("null", "full", "tty", "ptmx"):
            self._device(name, b"")
        chance = opaque or "random" in script
        if chance:
            self.draw(random)
        zeros = bytes(ZERO_BYTES) if "/dev/zero" in script else b""
        self._device("zero", zeros)
        self._filled = chance or bool(zeros)
        return "random" in script

    def forget(self) -> None:
        """Gives back what a script needed much memory for, and lets no later one see."""
        if self._filled:
            for name in ("zero", "random", "urandom"):
                self._device(name, b"")
            self._filled = False

    def draw(self, random: Random) -> None:
        """New bytes for the next reader."""
        data = random.randbytes(RANDOM_BYTES)
        self._device("urandom", data)
        self._device("random", data[::-1])
        name = uuid.UUID(int=random.getrandbits(128), version=4)
        self.proc.write_file("/sys/kernel/random/uuid", f"{name}\n".encode())

    def _device(self, name: str, data: bytes) -> None:
        self.dev.write_file("/" + name, data)
        self.dev.chmod("/" + name, 0o666)


_EPOCH_US = 1_772_442_000_000_000
"""2026-03-02T09:00:00Z, the usual first moment of a world."""

_PERIOD_US = 30 * 86_400 * 1_000_000


def up_seconds(machine: Machine, clock_us: int) -> float:
    """How long the machine has been up.

    It follows from the clock alone, because a live machine does not know its world's first moment:
    it may have been rebuilt in the middle of a history.
    """
    return machine.boot_seconds + (clock_us - _EPOCH_US) % _PERIOD_US / 1_000_000


def empty_files() -> FileSystem:
    """A file system without the folders that the embedded shell makes in each."""
    fs = FileSystem()
    for name in ("/home", "/tmp", "/dev"):
        fs.remove(name, True)
    return fs


@lru_cache(maxsize=32)
def _proc_texts(machine: Machine) -> Mapping[str, str]:
    texts = {path: data.decode() for path, data in _data_files("proc").items()}
    cpu = texts.pop("/cpuinfo")
    texts = {path: text.format(machine=machine) for path, text in texts.items()}
    boot_id = uuid.uuid5(uuid.NAMESPACE_DNS, machine.hostname + machine.kernel_version)
    empty = ("stat", "uptime", "sys/kernel/random/uuid", "self/fd/0", "self/fd/1", "self/fd/2")
    return {
        **texts,
        **{path.replace("self", "1"): text for path, text in texts.items() if "/self/" in path},
        **{f"/{name}": "" for name in empty},
        "/cpuinfo": "".join(cpu.format(machine=machine, number=n) for n in range(machine.cpus)),
        "/meminfo": "".join(f"{name + ':':<16}{kib:>8} kB\n" for name, kib in memory(machine)),
        "/self/mounts": texts["/mounts"],
        "/sys/kernel/random/boot_id": f"{boot_id}\n",
    }


def memory(machine: Machine) -> list[tuple[str, int]]:
    """The first lines of `/proc/meminfo`, in KiB; `free` and `top` say the same."""
    total = machine.memory_kib
    free, buffers, cached = total * 71 // 100, total * 2 // 100, total * 15 // 100
    return [
        ("MemTotal", total),
        ("MemFree", free),
        ("MemAvailable", free + cached),
        ("Buffers", buffers),
        ("Cached", cached),
        ("SwapCached", 0),
        ("Active", total * 11 // 100),
        ("Inactive", total * 9 // 100),
        ("SwapTotal", 0),
        ("SwapFree", 0),
        ("Dirty", 148),
        ("Shmem", 3_248),
        ("Slab", total * 2 // 100),
    ]


def _stat(machine: Machine, up_s: float, boot_s: int) -> str:
    each = (int(up_s * 0.8), 0, int(up_s * 0.4), int(up_s * 97), int(up_s * 0.1), 0, 4, 0, 0, 0)
    rows = [("cpu ", [number * machine.cpus for number in each])]
    rows += [(f"cpu{number}", list(each)) for number in range(machine.cpus)]
    text = "".join(f"{name} {' '.join(map(str, numbers))}\n" for name, numbers in rows)
    return f"{text}ctxt {int(up_s * 310)}\nbtime {boot_s}\nprocesses 12\nprocs_running 1\n"
