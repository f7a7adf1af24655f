"""Files in memory: a copy, written back when it is closed."""

import io
import os

ACCESS_DEFAULT, ACCESS_READ, ACCESS_WRITE, ACCESS_COPY = 0, 1, 2, 3
PAGESIZE = ALLOCATIONGRANULARITY = 4096
error = OSError


class mmap(io.BytesIO):
    def __init__(self, fileno, length, access=ACCESS_DEFAULT, offset=0):
        self._number, self._offset = fileno, offset
        self._writes = fileno >= 0 and access in (ACCESS_DEFAULT, ACCESS_WRITE)
        held = b"" if fileno < 0 else os.pread(fileno, length or 1 << 30, offset)
        if fileno >= 0 and not held:
            raise ValueError("cannot mmap an empty file")
        super().__init__(held or bytes(length))

    def __len__(self):
        return len(self.getbuffer())

    def __getitem__(self, key):
        return self.getvalue()[key]

    def __setitem__(self, key, value):
        self.getbuffer()[key] = value

    def find(self, part, *places):
        return self.getvalue().find(part, *(places or (self.tell(),)))

    def flush(self):
        if self._writes and not self.closed:
            os.pwrite(self._number, self.getvalue(), self._offset)

    def close(self):
        self.flush()
        super().close()
