"""Sockets of a machine without a network."""

import errno
import os


def enter(socket):
    def fail(code):
        def call(*_, **__):
            raise OSError(code, os.strerror(code))

        return call

    def is_near(host):
        return host in (None, "", "localhost", "0.0.0.0", "::1") or str(host).startswith("127.")

    def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
        text = os.fsdecode(host) if host is not None else "127.0.0.1"
        text = "127.0.0.1" if is_near(text) else text
        if not text.replace(".", "").isdigit():
            raise socket.gaierror(-3, "Temporary failure in name resolution")
        kind = socket.SocketKind(type or socket.SOCK_STREAM)
        return [(socket.AF_INET, kind, 6, "", (text, int(port or 0)))]

    class Socket:
        def __init__(self, family=socket.AF_INET, type=socket.SOCK_STREAM, proto=0, fileno=None):
            self.family, self.type, self.proto = family, type, proto
            self._timeout = None

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.close()

        def connect(self, address):
            code = errno.ENETUNREACH
            if isinstance(address, tuple) and is_near(getaddrinfo(*address[:2])[0][4][0]):
                code = errno.ECONNREFUSED
            raise OSError(code, os.strerror(code))

        def connect_ex(self, address):
            try:
                self.connect(address)
            except socket.gaierror:
                raise
            except OSError as error:
                return error.errno

        def settimeout(self, seconds):
            self._timeout = seconds

        def gettimeout(self):
            return self._timeout

        def fileno(self):
            return -1

        def close(self, *_):
            pass

        setsockopt = setblocking = shutdown = close
        bind = listen = fail(errno.EACCES)
        send = sendall = recv = getpeername = fail(errno.ENOTCONN)
        sendto = fail(errno.ENETUNREACH)

    def gethostbyname(name):
        return getaddrinfo(name, 0)[0][4][0]

    socket.socket = socket.SocketType = Socket
    socket.getaddrinfo, socket.gethostbyname = getaddrinfo, gethostbyname
    socket.gethostname = lambda: os.uname().nodename
    socket.AF_UNIX = getattr(socket, "AF_UNIX", 1)
