"""The groups in /etc/group."""

from collections import namedtuple

struct_group = namedtuple("struct_group", "gr_name gr_passwd gr_gid gr_mem")


def getgrall():
    with open("/etc/group") as file:
        rows = [line.rstrip("\n").split(":") for line in file if line.count(":") == 3]
    return [
        struct_group(*row[:2], int(row[2]), [one for one in row[3].split(",") if one])
        for row in rows
    ]


def getgrnam(name):
    for entry in getgrall():
        if entry.gr_name == name:
            return entry
    raise KeyError(f"getgrnam(): name not found: {name!r}")


def getgrgid(gid):
    for entry in getgrall():
        if entry.gr_gid == gid:
            return entry
    raise KeyError(f"getgrgid(): gid not found: {gid}")
