"""Locks on files: nobody else runs while a program does, so each is there for the asking."""

LOCK_SH, LOCK_EX, LOCK_NB, LOCK_UN = 1, 2, 4, 8
F_GETFD, F_SETFD, F_GETFL, F_SETFL, FD_CLOEXEC = 1, 2, 3, 4, 1


def fcntl(fd, *_):
    return 0


def flock(fd, *_):
    return None


lockf = flock


def ioctl(fd, *_):
    raise OSError(25, "Inappropriate ioctl for device")
