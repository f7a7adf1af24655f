"""Sessions of the older protocol that any of several processes can serve.

Nothing of a session is held in memory: its id is signed for its principal, and the end of one leaves a file
in the folder that all processes of the run share.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from pathlib import Path

from itsdangerous import Signer

from agentworld_mcp_shim._http._dispatch import process_of


class SignedSessions:
    """Begins, finds and ends sessions."""

    def __init__(self, folder: Path, secret: bytes, *, process: int = 0, count: int = 1) -> None:
        """
        Args:
            folder: Where processes tell each other what has ended.
        """
        self._folder = folder
        self._secret = secret
        self._process = process
        self._count = count

    def begin(self, principal: str | None) -> str:
        """The id of a new session of a principal, whose further connections are given to this process."""
        while True:
            session = self._sign(secrets.token_urlsafe(16), principal)
            if process_of(session.encode(), self._count) == self._process:
                return session

    def alive(self, session: str, principal: str | None) -> bool:
        """Whether a session of that id was begun for this principal and has not ended."""
        name = session.rpartition(".")[0]
        # Signed again and not unsigned, because several spellings of one signature can be read.
        wanted = self._sign(name, principal).encode("utf-8", "surrogatepass")
        genuine = hmac.compare_digest(wanted, session.encode("utf-8", "surrogatepass"))
        return genuine and not self._end_mark(name).exists()

    def end(self, session: str, principal: str | None) -> None:
        """Ends a session; one that is none is none afterwards."""
        if self.alive(session, principal):
            self._end_mark(session.rpartition(".")[0]).touch()

    def _sign(self, name: str, principal: str | None) -> str:
        salt = "session" if principal is None else f"session of {principal}"
        signer = Signer(self._secret, salt=salt.encode(), digest_method=hashlib.sha256)
        signed = signer.sign(name.encode("utf-8", "surrogatepass"))
        return signed.decode("utf-8", "surrogatepass")

    def _end_mark(self, name: str) -> Path:
        return self._folder / f"ended-{name}"
