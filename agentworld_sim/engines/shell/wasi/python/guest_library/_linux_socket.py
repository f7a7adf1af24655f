"""Sockets of a machine whose only network is HTTP with the hosts of its world: what was sent is a request when the answer is
first read. Without such hosts nothing is reached."""

import errno
import io
import os

from _linux_host import ask


def enter(socket):
    def fail(code):
        def call(*_, **__):
            raise OSError(code, os.strerror(code))

        return call

    names = {}
    """Of hosts, by address."""

    def resolve(host):
        try:
            address = ask("resolve", host=host)[0]["address"]
        except BlockingIOError:
            raise socket.gaierror(-3, "Temporary failure in name resolution") from None
        except FileNotFoundError:
            raise socket.gaierror(-2, "Name or service not known") from None
        names[address] = host
        return address

    def is_near(host):
        return host in (None, "", "localhost", "0.0.0.0", "::1") or str(host).startswith("127.")

    def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
        text = os.fsdecode(host or "")
        text = "127.0.0.1" if is_near(text) else text
        if not text.replace(".", "").isdigit():
            text = resolve(text)
        kind = socket.SocketKind(type or socket.SOCK_STREAM)
        return [(socket.AF_INET, kind, 6, "", (text, int(port or 0)))]

    class Socket:
        def __init__(self, family=socket.AF_INET, type=socket.SOCK_STREAM, proto=0, fileno=None):
            self.family, self.type, self.proto = family, type, proto
            self._timeout = self._host = None
            self._sent, self._answer, self._io_refs = bytearray(), io.BytesIO(), 0

        def __enter__(self):
            return self

        def connect(self, address):
            code = errno.ENETUNREACH
            if isinstance(address, tuple):
                place = getaddrinfo(*address[:2])[0][4]
                self._host, self._peer = names.get(place[0]), place
                if self._host:
                    return
                if is_near(place[0]):
                    code = errno.ECONNREFUSED
            raise OSError(code, os.strerror(code))

        def connect_ex(self, address):
            try:
                self.connect(address)
            except socket.gaierror:
                raise
            except OSError as error:
                return error.errno
            return 0

        def _require_host(self):
            if not self._host:
                raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))

        def send(self, data, flags=0):
            self._require_host()
            self._sent += data
            return len(memoryview(data).cast("B"))

        def sendall(self, data, flags=0):
            self.send(data)

        def recv_into(self, buffer, nbytes=0, flags=0):
            self._require_host()
            if self._sent:
                self._answer = io.BytesIO(ask("http", bytes(self._sent), host=self._host)[1])
                self._sent.clear()
            return self._answer.readinto(memoryview(buffer)[: nbytes or None])

        def recv(self, size, flags=0):
            buffer = bytearray(size)
            return bytes(buffer[: self.recv_into(buffer)])

        def getpeername(self):
            self._require_host()
            return self._peer

        makefile = socket.socket.makefile

        def settimeout(self, seconds):
            self._timeout = seconds

        def gettimeout(self):
            return self._timeout

        def fileno(self):
            return -1

        def close(self, *_):
            pass

        __exit__ = setsockopt = setblocking = shutdown = _decref_socketios = close
        bind = listen = fail(errno.EACCES)
        sendto = fail(errno.ENETUNREACH)

    socket.socket = socket.SocketType = Socket
    socket.getaddrinfo = getaddrinfo
    socket.gethostbyname = lambda name: getaddrinfo(name, 0)[0][4][0]
    socket.gethostname = lambda: os.uname().nodename
    socket.AF_UNIX = getattr(socket, "AF_UNIX", 1)
