"""`locked-account`: an account is locked, and stays so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agentworld_sim.controls.server_error import ServerError


@dataclass(frozen=True, kw_only=True)
class LockedAccount(ServerError):
    """From the first call that it strikes, all calls of its tools fail, whatever their arguments."""

    lasting: ClassVar[bool] = True

    status: int = 403
    text: str = "this account is locked; contact your administrator"
