"""URLs of stores: which there are, and what of them may be shown."""

from __future__ import annotations

from urllib.parse import urlsplit

from agentworld_sim.errors import UsageError

SCHEMES = ("postgresql", "postgres")


def is_url(where: str) -> bool:
    """Whether a store's name is a URL, and not a path.

    Raises:
        UsageError: it is one of a kind that there is not.
    """
    scheme, separator, _ = where.partition("://")
    if not separator:
        return False
    if scheme not in SCHEMES:
        raise UsageError(
            f"there is no store of the kind {scheme!r}. Give a file, or a URL that begins with"
            " 'postgresql://'."
        )
    return True


def shown_url(url: str) -> str:
    """A store's URL for people: without the password and the parameters.

    Raises:
        UsageError: it cannot be read safely. The message does not repeat it.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UsageError(_UNREADABLE) from None
    # With any of these, a piece of a password could be taken for a host or a database, and shown.
    if parts.netloc.count("@") > 1 or "@" in parts.path + parts.query or parts.fragment:
        raise UsageError(_UNREADABLE)
    user = f"{parts.username}@" if parts.username else ""
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{SCHEMES[0]}://{user}{host}{'' if port is None else f':{port}'}{parts.path}"


def has_password(where: str) -> bool:
    """Whether a store's name holds a password, which must not stand on a command line."""
    if "://" not in where:
        return False
    _, _, rest = where.partition("://")
    user, at, _ = rest.rpartition("@")
    return (bool(at) and ":" in user) or "password=" in rest


_UNREADABLE = (
    "the store's URL cannot be read. Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with '@',"
    " ':', '/', '?' and '#' inside of the user's name or the password as %40, %3A, %2F, %3F and %23."
)
