"""What a process may use."""

RLIM_INFINITY = -1
RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_NOFILE, RLIMIT_AS = (
    0, 1, 2, 3, 4, 7, 9,
)  # fmt: skip
error = OSError
_limits = {RLIMIT_NOFILE: (1024, 1048576), RLIMIT_STACK: (8388608, -1)}


def getrlimit(resource):
    return _limits.get(resource, (-1, -1))


def setrlimit(resource, limits):
    _limits[resource] = tuple(limits)
