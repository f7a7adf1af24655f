"""The accounts in /etc/passwd."""

from collections import namedtuple

struct_passwd = namedtuple(
    "struct_passwd", "pw_name pw_passwd pw_uid pw_gid pw_gecos pw_dir pw_shell"
)


def getpwall():
    with open("/etc/passwd") as file:
        rows = [line.rstrip("\n").split(":") for line in file if line.count(":") == 6]
    return [struct_passwd(*row[:2], int(row[2]), int(row[3]), *row[4:]) for row in rows]


def find(rows, at, key, called):
    for row in rows:
        if row[at] == key:
            return row
    raise KeyError(f"{called} not found: {key!r}")


def getpwnam(name):
    return find(getpwall(), 0, name, "getpwnam(): name")


def getpwuid(uid):
    return find(getpwall(), 2, uid, "getpwuid(): uid")
