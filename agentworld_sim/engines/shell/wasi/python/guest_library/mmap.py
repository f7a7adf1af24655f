"""Files are not mapped into memory here."""

ACCESS_READ, ACCESS_WRITE, ACCESS_COPY = 1, 2, 3


class mmap:
    def __init__(self, *_, **__):
        raise OSError(19, "No such device")
