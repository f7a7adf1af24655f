"""An OpenAI-compatible model server that answers from a script: the fake for tests.

It speaks HTTP over a real socket, so that a client is tested whole, with its connections, its
stream parser and its retries. See `ScriptedModelServer`.
"""

from agentworld_sim.llm.scripted._refusals import Dialect, ReasoningField
from agentworld_sim.llm.scripted._script import (
    Disconnect,
    ErrorReply,
    Gate,
    Hang,
    ModelRequest,
    OverflowReply,
    RawReply,
    Reply,
    Script,
    ScriptedReply,
    ScriptError,
    StreamError,
)
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
