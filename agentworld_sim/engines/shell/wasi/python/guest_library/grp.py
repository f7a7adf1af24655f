"""The groups in /etc/group."""

from collections import namedtuple

from pwd import find

struct_group = namedtuple("struct_group", "gr_name gr_passwd gr_gid gr_mem")


def getgrall():
    with open("/etc/group") as file:
        rows = [line.rstrip("\n").split(":") for line in file if line.count(":") == 3]
    return [struct_group(*row[:2], int(row[2]), [*filter(None, row[3].split(","))]) for row in rows]


def getgrnam(name):
    return find(getgrall(), 0, name, "getgrnam(): name")


def getgrgid(gid):
    return find(getgrall(), 2, gid, "getgrgid(): gid")
