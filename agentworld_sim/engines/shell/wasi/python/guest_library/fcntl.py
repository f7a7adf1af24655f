"""Locks on files: nobody else runs while a program does, so each is there for the asking."""

LOCK_SH, LOCK_EX, LOCK_NB, LOCK_UN = 1, 2, 4, 8
F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL = 0, 1, 2, 3, 4
FD_CLOEXEC = 1


def fcntl(fd, cmd, arg=0):
    return 0


def flock(fd, operation):
    return None


def lockf(fd, cmd, len=0, start=0, whence=0):
    return None


def ioctl(fd, request, arg=0, mutate_flag=True):
    raise OSError(25, "Inappropriate ioctl for device")
