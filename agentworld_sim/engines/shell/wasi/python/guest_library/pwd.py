"""The accounts in /etc/passwd."""

from collections import namedtuple

struct_passwd = namedtuple(
    "struct_passwd", "pw_name pw_passwd pw_uid pw_gid pw_gecos pw_dir pw_shell"
)


def getpwall():
    with open("/etc/passwd") as file:
        rows = [line.rstrip("\n").split(":") for line in file if line.count(":") == 6]
    return [struct_passwd(*row[:2], int(row[2]), int(row[3]), *row[4:]) for row in rows]


def getpwnam(name):
    for entry in getpwall():
        if entry.pw_name == name:
            return entry
    raise KeyError(f"getpwnam(): name not found: {name!r}")


def getpwuid(uid):
    for entry in getpwall():
        if entry.pw_uid == uid:
            return entry
    raise KeyError(f"getpwuid(): uid not found: {uid}")
