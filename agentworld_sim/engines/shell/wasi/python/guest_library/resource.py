"""What a process may use, and what it has used."""

from collections import namedtuple

RLIM_INFINITY = -1
RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_AS = (
    0, 1, 2, 3, 4, 6, 7, 9,
)  # fmt: skip
RUSAGE_SELF, RUSAGE_CHILDREN = 0, -1
error = OSError

struct_rusage = namedtuple(
    "struct_rusage",
    "ru_utime ru_stime ru_maxrss ru_ixrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock"
    " ru_oublock ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw",
)
_limits = {RLIMIT_NOFILE: (1024, 1048576), RLIMIT_STACK: (8388608, -1)}


def getrlimit(resource):
    return _limits.get(resource, (-1, -1))


def setrlimit(resource, limits):
    _limits[resource] = tuple(limits)


def getrusage(who):
    return struct_rusage(0.01, 0.004, 9216, *[0] * 13)


def getpagesize():
    return 4096
