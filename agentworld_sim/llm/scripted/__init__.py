"""An OpenAI-compatible model server that answers from a script: the fake for tests.

It speaks HTTP over a real socket, so that a client is tested whole, with its connections, its
stream parser and its retries. See `ScriptedModelServer`.
"""

from agentworld_sim.llm.scripted._dialects import Dialect, ReasoningField
from agentworld_sim.llm.scripted._replies import (
    Disconnect,
    ErrorReply,
    Gate,
    Hang,
    OverflowReply,
    RawReply,
    Reply,
    Script,
    ScriptedReply,
    ScriptError,
    StreamError,
)
from agentworld_sim.llm.scripted._requests import ModelRequest
from agentworld_sim.llm.scripted._server import ScriptedModelServer
from agentworld_sim.llm.scripted.tokens import count_tokens

__all__ = [
    "Dialect",
    "Disconnect",
    "ErrorReply",
    "Gate",
    "Hang",
    "ModelRequest",
    "OverflowReply",
    "RawReply",
    "ReasoningField",
    "Reply",
    "Script",
    "ScriptError",
    "ScriptedModelServer",
    "ScriptedReply",
    "StreamError",
    "count_tokens",
]
