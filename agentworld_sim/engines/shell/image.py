"""The files of a freshly installed machine, and its read-only file systems."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from zlib import crc32

from bashkit import Bash, ExecutionProfile, FileSystem

from agentworld_sim.engines.shell._command import HELPER, IMAGINE
from agentworld_sim.engines.shell.live_files import iso_time, quoted
from agentworld_sim.engines.shell.machine import Machine, User
from agentworld_sim.engines.shell.programs import COMMAND_NAMES, PACKAGES, Package
from agentworld_sim.types.files import Blobs, FileEntry, FileTree, blob_id

SYSTEM_USERS = (
    User("root", 0, 0, "/root", "/bin/bash", "root"),
    User("daemon", 1, 1, "/usr/sbin", gecos="daemon"),
    User("bin", 2, 2, "/bin", gecos="bin"),
    User("sys", 3, 3, "/dev", gecos="sys"),
    User("sync", 4, 65534, "/bin", "/bin/sync", "sync"),
    User("games", 5, 60, "/usr/games", gecos="games"),
    User("man", 6, 12, "/var/cache/man", gecos="man"),
    User("lp", 7, 7, "/var/spool/lpd", gecos="lp"),
    User("mail", 8, 8, "/var/mail", gecos="mail"),
    User("news", 9, 9, "/var/spool/news", gecos="news"),
    User("uucp", 10, 10, "/var/spool/uucp", gecos="uucp"),
    User("proxy", 13, 13, "/bin", gecos="proxy"),
    User("www-data", 33, 33, "/var/www", gecos="www-data"),
    User("backup", 34, 34, "/var/backups", gecos="backup"),
    User("list", 38, 38, "/var/list", gecos="Mailing List Manager"),
    User("irc", 39, 39, "/run/ircd", gecos="ircd"),
    User("_apt", 42, 65534, "/nonexistent"),
    User("nobody", 65534, 65534, "/nonexistent", gecos="nobody"),
)

GROUPS = (
    "root:0 daemon:1 bin:2 sys:3 adm:4 tty:5 disk:6 lp:7 mail:8 news:9 uucp:10 man:12 proxy:13"
    " kmem:15 dialout:20 fax:21 voice:22 cdrom:24 floppy:25 tape:26 sudo:27 audio:29 dip:30"
    " www-data:33 backup:34 operator:37 list:38 irc:39 src:40 shadow:42 utmp:43 video:44 sasl:45"
    " plugdev:46 staff:50 games:60 users:100 nogroup:65534"
)

_OS_RELEASE = """\
PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
NAME="Debian GNU/Linux"
VERSION_ID="12"
VERSION="12 (bookworm)"
VERSION_CODENAME=bookworm
ID=debian
HOME_URL="https://www.debian.org/"
SUPPORT_URL="https://www.debian.org/support"
BUG_REPORT_URL="https://bugs.debian.org/"
"""

_SOURCES = """\
deb http://ftp.debian.org/debian bookworm main
deb http://ftp.debian.org/debian bookworm-updates main
deb http://security.debian.org/debian-security bookworm-security main
"""

_PROFILE = """\
# /etc/profile: read by login shells.

if [ "$(id -u)" -eq 0 ]; then
  PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
else
  PATH="/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
fi
export PATH

if [ -d /etc/profile.d ]; then
  for i in /etc/profile.d/*.sh; do
    if [ -r "$i" ]; then
      . "$i"
    fi
  done
  unset i
fi
"""

_BASH_BASHRC = """\
# /etc/bash.bashrc: read by interactive bash shells.

# Nothing to do for a shell that nobody types into.
[ -z "$PS1" ] && return

shopt -s checkwinsize
PS1='\\u@\\h:\\w\\$ '
"""

_BASHRC = """\
# ~/.bashrc: read by bash when it is not a login shell.

# export LS_OPTIONS='--color=auto'
# alias ls='ls $LS_OPTIONS'
# alias ll='ls $LS_OPTIONS -l'
# alias l='ls $LS_OPTIONS -lA'
#
# alias rm='rm -i'
# alias cp='cp -i'
# alias mv='mv -i'
"""

_USER_PROFILE = """\
# ~/.profile: read by login shells.

if [ "$BASH" ]; then
  if [ -f ~/.bashrc ]; then
    . ~/.bashrc
  fi
fi

mesg n 2> /dev/null || true
"""


def text_files(machine: Machine) -> dict[str, str]:
    """Contents by path."""
    users = (*SYSTEM_USERS, *machine.extra_users)
    name = machine.hostname
    return {
        "/etc/apt/sources.list": _SOURCES,
        "/etc/bash.bashrc": _BASH_BASHRC,
        "/etc/debian_version": f"{machine.debian_version}\n",
        "/etc/fstab": "# UNCONFIGURED FSTAB FOR BASE SYSTEM\n",
        "/etc/group": "".join(f"{name}:x:{gid}:\n" for name, gid in group_ids(machine).items()),
        "/etc/hostname": f"{name}\n",
        "/etc/hosts": f"127.0.0.1\tlocalhost\n127.0.1.1\t{name}\n\n::1\tlocalhost ip6-localhost"
        " ip6-loopback\nff02::1\tip6-allnodes\nff02::2\tip6-allrouters\n",
        "/etc/issue": "Debian GNU/Linux 12 \\n \\l\n\n",
        "/etc/issue.net": "Debian GNU/Linux 12\n",
        "/etc/motd": "",
        "/etc/passwd": "".join(passwd_line(user) for user in users),
        "/etc/profile": _PROFILE,
        "/etc/resolv.conf": "nameserver 10.0.2.3\n",
        "/etc/shadow": "".join(f"{user.name}:*:19980:0:99999:7:::\n" for user in users),
        "/etc/shells": "# /etc/shells: valid login shells\n/bin/sh\n/usr/bin/sh\n/bin/bash\n"
        "/usr/bin/bash\n/bin/dash\n/usr/bin/dash\n",
        "/etc/timezone": "Etc/UTC\n",
        "/root/.bashrc": _BASHRC,
        "/root/.profile": _USER_PROFILE,
        "/usr/lib/os-release": _OS_RELEASE,
        "/var/lib/dpkg/status": "\n".join(status_text(package) for package in PACKAGES),
    }


def passwd_line(user: User) -> str:
    return f"{user.name}:x:{user.uid}:{user.gid}:{user.gecos}:{user.home}:{user.shell}\n"


def group_ids(machine: Machine) -> dict[str, int]:
    """Group ids by name, in the order of `/etc/group`."""
    found = {name: int(gid) for name, _, gid in (word.partition(":") for word in GROUPS.split())}
    for user in machine.extra_users:
        if user.gid not in found.values():
            found[user.name] = user.gid
    return found


def status_text(package: Package) -> str:
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
def system_mounts(imagined: frozenset[str] = frozenset()) -> Mapping[str, FileSystem]:
    """File systems by mount point, to be mounted read-only. All worlds share them.

    Those in `imagined` look installed although the shell does not have them.
    """
    fs = FileSystem()
    for name in ("/home", "/tmp", "/dev"):
        fs.remove(name, True)
    for name in COMMAND_NAMES:
        fs.write_file(f"/{name}", _program(name))
        fs.chmod(f"/{name}", 0o755)
    for name in imagined:
        fs.write_file(f"/{name}", _stand_in(name))
        fs.chmod(f"/{name}", 0o755)
    janitor = Bash(profile=ExecutionProfile.Interactive)
    janitor.mount("/", fs)
    paths = " ".join(quoted(f"/{name}") for name in (*COMMAND_NAMES, *sorted(imagined)))
    janitor.execute_sync(f"touch -d {iso_time(INSTALLED_US)} -- / {paths}")
    return {"/usr/bin": fs}


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


def _stand_in(name: str) -> bytes:
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
