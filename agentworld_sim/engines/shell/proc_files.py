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

RANDOM_BYTES = 65_536
"""What one read of `/dev/urandom` finds, the largest request of common scripts excepted."""

ZERO_BYTES = 1_048_576

_ASKS = re.compile(r"/dev\b|/proc\b|random\b|(?:^|[;&|(\s])(?:source|\.)\s")

_CPU_FLAGS = (
    "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse"
    " sse2 ht syscall nx rdtscp lm constant_tsc rep_good nopl cpuid pni pclmulqdq ssse3 fma cx16"
    " pcid sse4_1 sse4_2 movbe popcnt aes xsave avx f16c rdrand lahf_lm abm bmi1 avx2 bmi2 erms"
    " rdseed adx clflushopt sha_ni"
)

MOUNTS = (
    ("overlay", "/", "overlay", "rw,relatime"),
    ("proc", "/proc", "proc", "rw,nosuid,nodev,noexec,relatime"),
    ("tmpfs", "/dev", "tmpfs", "rw,nosuid,size=65536k,mode=755"),
    ("devpts", "/dev/pts", "devpts", "rw,nosuid,noexec,relatime,gid=5,mode=620,ptmxmode=666"),
    ("sysfs", "/sys", "sysfs", "ro,nosuid,nodev,noexec,relatime"),
    ("shm", "/dev/shm", "tmpfs", "rw,nosuid,nodev,noexec,relatime,size=65536k"),
)


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


TAB = "\t"

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
    mounts = "".join(f"{what} {where} {kind} {how} 0 0\n" for what, where, kind, how in MOUNTS)
    boot_id = uuid.uuid5(uuid.NAMESPACE_DNS, machine.hostname + machine.kernel_version)
    texts = {
        "/cmdline": f"BOOT_IMAGE=/boot/vmlinuz-{machine.kernel} root=/dev/sda1 ro quiet\n",
        "/cpuinfo": "".join(_cpu(machine, number) for number in range(machine.cpus)),
        "/filesystems": "nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\n\text4\nnodev\toverlay\n",
        "/loadavg": "0.00 0.01 0.00 1/97 12\n",
        "/meminfo": "".join(f"{name + ':':<16}{kib:>8} kB\n" for name, kib in memory(machine)),
        "/mounts": mounts,
        "/stat": "",
        "/swaps": "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
        "/uptime": "",
        "/version": f"Linux version {machine.kernel} (debian-kernel@lists.debian.org) (gcc-12"
        " (Debian 12.2.0-14) 12.2.0, GNU ld (GNU Binutils for Debian) 2.40)"
        f" {machine.kernel_version}\n",
        "/sys/kernel/hostname": f"{machine.hostname}\n",
        "/sys/kernel/osrelease": f"{machine.kernel}\n",
        "/sys/kernel/ostype": "Linux\n",
        "/sys/kernel/pid_max": "4194304\n",
        "/sys/kernel/random/boot_id": f"{boot_id}\n",
        "/sys/kernel/random/uuid": "",
        "/self/fd/0": "",
        "/self/fd/1": "",
        "/self/fd/2": "",
        "/self/mounts": mounts,
    }
    for folder in ("/self", "/1"):
        texts[f"{folder}/cgroup"] = "0::/\n"
        texts[f"{folder}/cmdline"] = "bash\0"
        texts[f"{folder}/comm"] = "bash\n"
        texts[f"{folder}/status"] = _status()
    return texts


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


def _cpu(machine: Machine, number: int) -> str:
    pairs = (
        ("processor", number),
        ("vendor_id", "GenuineIntel"),
        ("cpu family", 6),
        ("model", 85),
        ("model name", "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz"),
        ("stepping", 7),
        ("cpu MHz", "2499.998"),
        ("cache size", "36608 KB"),
        ("physical id", 0),
        ("siblings", machine.cpus),
        ("core id", number),
        ("cpu cores", machine.cpus),
        ("fpu", "yes"),
        ("flags", _CPU_FLAGS),
        ("bogomips", "4999.99"),
        ("clflush size", 64),
        ("address sizes", "46 bits physical, 48 bits virtual"),
    )
    lines = (f"{name}{TAB * (1 + (len(name) < 8))}: {value}\n" for name, value in pairs)
    return "".join(lines) + "power management:\n\n"


def _status() -> str:
    pairs = (
        ("Name", "bash"), ("Umask", "0022"), ("State", "S (sleeping)"), ("Tgid", "1"),
        ("Ngid", "0"), ("Pid", "1"), ("PPid", "0"), ("TracerPid", "0"), ("Uid", "0\t0\t0\t0"),
        ("Gid", "0\t0\t0\t0"), ("FDSize", "256"), ("Groups", "0 "), ("VmPeak", "    4188 kB"),
        ("VmSize", "    4188 kB"), ("VmRSS", "    3456 kB"), ("Threads", "1"),
    )  # fmt: skip
    return "".join(f"{name}:\t{value}\n" for name, value in pairs)


def _stat(machine: Machine, up_s: float, boot_s: int) -> str:
    each = (int(up_s * 0.8), 0, int(up_s * 0.4), int(up_s * 97), int(up_s * 0.1), 0, 4, 0, 0, 0)
    rows = [("cpu ", [number * machine.cpus for number in each])]
    rows += [(f"cpu{number}", list(each)) for number in range(machine.cpus)]
    text = "".join(f"{name} {' '.join(map(str, numbers))}\n" for name, numbers in rows)
    return f"{text}ctxt {int(up_s * 310)}\nbtime {boot_s}\nprocesses 12\nprocs_running 1\n"
