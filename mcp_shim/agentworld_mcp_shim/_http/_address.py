"""Where the shim listens, and whose requests it takes there.

A page in a browser can send requests to this machine, also through a name of its own that leads here
(DNS rebinding). What it cannot do is lie about `Host` and `Origin`: both are always looked at.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping

from agentworld_mcp_shim._settings import HttpSettings
from agentworld_sim.errors import UsageError

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


def parsed_address(text: str) -> tuple[str, int]:
    """`[HOST:]PORT` as host and port; the host is 127.0.0.1 by default, port 0 means any free one.

    Raises:
        UsageError: it is not of that form.
    """
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host or (colon and not host):
        port = ""
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise UsageError(
            f"--http {text!r} is not of the form [HOST:]PORT, for example 8765 or [::1]:8765."
        )
    return host or "127.0.0.1", int(port)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_exposure(settings: HttpSettings) -> None:
    """Raises `UsageError` when anybody on the network could use the shim."""
    if is_loopback(settings.host) or settings.tokens:
        return
    raise UsageError(
        f"--http {settings.host}:{settings.port} can be reached from other machines, and no tokens are"
        " set. Give tokens with --token-file FILE or AGENTWORLD_MCP_TOKEN, or listen on 127.0.0.1."
    )


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket on that port, which does not listen yet.

    Raises:
        UsageError: the address cannot be listened on.
    """
    try:
        found = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _, address = found[0]
        # With the protocol spelled out, without which asyncio leaves Nagle's algorithm on: 40 ms a call.
        made = socket.socket(family, kind, protocol)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
        except OSError:
            made.close()
            raise
        return made
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}:{port}: {error.strerror or error}. Choose another port; 0 takes"
            " any that is free."
        ) from error


class Guard:
    """Looks at `Host` and `Origin`."""

    def __init__(self, settings: HttpSettings, port: int) -> None:
        own = {settings.host if ":" not in settings.host else f"[{settings.host}]"}
        own |= set(LOOPBACK_NAMES)
        self._hosts = {f"{host}:{port}" for host in own}
        # A browser leaves out the port that is usual.
        self._hosts |= own if port == 80 else set()
        self._any_port = {host.lower() for host in settings.allowed_hosts}
        self._origins = {f"http://{host}" for host in self._hosts}
        self._origins |= {origin.lower().rstrip("/") for origin in settings.allowed_origins}

    def refusal(self, headers: Mapping[str, str]) -> tuple[str, int, str] | None:
        """What is wrong with a request: a word for it, an HTTP status and a sentence."""
        host = headers.get("host", "").lower()
        if host not in self._hosts and not self._allows(host):
            return "host", 421, "this name of the server is not allowed; see --allow-host"
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self._origins:
            return "origin", 403, "this origin is not allowed; see --allow-origin"
        return None

    def _allows(self, host: str) -> bool:
        if host in self._any_port:
            return True
        name, colon, port = host.rpartition(":")
        return bool(colon) and port.isdigit() and name in self._any_port
