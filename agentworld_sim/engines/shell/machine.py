"""What the simulated machine says about itself and what a turn on it may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class User:
    """One line of `/etc/passwd`, with the group of the same name unless `group` differs."""

    name: str
    uid: int
    gid: int
    home: str
    shell: str = "/usr/sbin/nologin"
    gecos: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """The identity of a simulated host. Sizes are in KiB, as `/proc/meminfo` and `df` count."""

    hostname: str = "debian"
    user: str = "root"
    home: str = "/root"
    workdir: str = "/root"
    """Where a fresh shell starts."""
    kernel: str = "6.1.0-28-amd64"
    kernel_version: str = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)"
    arch: str = "x86_64"
    debian_version: str = "12.8"
    cpus: int = 2
    memory_kib: int = 4_014_512
    disk_kib: int = 40_972_512
    disk_used_kib: int = 3_124_880
    boot_seconds: int = 86_512
    """How long the machine had been up at the world's first moment, in seconds."""
    extra_users: tuple[User, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    """Extra environment variables of a fresh shell."""
    packages: tuple[str, ...] = ()
    """Packages of its Python: `NAME==VERSION` of each, as `pinned_packages` gives them."""
    wheels: tuple[str, ...] = ()
    """The wheels of those, and others that its pip can install: `NAME.whl#sha256=…`."""
    programs: tuple[str, ...] | None = None
    """Those that it has, of the ones in `known_programs`; `None` for all that are installed."""
    allowed_directories: tuple[str, ...] = ()
    """Where the tools of the filesystem server may work; without any, in `workdir` and everywhere."""
    has_internet: bool = False
    """Whether hosts can be reached, and `curl` and `wget` are installed."""


@dataclass(frozen=True, slots=True)
class ShellLimits:
    """Limits of one turn in the shell."""

    wall_seconds: float = 30.0
    """Host time after which a running command is killed."""
    commands: int = 10_000_000
    """Commands per turn."""
    loop_iterations: int = 10_000_000
    """Iterations per loop."""
    memory_bytes: int = 256 * 1024 * 1024
    """Memory of the embedded shell for one world."""
    output_bytes: int = 8 * 1024 * 1024
    """Standard output and standard error of one turn, together."""
    imagined_commands: int = 64
    """Commands that may be asked of an imaginer in one turn."""
    file_bytes: int = 16 * 1024 * 1024
    """Size of a file that an imagined command writes."""
    files: int = 20_000
    """Number of files in the world after an imagined command."""
    total_bytes: int = 256 * 1024 * 1024
    """Size of all files together after an imagined command."""


def environment(machine: Machine) -> dict[str, str]:
    """The variables of a fresh login shell."""
    return {
        "HOME": machine.home,
        "LANG": "C.UTF-8",
        "LOGNAME": machine.user,
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "SHELL": "/bin/bash",
        "SHLVL": "1",
        "TERM": "xterm-256color",
        "USER": machine.user,
        # bashkit's own are 1000 and cannot be assigned later; `env` and `export -p` hide these two.
        "UID": "0" if machine.user == "root" else "1000",
        "EUID": "0" if machine.user == "root" else "1000",
        **dict(machine.env),
    }
