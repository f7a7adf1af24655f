"""`WorldInternet`: the internet of one running world. What changes the world is a turn of it, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

from agentworld_sim.engines.web.browser_state import kept_response
from agentworld_sim.engines.web.http_turn import HEADERS, request_arguments, response_of
from agentworld_sim.engines.web.requests import Internet, WebRequest, WebResponse
from agentworld_sim.toolkits.http_request import TOOLS
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.world import World


class WorldInternet:
    """Answers requests from the state of a world."""

    def __init__(self, world: World, internet: Internet) -> None:
        """
        Args:
            world: It is given the tool `http_request`, whose calls its changes are.
            internet: That of its scenario.
        """
        self._world, self._internet = world, internet
        (self._tool,) = world.add_tools([one.spec for one in TOOLS])

    async def hosts(self) -> list[str]:
        """The names of the hosts that answer, without ports."""
        named = self._internet.hosts(await self._world.state())
        return list(dict.fromkeys(host.partition(":")[0] for host in named))

    async def answer(self, request: WebRequest) -> WebResponse | None:
        """The response of a site; where none has the host, the page that the world's model imagines, which is kept.
        `None` where there is none.

        Raises:
            AgentworldError: the world cannot answer; it is as it was.
        """
        is_head = request.method == "HEAD"
        headers = tuple(one for one in request.headers if one[0] in HEADERS)
        # What a `GET` would be answered, with its length: the server leaves the body out.
        request = replace(request, method="GET" if is_head else request.method, headers=headers)
        state = await self._world.state()
        found = self._internet.answer(request, state)
        if found is None:
            kept = kept_response(request, state.values)
            # What a browser asks for itself in the background is nothing to imagine.
            is_page = "text/html" in (request.header("accept") or "")
            if kept is not None or is_head or self._world.model is None or not is_page:
                return kept
        else:
            response, change = found
            if is_head or not (change.values or change.files or change.sessions):
                return response
        turn = await self._world.step(ToolCall(self._tool.name, request_arguments(request)))
        observation = turn.observation
        if observation.structured is None:
            if observation.provenance != "enforced":
                return None
            # A control answered in the site's place.
            return WebResponse(503, observation.text.encode(), (("content-type", "text/plain; charset=utf-8"),))  # fmt: skip
        return response_of(observation.structured)
