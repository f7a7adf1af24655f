"""Files in memory: a copy that is written back at `flush` and `close`."""

import io
import os

ACCESS_DEFAULT, ACCESS_READ, ACCESS_WRITE, ACCESS_COPY = 0, 1, 2, 3
MAP_SHARED, MAP_PRIVATE, PROT_READ, PROT_WRITE = 1, 2, 1, 2
PAGESIZE = ALLOCATIONGRANULARITY = 4096
error = OSError


class mmap(io.BytesIO):
    def __init__(self, fileno, length, flags=MAP_SHARED, prot=3, access=ACCESS_DEFAULT, offset=0, **_):
        self._number, self._offset = fileno, offset
        self._writes = fileno >= 0 and access in (0, 2) and flags == MAP_SHARED and prot & PROT_WRITE
        held = b"" if fileno < 0 else os.pread(fileno, length or 1 << 30, offset)
        if fileno >= 0 and not held:
            raise ValueError("cannot mmap an empty file")
        super().__init__(held or bytes(length))

    def __len__(self):
        return len(self.getbuffer())

    def __getitem__(self, key):
        held = self.getbuffer()[key]
        return held if isinstance(held, int) else bytes(held)

    def __setitem__(self, key, value):
        self.getbuffer()[key] = value

    def find(self, part, *places):
        return self.getvalue().find(part, *(places or (self.tell(),)))

    def rfind(self, part, *places):
        return self.getvalue().rfind(part, *(places or (self.tell(),)))

    def size(self):
        return os.fstat(self._number).st_size

    def flush(self, *_):
        if not self.closed and self._writes:
            os.pwrite(self._number, self.getvalue(), self._offset)

    def close(self):
        self.flush()
        super().close()
