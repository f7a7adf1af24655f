"""The machine's read-only file systems, shared by all worlds: the commands in `/usr/bin`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from zlib import crc32

from bashkit import Bash, ExecutionProfile, FileSystem

from agentworld_sim.engines.shell._files import iso_time, quoted
from agentworld_sim.engines.shell._guise import HELPER, IMAGINE
from agentworld_sim.engines.shell._packages import COMMAND_NAMES
from agentworld_sim.engines.shell.machine import Machine

PROGRAM_START = "\x7fELF\x02\x01\x01"
"""How a program's file begins. It must also be a word that the embedded shell can run as a command
without effect, because the shell reads the file as a script."""

INSTALLED_US = 1_726_315_200_000_000
"""2024-09-14: when the machine's programs were built."""


@lru_cache(maxsize=8)
def system_mounts(
    machine: Machine, imagined: frozenset[str] = frozenset()
) -> Mapping[str, FileSystem]:
    """File systems by mount point, to be mounted read-only. Worlds with equal machines share them.

    Args:
        machine: Whose they are.
        imagined: Programs that look installed although the shell does not have them.
    """
    del machine  # the same programs on every machine, for now
    return {"/usr/bin": _programs(imagined)}


@lru_cache(maxsize=8)
def _programs(imagined: frozenset[str]) -> FileSystem:
    fs = FileSystem()
    for name in ("/home", "/tmp", "/dev"):
        fs.remove(name, True)
    for name in COMMAND_NAMES:
        fs.write_file(f"/{name}", _program(name))
        fs.chmod(f"/{name}", 0o755)
    for name in imagined:
        fs.write_file(f"/{name}", _imagined_program(name))
        fs.chmod(f"/{name}", 0o755)
    janitor = Bash(profile=ExecutionProfile.Interactive)
    janitor.mount("/", fs)
    paths = " ".join(quoted(f"/{name}") for name in (*COMMAND_NAMES, *sorted(imagined)))
    janitor.execute_sync(f"touch -d {iso_time(INSTALLED_US)} -- / {paths}")
    return fs


_STRINGS = b"\0".join(
    (
        b"/lib64/ld-linux-x86-64.so.2",
        b"libc.so.6",
        b"__libc_start_main",
        b"GLIBC_2.34",
        b".shstrtab",
        b".dynamic",
        b"",
    )
)
"""What `strings` finds in every program."""


SCRIPTS = {
    "zcat": 'exec gzip -cd "$@"',
    "zgrep": 'for f in "$@"; do if [ "$n" ]; then a+=("$l"); fi; l=$f; n=1; done; if [ -f "$l" ]; then'
    ' gzip -cdf "$l" | grep "${a[@]}"; else grep "$@"; fi',
    "zmore": 'exec gzip -cd "$@"',
    "zless": 'exec gzip -cd "$@"',
}
"""Programs that are scripts around others on a real machine too."""

_PIECE = re.compile(r"&&|\$[@*\w{]|[^&$]{1,2}")


def _imagined_program(name: str) -> bytes:
    return _program_of(f'exec {HELPER} {IMAGINE} {name} "$@"', 8_192 + crc32(name.encode()) % 8_000)


def _program(name: str) -> bytes:
    about = f'[ "$*" = --version ] && exec {HELPER} about {name} --version\n' * (name != "[")
    script = f'{about}{SCRIPTS.get(name, f"""exec {name} "$@" """.rstrip())}\n'
    return _program_of(script, 24_576 + crc32(name.encode()) % 6_000 * 8)


def _program_of(script: str, size: int) -> bytes:
    # In pieces too short for `strings` to take for text.
    lines = ("\\\n".join(_PIECE.findall(line)) for line in script.splitlines())
    start = f"{PROGRAM_START}\n{chr(10).join(lines)}\n#\0".encode() + _STRINGS
    return start + bytes(size)
