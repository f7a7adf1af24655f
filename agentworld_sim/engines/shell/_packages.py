"""What is installed on the machine: packages, the commands they bring, what `--version` prints.

The embedded shell also has commands that no Debian package brings, and some that a minimal machine
lacks. `MISSING` names them; they answer as a shell answers for a command that is not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

_MISSING = (
    "assert bc busybox csv curl dotenv glob help http json log man nano parallel retry semver template"
    " tomlq uuidgen verify vi wget yq"
)

MISSING = frozenset(_MISSING.split())

_GNU_NOTICE = """\
Copyright (C) {year} Free Software Foundation, Inc.
License GPLv3+: GNU GPL version 3 or later <{scheme}://gnu.org/licenses/gpl.html>.
"""

_GNU_WARRANTY = """\
This is free software: you are free to change and redistribute it.
There is NO WARRANTY, to the extent permitted by law.
"""

_GLIBC_NOTICE = """\
Copyright (C) 2022 Free Software Foundation, Inc.
This is free software; see the source for copying conditions.  There is NO
warranty; not even for MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.
"""


@dataclass(frozen=True, slots=True)
class Package:
    """One installed package."""

    name: str
    version: str
    summary: str
    commands: tuple[str, ...] = ()
    banner: str = ""
    """First lines of `COMMAND --version`; `{cmd}` stands for the command."""
    gnu_year: int = 0
    """Copyright year of the GNU notice under the banner; 0 for none."""
    arch: str = "amd64"


def _package(name: str, version: str, summary: str, commands: str = "", **more: object) -> Package:
    return Package(name, version, summary, tuple(commands.split()), **more)  # pyright: ignore[reportArgumentType]


_COREUTILS = (
    "[ arch b2sum base32 base64 basename basenc cat chgrp chmod chown cksum comm cp cut date"
    " dd df dirname du echo env expand expr factor false fmt fold groups head hostid id install"
    " join link ln logname ls md5sum mkdir mkfifo mktemp mv nice nl nohup nproc numfmt od paste pr"
    " printenv printf pwd readlink realpath rm rmdir seq sha1sum sha224sum sha256sum sha384sum"
    " sha512sum shuf sleep sort split stat sum sync tac tail tee test timeout touch tr true"
    " truncate tsort tty uname unexpand uniq unlink users wc who whoami yes"
)

_LIBC = "(Debian GLIBC 2.36-9+deb12u9) 2.36\n"

PACKAGES: tuple[Package, ...] = (
    _package("adduser", "3.134", "add and remove users and groups", arch="all"),
    _package("apt", "2.6.1", "commandline package manager", "apt apt-get",
             banner="apt 2.6.1 (amd64)\n"),
    _package("base-files", "12.4+deb12u8", "Debian base system miscellaneous files"),
    _package("base-passwd", "3.6.1", "Debian base system master password and group files"),
    _package("bash", "5.2.15-2+b7", "GNU Bourne Again SHell", "bash"),
    _package("binutils", "2.40-2", "GNU assembler, linker and binary utilities", "strings",
             banner="GNU {cmd} (GNU Binutils for Debian) 2.40\n", gnu_year=2023),
    _package("bsdextrautils", "2.38.1-5+deb12u2", "extra utilities from 4.4BSD-Lite",
             "column hexdump", banner="{cmd} from util-linux 2.38.1\n"),
    _package("bzip2", "1.0.8-5+b1", "high-quality block-sorting file compressor - utilities",
             "bunzip2 bzcat bzip2", banner="bzip2, a block-sorting file compressor."
             "  Version 1.0.8, 13-Jul-2019.\n"),
    _package("coreutils", "9.1-1", "GNU core utilities", _COREUTILS,
             banner="{cmd} (GNU coreutils) 9.1\n", gnu_year=2022),
    _package("dash", "0.5.12-2", "POSIX-compliant shell", "sh"),
    _package("debianutils", "5.7-0.5~deb12u1", "Miscellaneous utilities specific to Debian",
             "which"),
    _package("diffutils", "1:3.8-4", "File comparison utilities", "cmp diff",
             banner="{cmd} (GNU diffutils) 3.8\n", gnu_year=2021),
    _package("dpkg", "1.21.22", "Debian package management system"),
    _package("file", "1:5.44-3", 'Recognize the type of data in a file using "magic" numbers',
             "file", banner="file-5.44\nmagic file from /etc/magic:/usr/share/misc/magic\n"),
    _package("findutils", "4.9.0-4", "utilities for finding files--find, xargs", "find xargs",
             banner="{cmd} (GNU findutils) 4.9.0\n", gnu_year=2022),
    _package("gawk", "1:5.2.1-2", "GNU awk, a pattern scanning and processing language",
             "awk gawk nawk", banner="GNU Awk 5.2.1, API 3.2, PMA Avon 8-g1, (GNU MPFR 4.2.0, GNU"
             " MP 6.2.1)\n", gnu_year=2022),
    _package("gettext-base", "0.21-12", "GNU Internationalization utilities for the base system",
             "envsubst", banner="{cmd} (GNU gettext-runtime) 0.21\n", gnu_year=2020),
    _package("grep", "3.8-5", "GNU grep, egrep and fgrep", "egrep fgrep grep",
             banner="grep (GNU grep) 3.8\n", gnu_year=2022),
    _package("gzip", "1.12-1", "GNU compression utilities", "gunzip gzip zcat zgrep zless zmore",
             banner="{cmd} 1.12\n", gnu_year=2018),
    _package("hostname", "3.23+nmu1", "utility to set/show the host name or domain name",
             "hostname", banner="hostname 3.23\n"),
    _package("jq", "1.6-2.1", "lightweight and flexible command-line JSON processor", "jq",
             banner="jq-1.6\n"),
    _package("less", "590-2.1~deb12u2", "pager program similar to more", "less",
             banner="less 590 (GNU regular expressions)\nCopyright (C) 1984-2021  Mark Nudelman\n"),
    _package("libc-bin", "2.36-9+deb12u9", "GNU C Library: Binaries",
             "getconf getent iconv locale", banner="{cmd} " + _LIBC + _GLIBC_NOTICE),
    _package("libc6", "2.36-9+deb12u9", "GNU C Library: Shared libraries"),
    _package("login", "1:4.13+dfsg1-1+b1", "system login tools"),
    _package("make", "4.3-4.1", "utility for directing compilation", "make",
             banner="GNU Make 4.3\nBuilt for x86_64-pc-linux-gnu\n", gnu_year=2020),
    _package("mawk", "1.3.4.20200120-3.1", "Pattern scanning and text processing language", "mawk",
             banner="mawk 1.3.4 20200120\n"),
    _package("mount", "2.38.1-5+deb12u2", "tools for mounting and manipulating filesystems"),
    _package("ncurses-bin", "6.4-4", "terminal-related programs and man pages", "clear"),
    _package("openssl", "3.0.15-1~deb12u1", "Secure Sockets Layer toolkit - cryptographic utility",
             "openssl"),
    _package("passwd", "1:4.13+dfsg1-1+b1", "change and administer password and group data"),
    _package("patch", "2.7.6-7", "Apply a diff file to an original", "patch",
             banner="GNU patch 2.7.6\n", gnu_year=2012),
    _package("perl", "5.36.0-7+deb12u1", "Larry Wall's Practical Extraction and Report Language",
             "shasum", banner="6.02\n"),
    _package("procps", "2:4.0.2-3", "/proc file system utilities",
             "free kill pgrep pkill ps uptime watch", banner="{cmd} from procps-ng 4.0.2\n"),
    _package("ripgrep", "13.0.0-4+b2", "Recursively searches directories for a regex pattern", "rg",
             banner="ripgrep 13.0.0\n-SIMD -AVX (compiled)\n+SIMD +AVX (runtime)\n"),
    _package("sed", "4.9-1", "GNU stream editor for filtering/transforming text", "sed",
             banner="sed (GNU sed) 4.9\nPackaged by Debian\n", gnu_year=2022),
    _package("sudo", "1.9.13p3-1+deb12u1", "Provide limited super user privileges to users", "sudo",
             banner="Sudo version 1.9.13p3\nSudoers policy plugin version 1.9.13p3\n"),
    _package("tar", "1.34+dfsg-1.2+deb12u1", "GNU version of the tar archiving utility", "tar",
             banner="tar (GNU tar) 1.34\n", gnu_year=2021),
    _package("tree", "2.1.0-1", "displays an indented directory tree, in color", "tree",
             banner="tree v2.1.0 © 1996 - 2022 by Steve Baker, Thomas Moore, Francesc Rocher,"
             " Florian Sesser, Kyosuke Tokoro\n"),
    _package("tzdata", "2024a-0+deb12u1", "time zone and daylight-saving time data", arch="all"),
    _package("unzip", "6.0-28", "De-archiver for .zip files", "unzip",
             banner="UnZip 6.00 of 20 April 2009, by Debian. Original by Info-ZIP.\n"),
    _package("util-linux", "2.38.1-5+deb12u2", "miscellaneous system utilities",
             "flock more rev", banner="{cmd} from util-linux 2.38.1\n"),
    _package("xxd", "2:9.0.1378-2", "tool to make (or reverse) a hex dump", "xxd",
             banner="xxd 2022-01-14 by Juergen Weigert et al.\n"),
    _package("zip", "3.0-13", "Archiver for .zip files", "zip",
             banner="Copyright (c) 1990-2008 Info-ZIP - Type 'zip \"-L\"' for software license.\n"
             "This is Zip 3.0 (July 5th 2008), by Info-ZIP.\n"),
)  # fmt: skip

COMMAND_NAMES: tuple[str, ...] = tuple(sorted(c for p in PACKAGES for c in p.commands))

BASH_VERSION = """\
GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)
Copyright (C) 2022 Free Software Foundation, Inc.
License GPLv3+: GNU GPL version 3 or later <http://gnu.org/licenses/gpl.html>

This is free software; you are free to change and redistribute it.
There is NO WARRANTY, to the extent permitted by law.
"""


@lru_cache(maxsize=1)
def package_of_command() -> dict[str, Package]:
    """Which package brings a command."""
    return {command: package for package in PACKAGES for command in package.commands}


def version_text(command: str) -> str | None:
    """What `command --version` prints; `None` for a command that has no such text."""
    if command == "bash":
        return BASH_VERSION
    package = package_of_command().get(command)
    if package is None or not package.banner:
        return None
    text = package.banner.format(cmd=command)
    if package.gnu_year:
        text += _GNU_NOTICE.format(year=package.gnu_year, scheme="https") + _GNU_WARRANTY
    return text
