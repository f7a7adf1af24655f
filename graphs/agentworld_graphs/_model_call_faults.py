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
from agentworld_sim.proxy.model_faults import NO_JSON, REFUSAL

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
        if fault is not None and fault.kind == "slow-first-token":
            time.sleep(fault.seconds)
        reply = handler(request) if _is_model_asked(fault) else None
        return _outcome(fault, request, reply)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | AIMessage:
        """As `wrap_model_call`."""
        fault = self._fault(request)
        if fault is not None and fault.kind == "slow-first-token":
            await asyncio.sleep(fault.seconds)
        reply = await handler(request) if _is_model_asked(fault) else None
        return _outcome(fault, request, reply)

    def _fault(self, request: ModelRequest[Any]) -> ModelFault | None:
        model = request.model
        name = (
            getattr(model, "model_name", None) or getattr(model, "model", None) or model.get_name()
        )
        messages = convert_to_openai_messages(request.messages)
        return self.schedule.choose(str(name), messages, tools=bool(request.tools))


def _is_model_asked(fault: ModelFault | None) -> bool:
    return fault is None or fault.kind in ("slow-first-token", "cut-stream")


def _outcome(
    fault: ModelFault | None, request: ModelRequest[Any], reply: ModelResponse[Any] | None
) -> ModelResponse[Any] | AIMessage:
    """What the agent gets: the model's reply, where a fault leaves it.

    Raises:
        openai.RateLimitError: that is the fault.
        openai.APIConnectionError: the reply was cut.
    """
    if fault is not None and fault.kind == "cut-stream":
        told = "peer closed connection without sending complete message body"
        raise openai.APIConnectionError(message=told, request=_REQUEST)
    if fault is None or reply is not None:
        assert reply is not None
        return reply
    if fault.kind == "rate-limit":
        wait = f"{fault.seconds:g}"
        told = f"Rate limit reached for requests. Please try again in {wait}s."
        response = httpx2.Response(429, headers={"retry-after": wait}, request=_REQUEST)
        raise openai.RateLimitError(told, response=response, body=None)
    if fault.kind != "malformed-call":
        return AIMessage(REFUSAL if fault.kind == "refusal" else "")
    tool = request.tools[0]
    name = tool.get("name", "") if isinstance(tool, dict) else tool.name
    call = invalid_tool_call(name=name, args=NO_JSON, id=f"call_{fault.name}", error=None)
    return AIMessage("", invalid_tool_calls=[call])
