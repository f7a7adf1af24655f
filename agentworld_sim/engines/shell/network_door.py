"""`NetworkDoor`: the internet of a world, as the commands of one turn reach it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from agentworld_sim.engines.shell.file_times import TurnClock
from agentworld_sim.types.state import StateChange, WorldState

if TYPE_CHECKING:
    from agentworld_sim.engines.web.requests import Internet, WebRequest, WebResponse

REQUEST_US = 40_000
"""How long a request takes on the world's clock, in microseconds."""


class NetworkDoor:
    """Answers requests, one after the other, and gathers what they do to the world's values."""

    def __init__(
        self, internet: Callable[[], Internet | None], state: WorldState, clock: TurnClock
    ) -> None:
        """`state` is the world before the turn; a request takes time on the turn's clock."""
        self._internet, self._state, self._clock = internet, state, clock
        self.change = StateChange(clock_us=state.clock_us)
        """What the requests did so far."""

    def has_host(self, name: str) -> bool:
        """Whether a host with that name answers."""
        internet = self._internet()
        return internet is not None and name.lower() in internet.hosts(self._state)

    def answer(self, request: WebRequest) -> WebResponse | None:
        """The response of a host; `None` where no host has that name, and no page was imagined there
        before. Redirects are the caller's to follow.
        `HEAD` is answered as `GET` would be, and changes nothing: the body is the caller's to leave out.

        Raises:
            DeadlinePassed: the running tool gives up before there is one.
        """
        # Imported late: most shells ask for nothing.
        from agentworld_sim.engines.web.browser_state import kept_response

        self._clock.sleep(REQUEST_US)
        state = replace(self._state.after(self.change), clock_us=self._clock.now_us())
        internet, is_head = self._internet(), request.method == "HEAD"
        request = replace(request, method="GET") if is_head else request
        found = None if internet is None else internet.answer(request, state)
        if found is None:
            return kept_response(request, state.values)
        if not is_head:
            self.change = self.change.then(found[1])
        return found[0]
