"""`/proc` and `/dev`: files whose content is the machine's present moment or chance.

The embedded shell's own `/dev/urandom` gives the host's entropy and its `/proc` names another
machine. These two file systems are mounted over them, one pair for each world.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from functools import lru_cache
from random import Random

from bashkit import FileSystem

from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.programs import DATA

RANDOM_BYTES = 65_536
"""What one read of `/dev/urandom` finds, the largest request of common scripts excepted."""

ZERO_BYTES = 1_048_576

_ASKS = re.compile(r"/dev\b|/proc\b|random\b|(?:^|[;&|(\s])(?:source|\.)\s")


class VolatileFiles:
    """The `/proc` and `/dev` of one world."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._filled = False
        self.proc = _empty()
        self.dev = _empty()
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


def _empty() -> FileSystem:
    fs = FileSystem()
    for name in ("/home", "/tmp", "/dev"):
        fs.remove(name, True)
    return fs


@lru_cache(maxsize=32)
def _proc_texts(machine: Machine) -> Mapping[str, str]:
    root = DATA / "proc"
    texts = {
        f"/{path.relative_to(root).as_posix()}": path.read_text("utf-8")
        for path in root.rglob("*")
        if path.is_file()
    }
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
