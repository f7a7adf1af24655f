"""`ModelCallFaults`: faults on an agent's own model calls, as middleware of `create_agent`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import openai
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, convert_to_openai_messages
from langchain_core.messages.tool import invalid_tool_call

from agentworld_sim.proxy import FaultSchedule, ModelFault

_REQUEST = httpx2.Request("POST", "http://localhost/v1/chat/completions")


class ModelCallFaults(AgentMiddleware[Any, Any, Any]):
    """Lets the faults of a schedule strike, as `agentworld proxy` does for agents of any framework.

    A refusal, an empty answer and a malformed call are messages of the model. A rate limit and a cut stream
    are raised as OpenAI's SDK raises them, so that what retries or falls back meets them where it stands
    around this middleware: put this one behind it.
    """

    def __init__(self, schedule: FaultSchedule) -> None:
        super().__init__()
        self.tools = []
        self.schedule = schedule
        """Says which faults struck, and how often."""

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | AIMessage:
        """Asks the model, unless a fault answers in its place."""
        fault = self._fault(request)
        if fault is None:
            return handler(request)
        if fault.kind == "slow-first-token":
            time.sleep(fault.seconds or 0)
            return handler(request)
        if fault.kind == "cut-stream":
            handler(request)
        return _outcome(fault, request)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | AIMessage:
        """As `wrap_model_call`."""
        fault = self._fault(request)
        if fault is None:
            return await handler(request)
        if fault.kind == "slow-first-token":
            await asyncio.sleep(fault.seconds or 0)
            return await handler(request)
        if fault.kind == "cut-stream":
            await handler(request)
        return _outcome(fault, request)

    def _fault(self, request: ModelRequest[Any]) -> ModelFault | None:
        model = request.model
        name = (
            getattr(model, "model_name", None) or getattr(model, "model", None) or model.get_name()
        )
        messages = convert_to_openai_messages(request.messages)
        return self.schedule.choose(str(name), messages, tools=bool(request.tools))


def _outcome(fault: ModelFault, request: ModelRequest[Any]) -> AIMessage:
    """What the agent gets instead of the reply.

    Raises:
        openai.RateLimitError: that is the fault.
        openai.APIConnectionError: the reply was cut.
    """
    if fault.kind == "rate-limit":
        wait = f"{fault.seconds:g}"
        told = f"Rate limit reached for requests. Please try again in {wait}s."
        response = httpx2.Response(429, headers={"retry-after": wait}, request=_REQUEST)
        raise openai.RateLimitError(told, response=response, body=None)
    if fault.kind == "cut-stream":
        raise openai.APIConnectionError(
            message="peer closed connection without sending complete message body", request=_REQUEST
        )
    if fault.kind != "malformed-call":
        return AIMessage(fault.text or "")
    tool = request.tools[0]
    name = tool.get("name", "") if isinstance(tool, dict) else tool.name
    call = invalid_tool_call(name=name, args='{"', id=f"call_{fault.name}", error=None)
    return AIMessage("", invalid_tool_calls=[call])
