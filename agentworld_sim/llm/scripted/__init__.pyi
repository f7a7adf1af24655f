from ._refusals import (
    Dialect as Dialect,
    ReasoningField as ReasoningField,
)
from ._script import (
    Disconnect as Disconnect,
    ErrorReply as ErrorReply,
    Gate as Gate,
    Hang as Hang,
    ModelRequest as ModelRequest,
    OverflowReply as OverflowReply,
    RawReply as RawReply,
    Reply as Reply,
    Script as Script,
    ScriptedReply as ScriptedReply,
    ScriptError as ScriptError,
    StreamError as StreamError,
)
from ._server import ScriptedModelServer as ScriptedModelServer
from .tokens import count_tokens as count_tokens
