"""Numbers as C has them on 64-bit Linux. There are no libraries to call."""


class _Number:
    size, kind, half = 8, int, 0

    def __init__(self, value=0):
        if self.kind is int:
            value = (value + self.half) % (1 << 8 * self.size) - self.half
        self.value = self.kind(value)

    def __repr__(self):
        return f"{type(self).__name__}({self.value!r})"


def sizeof(number):
    return number.size


def _kind(name, size, kind=int):
    half = 0 if name.startswith(("c_u", "c_size", "c_void")) else 1 << 8 * size - 1
    fields = {"size": size, "kind": kind, "half": half, "__module__": __name__}
    globals()[name] = type(name, (_Number,), fields)


for _size, _names in (
    (1, "c_byte c_ubyte c_int8 c_uint8"),
    (2, "c_short c_ushort c_int16 c_uint16"),
    (4, "c_int c_uint c_int32 c_uint32"),
    (8, "c_long c_ulong c_longlong c_ulonglong c_size_t c_ssize_t c_void_p c_int64 c_uint64"),
):
    for _name in _names.split():
        _kind(_name, _size)
_kind("c_float", 4, float)
_kind("c_double", 8, float)
_kind("c_bool", 1, bool)


class CDLL:
    def __init__(self, name=None, *_, **__):
        raise OSError(f"{name}: cannot open shared object file: No such file or directory")
