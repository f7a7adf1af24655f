"""What is written in the files of a freshly installed machine."""

from __future__ import annotations

from agentworld_sim.engines.shell._packages import PACKAGES, Package
from agentworld_sim.engines.shell.machine import Machine, User

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

_NSSWITCH = """\
# Where the C library looks names up.
passwd:         files
group:          files
shadow:         files
gshadow:        files

hosts:          files dns
networks:       files

protocols:      db files
services:       db files
ethers:         db files
rpc:            db files

netgroup:       nis
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

_LOGIN_DEFS = """\
# /etc/login.defs: how accounts are made.
MAIL_DIR        /var/mail
UMASK           022
PASS_MAX_DAYS   99999
PASS_MIN_DAYS   0
PASS_WARN_AGE   7
UID_MIN         1000
UID_MAX         60000
GID_MIN         1000
GID_MAX         60000
USERGROUPS_ENAB yes
ENCRYPT_METHOD  YESCRYPT
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
        "/etc/host.conf": "multi on\n",
        "/etc/hostname": f"{name}\n",
        "/etc/hosts": f"127.0.0.1\tlocalhost\n127.0.1.1\t{name}\n\n::1\tlocalhost ip6-localhost"
        " ip6-loopback\nff02::1\tip6-allnodes\nff02::2\tip6-allrouters\n",
        "/etc/issue": "Debian GNU/Linux 12 \\n \\l\n\n",
        "/etc/issue.net": "Debian GNU/Linux 12\n",
        "/etc/login.defs": _LOGIN_DEFS,
        "/etc/motd": "",
        "/etc/nsswitch.conf": _NSSWITCH,
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
