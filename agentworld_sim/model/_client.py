"""The client of a chat-completions server."""

from __future__ import annotations

from agentworld_sim.model._chat import ChatReply, ChatRequest, ServedModel, Watch
from agentworld_sim.model._settings import ModelSettings


class ChatClient:
    """Asks an OpenAI-compatible server. One instance serves any number of worlds and event loops."""

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings

    async def ask(self, request: ChatRequest, *, watch: Watch | None = None) -> ChatReply:
        """Sends one request and waits for its reply.

        Raises:
            ModelUnavailable: no connection, no answer, a broken one.
            ModelRefused: the server refuses the request.
        """
        raise NotImplementedError

    async def served(self) -> ServedModel:
        """The model that is asked, as the server describes it. Asked of the server once.

        Raises:
            ModelUnavailable: as `ask`.
            ModelRefused: the name is not served (the message lists what is), or the key is refused.
        """
        raise NotImplementedError

    async def close(self) -> None:
        """Closes the connections of the running event loop."""
        raise NotImplementedError
